//! Replays episodes recorded from the MPE2 package and measures how far ours are from them.

use super::{ActionSet, SimpleSpread, SimpleSpreadOptions, reward};
use crate::{
    environment::{Ending, Environment, Outcome},
    error::{Error, Result},
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use std::{io::Read, path::Path};

/// Largest deviation that counts as equal, in double precision.
pub const TOLERANCE: f64 = 1e-9;
/// Largest deviation of observations, which are single precision.
pub const OBSERVATION_TOLERANCE: f64 = 5e-6;
/// The one format that is read.
const FORMAT: &str = "mpe2-golden-1";
/// Distance of the second recorded pair count.
const NEAR: f64 = 0.2;

/// How far the replay of one group of episodes is from its recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupDeviation {
    /// Team size.
    pub agents: usize,
    /// Radius of an agent.
    pub radius: f64,
    /// Whether contact forces were on.
    pub contact: bool,
    /// Episodes replayed.
    pub episodes: usize,
    /// Steps replayed.
    pub steps: usize,
    /// Largest deviation of a coordinate of a position.
    pub position: f64,
    /// Largest deviation of a coordinate of a velocity.
    pub velocity: f64,
    /// Largest deviation of a global, local or mixed reward.
    pub reward: f64,
    /// Largest deviation of a landmark's smallest agent distance.
    pub landmark_distance: f64,
    /// Largest deviation of an agent's observation.
    pub observation: f64,
    /// Steps with another number of pairs closer than two radii, or closer than 0.2.
    pub pair_mismatches: usize,
    /// Steps at which only one of the two episodes ended.
    pub ending_mismatches: usize,
}

impl GroupDeviation {
    /// Largest of the deviations that must stay below [`TOLERANCE`].
    pub fn largest(&self) -> f64 {
        [self.velocity, self.reward, self.landmark_distance]
            .into_iter()
            .fold(self.position, f64::max)
    }

    /// Whether replay and recording are equal.
    pub fn passes(&self) -> bool {
        self.largest() <= TOLERANCE
            && self.observation <= OBSERVATION_TOLERANCE
            && self.pair_mismatches + self.ending_mismatches == 0
    }
}

#[derive(Deserialize)]
struct Recording {
    format: String,
    local_ratio: f64,
    groups: Vec<serde_json::Value>,
}

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
    let text = read(path)?;
    let wrong = |error: &serde_json::Error| {
        Error::format(path, Some(error.line()), format!("not a recording: {error}"))
    };
    let recording: Recording = serde_json::from_slice(&text).map_err(|e| wrong(&e))?;
    if recording.format != FORMAT {
        let message = format!("format is `{}`, expected `{FORMAT}`", recording.format);
        return Err(Error::format(path, None, message));
    }
    let mut deviations = Vec::new();
    for (index, value) in recording.groups.into_iter().enumerate() {
        if value.get("env").and_then(serde_json::Value::as_str) != Some("simple_spread") {
            continue;
        }
        let named =
            |message: String| Error::format(path, None, format!("group {index}: {message}"));
        let group: Group = serde_json::from_value(value).map_err(|e| named(e.to_string()))?;
        deviations.push(check_group(&group, recording.local_ratio).map_err(named)?);
    }
    if deviations.is_empty() {
        return Err(Error::format(path, None, "no group with env `simple_spread`"));
    }
    Ok(deviations)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    decoder.read_to_end(&mut text).map_err(Error::file(path))?;
    Ok(text)
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
        widen(&mut deviation.landmark_distance, distance, step.lm_min[agent]);
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

/// Raises the largest deviation seen; one that is not a number counts as infinite.
fn widen(largest: &mut f64, ours: f64, theirs: f64) {
    let deviation = (ours - theirs).abs();
    *largest = largest.max(if deviation.is_nan() { f64::INFINITY } else { deviation });
}
