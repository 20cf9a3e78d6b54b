//! An upper bound on every joint action, so that an answer can carry its gap.

use super::branch_and_bound::Update;
use super::dual::{Direction, Dual};
use super::factor_model::FactorModel;
use crate::coordination::FactorTables;
use crate::graph::CoordinationGraph;

/// No joint action is worth more than this: `sweeps` sweeps of TRW-S message passing, half of them
/// shared among the values of one variable.
///
/// `known` is the value of a joint action at hand, or minus infinity: values that cannot beat it
/// are pruned on the way, which tightens the bound.
///
/// Complexity: `O(sweeps · Σ_R |table of R|)`.
///
/// ```
/// use cgcmarl::{coordination::{FactorTables, upper_bound}, graph::CoordinationGraph};
/// let graph = CoordinationGraph::path(2);
/// let mut tables = FactorTables::zeros(&graph, 2);
/// tables.region_mut(0).copy_from_slice(&[0.0, 1.0, 3.0, 2.0]);
/// let bound = upper_bound(&graph, &tables, 1, f64::NEG_INFINITY);
/// assert!((3.0..3.0 + 1e-9).contains(&bound));
/// ```
pub fn upper_bound(
    graph: &CoordinationGraph,
    tables: &FactorTables,
    sweeps: usize,
    known: f64,
) -> f64 {
    bound_of(FactorModel::from_tables(graph, tables), sweeps, known)
}

/// [`upper_bound`] of a model.
pub(crate) fn bound_of(mut model: FactorModel, sweeps: usize, known: f64) -> f64 {
    let rounding = 1e-12 * (1.0 + known_size(&model));
    let constant = model.simplify();
    let mut dual = Dual::new(&model);
    dual.cutoff = known - constant;
    let root = sweeps.div_ceil(2);
    let open = pulp::Arch::new().dispatch(Sweeps { dual: &mut dual, count: root, least_gain: 0.0 });
    let bound = if open { constant + split(&mut dual, sweeps - root) } else { known };
    bound.max(known) + rounding
}

/// The largest bound over the values of one variable, each with its share of the sweeps: never
/// above the bound before.
fn split(dual: &mut Dual, sweeps: usize) -> f64 {
    let before = dual.state.bound;
    let Some(variable) = dual.branching_variable() else { return before };
    let values: Vec<usize> = dual.remaining(variable).collect();
    let state = dual.state.clone();
    let mut bound = f64::NEG_INFINITY;
    for &value in &values {
        dual.restore(&state);
        dual.assign(variable, value);
        let remaining = pulp::Arch::new().dispatch(Update { dual, variable });
        let share = sweeps / values.len();
        let open =
            remaining && pulp::Arch::new().dispatch(Sweeps { dual, count: share, least_gain: 0.0 });
        bound = if open { bound.max(dual.state.bound) } else { bound };
    }
    bound.min(before)
}

/// The sum of the largest finite payoff of every factor: what rounding errors scale with.
fn known_size(model: &FactorModel) -> f64 {
    let largest = |row: &Vec<f64>| {
        row.iter().filter(|x| x.is_finite()).fold(0.0_f64, |largest, x| largest.max(x.abs()))
    };
    model.utilities.iter().chain(&model.tables).map(largest).sum()
}

/// Sweeps until nothing beats the cutoff or a sweep gains less than a share of what is left.
pub(crate) struct Sweeps<'a> {
    pub dual: &'a mut Dual,
    pub count: usize,
    /// Share of the distance to the cutoff that a sweep must gain.
    pub least_gain: f64,
}

impl pulp::WithSimd for Sweeps<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> bool {
        for _ in 0..self.count {
            let before = self.dual.state.bound;
            if before == f64::NEG_INFINITY
                || !self.dual.pass(simd, Direction::Forward)
                || !self.dual.pass(simd, Direction::Backward)
            {
                return false;
            }
            let left = self.dual.state.bound - self.dual.cutoff;
            if before - self.dual.state.bound <= self.least_gain * left {
                break;
            }
        }
        true
    }
}
