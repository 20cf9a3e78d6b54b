//! Which coordinator a run uses, by name.

use super::{Coordinator, MaxSum, MaxSumOptions};
use serde::{Deserialize, Serialize};

/// A coordinator by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// The paper's message passing.
    #[default]
    MaxSum,
}

/// A coordinator and how it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverOptions {
    /// Which coordinator.
    pub solver: Solver,
    /// Rounds of messages (the paper's K).
    pub msg_iterations: usize,
    /// Share of the old message kept in each round (the paper's d).
    pub damping: f32,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self { solver: Solver::default(), msg_iterations: 10, damping: 0.3 }
    }
}

impl SolverOptions {
    /// The coordinator.
    pub fn build(&self) -> Box<dyn Coordinator> {
        let Self { solver, msg_iterations, damping } = *self;
        let max_sum = MaxSumOptions { msg_iterations, damping, ..MaxSumOptions::default() };
        match solver {
            Solver::MaxSum => Box::new(MaxSum::new(max_sum)),
        }
    }
}
