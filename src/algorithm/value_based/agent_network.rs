//! The value network that all agents share: one row for what an agent sees, one value for each action.

use super::{Networks, joint_batch::JointBatch};
use crate::{
    algorithm::{
        AgentFrames, action_masks::ActionMasks, agent_row_width, memory, write_agent_rows,
    },
    environment::{Batch, Spec, View},
    graph::JointAction,
    nn::{Columns, Layout, Mlp, MlpWorkspace},
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
    mlp: Mlp,
    identity: bool,
    workspace: MlpWorkspace,
    masks: ActionMasks,
    own_values: Vec<f32>,
    rows: Vec<f32>,
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
        widths.push(spec.n_actions());
        Self {
            mlp: Mlp::new(layout, "agent", &widths, false),
            identity: options.identity,
            workspace: MlpWorkspace::default(),
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
        let Self { mlp, workspace, masks, own_values, rows, frames, next_actions, .. } = self;
        let n_rows = write_agent_rows(view, states, self.identity, rows, frames);
        let values = mlp.forward(parameters, rows, n_rows, workspace);
        next_actions.clear();
        masks.read(view, states);
        masks.name(frames);
        if masks.forbids() {
            let rows = values.write_rows(own_values).chunks_exact_mut(mlp.n_outputs()).enumerate();
            next_actions.extend(rows.map(|(row, values)| masks.best(row, values)));
        } else {
            values.argmax(mlp.n_outputs(), |action| next_actions.push(action));
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
        let Self { mlp, workspace, rows, frames, next_actions, taken, next_values, values, .. } =
            self;
        let n_rows = next_actions.len();
        let next = mlp.forward(networks.target, rows, n_rows, workspace);
        pick(next, next_actions, next_values);
        write_agent_rows(view, &batch.states, self.identity, rows, frames);
        frames.name(&batch.actions, taken);
        let now = mlp.forward(networks.online, rows, n_rows, workspace);
        pick(now, taken, values);
        self.d_values.resize(n_rows, 0.0);
    }

    /// Adds the parameters' gradient, from `d_values`, after [`Self::evaluate`] of the same batch.
    pub fn backward(&mut self, parameters: &[f32], gradient: &mut [f32]) {
        let Self { mlp, workspace, rows, taken, d_values, .. } = self;
        let d_output = mlp.d_output(workspace);
        d_output.fit(mlp.n_outputs(), d_values.len());
        let stride = d_output.stride();
        let cells = d_output.data_mut();
        cells.fill(0.0);
        for (row, (&d, &action)) in d_values.iter().zip(&*taken).enumerate() {
            cells[action * stride + row] = d;
        }
        mlp.backward(parameters, gradient, rows, workspace, None);
    }
}

/// The value of one action in each row.
fn pick(columns: &Columns, actions: &[usize], values: &mut Vec<f32>) {
    values.clear();
    values.extend(actions.iter().enumerate().map(|(row, &a)| columns.feature(a)[row]));
}
