//! Playing with multipliers that go on adapting (state-augmented, Calvo-Fullana et al. 2024): a dual
//! update after every episode keeps limits on average, whatever the model was trained for.

use super::{Model, vectorise};
use crate::{
    algorithm::multiplier_label,
    environment::{Scenario, Spec},
    episode::{Acting, Summary},
    error::{Error, Result, positive, within},
    evaluation::{
        Estimate, EvaluationOptions, Limits, Measures, Named, Score, play_episodes,
        statistics::mean_estimate,
    },
    multipliers::{
        DualUpdate, LearnedMultipliers, MAX_MULTIPLIER, MultiplierMode, MultiplierOptions,
        PidOptions, Settling, settling::kept_from,
    },
    rng::Streams,
};
use serde::{Deserialize, Serialize};

/// Fewest episodes after which a multiplier may be said to have settled.
const FEWEST: usize = 20;

/// How multipliers adapt while a model plays.
#[derive(Clone, Debug)]
pub struct Adapting {
    /// Most of each limited constraint's metric, on average over all episodes.
    pub limits: Named<f64>,
    /// Projected ascent or PID control.
    pub update: DualUpdate,
    /// The constants of PID control, per violation as a share of the limit.
    pub pid: PidOptions,
    /// Step of projected ascent, per violation as a share of the limit.
    pub rate: f32,
    /// Multipliers never exceed this.
    pub ceiling: f32,
    /// Multipliers of the first episode, one per constraint; those without a limit stay.
    pub start: Vec<f32>,
}

/// A part of the episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Episodes played when it ended.
    pub episode: usize,
    /// Mean of the limited metric.
    pub metric: f64,
    /// Mean multiplier.
    pub multiplier: f64,
}

/// How one limit fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptedLimit {
    /// The constraint.
    pub constraint: String,
    /// The metric it limits.
    pub metric: String,
    /// The limit.
    pub limit: f64,
    /// The metric over all episodes.
    pub mean: Estimate,
    /// The metric over the second half, when the multiplier had time to settle.
    pub late: Estimate,
    /// Mean multiplier over the second half.
    pub multiplier: f64,
    /// What the course of the multiplier says.
    pub settling: Settling,
    /// Episodes after which the mean so far stays within a tenth of the limit, where it does.
    pub kept_from: Option<usize>,
    /// The course, in twenty parts.
    pub course: Vec<Window>,
}

/// What playing with adapting multipliers came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adapted {
    /// Every metric over all episodes.
    pub score: Score,
    /// One for each limit.
    pub limits: Vec<AdaptedLimit>,
}

/// Parts of a course.
const PARTS: usize = 20;
/// The mean so far may exceed the limit by this share.
const TOLERANCE: f64 = 0.1;

/// A limited constraint: its number and that of its metric among those reported.
struct Limited {
    constraint: usize,
    metric: usize,
    limit: f64,
}

impl Adapting {
    /// Refuses what cannot work.
    fn resolve(&self, measures: &Measures) -> Result<Vec<Limited>> {
        positive("rate", self.rate, MAX_MULTIPLIER)?;
        positive("ceiling", self.ceiling, MAX_MULTIPLIER)?;
        for start in &self.start {
            within("multiplier", *start, 0.0..=f64::from(self.ceiling))?;
        }
        let objective = measures.objective().to_owned();
        let limits = self.limits.clone();
        Limits { limits, maximise: objective, confidence: 0.5, episodes: 1 }.check(measures)?;
        let find = |(name, &limit): (&str, &f64)| {
            let constraint = measures.constraints.iter().position(|c| c.name == name);
            let constraint = constraint.ok_or_else(|| unknown(name))?;
            let metric = &measures.constraints[constraint].metric;
            let metric = measures.metrics.iter().position(|m| m.name == *metric);
            Ok(Limited { constraint, metric: metric.ok_or_else(|| unknown(name))?, limit })
        };
        self.limits.iter().map(find).collect()
    }

    /// One multiplier per limit, to be learned by the team as a whole.
    fn multipliers(&self, limited: &[Limited]) -> LearnedMultipliers {
        let options = MultiplierOptions {
            mode: MultiplierMode::Learned,
            update: self.update,
            pid: self.pid,
            lambda_lr: self.rate,
            relative: true,
            lagrangian_upper_bound: self.ceiling,
            ..MultiplierOptions::default()
        };
        let limits = limited.iter().map(|limited| limited.limit as f32).collect();
        let mut learned = LearnedMultipliers::new(&options, 1, limits, (Streams::new(0), 0));
        let start: Vec<f32> = limited.iter().map(|l| self.start[l.constraint]).collect();
        learned.start_at(&start);
        learned
    }
}

fn unknown(name: &str) -> Error {
    Error::setting("limit", name, "there is no such constraint")
}

impl Model {
    /// Plays episode after episode, each at the multipliers that those before it led to; `played`
    /// hears of every episode.
    pub fn adapt(
        &self,
        scenario: &Scenario,
        options: &EvaluationOptions,
        adapting: &Adapting,
        played: &mut (dyn FnMut(usize, &[f32]) + Send),
    ) -> Result<Adapted> {
        let spec = scenario.spec()?;
        options.check(&spec)?;
        let limited = adapting.resolve(&Measures::of(&spec))?;
        let mut policy = self.cg_cmarl(scenario)?.policy_with(adapting.start.clone());
        let mut environments = vectorise(scenario, 1)?;
        let mut learned = adapting.multipliers(&limited);
        let mut multipliers = adapting.start.clone();
        let (mut episodes, mut courses) = (Vec::new(), vec![Vec::new(); limited.len()]);
        for episode in 0..options.episodes as u64 {
            for (place, l) in limited.iter().enumerate() {
                multipliers[l.constraint] = learned.values()[place];
                courses[place].push(f64::from(learned.values()[place]));
            }
            policy.set_multipliers(&multipliers);
            let range = episode..episode + 1;
            let mut acting = Acting(&mut policy);
            let summary = play_episodes(&mut environments, &mut acting, range, options.start_seed);
            environments.failure().map_or(Ok(()), Err)?;
            episodes.extend(summary);
            let last = &episodes[episodes.len() - 1];
            let costs: Vec<f32> = limited.iter().map(|l| last.metrics[l.metric] as f32).collect();
            learned.end_episode(&costs, &[]);
            played(episodes.len(), &multipliers);
        }
        Ok(adapted(&spec, adapting, &limited, &episodes, &courses))
    }
}

fn adapted(
    spec: &Spec,
    adapting: &Adapting,
    limited: &[Limited],
    episodes: &[Summary],
    courses: &[Vec<f64>],
) -> Adapted {
    let reported = spec.reported();
    let label =
        format!("adapting from {}", multiplier_label(&spec.constraint_names(), &adapting.start));
    let limits = limited.iter().zip(courses).map(|(limited, course)| {
        let values: Vec<f64> = episodes.iter().map(|e| e.metrics[limited.metric]).collect();
        let half = values.len() / 2;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let part = values.len().div_ceil(PARTS).max(1);
        let windows = values.chunks(part).zip(course.chunks(part)).scan(0, |episode, (v, c)| {
            *episode += v.len();
            Some(Window { episode: *episode, metric: mean(v), multiplier: mean(c) })
        });
        AdaptedLimit {
            constraint: spec.constraints[limited.constraint].name.clone(),
            metric: reported[limited.metric].name.clone(),
            limit: limited.limit,
            mean: mean_estimate(&values),
            late: mean_estimate(&values[half..]),
            multiplier: mean(&course[half..]),
            settling: Settling::of(course, f64::from(adapting.ceiling))
                .filter(|settling| *settling != Settling::Settled || course.len() >= FEWEST)
                .unwrap_or(Settling::Rising),
            kept_from: kept_from(&values, limited.limit, TOLERANCE),
            course: windows.collect(),
        }
    });
    Adapted {
        limits: limits.collect(),
        score: Score::of_episodes(label, Named::default(), &reported, episodes),
    }
}
