//! Depth-first branch and bound on the dual of a model.

use super::bound::Sweeps;
use super::dual::{Direction, Dual, RankedValue, State};
use super::factor_model::FactorModel;
use std::time::Instant;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub deadline: Option<Instant>,
    pub nodes: usize,
    /// Two different values are at least this far apart; 0 if unknown.
    pub quantum: f64,
}

impl Limits {
    /// What a bound must exceed so that something better than `value` can hide behind it.
    pub(crate) fn cutoff(&self, value: f64) -> f64 {
        if value == f64::NEG_INFINITY {
            return value;
        }
        let tolerance = 1e-9 * (1.0 + value.abs());
        value + tolerance.max(self.quantum - tolerance)
    }
}

/// Sweeps at each branch, and the share of the open gap that each must close.
const NODE_SWEEPS: usize = 4;
const LEAST_GAIN: f64 = 0.1;

/// A search; `action` is the best found, `open` bounds what was left unsearched.
pub(crate) struct BranchAndBound<'a> {
    model: &'a FactorModel,
    dual: Dual,
    limits: Limits,
    pub action: Vec<usize>,
    pub nodes: usize,
    pub open: f64,
    /// The variable whose last value was a dead end: it is asked again first.
    last_conflict: Option<usize>,
    states: Vec<State>,
    ranked: Vec<Vec<RankedValue>>,
}

impl<'a> BranchAndBound<'a> {
    pub(crate) fn new(model: &'a FactorModel, known: f64, limits: Limits) -> Self {
        let mut dual = Dual::new(model);
        dual.cutoff = limits.cutoff(known);
        Self {
            model,
            dual,
            limits,
            action: vec![0; model.n_variables()],
            nodes: 0,
            open: f64::NEG_INFINITY,
            last_conflict: None,
            states: Vec::new(),
            ranked: Vec::new(),
        }
    }

    /// Searches everything that may beat the cutoff, or until a limit.
    pub(crate) fn run(&mut self, sweeps: usize) {
        self.node(0, sweeps, 1e-3);
    }

    /// Searches below the current state; false if the bound closes it at once.
    fn node(&mut self, depth: usize, sweeps: usize, least_gain: f64) -> bool {
        self.nodes += 1;
        if !pulp::Arch::new().dispatch(Sweeps { dual: &mut self.dual, count: sweeps, least_gain }) {
            return false;
        }
        let again = self.last_conflict.filter(|&v| self.dual.state.n_remaining[v] > 1);
        let Some(variable) = again.or_else(|| self.dual.branching_variable()) else {
            self.leaf();
            return true;
        };
        if self.states.len() == depth {
            self.states.push(State::default());
            self.ranked.push(Vec::new());
        }
        let mut ranked = std::mem::take(&mut self.ranked[depth]);
        pulp::Arch::new().dispatch(Rank { dual: &mut self.dual, variable, ranked: &mut ranked });
        self.states[depth].copy_from(&self.dual.state);
        for (index, &RankedValue { bound, value }) in ranked.iter().enumerate() {
            if bound <= self.dual.cutoff {
                break;
            }
            if self.stopped() {
                self.open = self.open.max(bound);
                break;
            }
            if index > 0 {
                let state = std::mem::take(&mut self.states[depth]);
                self.dual.restore(&state);
                self.states[depth] = state;
            }
            self.dual.assign(variable, value);
            let remaining = pulp::Arch::new().dispatch(Update { dual: &mut self.dual, variable });
            if !remaining || !self.node(depth + 1, NODE_SWEEPS, LEAST_GAIN) {
                self.last_conflict = Some(variable);
            } else if self.last_conflict == Some(variable) {
                self.last_conflict = None;
            }
        }
        self.ranked[depth] = ranked;
        true
    }

    /// Every variable is decided: a better answer than the best so far, if its value says so.
    fn leaf(&mut self) {
        let action: Vec<usize> =
            (0..self.dual.n_variables()).filter_map(|v| self.dual.remaining(v).next()).collect();
        let limit = self.limits.cutoff(self.model.value(&action));
        if limit > self.dual.cutoff {
            self.dual.cutoff = limit;
            self.action = action;
        }
    }

    fn stopped(&self) -> bool {
        self.nodes >= self.limits.nodes
            || self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

struct Rank<'a> {
    dual: &'a mut Dual,
    variable: usize,
    ranked: &'a mut Vec<RankedValue>,
}

impl pulp::WithSimd for Rank<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        self.dual.ranked(simd, self.variable, self.ranked);
    }
}

/// Updates one variable; false when nothing beats the cutoff.
pub(crate) struct Update<'a> {
    pub dual: &'a mut Dual,
    pub variable: usize,
}

impl pulp::WithSimd for Update<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> bool {
        self.dual.update(simd, self.variable, Direction::Forward)
            && self.dual.state.bound > self.dual.cutoff
    }
}
