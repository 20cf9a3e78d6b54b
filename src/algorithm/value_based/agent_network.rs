//! The value network that all agents share: one row for what an agent sees, one value for each action.

use super::{Networks, joint_batch::JointBatch};
use crate::{
    algorithm::{
        AgentFrames, action_masks::ActionMasks, agent_row_width, memory, write_agent_rows,
    },
    environment::{Batch, Spec, View},
    graph::JointAction,
    nn::{
        Columns, Layout, Linear, Mlp, MlpWorkspace, Selection, selected_backward, selected_values,
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
    trunk: Option<Mlp>,
    /// One output for each action, of which learning needs one a row.
    last: Linear,
    identity: bool,
    workspace: MlpWorkspace,
    masks: ActionMasks,
    inputs: Columns,
    outputs: Columns,
    own_values: Vec<f32>,
    rows: Vec<f32>,
    /// What goes into the last layer, row by row.
    features: Vec<f32>,
    d_features: Vec<f32>,
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
        let trunk = (n_hidden > 0).then(|| Mlp::new(layout, "agent", &widths, true));
        let last = Linear::new(layout, &format!("agent.{n_hidden}"), n_features, spec.n_actions());
        Self {
            trunk,
            last,
            identity: options.identity,
            workspace: MlpWorkspace::default(),
            inputs: Columns::default(),
            outputs: Columns::default(),
            features: Vec::new(),
            d_features: Vec::new(),
            masks: ActionMasks::default(),
            own_values: Vec::new(),
            rows: Vec::new(),
            frames: AgentFrames::default(),
            next_actions: Vec::new(),
            taken: Vec::new(),
            values: Vec::new(),
            next_values: Vec::new(),
            d_values: Vec::new(),
        }
    }

    /// Finds the best action that every agent of every state may take, agent by agent.
    fn choose(&mut self, parameters: &[f32], view: &dyn View, states: &[f32]) {
        let Self { trunk, last, workspace, masks, inputs, outputs, rows, frames, .. } = self;
        let n_rows = write_agent_rows(view, states, self.identity, rows, frames);
        let features = if let Some(trunk) = trunk {
            trunk.forward(parameters, rows, n_rows, workspace)
        } else {
            inputs.read_rows(rows, last.n_inputs, n_rows);
            inputs
        };
        last.forward(parameters, features, last.n_outputs, false, outputs);
        masks.read(view, states);
        masks.name(frames);
        self.next_actions.clear();
        if masks.forbids() {
            let rows = outputs.write_rows(&mut self.own_values).chunks_exact_mut(last.n_outputs);
            let best = rows.enumerate().map(|(row, values)| masks.best(row, values));
            self.next_actions.extend(best);
        } else {
            outputs.argmax(last.n_outputs, |action| self.next_actions.push(action));
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
        write_agent_rows(view, &batch.states, self.identity, &mut self.rows, &mut self.frames);
        let mut taken = std::mem::take(&mut self.taken);
        self.frames.name(&batch.actions, &mut taken);
        self.value_of(networks.online, &taken, &mut now);
        self.d_values.resize(taken.len(), 0.0);
        (self.next_values, self.values) = (next, now);
        (self.next_actions, self.taken) = (next_actions, taken);
    }

    /// Writes the value of one action in each of the rows.
    fn value_of(&mut self, parameters: &[f32], actions: &[usize], values: &mut Vec<f32>) {
        let Self { trunk, last, workspace, rows, features, .. } = self;
        let features = match trunk {
            Some(trunk) => {
                trunk.forward(parameters, rows, actions.len(), workspace).write_rows(features)
            }
            None => rows,
        };
        values.resize(actions.len(), 0.0);
        selected_values(last.parts(parameters), features, selection(actions), values);
    }

    /// Adds the parameters' gradient, from `d_values`, after [`Self::evaluate`] of the same batch.
    pub fn backward(&mut self, parameters: &[f32], gradient: &mut [f32]) {
        let Self { trunk, last, workspace, rows, features, d_features, taken, .. } = self;
        let features = if trunk.is_some() { &*features } else { &*rows };
        d_features.resize(features.len(), 0.0);
        let (weight, d_last) = (last.parts(parameters).0, last.parts_mut(gradient));
        let pair = (&features[..], &mut d_features[..]);
        selected_backward(weight, d_last, pair, selection(taken), &self.d_values);
        if let Some(trunk) = trunk {
            trunk.d_output(workspace).read_rows(d_features, last.n_inputs, taken.len());
            trunk.backward(parameters, gradient, rows, workspace, None);
        }
    }
}

/// One action in each row.
fn selection(actions: &[usize]) -> Selection<'_> {
    Selection { outputs: actions, n_outputs: 1, n_values: 1 }
}
