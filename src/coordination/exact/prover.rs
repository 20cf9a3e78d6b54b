//! The proven optimum: dual bounds prune values, then elimination or branch and bound.

use super::bound::Sweeps;
use super::branch_and_bound::{BranchAndBound, Limits};
use super::dual::Dual;
use super::elimination::Elimination;
use super::factor_model::FactorModel;
use crate::coordination::anytime::{Anytime, AnytimeOptions};
use crate::coordination::{Coordination, Coordinator, FactorTables, Problem};
use crate::graph::{CoordinationGraph, JointAction};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long the exact coordinator may search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExactOptions {
    /// Seconds after which it gives its best answer; infinite by default.
    pub time_limit: f64,
    /// Branches after which it gives its best answer.
    pub node_limit: usize,
    /// Sweeps of the bound before branching.
    pub sweeps: usize,
    /// Elimination replaces branching when no table has more entries than this.
    pub max_entries: usize,
}

impl Default for ExactOptions {
    fn default() -> Self {
        Self {
            time_limit: f64::INFINITY,
            node_limit: usize::MAX,
            sweeps: 100,
            max_entries: 1 << 22,
        }
    }
}

/// Proves the optimum or stops at a limit; `converged` says which, `iterations` counts branches.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    options: ExactOptions,
    start: Anytime,
}

impl Exact {
    /// A coordinator with these options.
    pub fn new(options: ExactOptions) -> Self {
        Self { options, start: Anytime::new(AnytimeOptions::default()) }
    }

    /// Solves a problem in the precision of its file.
    pub fn solve(&mut self, problem: &Problem, action: &mut JointAction) -> Coordination {
        self.start.coordinate(&problem.graph, &problem.tables, action);
        prove(&FactorModel::from_problem(problem), self.options, action)
    }
}

impl Coordinator for Exact {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        self.start.coordinate(graph, tables, action);
        prove(&FactorModel::from_tables(graph, tables), self.options, action)
    }
}

/// Work that elimination may spend, in table entries.
const MAX_WORK: usize = 1 << 25;

/// Improves a joint action to the optimum of a model.
fn prove(model: &FactorModel, options: ExactOptions, action: &mut JointAction) -> Coordination {
    let deadline = Duration::try_from_secs_f64(options.time_limit)
        .ok()
        .and_then(|limit| Instant::now().checked_add(limit));
    let limits = Limits { deadline, nodes: options.node_limit, quantum: model.quantum() };
    let start = model.value(action);
    let mut reduced = model.clone();
    let mut constant = reduced.simplify();
    let mut dual = Dual::new(&reduced);
    dual.cutoff = limits.cutoff(start - constant);
    let sweeps = Sweeps { dual: &mut dual, count: options.sweeps, least_gain: 1e-3 };
    if !pulp::Arch::new().dispatch(sweeps) {
        return answer(start, start, 0);
    }
    let root_bound = constant + dual.state.bound;
    let kept: Vec<Vec<usize>> =
        (0..reduced.n_variables()).map(|v| dual.remaining(v).collect()).collect();
    reduced = reduced.restricted(&kept);
    constant += reduced.simplify();
    let mut values = vec![0; action.len()];
    let (open, nodes) =
        if let Some(all) = Elimination::all(&mut reduced, options.max_entries, MAX_WORK) {
            all.decode(&mut values);
            (f64::NEG_INFINITY, 0)
        } else {
            let cheap = Elimination::cheap(&mut reduced);
            constant += reduced.simplify();
            let mut search = BranchAndBound::new(&reduced, start - constant, limits);
            search.run(options.sweeps);
            values.copy_from_slice(&search.action);
            cheap.decode(&mut values);
            (constant + search.open, search.nodes)
        };
    let found: Vec<usize> = values.iter().zip(&kept).map(|(&a, kept)| kept[a]).collect();
    let value = model.value(&found);
    if value > start {
        action.copy_from_slice(&found);
    }
    let value = value.max(start);
    answer(value, value.max(open.min(root_bound)), nodes)
}

fn answer(value: f64, upper_bound: f64, nodes: usize) -> Coordination {
    let answer =
        Coordination { value, upper_bound, residual: 0.0, iterations: nodes, converged: false };
    Coordination { converged: answer.proven(), ..answer }
}
