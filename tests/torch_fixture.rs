//! Twenty updates agree with PyTorch: weights, batches and results were written by
//! `benches/peers/fixture.py`.

use cgcmarl::{
    algorithm::cg_cmarl::{
        ErrorKind, HeadKind, NetworkOptions, NextAction, Sample, TdInputs, TdRule, TdShard,
        TwoHead, ValueKind, polyak,
    },
    coordination::SolverOptions,
    environment::{Constraint, Spec, View},
    graph::CoordinationGraph,
    nn::{Adam, AdamOptions},
    replay::{Replay, Row, RowShape},
};
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::{collections::BTreeMap, fs::File};

type Weights = BTreeMap<String, Vec<f32>>;

#[derive(Deserialize)]
struct Fixture {
    rule: Rule,
    inputs: usize,
    hidden: Vec<usize>,
    actions: usize,
    initial: Weights,
    online: Weights,
    target: Weights,
    batches: Vec<Batch>,
}

#[derive(Deserialize)]
struct Rule {
    gamma: f32,
    lr: f32,
    tau: f32,
    target_interval: usize,
    cost_weight: f32,
}

#[derive(Deserialize)]
struct Batch {
    before: Vec<Vec<f32>>,
    after: Vec<Vec<f32>>,
    actions: Vec<[usize; 2]>,
    rewards: Vec<f32>,
    costs: Vec<f32>,
    terminal: Vec<bool>,
}

/// One region of two agents whose row is the state itself.
struct Pair(Spec);

impl Pair {
    fn new(inputs: usize, n_actions: usize) -> Self {
        Self(Spec {
            constraints: vec![Constraint::new("cost", "cost")],
            ..Spec::new("fixture", 2, n_actions, 1).rows(inputs, inputs, inputs)
        })
    }
}

impl View for Pair {
    fn spec(&self) -> &Spec {
        &self.0
    }
    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        *graph = CoordinationGraph::path(2);
    }
    fn region_row(&self, state: &[f32], _members: &[usize], row: &mut [f32]) {
        row.copy_from_slice(state);
    }
    fn agent_row(&self, state: &[f32], _agent: usize, row: &mut [f32]) {
        row.copy_from_slice(state);
    }
}

fn fixture() -> Fixture {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/torch_updates.json.gz");
    serde_json::from_reader(GzDecoder::new(File::open(path).expect("fixture"))).expect("fixture")
}

fn flat(network: &TwoHead, weights: &Weights) -> Vec<f32> {
    let mut numbers = vec![0.0; network.layout().len()];
    for tensor in network.layout().tensors() {
        tensor.span.of_mut(&mut numbers).copy_from_slice(&weights[&tensor.name]);
    }
    numbers
}

fn remember(batch: &Batch, inputs: usize, n_actions: usize) -> Replay {
    let shape = RowShape { state: inputs, agents: 2, actions: n_actions, outcome: 2 };
    let mut replay = Replay::new(shape, batch.rewards.len());
    for i in 0..batch.rewards.len() {
        replay.push(Row {
            state: &batch.before[i],
            next_state: &batch.after[i],
            actions: &batch.actions[i],
            outcome: &[batch.rewards[i], batch.costs[i]],
            terminal: batch.terminal[i],
        });
    }
    replay
}

fn largest_difference(ours: &[f32], theirs: &[f32]) -> f32 {
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn twenty_updates_agree_with_pytorch() {
    let Fixture { rule, inputs, hidden, actions, initial, online, target, batches } = fixture();
    let view = Pair::new(inputs, actions);
    let options = NetworkOptions { hidden, head: HeadKind::Free, value: ValueKind::TwoHead };
    let network = TwoHead::new(&options, view.spec()).expect("valid options");
    let mut ours = flat(&network, &initial);
    let mut ours_target = ours.clone();
    let mut adam = Adam::new(AdamOptions::default(), ours.len());
    let mut shard = TdShard::new(&network, &view, SolverOptions::default().build());
    assert_eq!(batches.len(), 20);
    for (update, batch) in batches.iter().enumerate() {
        let replay = remember(batch, inputs, actions);
        let sample =
            |row| Sample { row, region: Some(0), reversed: 0, frame: 0, multipliers: vec![0.0] };
        let samples: Vec<Sample> = (0..replay.len()).map(sample).collect();
        let td = TdRule {
            gamma: rule.gamma,
            next_action: NextAction::Regional,
            warm_start: false,
            error: ErrorKind::Regional,
            error_power: 0.0,
            own_error: 0.0,
            cost_weight: rule.cost_weight,
            huber: f32::INFINITY,
        };
        let inputs = TdInputs {
            network: &network,
            online: &ours,
            target: &ours_target,
            view: &view,
            replay: &replay,
            rule: td,
            n_rows: samples.len(),
        };
        shard.accumulate(inputs, &samples);
        adam.step(rule.lr, &shard.gradient, &mut ours);
        if (update + 1).is_multiple_of(rule.target_interval) {
            polyak(&mut ours_target, &ours, rule.tau);
        }
    }
    let moved = largest_difference(&ours, &flat(&network, &initial));
    assert!(moved > 0.01, "the updates moved weights by {moved} only");
    let apart = largest_difference(&ours, &flat(&network, &online));
    assert!(apart < 1e-5, "online weights differ by {apart}");
    let apart = largest_difference(&ours_target, &flat(&network, &target));
    assert!(apart < 1e-5, "target weights differ by {apart}");
}
