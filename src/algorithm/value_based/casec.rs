//! CASEC (Wang et al., Context-Aware Sparse Deep Coordination Graphs): DCG whose graph is chosen anew in
//! every state, from the payoffs themselves.
//!
//! A pair is worth max over a_i of `Var_{a_j}` q_ij(a_i, a_j), of either member (`q_var`); the share of the pairs
//! that are worth most exchange messages, for targets as the target network ranks them. Values are those
//! of all pairs, and the loss is DCG's with λ · 1/(N (N − 1) A) Σ_(i≠j) Σ_(a_i) `Var_{a_j}` q_ij(a_i, a_j), which
//! takes away what varies for no reason. Payoffs are DCG's, without the action representations of
//! the publication and without utilities inside the payoffs, as its code has them.

use super::{
    JointValue, QLearningOptions, ValueBased,
    dcg::DcgNetworkOptions,
    pair_value::{PairValue, PairValueOptions, pair_value_sizes},
    usual_exploration,
};
use crate::{
    coordination::{OtherPairs, Solver, SolverOptions},
    environment::Spec,
    error::{Error, Result, within},
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The options of CASEC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CasecOptions {
    /// λ of the loss that makes payoffs vary less.
    pub sparseness: f32,
    /// The networks.
    pub network: DcgNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
    /// The coordinator of training, and the share of the pairs it is given.
    pub coordination: SolverOptions,
    /// The coordinator of the trained policy, and the share of the pairs it is given.
    pub acting: SolverOptions,
}

impl Default for CasecOptions {
    fn default() -> Self {
        let acting = SolverOptions {
            kept_pairs: 0.3,
            other_pairs: OtherPairs::Dropped,
            ..SolverOptions::default()
        };
        let solver = Solver::MaxSum;
        Self {
            sparseness: 1e-4,
            network: DcgNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
            coordination: SolverOptions { solver, tolerance: 1e-3, ..acting.clone() },
            acting,
        }
    }
}

impl CasecOptions {
    fn pair_value(&self) -> PairValueOptions {
        let Self { network, coordination, acting, .. } = self.clone();
        PairValueOptions { network, coordination, acting, sparseness: Some(self.sparseness) }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct CasecAlgorithm;

impl ValueBased for CasecAlgorithm {
    type Options = CasecOptions;
    const NAME: &'static str = "casec";
    const PAIRS: bool = true;

    fn sizes(options: &CasecOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        pair_value_sizes(&options.network, spec)
    }

    fn value(options: &CasecOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        within("sparseness", options.sparseness, 0.0..=1e6)?;
        for solver in [&options.coordination, &options.acting] {
            if solver.other_pairs != OtherPairs::Dropped {
                let reason = "casec leaves the pairs out that it does not keep; use `dropped`";
                return Err(Error::setting("other_pairs", "additive", reason));
            }
        }
        let options = options.pair_value();
        options.check(Self::NAME, spec)?;
        Ok(Box::new(PairValue::new(&options, spec)))
    }

    fn learning(options: &CasecOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &CasecOptions) -> bool {
        !options.network.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{assert_gradient, learned_action, small_spread},
        environment::{
            Environment,
            matrix_game::{MatrixGame, RegionTables},
        },
        graph::CoordinationGraph,
    };

    /// With a weight that makes the sparseness a good part of the loss.
    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        for rank in [0, 2] {
            let network =
                DcgNetworkOptions { hidden: vec![6], pair_hidden: 5, rank, identity: true };
            let options = CasecOptions { network, sparseness: 5.0, ..CasecOptions::default() };
            let value = &mut PairValue::new(&options.pair_value(), spread.view().spec());
            assert_gradient(value, spread.view());
        }
    }

    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_solved() {
        let learned = learned_action(
            &CasecAlgorithm,
            || MatrixGame::climbing().unwrap(),
            |learning, exploration| {
                let network =
                    DcgNetworkOptions { hidden: vec![32], ..DcgNetworkOptions::default() };
                CasecOptions { network, learning, exploration, ..CasecOptions::default() }
            },
        );
        assert_eq!(learned, [0, 0]);
    }

    /// Three agents, and messages along one pair only: the one whose best joint action is surrounded by
    /// penalties, away from which the others pay its members.
    #[test]
    fn the_pair_that_matters_is_the_one_that_is_kept() {
        let alone = RegionTables { reward: [0.0, 0.0, 1.0].repeat(3), costs: vec![vec![0.0; 9]] };
        let penalties = [11.0, -30.0, 0.0, -30.0, 7.0, 6.0, 0.0, 0.0, 5.0].to_vec();
        let climbing = RegionTables { reward: penalties, costs: vec![vec![0.0; 9]] };
        let tables = || vec![alone.clone(), alone.clone(), climbing.clone()];
        let learned = learned_action(
            &CasecAlgorithm,
            || MatrixGame::new(CoordinationGraph::complete(3), 3, 1, tables()).unwrap(),
            |learning, exploration| {
                let network =
                    DcgNetworkOptions { hidden: vec![32], ..DcgNetworkOptions::default() };
                CasecOptions { network, learning, exploration, ..CasecOptions::default() }
            },
        );
        assert_eq!(learned[1..], [0, 0]);
    }

    #[test]
    fn pairs_that_are_left_out_count_nothing() {
        let mut options = CasecOptions::default();
        options.acting.other_pairs = OtherPairs::Additive;
        let spread = small_spread();
        let told = CasecAlgorithm::value(&options, spread.view().spec()).err().unwrap().to_string();
        assert!(told.contains("other_pairs") && told.contains("dropped"), "{told}");
    }
}
