//! IQL: every agent learns its own value from its own reward, all with the same network.
//!
//! y_i = r_i + γ Q̄(o_i', argmax_a Q(o_i', a)); the loss is the mean of ½ (Q(o_i, a_i) − y_i)².

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

/// The options of IQL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IqlOptions {
    /// The agents' network.
    pub network: AgentNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
}

impl Default for IqlOptions {
    fn default() -> Self {
        Self {
            network: AgentNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
        }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct IqlAlgorithm;

impl ValueBased for IqlAlgorithm {
    type Options = IqlOptions;
    const NAME: &'static str = "iql";

    fn sizes(options: &IqlOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        vec![options.network.sizes(spec)]
    }

    fn value(options: &IqlOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        Ok(Box::new(Iql::new(options, spec)))
    }

    fn learning(options: &IqlOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &IqlOptions) -> bool {
        !options.network.identity
    }
}

#[derive(Clone)]
struct Iql {
    layout: Layout,
    agents: AgentNetwork,
}

impl Iql {
    fn new(options: &IqlOptions, spec: &Spec) -> Self {
        let mut layout = Layout::default();
        let agents = AgentNetwork::new(&options.network, spec, &mut layout);
        Self { layout, agents }
    }
}

impl JointValue for Iql {
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
        let (n_agents, share) = (view.spec().n_agents(), 1.0 / values.len() as f32);
        let mut sum = 0.0;
        for (row, d) in d_values.iter_mut().enumerate() {
            let discount = batch.discounts[row / n_agents];
            let (loss, error) =
                squared(values[row], batch.rewards[row], discount, next_values[row]);
            sum += share * loss;
            *d = share * error;
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
        let mut options = IqlOptions::default();
        options.network.hidden = vec![7, 5];
        assert_gradient(&mut Iql::new(&options, spread.view().spec()), spread.view());
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(&IqlAlgorithm, game, |learning, exploration| {
            let mut options = IqlOptions { learning, exploration, ..IqlOptions::default() };
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
