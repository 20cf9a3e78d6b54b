//! What each agent expects of its own action, for the algorithms that learn nothing else (IQL, VDN):
//! they differ in their loss alone.

use super::{
    JointValue, Networks, QLearningOptions, ValueBased,
    agent_network::{AgentNetwork, AgentNetworkOptions},
    joint_batch::JointBatch,
    usual_exploration,
};
use crate::{
    environment::{Batch, Spec, View},
    error::Result,
    graph::JointAction,
    nn::Layout,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// The options of such an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentValueOptions {
    /// The agents' network.
    pub network: AgentNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
}

impl Default for AgentValueOptions {
    fn default() -> Self {
        Self {
            network: AgentNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
        }
    }
}

/// What the agents of a batch expect, transition by transition.
#[derive(Clone, Copy)]
pub(in crate::algorithm) struct Expected<'a> {
    /// Q(o_i, a_i) of the actions taken.
    pub(super) values: &'a [f32],
    /// Q̄(o_i', argmax_a Q(o_i', a)).
    pub(super) next_values: &'a [f32],
    /// Size of the team.
    pub(super) n_agents: usize,
}

/// An algorithm that is its loss.
pub(in crate::algorithm) trait AgentLoss: Send + Sync + 'static {
    /// The name users write.
    const NAME: &'static str;

    /// The mean loss of a batch; writes its gradient with respect to every value.
    fn loss(batch: &JointBatch, expected: Expected<'_>, d_values: &mut [f32]) -> f32;
}

impl<L: AgentLoss> ValueBased for L {
    type Options = AgentValueOptions;
    const NAME: &'static str = L::NAME;

    fn sizes(options: &AgentValueOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        vec![options.network.sizes(spec)]
    }

    fn value(options: &AgentValueOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        Ok(Box::new(AgentValue::<L>::new(options, spec)))
    }

    fn learning(options: &AgentValueOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &AgentValueOptions) -> bool {
        !options.network.identity
    }
}

/// The value with its buffers.
pub(super) struct AgentValue<L> {
    layout: Layout,
    agents: AgentNetwork,
    loss: PhantomData<L>,
}

impl<L> AgentValue<L> {
    pub(super) fn new(options: &AgentValueOptions, spec: &Spec) -> Self {
        let mut layout = Layout::default();
        let agents = AgentNetwork::new(&options.network, spec, &mut layout);
        Self { layout, agents, loss: PhantomData }
    }
}

impl<L: AgentLoss> JointValue for AgentValue<L> {
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
        let n_agents = view.spec().n_agents();
        let loss = L::loss(batch, Expected { values, next_values, n_agents }, d_values);
        self.agents.backward(networks.online, gradient);
        loss
    }

    fn boxed_clone(&self) -> Box<dyn JointValue> {
        let Self { layout, agents, loss } = self;
        Box::new(Self { layout: layout.clone(), agents: agents.clone(), loss: *loss })
    }
}
