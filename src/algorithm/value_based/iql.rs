//! IQL: every agent learns its own value from its own reward, all with the same network.
//!
//! y_i = r_i + γ Q̄(o_i', argmax_a Q(o_i', a)); the loss is the mean of ½ (Q(o_i, a_i) − y_i)².

use super::{
    agent_value::{AgentLoss, Expected},
    joint_batch::JointBatch,
    squared,
};

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct IqlAlgorithm;

impl AgentLoss for IqlAlgorithm {
    const NAME: &'static str = "iql";

    fn loss(batch: &JointBatch, expected: Expected<'_>, d_values: &mut [f32]) -> f32 {
        let Expected { values, next_values, n_agents } = expected;
        let share = 1.0 / values.len() as f32;
        let mut sum = 0.0;
        for (row, d) in d_values.iter_mut().enumerate() {
            let discount = batch.discounts[row / n_agents];
            let (loss, error) =
                squared(values[row], batch.rewards[row], discount, next_values[row]);
            sum += share * loss;
            *d = share * error;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::{
            agent_value::{AgentValue, AgentValueOptions},
            checks::{assert_gradient, learned_action, pair_game, small_spread},
        },
        environment::{Environment, matrix_game::MatrixGame},
    };

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        let mut options = AgentValueOptions::default();
        options.network.hidden = vec![7, 5];
        assert_gradient(
            &mut AgentValue::<IqlAlgorithm>::new(&options, spread.view().spec()),
            spread.view(),
        );
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(&IqlAlgorithm, game, |learning, exploration| {
            let mut options =
                AgentValueOptions { learning, exploration, ..AgentValueOptions::default() };
            options.network.hidden = vec![32];
            options
        })
    }

    #[test]
    fn a_game_that_adds_up_is_solved() {
        let (first, second) = ([1.0, 3.0, 0.0], [0.5, -1.0, 2.0]);
        let table: Vec<f32> = first.iter().flat_map(|a| second.map(|b| a + b)).collect();
        assert_eq!(learned(|| pair_game(&table)), [1, 2]);
    }

    /// While the partner plays at random an action is worth its row's mean: −6⅓, −5⅔ and 1⅔.
    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_not() {
        assert_eq!(learned(|| MatrixGame::climbing().unwrap()), [2, 2]);
    }
}
