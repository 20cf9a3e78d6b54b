//! The networks on the global state that give QMIX's mixer its weights: one for all of them, or the four of
//! the publication (W₁ and w₂ behind a hidden layer, b₁ straight from the state, v behind one of its own).

use crate::nn::{Layout, Mlp, MlpWorkspace};

/// One network and its place among the weights of a state.
#[derive(Clone)]
struct Part {
    mlp: Mlp,
    start: usize,
    workspace: MlpWorkspace,
}

/// All of them.
#[derive(Clone)]
pub(super) struct Hypernetworks {
    parts: Vec<Part>,
    n_weights: usize,
    rows: Vec<f32>,
}

impl Hypernetworks {
    /// Weights of a state for so many agents and units: W₁ agent by agent, then b₁, w₂ and v.
    pub(super) fn n_weights(n_agents: usize, units: usize) -> usize {
        (n_agents + 2) * units + 1
    }

    /// The widths of the networks, by their names.
    pub(super) fn widths(
        (n_inputs, n_hidden): (usize, usize),
        (n_agents, units): (usize, usize),
        separate: bool,
    ) -> Vec<(&'static str, Vec<usize>)> {
        if !separate {
            return vec![("mixer", vec![n_inputs, n_hidden, Self::n_weights(n_agents, units)])];
        }
        vec![
            ("mixer.first", vec![n_inputs, n_hidden, n_agents * units]),
            ("mixer.bias", vec![n_inputs, units]),
            ("mixer.second", vec![n_inputs, n_hidden, units]),
            ("mixer.value", vec![n_inputs, units, 1]),
        ]
    }

    /// Reserves the networks' parameters under `mixer`.
    pub(super) fn new(
        layout: &mut Layout,
        inputs: (usize, usize),
        (n_agents, units): (usize, usize),
        separate: bool,
    ) -> Self {
        let mut start = 0;
        let part = |(name, widths): (&str, Vec<usize>)| {
            let mlp = Mlp::new(layout, name, &widths, false);
            let part = Part { start, mlp, workspace: MlpWorkspace::default() };
            start += part.mlp.n_outputs();
            part
        };
        let widths = Self::widths(inputs, (n_agents, units), separate);
        let parts = widths.into_iter().map(part).collect();
        Self { parts, n_weights: Self::n_weights(n_agents, units), rows: Vec::new() }
    }

    /// Writes the weights of every state.
    pub(super) fn forward(
        &mut self,
        parameters: &[f32],
        states: &[f32],
        n_states: usize,
        weights: &mut Vec<f32>,
    ) {
        let Self { parts, n_weights, rows } = self;
        weights.resize(n_states * *n_weights, 0.0);
        for Part { mlp, start, workspace } in parts {
            let width = mlp.n_outputs();
            let own = mlp.forward(parameters, states, n_states, workspace).write_rows(rows);
            for (weights, own) in weights.chunks_exact_mut(*n_weights).zip(own.chunks_exact(width))
            {
                weights[*start..*start + width].copy_from_slice(own);
            }
        }
    }

    /// Adds the parameters' gradient, given that of the weights, after [`Self::forward`].
    pub(super) fn backward(
        &mut self,
        parameters: &[f32],
        gradient: &mut [f32],
        states: &[f32],
        d_weights: &[f32],
    ) {
        let Self { parts, n_weights, rows } = self;
        let n_states = d_weights.len() / *n_weights;
        for Part { mlp, start, workspace } in parts {
            let width = mlp.n_outputs();
            rows.clear();
            for d_weights in d_weights.chunks_exact(*n_weights) {
                rows.extend_from_slice(&d_weights[*start..*start + width]);
            }
            mlp.d_output(workspace).read_rows(rows, width, n_states);
            mlp.backward(parameters, gradient, states, workspace, None);
        }
    }
}
