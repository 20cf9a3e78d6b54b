//! A policy that all agents share: each agent's action probabilities from what it sees.

use super::{
    agent_rows::{agent_row_width, write_agent_rows},
    approximator::{Approximator, Shape},
    ppo::{Deed, PpoOptions, draw, log_softmax, policy_loss},
    rollout::Rollout,
    weights::{load_weights, save_weights},
};
use crate::{
    checkpoint::Checkpoint,
    environment::Spec,
    episode::{Player, Batch},
    error::Result,
    graph::JointAction,
    nn::MlpWorkspace,
    rng::Rng,
};
use std::sync::Arc;

/// Name of the policy's tensors in checkpoints.
const NAME: &str = "policy";
/// The first action probabilities are nearly equal.
const LAST_GAIN: f64 = 0.01;

/// The policy while it learns.
pub(super) struct SoftmaxPolicy {
    net: Approximator,
    n_agents: usize,
    identity: bool,
    agent_width: usize,
    seen: Vec<f32>,
    outputs: Vec<f32>,
    log_probabilities: Vec<f32>,
}

impl SoftmaxPolicy {
    /// A fresh policy.
    pub(super) fn new(options: &PpoOptions, spec: &Spec, rng: &mut Rng) -> Self {
        let agent_width = agent_row_width(spec, options.identity);
        let widths = [&[agent_width], &options.hidden[..], &[spec.n_actions()]].concat();
        Self {
            net: Approximator::new(&widths, LAST_GAIN, options.adam, rng),
            n_agents: spec.n_agents(),
            identity: options.identity,
            agent_width,
            seen: Vec::new(),
            outputs: Vec::new(),
            log_probabilities: Vec::new(),
        }
    }

    /// Draws the actions of all agents in all environments.
    pub(super) fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        write_agent_rows(batch.view, batch.states, self.identity, &mut self.seen);
        self.net.outputs(&self.seen, &mut self.outputs);
        self.log_probabilities.clear();
        let mut rows = self.outputs.chunks_exact_mut(batch.view.spec().n_actions());
        for (action, rng) in actions.iter_mut().zip(rngs) {
            action.clear();
            for row in rows.by_ref().take(self.n_agents) {
                log_softmax(row);
                let chosen = draw(row, rng);
                self.log_probabilities.push(row[chosen]);
                action.push(chosen);
            }
        }
    }

    /// What the agents of an environment saw when they last acted, and how probable their actions were.
    pub(super) fn last(&self, slot: usize) -> (&[f32], &[f32]) {
        let n = self.n_agents;
        let width = n * self.agent_width;
        (&self.seen[slot * width..][..width], &self.log_probabilities[slot * n..][..n])
    }

    /// One step towards the actions that went well at some places; returns loss and entropy.
    pub(super) fn improve(
        &mut self,
        options: &PpoOptions,
        lr_share: f32,
        rollout: &Rollout,
        advantages: &[f32],
        rows: &[f32],
        places: &[usize],
    ) -> [f32; 2] {
        let lr = options.lr * lr_share;
        self.net.descend(rows, lr, options.max_grad_norm, |row, logits, d_logits| {
            let place = places[row];
            let deed = Deed {
                action: rollout.actions[place],
                log_probability: rollout.log_probabilities[place],
                advantage: advantages[place],
            };
            policy_loss(logits, deed, options.clip, options.entropy, d_logits).into()
        })
    }

    /// The policy as it is now, choosing each agent's most probable action.
    pub(super) fn freeze(&self) -> GreedyPolicy {
        GreedyPolicy {
            shape: Arc::clone(&self.net.shape),
            parameters: self.net.parameters.clone(),
            identity: self.identity,
            seen: Vec::new(),
            workspace: MlpWorkspace::default(),
        }
    }

    /// Writes what playing needs.
    pub(super) fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_weights(&self.net.shape.layout, NAME, &self.net.parameters, checkpoint);
    }

    /// Takes the weights of [`Self::save_model`] or [`Self::save`].
    pub(super) fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        load_weights(&self.net.shape.layout, NAME, checkpoint, &mut self.net.parameters)
    }

    /// Writes everything needed to go on exactly from here.
    pub(super) fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.net.save(NAME, checkpoint);
    }

    /// Reads back what [`Self::save`] wrote.
    pub(super) fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.net.load(NAME, checkpoint)
    }
}

/// The trained policy: the most probable action of each agent.
pub(super) struct GreedyPolicy {
    shape: Arc<Shape>,
    parameters: Vec<f32>,
    identity: bool,
    seen: Vec<f32>,
    workspace: MlpWorkspace,
}

impl Controller for GreedyPolicy {
    fn act(&mut self, batch: Batch<'_>, _rngs: &mut [Rng], actions: &mut [JointAction]) {
        let Self { shape, parameters, identity, seen, workspace } = self;
        let spec = batch.view.spec();
        let n_rows = write_agent_rows(batch.view, batch.states, *identity, seen);
        let logits = shape.mlp.forward(parameters, seen, n_rows, workspace);
        actions.iter_mut().for_each(Vec::clear);
        let mut row = 0;
        logits.argmax(spec.n_actions(), |action| {
            actions[row / spec.n_agents()].push(action);
            row += 1;
        });
    }
}
