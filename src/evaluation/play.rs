//! Playing a policy on shared start states.

use crate::{
    environment::Spec,
    episode::{Controller, EpisodeStreams, Summary, VectorEnvironment},
    error::{Error, Result, count, within},
    multipliers::MAX_MULTIPLIER,
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, ops::Range};

/// Most points of a sweep.
const MAX_POINTS: usize = 10_000;

/// How policies are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationOptions {
    /// Episodes of each operating point.
    pub episodes: usize,
    /// Multipliers of a sweep, each for all constraints.
    pub multipliers: Vec<f32>,
    /// Seed of the start states, the same for every policy and every run.
    pub start_seed: u64,
    /// Multipliers of single constraints: a sweep then visits every combination; a constraint that is
    /// not listed takes `multipliers`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grid: BTreeMap<String, Vec<f32>>,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        Self {
            episodes: 1000,
            multipliers: vec![0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
            start_seed: 20_260_501,
            grid: BTreeMap::new(),
        }
    }
}

/// Most episodes of an evaluation.
const MAX_EPISODES: u64 = 10_000_000;

impl EvaluationOptions {
    /// Refuses what cannot be measured on an environment.
    pub fn check(&self, spec: &Spec) -> Result<()> {
        count("episodes", self.episodes as u64, 1..=MAX_EPISODES)?;
        grid(self, spec).map(drop)
    }
}

/// The multipliers of every point of a sweep, one number per constraint: the same for all
/// constraints, or every combination where some have a list of their own.
pub fn grid(options: &EvaluationOptions, spec: &Spec) -> Result<Vec<Vec<f32>>> {
    let names = spec.constraint_names();
    if let Some(stranger) = options.grid.keys().find(|name| !names.contains(name)) {
        let reason = format!("the constraints are {names:?}");
        return Err(Error::setting("multipliers", stranger, reason));
    }
    let lists = options.grid.values().chain([&options.multipliers]);
    for multiplier in lists.flatten() {
        within("multipliers", *multiplier, 0.0..=MAX_MULTIPLIER)?;
    }
    let diagonal = &options.multipliers;
    let list = |name: &String| options.grid.get(name).unwrap_or(diagonal);
    let n_points = if options.grid.is_empty() {
        diagonal.len()
    } else {
        names.iter().map(|name| list(name).len()).fold(1, usize::saturating_mul)
    };
    if n_points == 0 || n_points > MAX_POINTS {
        let reason = format!("a sweep has 1 to {MAX_POINTS} points");
        return Err(Error::setting("multipliers", format!("{n_points} points"), reason));
    }
    if options.grid.is_empty() {
        return Ok(diagonal.iter().map(|&multiplier| vec![multiplier; names.len()]).collect());
    }
    let mut points = vec![Vec::new()];
    for name in &names {
        points = points
            .iter()
            .flat_map(|point| list(name).iter().map(move |&m| [&point[..], &[m]].concat()))
            .collect();
    }
    Ok(points)
}

/// Plays `episodes` episodes, as many side by side as there are environments; the start states
/// depend on `start_seed` and the episode's number only.
pub fn play_episodes(
    environments: &mut VectorEnvironment,
    controller: &mut dyn Controller,
    episodes: Range<u64>,
    start_seed: u64,
) -> Vec<Summary> {
    let streams = evaluation_streams(start_seed, episodes.start);
    play_range(environments, controller, episodes.end, streams)
}

/// The randomness of evaluation episodes, numbered on from `first`.
pub fn evaluation_streams(start_seed: u64, first: u64) -> EpisodeStreams {
    EpisodeStreams {
        streams: Streams::new(start_seed),
        start: Purpose::Evaluation,
        dynamics: Purpose::EvaluationDynamics,
        act: Purpose::RandomPolicy,
        first,
    }
}

/// Plays the episodes with these numbers from start states that no sweep uses.
pub fn play_fresh(
    environments: &mut VectorEnvironment,
    controller: &mut dyn Controller,
    episodes: Range<u64>,
    start_seed: u64,
) -> Vec<Summary> {
    let streams = EpisodeStreams {
        streams: Streams::new(start_seed),
        start: Purpose::Certificate,
        dynamics: Purpose::CertificateDynamics,
        act: Purpose::RandomPolicy,
        first: episodes.start,
    };
    play_range(environments, controller, episodes.end, streams)
}

fn play_range(
    environments: &mut VectorEnvironment,
    controller: &mut dyn Controller,
    end: u64,
    mut streams: EpisodeStreams,
) -> Vec<Summary> {
    let mut summaries = Vec::new();
    while streams.first < end {
        let n = environments.len().min((end - streams.first) as usize);
        summaries.extend_from_slice(environments.play(controller, streams, n));
        streams.first += n as u64;
    }
    summaries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Scenario, simple_spread::SimpleSpreadOptions};

    fn two_constraints() -> Spec {
        let options = r#"constraints = ["collision", "energy"]"#;
        let options: SimpleSpreadOptions = toml::from_str(options).unwrap();
        Scenario::new("simple_spread", &options).unwrap().spec().unwrap()
    }

    #[test]
    fn one_list_moves_all_multipliers_together_and_two_make_a_grid() {
        let mut options =
            EvaluationOptions { multipliers: vec![0.0, 1.0], ..EvaluationOptions::default() };
        let spec = two_constraints();
        assert_eq!(grid(&options, &spec).unwrap(), [[0.0, 0.0], [1.0, 1.0]]);
        options.grid.insert("energy".into(), vec![0.5, 2.0]);
        let all = [[0.0, 0.5], [0.0, 2.0], [1.0, 0.5], [1.0, 2.0]];
        assert_eq!(grid(&options, &spec).unwrap(), all);
    }

    #[test]
    fn strange_multipliers_are_refused_by_value() {
        for wrong in [f32::NAN, f32::INFINITY, -3.0] {
            let multipliers = vec![0.0, wrong];
            let options = EvaluationOptions { multipliers, ..EvaluationOptions::default() };
            let error = grid(&options, &two_constraints()).unwrap_err().to_string();
            assert!(error.contains("`multipliers`"), "{error}");
        }
        let mut options = EvaluationOptions::default();
        options.grid.insert("height".into(), vec![0.5]);
        assert!(grid(&options, &two_constraints()).is_err());
    }
}
