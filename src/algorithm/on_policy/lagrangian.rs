//! Where the price of costs comes from: learned under a limit (MAPPO-Lagrangian), or drawn anew for every
//! episode and shown to the agents (λ-conditioned MAPPO).

use super::PpoOptions;
use crate::{
    algorithm::cg_cmarl::wrong_length,
    environment::Spec,
    error::{Error, Result},
    multipliers::{MultiplierOptions, per_constraint},
};
use serde::{Deserialize, Serialize};

/// The options of MAPPO-Lagrangian.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MappoLagOptions {
    /// What costs may be.
    #[serde(flatten)]
    pub lagrangian: LagrangianOptions,
    /// What it shares with MAPPO.
    pub ppo: PpoOptions,
}

/// How the price of costs is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LagrangianOptions {
    /// Mean cost per step that an agent may pay, one entry per constraint (or one for all).
    pub cost_limit: Vec<f32>,
    /// Step of the dual ascent after each round, per unit of violation over an episode.
    pub lambda_lr: f32,
    /// Multipliers never exceed this.
    pub lagrangian_upper_bound: f32,
}

impl Default for LagrangianOptions {
    fn default() -> Self {
        Self { cost_limit: vec![0.02], lambda_lr: 0.01, lagrangian_upper_bound: 20.0 }
    }
}

impl LagrangianOptions {
    fn validate(&self) -> Result<()> {
        let usable = |value: f32| value >= 0.0 && value.is_finite();
        let values = [
            ("lambda_lr", self.lambda_lr),
            ("lagrangian_upper_bound", self.lagrangian_upper_bound),
        ];
        let limits = self.cost_limit.iter().map(|&limit| ("cost_limit", limit));
        match values.into_iter().chain(limits).find(|(_, value)| !usable(*value)) {
            Some((key, value)) => {
                Err(Error::setting(key, value, "must be a finite number, not negative"))
            }
            None => Ok(()),
        }
    }
}

/// The options of λ-conditioned MAPPO.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MappoLambdaOptions {
    /// Which multipliers are drawn.
    #[serde(flatten)]
    pub sampling: SamplingOptions,
    /// What it shares with MAPPO.
    pub ppo: PpoOptions,
}

/// Which multipliers episodes are played at: zero, or log-uniform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplingOptions {
    /// Share of episodes played with multiplier zero.
    pub zero_share: f32,
    /// Smallest positive multiplier.
    pub sample_low: f32,
    /// Largest multiplier.
    pub sample_high: f32,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        let MultiplierOptions { zero_share, sample_low, sample_high, .. } =
            MultiplierOptions::default();
        Self { zero_share, sample_low, sample_high }
    }
}

impl SamplingOptions {
    /// The same as the multipliers of CG-CMARL are drawn by; refuses what cannot work.
    pub(super) fn multipliers(&self, spec: &Spec) -> Result<MultiplierOptions> {
        if spec.constraints.is_empty() {
            return Err(Error::setting("constraints", "[]", "needs at least one constraint"));
        }
        let Self { zero_share, sample_low, sample_high } = *self;
        let options = MultiplierOptions {
            zero_share,
            sample_low,
            sample_high,
            ..MultiplierOptions::default()
        };
        options.check()?;
        Ok(options)
    }
}

/// Where the price of costs comes from.
#[derive(Clone, Copy, Debug)]
pub enum Pricing<'a> {
    /// Costs have no price.
    Free,
    /// It is learned, so that costs keep to their limits.
    Limited(&'a LagrangianOptions),
    /// It is drawn for every episode, and everybody sees it.
    Sampled(&'a SamplingOptions),
}

/// The limit of each constraint.
pub(super) fn limits(options: &LagrangianOptions, spec: &Spec) -> Result<Vec<f32>> {
    options.validate()?;
    per_constraint(&options.cost_limit, spec.n_constraints())
        .ok_or_else(|| wrong_length("cost_limit", &options.cost_limit, spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_limit_is_refused_by_name() {
        let options = LagrangianOptions { cost_limit: vec![-0.5], ..LagrangianOptions::default() };
        let error = options.validate().unwrap_err().to_string();
        assert!(error.contains("`cost_limit`: -0.5"), "{error}");
    }
}
