//! Replays episodes recorded from the MPE2 package and measures how far ours are from them.

pub use crate::environment::particle::recording::{
    GroupDeviation, OBSERVATION_TOLERANCE, TOLERANCE,
};

use super::{ActionSet, SimpleSpread, SimpleSpreadOptions, reward, task::NAME};
use crate::{
    environment::{
        Ending, Environment, Outcome,
        particle::recording::{NEAR, Recording, widen},
    },
    error::Result,
    rng::{Purpose, Streams},
};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Group {
    #[serde(rename = "N")]
    agents: usize,
    size: f64,
    contact: bool,
    episodes: Vec<Episode>,
}

#[derive(Deserialize)]
struct Episode {
    init_pos: Vec<[f64; 2]>,
    init_vel: Vec<[f64; 2]>,
    landmarks: Vec<[f64; 2]>,
    obs0: Vec<Vec<f64>>,
    steps: Vec<Step>,
    obs_last: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Step {
    a: Vec<usize>,
    u: Vec<[f64; 2]>,
    pos: Vec<[f64; 2]>,
    vel: Vec<[f64; 2]>,
    env_reward: Vec<f64>,
    local: Vec<f64>,
    global: f64,
    lm_min: Vec<f64>,
    pairs_2r: u32,
    pairs_d02: u32,
    truncated: bool,
}

/// Replays the Simple Spread groups of a recording, plain JSON or compressed with gzip.
pub fn check(path: &Path) -> Result<Vec<GroupDeviation>> {
    let recording = Recording::read(path)?;
    let deviations = replay_groups(&recording)?;
    recording.check_found(&deviations, &[NAME])?;
    Ok(deviations)
}

/// Replays the Simple Spread groups of a recording; there may be none.
pub fn replay_groups(recording: &Recording) -> Result<Vec<GroupDeviation>> {
    recording.replay(NAME, |group| check_group(group, recording.local_ratio))
}

fn check_group(group: &Group, local_ratio: f64) -> std::result::Result<GroupDeviation, String> {
    let horizon = group.episodes.iter().map(|episode| episode.steps.len()).max().unwrap_or(0);
    let options = SimpleSpreadOptions {
        agents: group.agents,
        radius: Some(group.size),
        contact: Some(group.contact),
        local_ratio: Some(local_ratio),
        actions: Some(ActionSet::Grid),
        cost_distance: Some(NEAR),
        horizon,
        ..SimpleSpreadOptions::default()
    };
    let mut environment = SimpleSpread::new(&options).map_err(|error| error.to_string())?;
    let mut deviation = GroupDeviation {
        task: NAME.into(),
        agents: group.agents,
        radius: group.size,
        contact: group.contact,
        episodes: group.episodes.len(),
        ..GroupDeviation::default()
    };
    for (index, episode) in group.episodes.iter().enumerate() {
        episode.validate(group.agents).map_err(|message| format!("episode {index}: {message}"))?;
        replay(&mut environment, episode, local_ratio, &mut deviation);
    }
    Ok(deviation)
}

impl Episode {
    /// Refuses what could not be replayed.
    fn validate(&self, agents: usize) -> std::result::Result<(), String> {
        let vectors = ActionSet::Grid.vectors();
        let starts = [self.init_pos.len(), self.init_vel.len(), self.landmarks.len()];
        if starts != [agents; 3] || [self.obs0.len(), self.obs_last.len()] != [agents; 2] {
            return Err(format!("the start state is not one of {agents} agents"));
        }
        for (index, step) in self.steps.iter().enumerate() {
            let lengths = [step.a.len(), step.u.len(), step.pos.len(), step.vel.len()];
            let rewards = [step.env_reward.len(), step.local.len(), step.lm_min.len()];
            if lengths != [agents; 4] || rewards != [agents; 3] {
                return Err(format!("step {index}: not a step of {agents} agents"));
            }
            let differs = |(a, u): (&usize, &[f64; 2])| vectors.get(*a) != Some(u);
            if let Some((a, u)) = step.a.iter().zip(&step.u).find(|&pair| differs(pair)) {
                return Err(format!("step {index}: action {a} cannot mean the force {u:?}"));
            }
        }
        Ok(())
    }
}

fn replay(
    environment: &mut SimpleSpread,
    episode: &Episode,
    local_ratio: f64,
    deviation: &mut GroupDeviation,
) {
    environment.place(&episode.init_pos, &episode.init_vel, &episode.landmarks);
    compare_observations(environment, &episode.obs0, deviation);
    let mut outcome = Outcome::default();
    // These physics leave nothing to chance.
    let mut chance = Streams::new(0).rng(Purpose::Dynamics, 0);
    for step in &episode.steps {
        environment.step(&step.a, &mut chance, &mut outcome);
        compare_step(environment, step, local_ratio, deviation);
        let ended = outcome.ending != Ending::Running;
        deviation.ending_mismatches += usize::from(ended != step.truncated);
        deviation.steps += 1;
    }
    compare_observations(environment, &episode.obs_last, deviation);
}

fn compare_step(
    environment: &SimpleSpread,
    step: &Step,
    local_ratio: f64,
    deviation: &mut GroupDeviation,
) {
    let closeness = environment.closeness();
    let global = environment.nearest().global_utility();
    widen(&mut deviation.reward, global, step.global);
    for agent in 0..deviation.agents {
        let local = closeness.local_reward(agent);
        widen(&mut deviation.reward, local, step.local[agent]);
        widen(
            &mut deviation.reward,
            reward::mixed(global, local, local_ratio),
            step.env_reward[agent],
        );
        let distance = environment.nearest().distances[agent];
        widen(&mut deviation.distance, distance, step.lm_min[agent]);
        for axis in 0..2 {
            let position = environment.positions().get(agent)[axis];
            widen(&mut deviation.position, position, step.pos[agent][axis]);
            let velocity = environment.velocities().get(agent)[axis];
            widen(&mut deviation.velocity, velocity, step.vel[agent][axis]);
        }
    }
    let pairs = (closeness.pairs_touching(), closeness.pairs_near());
    deviation.pair_mismatches += usize::from(pairs != (step.pairs_2r, step.pairs_d02));
}

/// Compares each agent's row with MPE2's observation, whose communication must be silent.
fn compare_observations(
    environment: &SimpleSpread,
    observations: &[Vec<f64>],
    deviation: &mut GroupDeviation,
) {
    let spec = environment.view().spec();
    let mut state = vec![0.0; spec.state_width];
    environment.write_state(&mut state);
    let mut row = vec![0.0; spec.agent_width + 2 * (spec.n_agents() - 1)];
    for (agent, observation) in observations.iter().enumerate() {
        environment.view().agent_row(&state, agent, &mut row[..spec.agent_width]);
        if observation.len() != row.len() {
            deviation.observation = f64::INFINITY;
        }
        for (&ours, &theirs) in row.iter().zip(observation) {
            widen(&mut deviation.observation, f64::from(ours), theirs);
        }
    }
}
