//! Plays one episode and checks every step of it.

use super::{
    broken,
    look::{allowed, look},
    outcome::{check_episode, check_outcome},
};
use crate::{
    environment::{Ending, Environment, Outcome, View},
    error::Result,
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
};

/// Who acts while an environment is checked.
pub(super) trait Actions {
    /// The joint action in a state.
    fn choose(&mut self, view: &dyn View, state: &[f32]) -> Result<Vec<usize>>;
}

/// Random actions that the masks allow.
#[derive(Clone)]
pub(super) struct RandomActions(Rng);

impl RandomActions {
    pub(super) fn new(seed: u64) -> Self {
        Self(Streams::new(seed).rng(Purpose::RandomPolicy, 0))
    }
}

impl Actions for RandomActions {
    fn choose(&mut self, view: &dyn View, state: &[f32]) -> Result<Vec<usize>> {
        let choose = |agent| {
            let allowed = allowed(view, state, agent);
            let open: Vec<usize> = (0..allowed.len()).filter(|&action| allowed[action]).collect();
            if open.is_empty() {
                return broken(format!("agent {agent} is left without an action"));
            }
            Ok(open[self.0.below(open.len())])
        };
        (0..view.spec().n_agents()).map(choose).collect()
    }
}

/// One episode from its start; returns all that was seen and said, in bits.
pub(super) fn play(
    environment: &mut dyn Environment,
    seed: u64,
    spoil: bool,
    actions: &mut dyn Actions,
) -> Result<Vec<u64>> {
    let streams = Streams::new(seed);
    environment.reset(&mut streams.rng(Purpose::Problem, 0));
    go_on(environment, 0, spoil, actions, &mut streams.rng(Purpose::Dynamics, 0))
}

/// The rest of an episode of which some steps are over.
pub(super) fn go_on(
    environment: &mut dyn Environment,
    steps: usize,
    spoil: bool,
    actions: &mut dyn Actions,
    chance: &mut Rng,
) -> Result<Vec<u64>> {
    let spec = environment.view().spec().clone();
    let mut state = vec![f32::NAN; spec.state_width];
    environment.write_state(&mut state);
    let (mut outcome, mut graph) = (Outcome::default(), CoordinationGraph::default());
    let (mut seen, mut metrics) = (Vec::new(), Vec::new());
    for step in steps + 1..=spec.horizon {
        environment.view().graph(&state, &mut graph);
        let visible = look(environment.view(), &state, &graph)?;
        let action = actions.choose(environment.view(), &state)?;
        if spoil {
            outcome = spoiled();
        }
        environment.step(&action, chance, &mut outcome);
        if look(environment.view(), &state, &graph)? != visible {
            return broken("what is visible of a state changed with the environment");
        }
        state.fill(f32::NAN);
        environment.write_state(&mut state);
        check_outcome(&spec, &graph, &outcome)?;
        seen.extend(visible.into_iter().map(u64::from).chain(said(&outcome)));
        metrics.push(outcome.metrics.clone());
        match outcome.ending {
            Ending::Running if step == spec.horizon => {
                return broken(format!("an episode goes on after its horizon of {step} steps"));
            }
            Ending::Terminal if !spec.terminates => {
                return broken("an episode truly ended, but `terminates` is false");
            }
            Ending::Running => {}
            Ending::Truncated | Ending::Terminal => break,
        }
    }
    if steps == 0 {
        check_episode(&spec, &metrics)?;
    }
    Ok(seen)
}

/// An outcome that holds nonsense, which a step must not leave in it.
fn spoiled() -> Outcome {
    Outcome {
        team_reward: f32::NAN,
        agent_rewards: vec![f32::NAN],
        region_rewards: vec![f32::NAN],
        team_costs: vec![f32::NAN],
        region_costs: vec![f32::NAN],
        agent_costs: vec![f32::NAN],
        metrics: vec![f64::NAN],
        ending: Ending::Terminal,
    }
}

/// Everything an outcome says, in bits.
fn said(outcome: &Outcome) -> Vec<u64> {
    let Outcome { team_reward, agent_rewards, region_rewards, .. } = outcome;
    let rewards = agent_rewards.iter().chain(region_rewards).chain([team_reward]);
    let costs = outcome.team_costs.iter().chain(&outcome.region_costs).chain(&outcome.agent_costs);
    let numbers = rewards.chain(costs).map(|number| u64::from(number.to_bits()));
    let metrics = outcome.metrics.iter().map(|number| number.to_bits());
    numbers.chain(metrics).chain([outcome.ending as u64]).collect()
}
