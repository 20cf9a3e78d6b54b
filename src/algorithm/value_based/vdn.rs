//! VDN (Sunehag et al.): the team is worth the sum of what its agents expect, learned from one error.
//!
//! Q_tot = Σ_i Q(o_i, a_i), y = r + γ Σ_i Q̄(o_i', argmax_a Q(o_i', a)); the loss is the mean of ½ (Q_tot − y)².

use super::{
    JointValue, Networks, QLearningOptions, ValueBased,
    agent_network::{AgentNetwork, AgentNetworkOptions},
    joint_batch::JointBatch,
    squared, usual_exploration,
};
use crate::{
    environment::{Batch, Spec, View},
    error::Result,
    graph::JointAction,
    nn::Layout,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The options of VDN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VdnOptions {
    /// The agents' network.
    pub network: AgentNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
}

impl Default for VdnOptions {
    fn default() -> Self {
        Self {
            network: AgentNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
        }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct VdnAlgorithm;

impl ValueBased for VdnAlgorithm {
    type Options = VdnOptions;
    const NAME: &'static str = "vdn";

    fn sizes(options: &VdnOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        vec![options.network.sizes(spec)]
    }

    fn value(options: &VdnOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        Ok(Box::new(Vdn::new(options, spec)))
    }

    fn learning(options: &VdnOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &VdnOptions) -> bool {
        !options.network.identity
    }
}

#[derive(Clone)]
struct Vdn {
    layout: Layout,
    agents: AgentNetwork,
}

impl Vdn {
    fn new(options: &VdnOptions, spec: &Spec) -> Self {
        let mut layout = Layout::default();
        let agents = AgentNetwork::new(&options.network, spec, &mut layout);
        Self { layout, agents }
    }
}

impl JointValue for Vdn {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]) {
        self.agents.act(parameters, batch, actions);
    }

    fn learn(
        &mut self,
        networks: Networks<'_>,
        view: &dyn View,
        batch: &JointBatch,
        gradient: &mut [f32],
    ) -> f32 {
        self.agents.evaluate(networks, view, batch);
        let AgentNetwork { values, next_values, d_values, .. } = &mut self.agents;
        let (n_agents, share) = (view.spec().n_agents(), 1.0 / batch.len() as f32);
        let mut sum = 0.0;
        for (transition, d) in d_values.chunks_exact_mut(n_agents).enumerate() {
            let team = |values: &[f32]| values[transition * n_agents..][..n_agents].iter().sum();
            let (reward, discount) = (batch.team_reward(transition), batch.discounts[transition]);
            let (loss, error) = squared(team(values), reward, discount, team(next_values));
            sum += share * loss;
            d.fill(share * error);
        }
        self.agents.backward(networks.online, gradient);
        sum
    }

    fn boxed_clone(&self) -> Box<dyn JointValue> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{
            assert_gradient, learned_action, pair_game, small_spread,
        },
        environment::{Environment, matrix_game::MatrixGame},
    };

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        let mut options = VdnOptions::default();
        options.network.hidden = vec![7, 5];
        assert_gradient(&mut Vdn::new(&options, spread.view().spec()), spread.view());
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(&VdnAlgorithm, game, |learning, exploration| {
            let mut options = VdnOptions { learning, exploration, ..VdnOptions::default() };
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
