//! IQL: every agent learns its own value from its own reward, all with the same network.
//!
//! y_i = r_i + γ Q̄(o_i', argmax_a Q(o_i', a)); the loss is the mean of ½ (Q(o_i, a_i) − y_i)².

use super::{
    Setting,
    agent_network::{AgentNetwork, AgentNetworkOptions},
    joint_batch::JointBatch,
    q_learning::{JointValue, Networks, QLearner, QLearningOptions, squared, usual_exploration},
};
use crate::{
    environment::{Spec, View},
    episode::Batch,
    error::Result,
    graph::JointAction,
    nn::Layout,
    rng::Streams,
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

impl IqlOptions {
    /// A fresh learner.
    pub fn learner(
        &self,
        spec: &Spec,
        setting: Setting,
        total_steps: u64,
        streams: Streams,
    ) -> Result<QLearner> {
        let value = Box::new(Iql::new(self, spec));
        let Self { learning, exploration, .. } = self;
        QLearner::new(value, learning, *exploration, (spec, setting), total_steps, streams)
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
        self.agents.backward(networks.online, batch, gradient);
        sum
    }

    fn policy(&self) -> Box<dyn JointValue> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::q_checks::{assert_gradient, learned_action, pair_game, small_spread},
        environment::{Environment, matrix_game::MatrixGame},
    };

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let world = small_spread();
        let mut options = IqlOptions::default();
        options.network.hidden = vec![7, 5];
        assert_gradient(&mut Iql::new(&options, world.view().spec()), world.view());
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(game, |spec, learning, exploration| {
            let mut options = IqlOptions { learning, exploration, ..IqlOptions::default() };
            options.network.hidden = vec![32];
            options.learner(spec, Setting::MixingRatio(0.0), 1, Streams::new(1)).unwrap()
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
