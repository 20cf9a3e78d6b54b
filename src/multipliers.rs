//! Lagrange multipliers: one per agent and constraint, raised while the constraint is violated.

use crate::error::{Error, Result, positive, within};
use serde::{Deserialize, Serialize};

/// Where the multiplier of a training episode comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MultiplierMode {
    /// Projected dual ascent after each episode; the team mean acts.
    Learned,
    /// One draw per episode: zero with some probability, else log-uniform.
    Sampled,
    /// The same throughout.
    Fixed,
}

/// How multipliers behave in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiplierOptions {
    /// Where the multiplier of an episode comes from.
    pub mode: MultiplierMode,
    /// Step of the dual ascent, per unit of violation.
    pub lambda_lr: f32,
    /// Mean cost per step that each agent may pay, one entry per constraint (or one for all).
    pub cost_limit: Vec<f32>,
    /// Multipliers never exceed this.
    pub lagrangian_upper_bound: f32,
    /// The multiplier of mode `fixed`, one entry per constraint (or one for all).
    pub fixed: Vec<f32>,
    /// Share of `sampled` episodes played with multiplier zero.
    pub zero_share: f32,
    /// Smallest positive multiplier of `sampled`.
    pub sample_low: f32,
    /// Largest multiplier of `sampled`.
    pub sample_high: f32,
}

impl Default for MultiplierOptions {
    fn default() -> Self {
        Self {
            mode: MultiplierMode::Sampled,
            lambda_lr: 0.01,
            cost_limit: vec![0.0],
            lagrangian_upper_bound: 10.0,
            fixed: vec![0.0],
            zero_share: 0.3,
            sample_low: 0.05,
            sample_high: 20.0,
        }
    }
}

/// Largest multiplier that is accepted: beyond, single precision loses the task's value.
pub const MAX_MULTIPLIER: f64 = 1e6;

impl MultiplierOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        within("lambda_lr", self.lambda_lr, 0.0..=MAX_MULTIPLIER)?;
        within("lagrangian_upper_bound", self.lagrangian_upper_bound, 0.0..=MAX_MULTIPLIER)?;
        within("zero_share", self.zero_share, 0.0..=1.0)?;
        self.cost_limit.iter().try_for_each(|&limit| within("cost_limit", limit, 0.0..=1e30))?;
        self.fixed.iter().try_for_each(|&fixed| within("fixed", fixed, 0.0..=MAX_MULTIPLIER))?;
        positive("sample_low", self.sample_low, MAX_MULTIPLIER)?;
        within("sample_high", self.sample_high, 0.0..=MAX_MULTIPLIER)?;
        if self.sample_high < self.sample_low {
            let reason = format!("must not be below sample_low={}", self.sample_low);
            return Err(Error::setting("sample_high", self.sample_high, reason));
        }
        Ok(())
    }
}

/// Projected dual ascent (Eq. dual-update): `λ ← clamp(λ + η (cost − limit), 0, λ_max)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipliers {
    /// Row = agent, column = constraint.
    values: Vec<f32>,
    limits: Vec<f32>,
    ceiling: f32,
}

impl Multipliers {
    /// All multipliers at zero, one limit per constraint.
    pub fn new(n_agents: usize, limits: Vec<f32>, ceiling: f32) -> Self {
        Self { values: vec![0.0; n_agents * limits.len()], limits, ceiling }
    }

    /// The team average of one constraint, the only value action selection sees.
    pub fn mean(&self, constraint: usize) -> f32 {
        let column = self.values.iter().skip(constraint).step_by(self.limits.len());
        let n_agents = self.values.len() / self.limits.len();
        column.sum::<f32>() / n_agents as f32
    }

    /// One step after an episode, from each agent's mean cost per step (row = agent).
    pub fn ascend(&mut self, agent_costs: &[f32], step_size: f32) {
        assert_eq!(agent_costs.len(), self.values.len(), "one cost per agent and constraint");
        for (row, costs) in self
            .values
            .chunks_exact_mut(self.limits.len())
            .zip(agent_costs.chunks_exact(self.limits.len()))
        {
            for ((value, cost), limit) in row.iter_mut().zip(costs).zip(&self.limits) {
                *value = (*value + step_size * (cost - limit)).clamp(0.0, self.ceiling);
            }
        }
    }

    /// All values, row = agent; for checkpoints.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Puts saved values back.
    pub fn restore(&mut self, values: &[f32]) {
        self.values.copy_from_slice(values);
    }
}

/// One number per constraint from a list that holds either one for all or one for each.
pub fn per_constraint(values: &[f32], n_constraints: usize) -> Option<Vec<f32>> {
    match values.len() {
        1 => Some(vec![values[0]; n_constraints]),
        n if n == n_constraints => Some(values.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_rise_with_violation_and_stay_in_range() {
        let mut multipliers = Multipliers::new(2, vec![0.1], 1.0);
        multipliers.ascend(&[0.3, 0.0], 0.5);
        assert!((multipliers.values()[0] - 0.1).abs() < 1e-7);
        assert_eq!(multipliers.values()[1], 0.0);
        assert!((multipliers.mean(0) - 0.05).abs() < 1e-7);
        multipliers.ascend(&[100.0, 100.0], 0.5);
        assert_eq!(multipliers.mean(0), 1.0);
    }

    #[test]
    fn each_constraint_has_its_own_limit() {
        let mut multipliers = Multipliers::new(1, vec![0.0, 1.0], 10.0);
        multipliers.ascend(&[0.5, 0.5], 1.0);
        assert_eq!((multipliers.mean(0), multipliers.mean(1)), (0.5, 0.0));
    }

    #[test]
    fn a_limit_of_zero_is_an_ordinary_limit() {
        let mut multipliers = Multipliers::new(1, vec![0.0], 10.0);
        multipliers.ascend(&[0.0], 1.0);
        assert_eq!(multipliers.mean(0), 0.0);
    }
}
