//! The value network that all agents share: one row for what an agent sees, one value for each action.

use super::{Networks, joint_batch::JointBatch, row_network::RowNetwork};
use crate::{
    algorithm::{
        AgentFrames, action_masks::ActionMasks, agent_row_width, memory, write_agent_rows,
    },
    environment::{Batch, Spec, View},
    graph::JointAction,
    nn::{
        Layout, Linear, Matrix, Mlp, RowLayer, Selection, row_argmax, selected_backward,
        selected_values,
    },
};
use serde::{Deserialize, Serialize};

/// The shape of the agents' network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentNetworkOptions {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Whether an agent also sees its own number.
    pub identity: bool,
}

impl Default for AgentNetworkOptions {
    fn default() -> Self {
        Self { hidden: vec![128, 128], identity: true }
    }
}

impl AgentNetworkOptions {
    /// The setting that sizes it, its parameters, and the numbers that one state takes.
    pub(super) fn sizes(&self, spec: &Spec) -> (&'static str, f64, f64) {
        let inputs = agent_row_width(spec, self.identity) as f64;
        let widths = memory::widths(inputs, &self.hidden, spec.n_actions() as f64);
        let per_state = spec.n_agents() as f64 * memory::row(&widths);
        ("hidden", memory::parameters(&widths), per_state)
    }
}

/// The network with every buffer that acting and learning need.
#[derive(Clone, Debug)]
pub struct AgentNetwork {
    /// All layers but the last; none where that is the only one.
    trunk: Option<RowNetwork>,
    /// What the agents see, where there is no trunk that holds it.
    rows: Vec<f32>,
    /// One output for each action, of which learning needs one a row.
    last: Linear,
    last_layer: RowLayer,
    identity: bool,
    masks: ActionMasks,
    /// The values of all actions, row by row.
    action_values: Vec<f32>,
    /// The gradient of what goes into the last layer, where there is no trunk that holds it.
    d_rows: Vec<f32>,
    frames: AgentFrames,
    /// In the frames of their agents.
    next_actions: Vec<usize>,
    taken: Vec<usize>,
    /// Values of the actions taken, one for each agent of each transition.
    pub values: Vec<f32>,
    /// Values of the next greedy actions: chosen online, valued by the target network.
    pub next_values: Vec<f32>,
    /// Where the caller writes the gradient of `values`.
    pub d_values: Vec<f32>,
}

impl AgentNetwork {
    /// Reserves the network's parameters under `agent`.
    pub fn new(options: &AgentNetworkOptions, spec: &Spec, layout: &mut Layout) -> Self {
        let mut widths = vec![agent_row_width(spec, options.identity)];
        widths.extend(&options.hidden);
        let (n_hidden, n_features) = (options.hidden.len(), widths[widths.len() - 1]);
        let trunk =
            (n_hidden > 0).then(|| RowNetwork::new(Mlp::new(layout, "agent", &widths, true)));
        let last = Linear::new(layout, &format!("agent.{n_hidden}"), n_features, spec.n_actions());
        Self {
            trunk,
            rows: Vec::new(),
            last,
            last_layer: RowLayer::default(),
            identity: options.identity,
            masks: ActionMasks::default(),
            action_values: Vec::new(),
            d_rows: Vec::new(),
            frames: AgentFrames::default(),
            next_actions: Vec::new(),
            taken: Vec::new(),
            values: Vec::new(),
            next_values: Vec::new(),
            d_values: Vec::new(),
        }
    }

    /// Takes what the agents of some states see; returns their number.
    fn look(&mut self, view: &dyn View, states: &[f32]) -> usize {
        let rows = self.trunk.as_mut().map_or(&mut self.rows, |trunk| &mut trunk.input);
        write_agent_rows(view, states, self.identity, rows, &mut self.frames)
    }

    /// Finds the best action that every agent of every state may take, agent by agent.
    fn choose(&mut self, parameters: &[f32], view: &dyn View, states: &[f32]) {
        let n_rows = self.look(view, states);
        let Self { trunk, rows, last, last_layer, masks, action_values, next_actions, .. } = self;
        if let Some(trunk) = trunk {
            trunk.forward_through(parameters, (last, last_layer), action_values);
        } else {
            action_values.resize(n_rows * last.n_outputs, 0.0);
            let seen = Matrix::new(rows, n_rows, last.n_inputs);
            last_layer.forward(last.parts(parameters), seen, action_values);
        }
        masks.read(view, states);
        masks.name(&self.frames);
        next_actions.clear();
        if masks.forbids() {
            let rows = action_values.chunks_exact_mut(last.n_outputs);
            let best = rows.enumerate().map(|(row, values)| masks.best(row, values));
            next_actions.extend(best);
        } else {
            row_argmax(action_values, last.n_outputs, |action| next_actions.push(action));
        }
    }

    /// Writes the greedy joint action of every state.
    pub fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]) {
        self.choose(parameters, batch.view, batch.states);
        self.frames.write_joint(&self.next_actions, actions);
    }

    /// Fills `next_values` and `values` of a batch (double Q-learning).
    pub fn evaluate(&mut self, networks: Networks<'_>, view: &dyn View, batch: &JointBatch) {
        self.choose(networks.online, view, &batch.next_states);
        let (mut next, mut now) = (std::mem::take(&mut self.next_values), vec![]);
        std::mem::swap(&mut now, &mut self.values);
        let next_actions = std::mem::take(&mut self.next_actions);
        self.value_of(networks.target, &next_actions, &mut next);
        self.look(view, &batch.states);
        let mut taken = std::mem::take(&mut self.taken);
        self.frames.name(&batch.actions, &mut taken);
        self.value_of(networks.online, &taken, &mut now);
        self.d_values.resize(taken.len(), 0.0);
        (self.next_values, self.values) = (next, now);
        (self.next_actions, self.taken) = (next_actions, taken);
    }

    /// Writes the value of one action in each of the rows.
    fn value_of(&mut self, parameters: &[f32], actions: &[usize], values: &mut Vec<f32>) {
        let features = features(&mut self.trunk, &self.rows, parameters);
        values.resize(actions.len(), 0.0);
        selected_values(self.last.parts(parameters), features, selection(actions), values);
    }

    /// Adds the parameters' gradient, from `d_values`, after [`Self::evaluate`] of the same batch.
    pub fn backward(&mut self, parameters: &[f32], gradient: &mut [f32]) {
        let Self { trunk, rows, d_rows, last, taken, d_values, .. } = self;
        let (features, d_features) = match trunk {
            Some(RowNetwork { output, d_output, .. }) => (&*output, d_output),
            None => (&*rows, d_rows),
        };
        d_features.resize(features.len(), 0.0);
        let (weight, d_last) = (last.parts(parameters).0, last.parts_mut(gradient));
        let pair = (&features[..], &mut d_features[..]);
        selected_backward(weight, d_last, pair, selection(taken), d_values);
        if let Some(trunk) = trunk {
            trunk.backward(parameters, gradient, false);
        }
    }
}

/// What goes into the last layer: what the trunk makes of what the agents see, or that itself.
fn features<'f>(
    trunk: &'f mut Option<RowNetwork>,
    rows: &'f [f32],
    parameters: &[f32],
) -> &'f [f32] {
    let Some(trunk) = trunk else { return rows };
    trunk.forward(parameters);
    &trunk.output
}

/// One action in each row.
fn selection(actions: &[usize]) -> Selection<'_> {
    Selection { outputs: actions, n_outputs: 1, n_values: 1 }
}
