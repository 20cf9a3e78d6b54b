//! Updates of MAPPO and MAPPO-Lagrangian agree with PyTorch: two rounds of two episodes, one of which
//! truly ends.

use super::{LagrangianOptions, Mappo, PpoOptions, Pricing, rollout::Acted};
use crate::{
    algorithm::{
        AgentFrames, Learner, Start, agent_row_width,
        reference::{Blocks, Weights, assert_moved, assert_near, part},
        write_agent_rows,
    },
    checkpoint::Checkpoint,
    environment::{Ending, Outcome, View},
    episode::Transition,
    nn::AdamOptions,
    rng::Streams,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

const N_AGENTS: usize = 2;
const HORIZON: usize = 4;

/// The networks by name, each with its weights.
type Networks = BTreeMap<String, Weights>;

#[derive(Deserialize)]
struct Fixture {
    initial: Networks,
    rounds: Vec<Round>,
    trained: Networks,
    multiplier: f32,
}

/// Lists by environment and step.
#[derive(Deserialize)]
struct Round {
    states: Vec<Vec<Vec<f32>>>,
    last_states: Vec<Vec<Vec<f32>>>,
    actions: Vec<Vec<Vec<usize>>>,
    rewards: Vec<Vec<Vec<f32>>>,
    costs: Vec<Vec<Vec<f32>>>,
    /// By environment, agent and step, one after the other.
    log_probabilities: Vec<f32>,
}

#[derive(Deserialize)]
struct Constants {
    gamma: f32,
    gae_lambda: f32,
    clip: f32,
    entropy: f32,
    lr: f32,
    critic_lr: f32,
    epochs: usize,
    max_grad_norm: f32,
    value_rate: f32,
    epsilon: f32,
    lambda_lr: f32,
    cost_limit: f32,
    upper_bound: f32,
}

impl Constants {
    fn ppo(&self) -> PpoOptions {
        PpoOptions {
            hidden: vec![6],
            identity: true,
            gamma: self.gamma,
            gae_lambda: self.gae_lambda,
            clip: self.clip,
            entropy: self.entropy,
            lr: self.lr,
            critic_lr: self.critic_lr,
            lr_final_share: 1.0,
            epochs: self.epochs,
            minibatches: 1,
            max_grad_norm: self.max_grad_norm,
            value_rate: self.value_rate,
            adam: AdamOptions { epsilon: self.epsilon, ..AdamOptions::default() },
            ..PpoOptions::default()
        }
    }

    fn lagrangian(&self) -> LagrangianOptions {
        LagrangianOptions {
            cost_limit: vec![self.cost_limit],
            lambda_lr: self.lambda_lr,
            lagrangian_upper_bound: self.upper_bound,
        }
    }
}

/// Gives a fresh learner these weights, and nothing of a past.
fn set_weights(mappo: &mut Mappo, networks: &Networks) {
    let mut fresh = Checkpoint::new(0, json!({}));
    mappo.save(&mut fresh);
    let mut changed = Checkpoint::new(0, fresh.state.clone());
    for tensor in fresh.tensors() {
        let (network, name) = tensor.name.split_once('.').unwrap_or((&tensor.name, ""));
        let own = networks.get(network).and_then(|weights| weights.get(name));
        let kept = || fresh.get::<f32>(&tensor.name).unwrap().to_vec();
        changed.push(tensor.name.clone(), &tensor.shape, own.cloned().unwrap_or_else(kept));
    }
    mappo.load(&changed).unwrap();
}

/// The agents live through a round as the fixture tells.
fn play(mappo: &mut Mappo, view: &Blocks, round: &Round) {
    let width = agent_row_width(view.spec(), true);
    let (mut seen, mut frames) = (Vec::new(), AgentFrames::default());
    let lengths: Vec<usize> = round.states.iter().map(Vec::len).collect();
    (0..lengths.len()).for_each(|slot| mappo.rollouts[0].begin(slot));
    for (slot, &length) in lengths.iter().enumerate() {
        let before = N_AGENTS * lengths[..slot].iter().sum::<usize>();
        for time in 0..length {
            let ending = match (time + 1 == length, length < HORIZON) {
                (false, _) => Ending::Running,
                (true, true) => Ending::Terminal,
                (true, false) => Ending::Truncated,
            };
            let outcome = Outcome {
                agent_rewards: round.rewards[slot][time].clone(),
                agent_costs: round.costs[slot][time].clone(),
                ending,
                ..Outcome::default()
            };
            let state = &round.states[slot][time][..];
            let next_state =
                round.states[slot].get(time + 1).unwrap_or(&round.last_states[slot][0]);
            let action = &round.actions[slot][time][..];
            let step = Transition { slot, state, action, outcome: &outcome, next_state };
            let n_rows = write_agent_rows(view, state, true, &mut seen, &mut frames);
            assert_eq!(n_rows * width, seen.len());
            let log_probabilities: Vec<f32> = (0..N_AGENTS)
                .map(|agent| round.log_probabilities[before + agent * length + time])
                .collect();
            let acted = Acted {
                seen: &seen,
                frames: &[0; N_AGENTS],
                actions: action,
                log_probabilities: &log_probabilities,
                allowed: None,
            };
            mappo.rollouts[0].push(step, &outcome.agent_rewards, acted);
        }
    }
}

fn check(name: &str, constrained: bool) {
    let view = Blocks::new(N_AGENTS, 2, 3, HORIZON);
    let constants: Constants = part("ppo");
    let fixture: Fixture = part(name);
    let lagrangian = constrained.then(|| constants.lagrangian());
    let start =
        Start { teams: &[&view], n_environments: 2, total_steps: 1, streams: Streams::new(1) };
    let pricing = lagrangian.as_ref().map_or(Pricing::Free, Pricing::Limited);
    let mut mappo = Mappo::new(&constants.ppo(), pricing, start).unwrap();
    set_weights(&mut mappo, &fixture.initial);
    assert_eq!(fixture.rounds.len(), 2);
    for round in &fixture.rounds {
        play(&mut mappo, &view, round);
        mappo.learn(&view);
    }
    let mut trained = Checkpoint::new(0, json!({}));
    mappo.save(&mut trained);
    assert_eq!(fixture.trained.len(), if constrained { 3 } else { 2 });
    for (network, weights) in &fixture.trained {
        for (tensor, theirs) in weights {
            let what = format!("{network}.{tensor}");
            let ours: &[f32] = trained.get(&what).unwrap();
            assert_moved(&what, ours, &fixture.initial[network][tensor]);
            assert_near(&what, ours, theirs);
        }
    }
    let multipliers: &[f32] = trained.get("multipliers").unwrap();
    assert_eq!(multipliers.len(), usize::from(constrained));
    assert_near("multipliers", multipliers, &vec![fixture.multiplier; multipliers.len()]);
    assert_eq!(fixture.multiplier > 0.1, constrained, "a price was learned");
}

#[test]
fn updates_of_mappo_agree_with_pytorch() {
    check("mappo", false);
}

#[test]
fn updates_of_mappo_lagrangian_agree_with_pytorch() {
    check("mappo_lag", true);
}
