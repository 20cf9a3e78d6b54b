//! Choosing the joint action that maximises a sum of local payoffs.
//!
//! A crate in spirit: factor tables, and solvers that share one contract.
//! `message_passing` is the paper's Max-Sum; `anytime` decodes it by value, with `conditional_decoding`
//! and `local_search`; `exact` proves optima and bounds; `sparse` drops the pairs that are
//! not worth a message; `file_formats` reads problems from files.

mod anytime;
mod batch;
mod conditional_decoding;
mod exact;
mod factor_tables;
mod file_formats;
mod local_search;
mod message_passing;
mod padded_problem;
mod solver;
mod sparse;

pub use anytime::{Anytime, AnytimeOptions};
pub use batch::{Batch, BatchItem};
pub use exact::{Exact, ExactOptions, Exhaustive, upper_bound};
pub use factor_tables::FactorTables;
pub use file_formats::{Problem, write_log_uai};
pub use message_passing::{MaxSum, MaxSumOptions, agent_to_region, region_to_agent};
pub use solver::{Solver, SolverOptions};
pub(crate) use sparse::PairRanking;
pub use sparse::{OtherPairs, PairScore};

use crate::graph::{CoordinationGraph, JointAction};

/// What a coordinator says about its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordination {
    /// Total payoff of the joint action it wrote.
    pub value: f64,
    /// No joint action is worth more than this; infinite where no bound was computed.
    pub upper_bound: f64,
    /// Largest change of a message in the last iteration; 0 for solvers without messages.
    pub residual: f32,
    /// Message iterations, sweeps or nodes spent.
    pub iterations: usize,
    /// The messages stopped changing, or the answer is proven optimal.
    pub converged: bool,
}

impl Coordination {
    /// How much a better joint action could gain at most.
    pub fn gap(&self) -> f64 {
        // Where nothing is possible both are minus infinity.
        if self.upper_bound == self.value { 0.0 } else { self.upper_bound - self.value }
    }

    /// The bound leaves no room for a better joint action.
    pub fn proven(&self) -> bool {
        self.upper_bound <= self.value
            || self.upper_bound <= self.value + 1e-9 * (1.0 + self.value.abs())
    }
}

/// Maximises [`FactorTables::value`]. Takes `&mut self` to reuse its buffers.
pub trait Coordinator: Send + Sync {
    /// Writes the chosen joint action.
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination;

    /// [`Self::coordinate`], told a joint action that is likely near the best; ignored by whoever has no
    /// use for it.
    fn coordinate_from(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        _start: &[usize],
        action: &mut JointAction,
    ) -> Coordination {
        self.coordinate(graph, tables, action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_possible_nothing_is_to_be_gained() {
        let answer = |value, upper_bound| Coordination {
            value,
            upper_bound,
            residual: 0.0,
            iterations: 1,
            converged: true,
        };
        assert_eq!(answer(f64::NEG_INFINITY, f64::NEG_INFINITY).gap(), 0.0);
        assert_eq!(answer(1.5, 2.0).gap(), 0.5);
    }
}
