//! A policy that all agents share: each agent's action probabilities from what it sees.

use super::{
    approximator::{Approximator, Shape},
    ppo::{PpoOptions, Taken, draw, log_softmax, policy_loss},
    rollout::{Acted, Rollout},
};
use crate::{
    algorithm::{
        AgentFrames,
        action_masks::ActionMasks,
        agent_row_width,
        weights::{load_weights, save_weights},
        write_agent_rows,
    },
    checkpoint::Checkpoint,
    environment::{Batch, Policy, Spec},
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
    frames: AgentFrames,
    masks: ActionMasks,
    /// What was drawn, in the frames of the agents.
    drawn: Vec<usize>,
    outputs: Vec<f32>,
    log_probabilities: Vec<f32>,
    /// Environments that acted last.
    slots: Vec<usize>,
}

impl SoftmaxPolicy {
    /// A fresh policy.
    pub(super) fn new(options: &PpoOptions, spec: &Spec, rng: &mut Rng) -> Self {
        let agent_width = agent_row_width(spec, options.identity);
        Self {
            net: Approximator::new(&widths(options, spec), LAST_GAIN, options.adam, rng),
            n_agents: spec.n_agents(),
            identity: options.identity,
            agent_width,
            seen: Vec::new(),
            frames: AgentFrames::default(),
            masks: ActionMasks::default(),
            drawn: Vec::new(),
            outputs: Vec::new(),
            log_probabilities: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// Draws the actions of all agents in all environments.
    pub(super) fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let Self { seen, frames, .. } = self;
        write_agent_rows(batch.view, batch.states, self.identity, seen, frames);
        self.net.outputs(&self.seen, &mut self.outputs);
        self.log_probabilities.clear();
        self.slots.clear();
        self.slots.extend_from_slice(batch.slots);
        self.masks.read(batch.view, batch.states);
        self.masks.name(&self.frames);
        self.drawn.clear();
        let rows = self.outputs.chunks_exact_mut(batch.view.spec().n_actions());
        let mut rows = rows.enumerate();
        for (action, rng) in actions.iter_mut().zip(rngs) {
            action.clear();
            for (row, logits) in rows.by_ref().take(self.n_agents) {
                self.masks.forbid(row, logits);
                log_softmax(logits);
                let chosen = draw(logits, rng);
                self.log_probabilities.push(logits[chosen]);
                self.drawn.push(chosen);
                action.push(self.frames.world(row, chosen));
            }
        }
    }

    /// How the agents of an environment acted last.
    pub(super) fn last(&self, slot: usize) -> Acted<'_> {
        let n = self.n_agents;
        let width = n * self.agent_width;
        let index = self.slots.binary_search(&slot).unwrap_or_default();
        Acted {
            seen: &self.seen[index * width..][..width],
            frames: &self.frames.symmetries[index * n..][..n],
            actions: &self.drawn[index * n..][..n],
            log_probabilities: &self.log_probabilities[index * n..][..n],
            allowed: self.masks.state(index, n),
        }
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
            let taken = Taken {
                action: rollout.actions[place],
                log_probability: rollout.log_probabilities[place],
                advantage: advantages[place],
                allowed: rollout.allowed(place),
            };
            policy_loss(logits, taken, options.clip, options.entropy, d_logits).into()
        })
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
#[derive(Clone)]
pub(super) struct GreedyPolicy {
    shape: Arc<Shape>,
    parameters: Arc<Vec<f32>>,
    identity: bool,
    masks: ActionMasks,
    logits: Vec<f32>,
    seen: Vec<f32>,
    frames: AgentFrames,
    chosen: Vec<usize>,
    workspace: MlpWorkspace,
}

impl GreedyPolicy {
    /// What a checkpoint holds.
    pub(super) fn load(
        options: &PpoOptions,
        spec: &Spec,
        weights: &Checkpoint<'_>,
    ) -> Result<Self> {
        let shape = Arc::new(Shape::new(&widths(options, spec)));
        let mut parameters = vec![0.0; shape.layout.len()];
        load_weights(&shape.layout, NAME, weights, &mut parameters)?;
        Ok(Self {
            shape,
            parameters: Arc::new(parameters),
            identity: options.identity,
            masks: ActionMasks::default(),
            logits: Vec::new(),
            seen: Vec::new(),
            frames: AgentFrames::default(),
            chosen: Vec::new(),
            workspace: MlpWorkspace::default(),
        })
    }
}

/// Widths of the actor's layers.
fn widths(options: &PpoOptions, spec: &Spec) -> Vec<usize> {
    let inputs = agent_row_width(spec, options.identity);
    [&[inputs], &options.hidden[..], &[spec.n_actions()]].concat()
}

impl Policy for GreedyPolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        let Self { shape, parameters, masks, seen, frames, chosen, workspace, .. } = self;
        let n_actions = batch.view.spec().n_actions();
        let n_rows = write_agent_rows(batch.view, batch.states, self.identity, seen, frames);
        let logits = shape.mlp.forward(parameters, seen, n_rows, workspace);
        masks.read(batch.view, batch.states);
        masks.name(frames);
        chosen.clear();
        if masks.forbids() {
            let rows = logits.write_rows(&mut self.logits).chunks_exact_mut(n_actions);
            chosen.extend(rows.enumerate().map(|(row, logits)| masks.best(row, logits)));
        } else {
            logits.argmax(n_actions, |action| chosen.push(action));
        }
        frames.write_joint(chosen, actions);
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}
