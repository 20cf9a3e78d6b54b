//! The coordinators for people with tables of their own, many problems at once.

use crate::failure::{raised, refused};
use cgcmarl::{
    CoordinationGraph, FactorTables, SolverOptions,
    coordination::{Solver, upper_bound},
    graph::JointAction,
    run::on_threads,
};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2,
    ndarray::{Array2, ArrayView2},
};
use pyo3::{Bound, PyResult, Python, pyfunction};
use rayon::prelude::*;

/// Sweeps of the bound for the solvers that compute none.
const BOUND_SWEEPS: usize = 50;

/// Joint actions, their values, and bounds that no joint action exceeds.
type Answers<'py> =
    (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Solves many problems on one graph. A row of `tables` holds the tables of all regions, one after
/// the other; a row of `utilities` what each action of each agent is worth alone.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    n_actions: Vec<usize>,
    regions: Vec<Vec<usize>>,
    tables: PyReadonlyArray2<'py, f32>,
    utilities: PyReadonlyArray2<'py, f32>,
    solver: &str,
    iterations: usize,
    damping: f32,
    tolerance: f32,
    bound: bool,
    threads: usize,
) -> PyResult<Answers<'py>> {
    let options = SolverOptions {
        solver: match solver {
            "max_sum" => Solver::MaxSum,
            "anytime" => Solver::Anytime,
            "exact" => Solver::Exact,
            other => {
                return Err(refused(format!("solver {other:?} is not max_sum, anytime or exact")));
            }
        },
        msg_iterations: iterations,
        damping,
        tolerance,
        ..SolverOptions::default()
    };
    options.check().map_err(raised)?;
    if let Some(agent) = n_actions.iter().position(|&n| n == 0) {
        return Err(refused(format!("agent {agent} has no action")));
    }
    let graph = CoordinationGraph::new(n_actions.len(), &regions).map_err(raised)?;
    let problem = Problem { graph, n_actions, options, bound };
    let (tables, utilities) = (tables.as_array(), utilities.as_array());
    problem.check(tables, utilities)?;
    let rows = tables.nrows();
    let answers = py.detach(|| {
        let of = |row: usize| (tables.row(row).to_vec(), utilities.row(row).to_vec());
        let inputs: Vec<_> = (0..rows).map(of).collect();
        on_threads(threads, || problem.solve(&inputs))
    });
    let answers = answers.map_err(raised)?;
    let actions = answers.iter().flat_map(|answer| answer.0.iter().map(|&a| a as i64)).collect();
    let actions = Array2::from_shape_vec((rows, problem.n_actions.len()), actions)
        .map_err(|error| refused(error.to_string()))?;
    let values: Vec<f64> = answers.iter().map(|answer| answer.1).collect();
    let bounds: Vec<f64> = answers.iter().map(|answer| answer.2).collect();
    Ok((actions.into_pyarray(py), values.into_pyarray(py), bounds.into_pyarray(py)))
}

/// What all problems share.
struct Problem {
    graph: CoordinationGraph,
    n_actions: Vec<usize>,
    options: SolverOptions,
    bound: bool,
}

impl Problem {
    fn check(&self, tables: ArrayView2<'_, f32>, utilities: ArrayView2<'_, f32>) -> PyResult<()> {
        let entries = |members: &[usize]| {
            members.iter().try_fold(1usize, |size, &agent| size.checked_mul(self.n_actions[agent]))
        };
        let total = self
            .graph
            .regions()
            .try_fold(0usize, |sum, members| sum.checked_add(entries(members)?));
        let alone = self.n_actions.iter().sum::<usize>();
        if total != Some(tables.ncols()) {
            let text = format!("the regions have {total:?} payoffs, not {}", tables.ncols());
            return Err(refused(text));
        }
        if utilities.dim() != (tables.nrows(), alone) {
            let asked = (tables.nrows(), alone);
            let text = format!("utilities have the shape {asked:?}, not {:?}", utilities.dim());
            return Err(refused(text));
        }
        let wrong = |x: &f32| x.is_nan() || *x == f32::INFINITY;
        match tables.iter().chain(utilities.iter()).find(|x| wrong(x)) {
            Some(payoff) => Err(refused(format!("a payoff is {payoff}"))),
            None => Ok(()),
        }
    }

    fn solve(&self, inputs: &[(Vec<f32>, Vec<f32>)]) -> Vec<(JointAction, f64, f64)> {
        let desk = || {
            let tables = FactorTables::with_domains(&self.graph, &self.n_actions);
            (self.options.build(), tables)
        };
        let each = |(coordinator, tables): &mut (Box<_>, FactorTables),
                    row: &(Vec<f32>, Vec<f32>)| {
            tables.regions_mut().copy_from_slice(&row.0);
            let mut rest = &row.1[..];
            for (agent, &n) in self.n_actions.iter().enumerate() {
                let (own, later) = rest.split_at(n);
                tables.agent_mut(agent).copy_from_slice(own);
                rest = later;
            }
            let mut action = JointAction::new();
            let coordinator: &mut Box<dyn cgcmarl::Coordinator> = coordinator;
            let answer = coordinator.coordinate(&self.graph, tables, &mut action);
            let value = tables.value(&self.graph, &action);
            let exact = self.options.solver == Solver::Exact;
            let bound = match (exact, self.bound) {
                (true, _) => answer.upper_bound.max(value),
                (false, true) => upper_bound(&self.graph, tables, BOUND_SWEEPS, value).max(value),
                (false, false) => f64::INFINITY,
            };
            (action, value, bound)
        };
        if inputs.len() == 1 {
            return vec![each(&mut desk(), &inputs[0])];
        }
        inputs.par_iter().map_init(desk, each).collect()
    }
}
