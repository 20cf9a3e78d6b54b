//! A network that cannot represent every function, small enough to know what it can.
//!
//! A network of m units here has m values: one for all states and actions of a group. Its best fit in the
//! largest error is the middle of each group, so ε_NN = min_θ ‖Q_θ − Q*‖ is half the widest group. What it
//! learns is the fixed point of fit ∘ Bellman, a contraction by γ.

use super::{
    figure::largest,
    tabular::{TabularCmdp, sup_distance},
};
use cgcmarl::rng::Rng;

/// Changes below this end an iteration.
const TOLERANCE: f64 = 1e-9;

/// The value that a network gives to a group: from the lowest and the highest that it should give.
pub type GroupFit = fn(f64, f64) -> f64;

/// A network: which of its units answers for each state and action.
pub(super) struct Network {
    pub(super) unit_of: Vec<usize>,
    pub(super) n_units: usize,
    pub(super) fit: GroupFit,
}

impl Network {
    /// Groups drawn at random, none of them empty.
    pub(super) fn random(n_rows: usize, n_units: usize, fit: GroupFit, rng: &mut Rng) -> Self {
        let n_units = n_units.min(n_rows);
        let mut unit_of: Vec<usize> =
            (0..n_rows).map(|row| if row < n_units { row } else { rng.below(n_units) }).collect();
        for last in (1..n_rows).rev() {
            unit_of.swap(last, rng.below(last + 1));
        }
        Self { unit_of, n_units, fit }
    }

    /// Lowest and highest number of each group.
    fn ranges(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); self.n_units];
        for (&unit, &value) in self.unit_of.iter().zip(values) {
            ranges[unit] = (ranges[unit].0.min(value), ranges[unit].1.max(value));
        }
        ranges
    }

    /// ε_NN of a function: how near the network can come to it.
    pub(super) fn error(&self, values: &[f64]) -> f64 {
        largest(self.ranges(values).iter().map(|(low, high)| 0.5 * (high - low)))
    }

    /// The network's fit to a function.
    pub(super) fn project(&self, values: &[f64]) -> Vec<f64> {
        let ranges = self.ranges(values);
        self.unit_of.iter().map(|&unit| (self.fit)(ranges[unit].0, ranges[unit].1)).collect()
    }

    /// What Q-learning ends at: Q = fit(r + γ P max Q).
    pub(super) fn learn(&self, mdp: &TabularCmdp, reward: &[f64]) -> Vec<f64> {
        let mut q = self.project(reward);
        loop {
            let next = self.project(&mdp.bellman(reward, &q));
            let change = sup_distance(&next, &q);
            q = next;
            if change <= TOLERANCE * (1.0 - mdp.gamma) {
                return q;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::FactoredCmdp;
    use cgcmarl::{
        graph::CoordinationGraph,
        rng::{Purpose, Streams},
    };

    #[test]
    fn the_middle_of_a_group_is_its_best_fit() {
        let network = Network { unit_of: vec![0, 1, 0, 1], n_units: 2, fit: f64::midpoint };
        let values = [1.0, 5.0, 4.0, 6.0];
        assert_eq!(network.project(&values), [2.5, 5.5, 2.5, 5.5]);
        assert_eq!(network.error(&values), 1.5);
        assert_eq!(sup_distance(&network.project(&values), &values), 1.5);
    }

    #[test]
    fn a_network_with_a_unit_for_everything_learns_the_values() {
        let mdp = FactoredCmdp::numbered(CoordinationGraph::path(2), (2, 2), 0.8, 1, 0).joint();
        let mut rng = Streams::new(1).rng(Purpose::Initialisation, 0);
        let network = Network::random(16, 16, f64::midpoint, &mut rng);
        let best = mdp.optimal(&mdp.reward);
        assert_eq!(network.error(&best), 0.0);
        assert!(sup_distance(&network.learn(&mdp, &mdp.reward), &best) < 1e-7);
        let few = Network::random(16, 3, f64::midpoint, &mut rng);
        assert!((0..3).all(|unit| few.unit_of.contains(&unit)));
        assert!(few.error(&best) > 0.0);
    }
}
