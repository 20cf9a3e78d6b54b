//! Updates of the baselines with a memory agree with PyTorch.

use super::{
    AgentNetworkOptions, JointBatch, QLearner, QLearningOptions, ValueBased,
    agent_value::AgentValueOptions,
    casec::{CasecAlgorithm, CasecOptions},
    dcg::{DcgAlgorithm, DcgNetworkOptions, DcgOptions},
    iql::IqlAlgorithm,
    qmix::{MixerOptions, QmixAlgorithm, QmixOptions},
    vdn::VdnAlgorithm,
};
use crate::{
    algorithm::{
        Start,
        reference::{Blocks, Rule, Weights, assert_moved, assert_near, flat, part},
    },
    coordination::{Solver, SolverOptions},
    environment::View,
    rng::Streams,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    initial: Weights,
    batches: Vec<Batch>,
    online: Weights,
    target: Weights,
    averaged: Weights,
}

#[derive(Deserialize)]
struct Batch {
    states: Vec<f32>,
    next_states: Vec<f32>,
    actions: Vec<usize>,
    rewards: Vec<f32>,
    discounts: Vec<f32>,
}

fn learning() -> QLearningOptions {
    let Rule { lr, tau, max_norm, average_rate, .. } = part("rule");
    QLearningOptions {
        lr,
        lr_final_share: 1.0,
        polyak_tau: tau,
        max_grad_norm: max_norm,
        average_rate,
        standardise_rewards: false,
        ..QLearningOptions::default()
    }
}

fn check<V: ValueBased>(options: &V::Options) {
    check_part::<V>(V::NAME, options);
}

fn check_part<V: ValueBased>(name: &str, options: &V::Options) {
    let view = Blocks::new(3, 2, 3, 1);
    let fixture: Fixture = part(name);
    let value = V::value(options, view.spec()).unwrap();
    let start =
        Start { teams: &[&view], n_environments: 1, total_steps: 1, streams: Streams::new(1) };
    let (learning, exploration) = V::learning(options);
    let mut learner = QLearner::new(vec![value], learning, exploration, start).unwrap();
    let layout = learner.layout().clone();
    let initial = flat(&layout, &fixture.initial);
    for numbers in [&mut learner.online, &mut learner.target, &mut learner.averaged] {
        numbers.clone_from(&initial);
    }
    assert_eq!(fixture.batches.len(), 6);
    for Batch { states, next_states, actions, rewards, discounts } in fixture.batches {
        learner.teams[0].batch = JointBatch { states, next_states, actions, rewards, discounts };
        learner.descend(&view);
    }
    assert_moved(V::NAME, &learner.online, &initial);
    assert_near("online weights", &learner.online, &flat(&layout, &fixture.online));
    assert_near("target weights", &learner.target, &flat(&layout, &fixture.target));
    assert_near("averaged weights", &learner.averaged, &flat(&layout, &fixture.averaged));
}

fn network() -> AgentNetworkOptions {
    AgentNetworkOptions { hidden: vec![6], identity: true }
}

#[test]
fn updates_of_iql_agree_with_pytorch() {
    let (network, learning) = (network(), learning());
    check::<IqlAlgorithm>(&AgentValueOptions { network, learning, ..AgentValueOptions::default() });
}

#[test]
fn updates_of_vdn_agree_with_pytorch() {
    let (network, learning) = (network(), learning());
    check::<VdnAlgorithm>(&AgentValueOptions { network, learning, ..AgentValueOptions::default() });
}

#[test]
fn updates_of_qmix_agree_with_pytorch() {
    for (name, separate) in [("qmix", false), ("qmix_separate", true)] {
        let mixer = MixerOptions { units: 4, hypernetwork: 5, separate };
        let (network, learning) = (network(), learning());
        let options = QmixOptions { network, mixer, learning, ..QmixOptions::default() };
        check_part::<QmixAlgorithm>(name, &options);
    }
}

#[test]
fn updates_of_dcg_agree_with_pytorch() {
    let network = DcgNetworkOptions { hidden: vec![6], pair_hidden: 5, rank: 2, identity: true };
    let coordination = SolverOptions { solver: Solver::Exact, ..SolverOptions::default() };
    let learning = learning();
    let options = DcgOptions { network, learning, coordination, ..DcgOptions::default() };
    check::<DcgAlgorithm>(&options);
}

/// Two of three pairs are kept, which are not the same in every state.
#[test]
fn updates_of_casec_agree_with_pytorch() {
    let network = DcgNetworkOptions { hidden: vec![6], pair_hidden: 5, rank: 2, identity: true };
    let mut options = CasecOptions { network, learning: learning(), ..CasecOptions::default() };
    options.sparseness = 0.3;
    options.coordination.solver = Solver::Exact;
    options.coordination.kept_pairs = 0.6;
    check::<CasecAlgorithm>(&options);
}
