//! The dual function d(λ) = max_π V_0^π + λ (V_1^π − b), exactly: a convex piecewise linear curve.

use super::tabular::TabularCmdp;

/// Differences below this are rounding.
const TOLERANCE: f64 = 1e-9;

/// One straight piece: a policy that maximises the Lagrangian from `from` on.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Smallest multiplier of the piece.
    pub from: f64,
    /// V_0 of its policy at the start.
    pub primary: f64,
    /// V_1 − b of its policy at the start: negative where the constraint is violated.
    pub slack: f64,
    /// Its policy.
    pub policy: Vec<usize>,
}

/// The dual function on [0, ceiling].
#[derive(Clone, Debug)]
pub struct DualFunction {
    /// By rising multiplier and rising slack.
    pub pieces: Vec<Piece>,
    ceiling: f64,
}

/// Σ_s μ(s) V(s).
pub(super) fn expected(start: &[f64], values: &[f64]) -> f64 {
    start.iter().zip(values).map(|(p, v)| p * v).sum()
}

impl DualFunction {
    /// The dual function of a problem with start distribution `start` and the constraint V_1 ≥ `least`.
    pub fn new(mdp: &TabularCmdp, start: &[f64], least: f64, ceiling: f64) -> Self {
        let at = |multiplier: f64| {
            let policy = mdp.greedy(&mdp.optimal(&mdp.lagrangian_reward(multiplier)));
            let primary = expected(start, &mdp.evaluate(&policy, &mdp.reward));
            let constraint = expected(start, &mdp.evaluate(&policy, &mdp.constraint_reward));
            Piece { from: multiplier, primary, slack: constraint - least, policy }
        };
        let first = at(0.0);
        let mut pieces = vec![first.clone()];
        split(&first, &at(ceiling), &at, &mut pieces);
        Self { pieces, ceiling }
    }

    /// d(λ).
    pub fn value(&self, multiplier: f64) -> f64 {
        let line = |piece: &Piece| piece.primary + multiplier * piece.slack;
        self.pieces.iter().map(line).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Which piece, and so which policy, maximises the Lagrangian at λ.
    pub fn piece(&self, multiplier: f64) -> usize {
        self.pieces.partition_point(|piece| piece.from <= multiplier).saturating_sub(1)
    }

    /// λ* = argmin d, the smallest where there are several.
    pub fn minimiser(&self) -> f64 {
        let feasible = self.pieces.iter().find(|piece| piece.slack >= -TOLERANCE);
        feasible.map_or(self.ceiling, |piece| piece.from)
    }

    /// argmin d as an interval: one point, unless a piece meets the constraint exactly.
    pub fn minimisers(&self) -> (f64, f64) {
        let low = self.minimiser();
        let next = self.pieces.iter().find(|piece| piece.slack > TOLERANCE);
        (low, next.map_or(self.ceiling, |piece| piece.from).max(low))
    }

    /// Distance of λ from argmin d.
    pub fn distance(&self, multiplier: f64) -> f64 {
        let (low, high) = self.minimisers();
        (low - multiplier).max(multiplier - high).max(0.0)
    }
}

/// Adds every piece between two lines: where they cross, either nothing is higher or a new line is.
fn split(low: &Piece, high: &Piece, at: &dyn Fn(f64) -> Piece, pieces: &mut Vec<Piece>) {
    let rise = high.slack - low.slack;
    if rise <= TOLERANCE {
        return;
    }
    let cross = (low.primary - high.primary) / rise;
    let middle = at(cross);
    let gain = middle.primary + cross * middle.slack - (low.primary + cross * low.slack);
    if gain <= TOLERANCE {
        pieces.push(Piece { from: cross, ..high.clone() });
        return;
    }
    split(low, &middle, at, pieces);
    split(&middle, high, at, pieces);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::{FactoredCmdp, constrained_optimum};
    use cgcmarl::graph::CoordinationGraph;

    #[test]
    fn the_pieces_are_the_maximum_over_policies() {
        let mdp = FactoredCmdp::numbered(CoordinationGraph::path(2), (2, 2), 0.8, 3, 1).joint();
        let start = vec![0.25; 4];
        let dual = DualFunction::new(&mdp, &start, -1.0, 50.0);
        for multiplier in [0.0, 0.3, 1.0, 2.5, 20.0] {
            let q = mdp.optimal(&mdp.lagrangian_reward(multiplier));
            let exact = expected(&start, &mdp.state_values(&q)) + multiplier;
            assert!((dual.value(multiplier) - exact).abs() < 1e-7, "{multiplier}");
            let piece = &dual.pieces[dual.piece(multiplier)];
            assert!((piece.primary + multiplier * piece.slack - exact).abs() < 1e-7);
        }
        assert!(dual.pieces.windows(2).all(|w| w[0].from <= w[1].from && w[0].slack < w[1].slack));
    }

    #[test]
    fn its_minimum_is_the_constrained_optimum() {
        for number in 0..5 {
            let cmdp = FactoredCmdp::numbered(CoordinationGraph::path(2), (2, 2), 0.8, 4, number);
            let mdp = cmdp.joint();
            let start = vec![0.25; 4];
            let free = DualFunction::new(&mdp, &start, 0.0, 1e3).pieces;
            let least = f64::midpoint(free[0].slack, free[free.len() - 1].slack);
            let dual = DualFunction::new(&mdp, &start, least, 1e3);
            let optimum = constrained_optimum(&mdp, &start, least).unwrap();
            assert!((dual.value(dual.minimiser()) - optimum).abs() < 1e-6);
        }
    }
}
