//! How the limits of a training fared whose multipliers were learned, read from its metrics.

use super::Model;
use crate::{
    algorithm::CgCmarlOptions,
    error::Result,
    multipliers::{MultiplierMode, Settling, per_constraint, settling::kept_from},
};
use serde::{Deserialize, Serialize};

/// How one limit of a training fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnedLimit {
    /// The constraint.
    pub constraint: String,
    /// What an agent may pay per step.
    pub limit: f64,
    /// What an agent paid per step in the last quarter of the training, exploration included.
    pub cost: f64,
    /// The mean multiplier of the last quarter.
    pub multiplier: f64,
    /// What the course of the multiplier says.
    pub settling: Settling,
    /// Environment steps after which the mean cost so far stays within a tenth of the limit, where it
    /// does.
    pub kept_from: Option<u64>,
}

/// The mean so far may exceed the limit by this share.
const TOLERANCE: f64 = 0.1;

impl Model {
    /// How the limits fared; nothing where multipliers were not learned.
    pub fn learned_limits(&self) -> Result<Vec<LearnedLimit>> {
        if self.config.algorithm != "cg_cmarl" {
            return Ok(Vec::new());
        }
        let options: CgCmarlOptions = self.config.typed_options()?;
        if options.multipliers.mode != MultiplierMode::Learned {
            return Ok(Vec::new());
        }
        let spec = self.scenario()?.spec()?;
        let limits = per_constraint(&options.multipliers.cost_limit, spec.n_constraints());
        let lines = self.run.metrics()?;
        // Smaller teams of a curriculum have multipliers of their own.
        let is_own = |line: &&serde_json::Value| line["agents"] == spec.n_agents();
        let column = |name: String| -> Vec<f64> {
            lines.iter().filter(is_own).filter_map(|line| line[&name].as_f64()).collect()
        };
        let steps = column("step".into());
        let ceiling = f64::from(options.multipliers.lagrangian_upper_bound);
        let of = |(name, limit): (String, f32)| {
            // Through text, so that 0.05 stays 0.05 in double precision.
            let limit = limit.to_string().parse().unwrap_or(f64::from(limit));
            let course = column(format!("multiplier_{name}"));
            let costs = column(format!("cost_{name}"));
            let late = |values: &[f64]| {
                let late = &values[values.len() - (values.len() / 4).max(1)..];
                late.iter().sum::<f64>() / late.len() as f64
            };
            Some(LearnedLimit {
                settling: Settling::of(&course, ceiling)?,
                kept_from: kept_from(&costs, limit, TOLERANCE)
                    .and_then(|line| steps.get(line).map(|step| *step as u64)),
                cost: late(&costs),
                multiplier: late(&course),
                constraint: name,
                limit,
            })
        };
        let names = spec.constraint_names().into_iter();
        Ok(names.zip(limits.unwrap_or_default()).filter_map(of).collect())
    }
}
