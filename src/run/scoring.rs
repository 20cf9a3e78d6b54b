//! Scores of a trained model: single policies, whole sweeps, and parts of either.

use super::{Model, limits, model::EVALUATION_WIDTH, vectorise};
use crate::{
    algorithm::OperatingPoint,
    environment::{Scenario, Spec},
    episode::{Acting, Controller, Summary},
    error::{Error, Result},
    evaluation::{
        EvaluationOptions, Front, Measures, Named, RandomPolicy, Score,
        front::RANDOM,
        grid,
        part::{Part, PlayedEpisodes, Whole},
        play_episodes,
    },
};
use std::ops::Range;

impl Model {
    /// Scores every operating point on the same start states, with the random policy and the task's
    /// references.
    pub fn sweep(
        &self,
        scenario: &Scenario,
        options: &EvaluationOptions,
        done: &mut dyn FnMut(&Score),
    ) -> Result<Front> {
        let points = grid(options, &scenario.spec()?)?;
        let points = self.operating_points(scenario, &points)?;
        sweep_policies(scenario, &self.config.algorithm, options, points, done)
    }

    /// Plays some episodes of a sweep, to be merged with the others.
    pub fn sweep_part(
        &self,
        scenario: &Scenario,
        options: &EvaluationOptions,
        range: Range<usize>,
    ) -> Result<Part> {
        let points = grid(options, &scenario.spec()?)?;
        let keep = |label: &str, multipliers, episodes| {
            PlayedEpisodes::new(label.into(), multipliers, episodes)
        };
        let references = play_references(scenario, options, range.clone(), keep)?;
        let part = self.score_part(scenario, options, range, &points)?;
        Ok(Part { references, ..part })
    }

    /// Plays some episodes at these multipliers, to be merged with the others.
    pub fn score_part(
        &self,
        scenario: &Scenario,
        options: &EvaluationOptions,
        range: Range<usize>,
        multipliers: &[Vec<f32>],
    ) -> Result<Part> {
        let points = self.operating_points(scenario, multipliers)?;
        let whole = self.whole(scenario, options)?;
        let keep = |label: &str, multipliers, episodes| {
            PlayedEpisodes::new(label.into(), multipliers, episodes)
        };
        let points = play_points(scenario, options, range.clone(), points, keep)?;
        Ok(Part { whole, from: range.start, to: range.end, points, references: Vec::new() })
    }

    /// What the parts of an evaluation of this model share.
    pub fn whole(&self, scenario: &Scenario, options: &EvaluationOptions) -> Result<Whole> {
        let spec = scenario.spec()?;
        Ok(Whole {
            task: scenario.name().into(),
            algorithm: self.config.algorithm.clone(),
            agents: spec.n_agents(),
            model: self.fingerprint(),
            start_seed: options.start_seed,
            episodes: options.episodes,
            measures: Measures::of(&spec),
            environment: scenario.card()?,
        })
    }
}

/// Scores policies on the same start states, with the random policy and the task's references.
pub fn sweep_policies(
    scenario: &Scenario,
    algorithm: &str,
    options: &EvaluationOptions,
    points: Vec<OperatingPoint>,
    done: &mut dyn FnMut(&Score),
) -> Result<Front> {
    let spec = scenario.spec()?;
    let (metrics, all) = (spec.reported(), 0..options.episodes);
    let score = |label: &str, multipliers, episodes: Vec<Summary>| {
        Score::of_episodes(label, multipliers, &metrics, &episodes)
    };
    let references = play_references(scenario, options, all.clone(), score)?;
    let scores = play_points(scenario, options, all, points, |label, multipliers, episodes| {
        let score = score(label, multipliers, episodes);
        done(&score);
        score
    })?;
    Ok(Front::new(
        (scenario.name(), algorithm),
        spec.n_agents(),
        Measures::of(&spec),
        scores,
        references,
        scenario.card()?,
    ))
}

/// Plays some episodes of the policies played beside a front, and keeps of each what is asked for.
fn play_references<T>(
    scenario: &Scenario,
    options: &EvaluationOptions,
    range: Range<usize>,
    keep: impl Fn(&str, Named<f64>, Vec<Summary>) -> T,
) -> Result<Vec<T>> {
    let mut kept = Vec::new();
    for mut reference in scenario.references()? {
        let mut acting = Acting(reference.policy.as_mut());
        let episodes = episodes_in(scenario, options, range.clone(), &mut acting)?;
        kept.push(keep(&reference.name, Named::default(), episodes));
    }
    let episodes = episodes_in(scenario, options, range, &mut RandomPolicy::default())?;
    kept.push(keep(RANDOM, Named::default(), episodes));
    Ok(kept)
}

/// Plays some episodes of the points of a front, and keeps of each what is asked for.
fn play_points<T>(
    scenario: &Scenario,
    options: &EvaluationOptions,
    range: Range<usize>,
    points: Vec<OperatingPoint>,
    mut keep: impl FnMut(&str, Named<f64>, Vec<Summary>) -> T,
) -> Result<Vec<T>> {
    let (spec, mut kept) = (scenario.spec()?, Vec::new());
    for mut point in points {
        let multipliers = named_multipliers(&spec, &point.multipliers);
        let mut acting = Acting(point.policy.as_mut());
        let episodes = episodes_in(scenario, options, range.clone(), &mut acting)?;
        kept.push(keep(&point.label, multipliers, episodes));
    }
    Ok(kept)
}

/// Multipliers by the names of their constraints; through text, so that 0.05 stays 0.05 in double
/// precision.
pub fn named_multipliers(spec: &Spec, multipliers: &[f32]) -> Named<f64> {
    let double = |m: &f32| m.to_string().parse().unwrap_or(f64::from(*m));
    let names = spec.constraint_names().into_iter();
    names.zip(multipliers.iter().map(double)).collect()
}

/// The score of one policy.
pub fn play(
    scenario: &Scenario,
    options: &EvaluationOptions,
    label: &str,
    multipliers: Named<f64>,
    controller: &mut dyn Controller,
) -> Result<Score> {
    let episodes = episodes_of(scenario, options, controller)?;
    Ok(Score::of_episodes(label, multipliers, &scenario.spec()?.reported(), &episodes))
}

/// The episodes of one policy.
pub fn episodes_of(
    scenario: &Scenario,
    options: &EvaluationOptions,
    controller: &mut dyn Controller,
) -> Result<Vec<Summary>> {
    episodes_in(scenario, options, 0..options.episodes, controller)
}

/// Some of the episodes of one policy.
fn episodes_in(
    scenario: &Scenario,
    options: &EvaluationOptions,
    range: Range<usize>,
    controller: &mut dyn Controller,
) -> Result<Vec<Summary>> {
    let spec = scenario.spec()?;
    options.check(&spec)?;
    if range.is_empty() || range.end > options.episodes {
        let reason = format!("is no part of the {} episodes", options.episodes);
        return Err(Error::setting("episodes", format!("{range:?}"), reason));
    }
    let n_together = EVALUATION_WIDTH.min(limits::environments_together(&spec));
    let mut environments = vectorise(scenario, range.len().min(n_together))?;
    let episodes = range.start as u64..range.end as u64;
    let played = play_episodes(&mut environments, controller, episodes, options.start_seed);
    environments.failure().map_or(Ok(played), Err)
}
