//! Playing a policy on shared start states.

use crate::{
    episode::{Arena, Draws, Player, Summary},
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How policies are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationOptions {
    /// Episodes of each operating point.
    pub episodes: usize,
    /// Multipliers of a sweep.
    pub multipliers: Vec<f32>,
    /// Seed of the start states, the same for every policy and every run.
    pub start_seed: u64,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        Self {
            episodes: 1000,
            multipliers: vec![0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
            start_seed: 20_260_501,
        }
    }
}

/// Plays `episodes` episodes, as many side by side as the arena holds; the start states depend on
/// `start_seed` and the episode's number only.
pub fn play_episodes(
    arena: &mut Arena,
    policy: &mut dyn Player,
    episodes: usize,
    start_seed: u64,
) -> Vec<Summary> {
    play_range(arena, policy, 0..episodes as u64, Streams::new(start_seed), Purpose::Evaluation)
}

/// Plays the episodes with these numbers from start states that no sweep uses.
pub fn play_fresh(
    arena: &mut Arena,
    policy: &mut dyn Player,
    episodes: Range<u64>,
    start_seed: u64,
) -> Vec<Summary> {
    play_range(arena, policy, episodes, Streams::new(start_seed), Purpose::Certificate)
}

fn play_range(
    arena: &mut Arena,
    policy: &mut dyn Player,
    episodes: Range<u64>,
    streams: Streams,
    start: Purpose,
) -> Vec<Summary> {
    let mut summaries = Vec::with_capacity((episodes.end - episodes.start) as usize);
    let mut first = episodes.start;
    while first < episodes.end {
        let n = arena.len().min((episodes.end - first) as usize);
        let draws = Draws { streams, start, act: Purpose::RandomPolicy, first };
        summaries.extend_from_slice(arena.play(policy, draws, n));
        first += n as u64;
    }
    summaries
}
