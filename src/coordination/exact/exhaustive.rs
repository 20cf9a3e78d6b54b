//! The exact answer by enumeration: the reference the others are tested against.

use crate::coordination::{Coordination, Coordinator, FactorTables};
use crate::graph::{CoordinationGraph, JointAction};

/// Tries all joint actions. For tests and small teams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exhaustive;

impl Coordinator for Exhaustive {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        let mut candidate = vec![0; graph.n_agents()];
        action.clone_from(&candidate);
        let mut value = tables.value(graph, action);
        let mut iterations = 1;
        while advance(&mut candidate, tables.n_actions()) {
            iterations += 1;
            let other = tables.value(graph, &candidate);
            if other > value {
                value = other;
                action.clone_from(&candidate);
            }
        }
        Coordination { value, upper_bound: value, residual: 0.0, iterations, converged: true }
    }
}

/// Counts up, the last agent running fastest; false after the last joint action.
fn advance(action: &mut [usize], n_actions: &[usize]) -> bool {
    for (digit, &n) in action.iter_mut().zip(n_actions).rev() {
        *digit += 1;
        if *digit < n {
            return true;
        }
        *digit = 0;
    }
    false
}
