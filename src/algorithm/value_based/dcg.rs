//! DCG (Böhmer et al.): utilities of agents and payoffs of pairs, maximised by message passing over all
//! pairs of the graph.

use super::{
    JointValue, QLearningOptions, ValueBased,
    pair_value::{PairValue, PairValueOptions, pair_value_sizes},
    usual_exploration,
};
use crate::{
    coordination::{Solver, SolverOptions},
    environment::Spec,
    error::Result,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The shape of the networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcgNetworkOptions {
    /// Widths of the encoder's layers.
    pub hidden: Vec<usize>,
    /// Width of the hidden layer of the pairs' network.
    pub pair_hidden: usize,
    /// Rank of a pair's payoff table; 0 for one output per joint action.
    pub rank: usize,
    /// Whether an agent also sees its own number.
    pub identity: bool,
}

impl Default for DcgNetworkOptions {
    fn default() -> Self {
        Self { hidden: vec![128, 64], pair_hidden: 64, rank: 4, identity: true }
    }
}

/// The options of DCG.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcgOptions {
    /// The networks.
    pub network: DcgNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
    /// The coordinator of training.
    pub coordination: SolverOptions,
    /// The coordinator of the trained policy.
    pub acting: SolverOptions,
}

impl Default for DcgOptions {
    fn default() -> Self {
        let solver = Solver::MaxSum;
        Self {
            network: DcgNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
            coordination: SolverOptions { solver, tolerance: 1e-3, ..SolverOptions::default() },
            acting: SolverOptions::default(),
        }
    }
}

impl DcgOptions {
    fn pair_value(&self) -> PairValueOptions {
        let Self { network, coordination, acting, .. } = self.clone();
        PairValueOptions { network, coordination, acting, sparseness: None }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct DcgAlgorithm;

impl ValueBased for DcgAlgorithm {
    type Options = DcgOptions;
    const NAME: &'static str = "dcg";
    const PAIRS: bool = true;

    fn sizes(options: &DcgOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        pair_value_sizes(&options.network, spec)
    }

    fn value(options: &DcgOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        let options = options.pair_value();
        options.check(Self::NAME, spec)?;
        Ok(Box::new(PairValue::new(&options, spec)))
    }

    fn learning(options: &DcgOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &DcgOptions) -> bool {
        !options.network.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{assert_gradient, learned_action, small_spread},
        environment::{Environment, matrix_game::MatrixGame},
    };

    fn options(rank: usize) -> DcgOptions {
        let network = DcgNetworkOptions { hidden: vec![6], pair_hidden: 5, rank, identity: true };
        DcgOptions { network, ..DcgOptions::default() }
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        for rank in [0, 2] {
            assert_gradient(
                &mut PairValue::new(&options(rank).pair_value(), spread.view().spec()),
                spread.view(),
            );
        }
    }

    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_solved() {
        for rank in [0, 3] {
            let learned = learned_action(
                &DcgAlgorithm,
                || MatrixGame::climbing().unwrap(),
                |learning, exploration| {
                    let mut options = DcgOptions { learning, exploration, ..DcgOptions::default() };
                    options.network.rank = rank;
                    options.network.hidden = vec![32];
                    options
                },
            );
            assert_eq!(learned, [0, 0], "rank {rank}");
        }
    }
}
