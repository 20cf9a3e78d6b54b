//! Which coordinator a run uses, by name.

use super::{
    Anytime, AnytimeOptions, Coordinator, Exact, ExactOptions, MaxSum, MaxSumOptions,
    sparse::{OtherPairs, PairScore, Sparse, SparseOptions},
};
use crate::error::{Error, Result, count, positive, within};
use serde::{Deserialize, Serialize};

/// A coordinator by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// The paper's message passing: each agent takes its own best action.
    MaxSum,
    /// Message passing with decoding by value.
    #[default]
    Anytime,
    /// Branch and bound, up to a fixed number of branches so that every machine answers the same.
    Exact,
}

/// Branches after which `exact` gives its best answer in a run.
const NODE_LIMIT: usize = 100_000;

/// A coordinator and how it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverOptions {
    /// Which coordinator: `max_sum`, `anytime` or `exact`.
    pub solver: Solver,
    /// Rounds of messages (the paper's K).
    pub msg_iterations: usize,
    /// Share of the old message kept in each round (the paper's d).
    pub damping: f32,
    /// `max_sum` stops early when no message changes by more than this; 0 runs every round.
    pub tolerance: f32,
    /// Share of the pairs that is coordinated, those that vary most; 1 for all.
    pub kept_pairs: f64,
    /// By what pairs are ranked where not all are coordinated.
    pub kept_by: PairScore,
    /// What becomes of the payoffs of the pairs that are not coordinated.
    pub other_pairs: OtherPairs,
}

impl Default for SolverOptions {
    fn default() -> Self {
        Self {
            solver: Solver::default(),
            msg_iterations: 10,
            damping: 0.3,
            tolerance: 0.0,
            kept_pairs: 1.0,
            kept_by: PairScore::default(),
            other_pairs: OtherPairs::default(),
        }
    }
}

/// Most rounds of messages that are accepted.
const MAX_ITERATIONS: u64 = 10_000;

impl SolverOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        count("msg_iterations", self.msg_iterations as u64, 1..=MAX_ITERATIONS)?;
        within("tolerance", self.tolerance, 0.0..=1e6)?;
        positive("kept_pairs", self.kept_pairs, 1.0)?;
        if !(0.0..1.0).contains(&self.damping) {
            return Err(Error::setting("damping", self.damping, "must be at least 0, and below 1"));
        }
        Ok(())
    }

    /// The coordinator.
    pub fn build(&self) -> Box<dyn Coordinator> {
        let coordinator = self.build_dense();
        if self.kept_pairs >= 1.0 {
            return coordinator;
        }
        let Self { kept_pairs, kept_by, other_pairs, .. } = *self;
        Box::new(Sparse::new(SparseOptions { kept_pairs, kept_by, other_pairs }, coordinator))
    }

    /// The coordinator of the pairs it is given, whatever share is to be kept.
    pub(crate) fn build_dense(&self) -> Box<dyn Coordinator> {
        let Self { solver, msg_iterations, damping, tolerance, .. } = *self;
        match solver {
            Solver::MaxSum => Box::new(MaxSum::new(MaxSumOptions {
                msg_iterations,
                damping,
                tolerance,
                ..MaxSumOptions::default()
            })),
            Solver::Anytime => Box::new(Anytime::new(AnytimeOptions {
                msg_iterations,
                damping,
                ..AnytimeOptions::default()
            })),
            Solver::Exact => Box::new(Exact::new(ExactOptions {
                node_limit: NODE_LIMIT,
                ..ExactOptions::default()
            })),
        }
    }
}
