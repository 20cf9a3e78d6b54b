//! What `benches/peers/reference` computed: a few updates of every learner, from the equations of
//! its paper, by PyTorch in double precision.

use crate::{
    environment::{Constraint, Spec, TEAM_RETURN, View},
    graph::CoordinationGraph,
    nn::Layout,
};
use flate2::read::GzDecoder;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{collections::BTreeMap, fs::File};

/// Numbers by the names of our tensors.
pub(super) type Weights = BTreeMap<String, Vec<f32>>;

/// The constants of Q-learning.
#[derive(Deserialize)]
pub(super) struct Rule {
    pub(super) lr: f32,
    pub(super) tau: f32,
    pub(super) max_norm: f32,
    pub(super) average_rate: f32,
    pub(super) gamma: f32,
}

/// One part of the file.
pub(super) fn part<T: DeserializeOwned>(name: &str) -> T {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/torch_reference.json.gz");
    let mut all: Value =
        serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap();
    serde_json::from_value(all[name].take()).unwrap()
}

/// Weights as a layout wants them.
pub(super) fn flat(layout: &Layout, weights: &Weights) -> Vec<f32> {
    let mut numbers = vec![0.0; layout.len()];
    for tensor in layout.tensors() {
        tensor.span.of_mut(&mut numbers).copy_from_slice(&weights[&tensor.name]);
    }
    numbers
}

/// Two sets of numbers are the same but for rounding.
pub(super) fn assert_near(what: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-5, "{what} differ by {apart}");
}

/// The updates did something.
pub(super) fn assert_moved(what: &str, ours: &[f32], initial: &[f32]) {
    let moved = ours.iter().zip(initial).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(moved > 2e-3, "{what} moved by {moved} only");
}

/// Agents that each see their own numbers of the state, every two of them a region.
pub(super) struct Blocks {
    spec: Spec,
    width: usize,
}

impl Blocks {
    /// Agents with `width` numbers each.
    pub(super) fn new(n_agents: usize, width: usize, n_actions: usize, horizon: usize) -> Self {
        let constraint = Constraint {
            name: "cost".into(),
            unit: "cost".into(),
            metric: "cost_cost".into(),
            most: f64::INFINITY,
            unavoidable: None,
        };
        let grid = n_actions.isqrt();
        let spec = Spec {
            task: "blocks".into(),
            agents: Spec::team(n_agents, n_actions),
            action_grid: (grid * grid == n_actions).then_some(grid),
            metrics: Vec::new(),
            objective: TEAM_RETURN.into(),
            constraints: vec![constraint],
            reward_label: None,
            terminates: true,
            state_width: n_agents * width,
            agent_width: width,
            region_width: 2 * width,
            region_size: 2,
            max_regions: n_agents * (n_agents - 1) / 2,
            horizon,
        };
        Self { spec, width }
    }
}

impl View for Blocks {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        *graph = CoordinationGraph::complete(self.spec.n_agents());
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        for (&agent, row) in members.iter().zip(row.chunks_exact_mut(self.width)) {
            self.agent_row(state, agent, row);
        }
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        row.copy_from_slice(&state[agent * self.width..][..self.width]);
    }
}
