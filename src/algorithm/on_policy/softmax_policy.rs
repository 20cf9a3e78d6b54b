//! Each agent's action probabilities from what it sees: by a network that all agents share, or by one of its
//! own.

use super::{
    PpoOptions,
    approximator::{Approximator, Shape},
    multiplier_input::write_multipliers,
    ppo::{Taken, draw, log_softmax, policy_loss},
    rollout::{Acted, Rollout},
};
use crate::{
    algorithm::{
        AgentFrames,
        action_masks::ActionMasks,
        agent_row_width,
        weights::{load_weights, save_weights},
        write_wider_rows,
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
    /// One for all agents, or one for each.
    pub(super) nets: Vec<Approximator>,
    own_rows: Vec<f32>,
    own_outputs: Vec<f32>,
    /// Of the team that acted last.
    n_agents: usize,
    identity: bool,
    agent_width: usize,
    n_multipliers: usize,
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
    /// A fresh policy of so many networks that see so many multipliers.
    pub(super) fn new(
        options: &PpoOptions,
        spec: &Spec,
        (n_nets, n_multipliers): (usize, usize),
        rng: &mut Rng,
    ) -> Self {
        let agent_width = agent_row_width(spec, options.identity) + n_multipliers;
        let shape = || shape(options, spec, n_multipliers);
        let net = |_| Approximator::new(shape(), LAST_GAIN, options.adam, rng);
        Self {
            nets: (0..n_nets).map(net).collect(),
            own_rows: Vec::new(),
            own_outputs: Vec::new(),
            n_agents: spec.n_agents(),
            identity: options.identity,
            agent_width,
            n_multipliers,
            seen: Vec::new(),
            frames: AgentFrames::default(),
            masks: ActionMasks::default(),
            drawn: Vec::new(),
            outputs: Vec::new(),
            log_probabilities: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// Draws the actions of all agents in all environments, given the multipliers of each.
    pub(super) fn act(
        &mut self,
        batch: Batch<'_>,
        multipliers: &[f32],
        rngs: &mut [Rng],
        actions: &mut [JointAction],
    ) {
        let Self { seen, frames, n_multipliers: n, .. } = self;
        write_wider_rows(batch.view, batch.states, (self.identity, *n), seen, frames);
        self.n_agents = batch.view.spec().n_agents();
        if *n > 0 {
            let rows = seen.chunks_exact_mut(self.n_agents * self.agent_width);
            for (rows, slot) in rows.zip(batch.slots) {
                write_multipliers(&multipliers[slot * *n..][..*n], self.agent_width, rows);
            }
        }
        self.evaluate(batch.view.spec().n_actions());
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

    /// Writes the outputs of all rows, by the network of each agent.
    fn evaluate(&mut self, n_actions: usize) {
        let Self { nets, seen, outputs, own_rows, own_outputs, .. } = self;
        if let [net] = &mut nets[..] {
            return net.outputs(seen, outputs);
        }
        let n_agents = nets.len();
        outputs.resize(seen.len() / self.agent_width * n_actions, 0.0);
        for (agent, net) in nets.iter_mut().enumerate() {
            gather(seen, self.agent_width, (agent, n_agents), own_rows);
            net.outputs(own_rows, own_outputs);
            scatter(own_outputs, n_actions, (agent, n_agents), outputs);
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
        self.nets[0].descend(rows, lr, options.max_grad_norm, |row, logits, d_logits| {
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
        for (index, net) in self.nets.iter().enumerate() {
            let name = name(index, self.nets.len());
            save_weights(&net.shape.layout, &name, &net.parameters, checkpoint);
        }
    }

    /// Takes the weights of [`Self::save_model`] or [`Self::save`].
    pub(super) fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let n_nets = self.nets.len();
        for (index, net) in self.nets.iter_mut().enumerate() {
            let name = name(index, n_nets);
            load_weights(&net.shape.layout, &name, checkpoint, &mut net.parameters)?;
        }
        Ok(())
    }

    /// Writes everything needed to go on exactly from here.
    pub(super) fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        for (index, net) in self.nets.iter().enumerate() {
            net.save(&name(index, self.nets.len()), checkpoint);
        }
    }

    /// Reads back what [`Self::save`] wrote.
    pub(super) fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let n_nets = self.nets.len();
        let mut nets = self.nets.iter_mut().enumerate();
        nets.try_for_each(|(index, net)| net.load(&name(index, n_nets), checkpoint))
    }
}

/// Name of a network's tensors in checkpoints.
fn name(index: usize, n_nets: usize) -> String {
    if n_nets == 1 { NAME.into() } else { format!("{NAME}_{index}") }
}

/// Copies the rows of one agent.
fn gather(rows: &[f32], width: usize, (agent, n_agents): (usize, usize), own: &mut Vec<f32>) {
    own.clear();
    let rows = rows.chunks_exact(width).skip(agent).step_by(n_agents);
    rows.for_each(|row| own.extend_from_slice(row));
}

/// Writes the rows of one agent to where they belong.
fn scatter(own: &[f32], width: usize, (agent, n_agents): (usize, usize), rows: &mut [f32]) {
    let rows = rows.chunks_exact_mut(width).skip(agent).step_by(n_agents);
    rows.zip(own.chunks_exact(width)).for_each(|(row, own)| row.copy_from_slice(own));
}

/// The trained policy: the most probable action of each agent.
#[derive(Clone)]
pub(super) struct GreedyPolicy {
    shape: Arc<Shape>,
    /// Of one network for all agents, or of one for each.
    parameters: Arc<Vec<Vec<f32>>>,
    identity: bool,
    /// What it sees of multipliers; none where it was trained without.
    multipliers: Vec<f32>,
    masks: ActionMasks,
    inputs: Vec<f32>,
    logits: Vec<f32>,
    own_rows: Vec<f32>,
    own_logits: Vec<f32>,
    seen: Vec<f32>,
    frames: AgentFrames,
    chosen: Vec<usize>,
    workspace: MlpWorkspace,
}

impl GreedyPolicy {
    /// What a checkpoint holds, of so many networks that see so many multipliers.
    pub(super) fn load(
        options: &PpoOptions,
        spec: &Spec,
        (n_nets, n_multipliers): (usize, usize),
        weights: &Checkpoint<'_>,
    ) -> Result<Self> {
        let shape = Arc::new(shape(options, spec, n_multipliers));
        let mut parameters = vec![vec![0.0; shape.layout.len()]; n_nets];
        for (index, parameters) in parameters.iter_mut().enumerate() {
            load_weights(&shape.layout, &name(index, n_nets), weights, parameters)?;
        }
        Ok(Self {
            shape,
            parameters: Arc::new(parameters),
            identity: options.identity,
            multipliers: vec![0.0; n_multipliers],
            masks: ActionMasks::default(),
            inputs: Vec::new(),
            logits: Vec::new(),
            own_rows: Vec::new(),
            own_logits: Vec::new(),
            seen: Vec::new(),
            frames: AgentFrames::default(),
            chosen: Vec::new(),
            workspace: MlpWorkspace::default(),
        })
    }
}

impl GreedyPolicy {
    /// The same policy at these multipliers.
    pub(super) fn at(&self, multipliers: &[f32]) -> Self {
        let mut policy = self.clone();
        let seen = policy.multipliers.iter_mut().zip(multipliers);
        seen.for_each(|(seen, multiplier)| *seen = *multiplier);
        policy
    }
}

/// The actor's network.
fn shape(options: &PpoOptions, spec: &Spec, n_multipliers: usize) -> Shape {
    let inputs = agent_row_width(spec, options.identity) + n_multipliers;
    let widths = [&[inputs], &options.hidden[..], &[spec.n_actions()]].concat();
    Shape::new(&widths, options.layer_norm)
}

impl Policy for GreedyPolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        let Self { shape, parameters, masks, inputs, seen, frames, chosen, workspace, .. } = self;
        let (n_actions, width) = (batch.view.spec().n_actions(), shape.mlp.n_inputs());
        let wider = (self.identity, self.multipliers.len());
        let n_rows = write_wider_rows(batch.view, batch.states, wider, seen, frames);
        write_multipliers(&self.multipliers, width, seen);
        masks.read(batch.view, batch.states);
        masks.name(frames);
        chosen.clear();
        if let ([parameters], false) = (&parameters[..], masks.forbids()) {
            let logits =
                shape.mlp.forward(parameters, shape.inputs(seen, inputs), n_rows, workspace);
            logits.argmax(n_actions, |action| chosen.push(action));
        } else {
            let n_nets = parameters.len();
            self.logits.resize(n_rows * n_actions, 0.0);
            for (agent, parameters) in parameters.iter().enumerate() {
                gather(seen, width, (agent, n_nets), &mut self.own_rows);
                let rows = shape.inputs(&self.own_rows, inputs);
                let n_own = rows.len() / width;
                let own = shape.mlp.forward(parameters, rows, n_own, workspace);
                let own = own.write_rows(&mut self.own_logits);
                scatter(own, n_actions, (agent, n_nets), &mut self.logits);
            }
            let rows = self.logits.chunks_exact_mut(n_actions).enumerate();
            chosen.extend(rows.map(|(row, logits)| masks.best(row, logits)));
        }
        frames.write_joint(chosen, actions);
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}
