//! Replays Simple Tag episodes recorded from the MPE2 package and measures how far ours are from
//! them; the prey does what it did in the recording.

use super::{SimpleTag, SimpleTagOptions, task::NAME};
use crate::{
    environment::{
        Environment,
        particle::{
            grid_of_forces,
            recording::{GroupDeviation, NEAR, Recording, widen},
        },
    },
    error::Result,
};
use serde::Deserialize;
use std::path::Path;

/// What MPE2 pays each predator for each touch.
const TOUCH_REWARD: f64 = 10.0;

#[derive(Deserialize)]
struct Group {
    num_good: usize,
    num_adversaries: usize,
    num_obstacles: usize,
    contact: bool,
    episodes: Vec<Episode>,
}

#[derive(Deserialize)]
struct Episode {
    init_pos: Vec<[f64; 2]>,
    init_vel: Vec<[f64; 2]>,
    #[serde(rename = "landmarks")]
    obstacles: Vec<[f64; 2]>,
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
    pairs_d02: u32,
    truncated: bool,
}

/// Replays the Simple Tag groups of a recording, plain JSON or compressed with gzip.
pub fn check(path: &Path) -> Result<Vec<GroupDeviation>> {
    let recording = Recording::read(path)?;
    let deviations = replay_groups(&recording)?;
    recording.check_found(&deviations, &[NAME])?;
    Ok(deviations)
}

/// Replays the Simple Tag groups of a recording; there may be none.
pub fn replay_groups(recording: &Recording) -> Result<Vec<GroupDeviation>> {
    recording.replay(NAME, check_group)
}

fn check_group(group: &Group) -> std::result::Result<GroupDeviation, String> {
    if group.num_good != 1 {
        return Err(format!("{} prey, and there is one here", group.num_good));
    }
    let options = SimpleTagOptions {
        agents: group.num_adversaries,
        obstacles: group.num_obstacles,
        contact: group.contact,
        horizon: group.episodes.iter().map(|episode| episode.steps.len()).max().unwrap_or(0),
        ..SimpleTagOptions::default()
    };
    let mut environment = SimpleTag::new(&options).map_err(|error| error.to_string())?;
    let mut deviation = GroupDeviation {
        task: NAME.into(),
        agents: group.num_adversaries,
        radius: super::physics::PREDATOR.radius,
        contact: group.contact,
        episodes: group.episodes.len(),
        ..GroupDeviation::default()
    };
    for (index, episode) in group.episodes.iter().enumerate() {
        let named = |message| format!("episode {index}: {message}");
        episode.validate(group.num_adversaries, group.num_obstacles).map_err(named)?;
        replay(&mut environment, episode, &mut deviation);
    }
    Ok(deviation)
}

impl Episode {
    /// Refuses what could not be replayed.
    fn validate(&self, predators: usize, obstacles: usize) -> std::result::Result<(), String> {
        let bodies = predators + 1;
        let starts = [self.init_pos.len(), self.init_vel.len(), self.obs0.len()];
        if starts != [bodies; 3] || self.obstacles.len() != obstacles {
            return Err(format!("the start state is not one of {predators} predators"));
        }
        let vectors = grid_of_forces();
        for (index, step) in self.steps.iter().enumerate() {
            let lengths = [step.a.len(), step.u.len(), step.pos.len(), step.vel.len()];
            if lengths != [bodies; 4] || step.env_reward.len() != bodies {
                return Err(format!("step {index}: not a step of {predators} predators"));
            }
            let differs = |(a, u): (&usize, &[f64; 2])| vectors.get(*a) != Some(u);
            if let Some((a, u)) = step.a.iter().zip(&step.u).find(|&pair| differs(pair)) {
                return Err(format!("step {index}: action {a} cannot mean the force {u:?}"));
            }
        }
        Ok(())
    }
}

fn replay(environment: &mut SimpleTag, episode: &Episode, deviation: &mut GroupDeviation) {
    environment.place(&episode.init_pos, &episode.init_vel, &episode.obstacles);
    compare_observations(environment, &episode.obs0, deviation);
    let n = environment.bodies().prey();
    for step in &episode.steps {
        environment.advance(&step.a[..n], step.u[n]);
        compare_step(environment, step, deviation);
        let ended = environment.is_over();
        deviation.ending_mismatches += usize::from(ended != step.truncated);
        deviation.steps += 1;
    }
    compare_observations(environment, &episode.obs_last, deviation);
}

fn compare_step(environment: &SimpleTag, step: &Step, deviation: &mut GroupDeviation) {
    let bodies = environment.bodies();
    let touches = (0..bodies.prey()).filter(|&predator| bodies.touches(predator)).count();
    for predator in 0..bodies.prey() {
        let reward = TOUCH_REWARD * touches as f64;
        widen(&mut deviation.reward, reward, step.env_reward[predator]);
    }
    let mut n_near = 0;
    for body in 0..bodies.positions.len() {
        for axis in 0..2 {
            let position = bodies.positions.get(body)[axis];
            widen(&mut deviation.position, position, step.pos[body][axis]);
            let velocity = bodies.velocities.get(body)[axis];
            widen(&mut deviation.velocity, velocity, step.vel[body][axis]);
        }
        n_near += (0..body).filter(|&other| bodies.distance(other, body) < NEAR).count();
    }
    deviation.pair_mismatches += usize::from(n_near != step.pairs_d02 as usize);
}

/// Compares each predator's row with MPE2's observation.
fn compare_observations(
    environment: &SimpleTag,
    observations: &[Vec<f64>],
    deviation: &mut GroupDeviation,
) {
    let spec = environment.view().spec();
    let mut state = vec![0.0; spec.state_width];
    environment.write_state(&mut state);
    let mut row = vec![0.0; spec.agent_width];
    for (agent, observation) in observations.iter().enumerate().take(spec.n_agents()) {
        environment.view().agent_row(&state, agent, &mut row);
        if observation.len() != row.len() {
            deviation.observation = f64::INFINITY;
        }
        for (&ours, &theirs) in row.iter().zip(observation) {
            widen(&mut deviation.observation, f64::from(ours), theirs);
        }
    }
}
