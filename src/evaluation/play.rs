//! Playing a policy on shared start states.

use crate::{
    episode::{Arena, Draws, Player, Summary},
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};

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
    let mut summaries = Vec::with_capacity(episodes);
    while summaries.len() < episodes {
        let n = arena.len().min(episodes - summaries.len());
        let draws = Draws {
            streams: Streams::new(start_seed),
            start: Purpose::Evaluation,
            act: Purpose::RandomPolicy,
            first: summaries.len() as u64,
        };
        summaries.extend_from_slice(arena.play(policy, draws, n));
    }
    summaries
}
