//! VDN (Sunehag et al.): the team is worth the sum of what its agents expect, learned from one error.
//!
//! Q_tot = Σ_i Q(o_i, a_i), y = r + γ Σ_i Q̄(o_i', argmax_a Q(o_i', a)); the loss is the mean of ½ (Q_tot − y)².

use super::{
    agent_value::{AgentLoss, Expected},
    joint_batch::JointBatch,
    squared,
};

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct VdnAlgorithm;

impl AgentLoss for VdnAlgorithm {
    const NAME: &'static str = "vdn";

    fn loss(batch: &JointBatch, expected: Expected<'_>, d_values: &mut [f32]) -> f32 {
        let Expected { values, next_values, n_agents } = expected;
        let share = 1.0 / batch.len() as f32;
        let mut sum = 0.0;
        for (transition, d) in d_values.chunks_exact_mut(n_agents).enumerate() {
            let team = |values: &[f32]| values[transition * n_agents..][..n_agents].iter().sum();
            let (reward, discount) = (batch.team_reward(transition), batch.discounts[transition]);
            let (loss, error) = squared(team(values), reward, discount, team(next_values));
            sum += share * loss;
            d.fill(share * error);
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
            &mut AgentValue::<VdnAlgorithm>::new(&options, spread.view().spec()),
            spread.view(),
        );
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(&VdnAlgorithm, game, |learning, exploration| {
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

    /// The best sum of two values to a table is that of its row and column means, which are largest
    /// for the last action: −6⅓, −5⅔ and 1⅔.
    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_not() {
        assert_eq!(learned(|| MatrixGame::climbing().unwrap()), [2, 2]);
    }
}
