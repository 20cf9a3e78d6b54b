//! Choosing the operating point with the best objective among those shown to keep every limit.
//!
//! A pilot sorts out dominated candidates and orders the rest, safest first; each is then tested on
//! fresh episodes at the full confidence until the first that fails. Such a fixed sequence needs no
//! correction for the number of candidates: a wrong certificate requires that the first bad
//! candidate reached is certified, and that one test errs with probability 1 − confidence at most
//! (Bonferroni would charge for all). Nor do several limits need one: a candidate is certified only
//! where every limit is shown, so that one that breaks a limit must fool the test of just that limit.

use super::{
    certificate::{log_capital, upper_bound, values_needed},
    front::Measures,
    named::Named,
    pareto::{Point, oriented, pareto_optimal},
    score::Score,
    statistics::mean_estimate,
};
use crate::{
    environment::{Better, Metric},
    episode::Summary,
    error::{Error, Result},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Episodes between two looks at the evidence.
const BATCH: usize = 500;

/// What a choice must keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Most of each limited constraint, by its name, in the unit of the metric it limits.
    pub limits: Named<f64>,
    /// The metric that is made as good as the limits allow.
    pub maximise: String,
    /// How sure to be.
    pub confidence: f64,
    /// Most episodes of each candidate.
    pub episodes: usize,
}

/// One limit, with the metric it is about.
struct Limited<'a> {
    constraint: &'a str,
    index: usize,
    metric: &'a Metric,
    limit: f64,
}

impl Limited<'_> {
    /// The metric's values of some episodes, counted from the least possible.
    fn values(&self, episodes: &[Summary]) -> Vec<f64> {
        episodes.iter().map(|episode| episode.metrics[self.index] - self.metric.range[0]).collect()
    }

    /// The limit, counted from the least possible.
    fn above_least(&self) -> f64 {
        self.limit - self.metric.range[0]
    }

    /// How far the metric can reach.
    fn most(&self) -> f64 {
        self.metric.range[1] - self.metric.range[0]
    }
}

impl Limits {
    /// Refuses limits that cannot be tested on a task with these measures.
    pub fn check(&self, measures: &Measures) -> Result<()> {
        self.resolve(measures)?;
        if measures.metric(&self.maximise).is_none() {
            return Err(unknown(
                "maximise",
                &self.maximise,
                measures.metrics.iter().map(|m| &m.name),
            ));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::setting("confidence", self.confidence, "must lie between 0 and 1"));
        }
        if self.episodes == 0 {
            return Err(Error::setting("episodes", 0, "must be positive"));
        }
        Ok(())
    }

    fn resolve<'a>(&'a self, measures: &'a Measures) -> Result<Vec<Limited<'a>>> {
        if self.limits.is_empty() {
            let names: Vec<_> = measures.constraints.iter().map(|c| c.name.as_str()).collect();
            let example = names.first().unwrap_or(&"NAME");
            let reason = format!("give one of `{}`, such as {example}=0.005", names.join("`, `"));
            return Err(Error::setting("limit", "none", reason));
        }
        self.limits.iter().map(|(name, &limit)| limited(measures, name, limit)).collect()
    }
}

fn limited<'a>(measures: &'a Measures, name: &'a str, limit: f64) -> Result<Limited<'a>> {
    let Some(constraint) = measures.constraints.iter().find(|known| known.name == name) else {
        return Err(unknown("limit", name, measures.constraints.iter().map(|c| &c.name)));
    };
    let found = measures.metrics.iter().enumerate().find(|(_, m)| m.name == constraint.metric);
    let Some((index, metric)) = found else {
        return Err(unknown("limit", name, measures.constraints.iter().map(|c| &c.name)));
    };
    let shown = format!("{name}={limit}");
    let [least, most] = metric.range;
    if metric.better != Better::Lower || !(least.is_finite() && most.is_finite()) {
        let reason = format!("`{}` has no largest value, so that nothing bounds it", metric.name);
        return Err(Error::setting("limit", shown, reason));
    }
    if !(limit.is_finite() && limit > least) {
        let reason = format!("must be above {least}: no number of episodes shows less");
        return Err(Error::setting("limit", shown, reason));
    }
    Ok(Limited { constraint: name, index, metric, limit })
}

fn unknown<'a>(key: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    let names: Vec<_> = known.map(|name| format!("`{name}`")).collect();
    Error::setting(key, name, format!("must be one of {}", names.join(", ")))
}

/// What the test of a candidate came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    /// Every limit is kept with the wanted confidence.
    Certified,
    /// It was tested, and that was not shown.
    NotShown,
    /// The pilot found a better one, or a safer one failed before it.
    NotTested,
}

/// One candidate with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// On the fresh episodes; the pilot's where it was not tested.
    #[serde(flatten)]
    pub score: Score,
    /// Each limited metric is below this with the wanted confidence, by constraint; none without a test.
    pub upper_bounds: Named<f64>,
    /// What the test came to.
    pub verdict: TestResult,
    /// Episodes that would settle it if it goes on like this, where it could be settled.
    pub episodes_needed: Option<usize>,
}

/// Plays episodes with these numbers at the candidate with this index.
pub type PlayFresh<'a> = dyn FnMut(usize, Range<u64>) -> Result<Vec<Summary>> + 'a;

/// Tests candidates from the safest pilot score on, with fresh episodes, until one fails.
pub fn test_candidates(
    pilot: &[Score],
    measures: &Measures,
    limits: &Limits,
    play: &mut PlayFresh<'_>,
) -> Result<Vec<Candidate>> {
    limits.check(measures)?;
    let limited = limits.resolve(measures)?;
    let points: Vec<Point> =
        pilot.iter().map(|score| trade_off(score, measures, limits, &limited)).collect();
    let optimal = pareto_optimal(&points);
    // Where the pilot cannot tell, the larger multiplier is the safer guess; the sort is stable.
    let mut order: Vec<usize> = (0..pilot.len()).rev().filter(|index| optimal[*index]).collect();
    let risk = |index: usize| {
        let used = limited.iter().map(|l| pilot[index].mean(&l.metric.name) / l.limit);
        used.fold(f64::NEG_INFINITY, f64::max)
    };
    order.sort_by(|left, right| risk(*left).total_cmp(&risk(*right)));
    let mut candidates: Vec<Candidate> = pilot.iter().cloned().map(untested).collect();
    for index in order {
        candidates[index] =
            test(&pilot[index], measures, limits, &limited, &mut |episodes| play(index, episodes))?;
        if candidates[index].verdict != TestResult::Certified {
            break;
        }
    }
    Ok(candidates)
}

/// The certified candidate with the best objective; on a tie the one that is safer.
pub fn best<'c>(
    candidates: &'c [Candidate],
    measures: &Measures,
    limits: &Limits,
) -> Option<&'c Candidate> {
    let limited = limits.resolve(measures).ok()?;
    let key = |candidate: &Candidate| trade_off(&candidate.score, measures, limits, &limited);
    let certified = candidates.iter().filter(|c| c.verdict == TestResult::Certified);
    certified.max_by(|a, b| {
        let (a, b) = (key(a), key(b));
        let axes = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
        axes.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    })
}

/// Objective first, then every limited metric; more is better.
fn trade_off(
    score: &Score,
    measures: &Measures,
    limits: &Limits,
    limited: &[Limited<'_>],
) -> Point {
    let objective = measures.metric(&limits.maximise).into_iter();
    let metrics = objective.chain(limited.iter().map(|limited| limited.metric));
    metrics.map(|metric| oriented(metric, score.mean(&metric.name))).collect()
}

fn untested(score: Score) -> Candidate {
    let (verdict, upper_bounds) = (TestResult::NotTested, Named::default());
    Candidate { score, upper_bounds, verdict, episodes_needed: None }
}

/// Plays batch after batch until every limit is shown, one is out of reach, or the episodes are used up.
fn test(
    pilot: &Score,
    measures: &Measures,
    limits: &Limits,
    limited: &[Limited<'_>],
    play: &mut dyn FnMut(Range<u64>) -> Result<Vec<Summary>>,
) -> Result<Candidate> {
    let wanted = -(1.0 - limits.confidence).ln();
    let mut episodes: Vec<Summary> = Vec::new();
    let shown = |limited: &Limited<'_>, episodes: &[Summary]| {
        let scaled: Vec<f64> =
            limited.values(episodes).iter().map(|value| value / limited.most()).collect();
        log_capital(&scaled, limited.above_least() / limited.most()) >= wanted
    };
    let is_certified = loop {
        let end = (episodes.len() + BATCH).min(limits.episodes);
        episodes.extend(play(episodes.len() as u64..end as u64)?);
        if limited.iter().all(|limited| shown(limited, &episodes)) {
            break true;
        }
        // Giving up early can only withhold a certificate, so it needs no proof of its own.
        let hopeless = |limited: &Limited<'_>| {
            mean_estimate(&limited.values(&episodes)).low > limited.above_least()
        };
        if limited.iter().any(hopeless) || end == limits.episodes {
            break false;
        }
    };
    let bound = |limited: &Limited<'_>| {
        let bound = upper_bound(&limited.values(&episodes), limited.most(), limits.confidence);
        (limited.constraint.to_owned(), limited.metric.range[0] + bound)
    };
    let needed = |limited: &Limited<'_>| {
        let values = limited.values(&episodes);
        values_needed(&values, limited.most(), limited.above_least(), limits.confidence)
    };
    let needed: Option<Vec<usize>> = limited.iter().map(needed).collect();
    let (label, multipliers) = (pilot.label.clone(), pilot.multipliers.clone());
    Ok(Candidate {
        score: Score::of_episodes(label, multipliers, &measures.metrics, &episodes),
        upper_bounds: limited.iter().map(bound).collect(),
        verdict: if is_certified { TestResult::Certified } else { TestResult::NotShown },
        episodes_needed: needed.and_then(|n| n.into_iter().max()).filter(|_| !is_certified),
    })
}

/// What `choose` leaves in a run, for the commands that need multipliers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The multipliers to play at, by constraint.
    pub multipliers: Named<f64>,
    /// What they keep.
    #[serde(flatten)]
    pub limits: Limits,
    /// Their evidence.
    pub evidence: Candidate,
    /// Where it was measured.
    pub environment: serde_json::Value,
    /// Tells the model that was measured from others; earlier versions did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::{Constraint, Reduce},
        rng::{Purpose, Rng, Streams},
    };

    fn measures() -> Measures {
        let metric = |name: &str, better| Metric::new(name, "", Reduce::Mean, better, [0.0, 1.0]);
        let constraint = |name: &str| Constraint {
            name: name.into(),
            unit: String::new(),
            metric: format!("{name}_rate"),
            most: 1.0,
            unavoidable: None,
        };
        Measures {
            metrics: vec![
                metric("gain", Better::Higher),
                metric("first_rate", Better::Lower),
                metric("second_rate", Better::Lower),
            ],
            constraints: vec![constraint("first"), constraint("second")],
            axes: vec!["gain".into(), "first_rate".into(), "second_rate".into()],
        }
    }

    fn limits(first: f64, second: Option<f64>) -> Limits {
        let pairs = [("first".to_owned(), first)].into_iter();
        let pairs = pairs.chain(second.map(|second| ("second".to_owned(), second)));
        let limits = pairs.collect();
        Limits { limits, maximise: "gain".into(), confidence: 0.9, episodes: 1000 }
    }

    fn episode(rng: &mut Rng, rates: [f64; 2], gain: f64) -> Summary {
        let hit = rates.map(|rate| f64::from(u8::from(rng.uniform() < rate)));
        Summary { metrics: vec![gain, hit[0], hit[1]], ..Summary::default() }
    }

    /// Three candidates whose costs rise with their gain, tested with the draws of one trial.
    fn trial(rates: [[f64; 2]; 3], index: u64, limits: &Limits) -> Vec<Candidate> {
        let gains = [0.9, 0.6, 0.3];
        let mut rng = Streams::new(12).rng(Purpose::Problem, index);
        let mut draw = |which: usize, n: usize| -> Vec<Summary> {
            (0..n).map(|_| episode(&mut rng, rates[which], gains[which])).collect()
        };
        let pilot: Vec<Score> = (0..3)
            .map(|which| {
                let multipliers = [("first".to_owned(), which as f64)].into_iter().collect();
                Score::of_episodes("λ", multipliers, &measures().metrics, &draw(which, 100))
            })
            .collect();
        test_candidates(&pilot, &measures(), limits, &mut |which, range| {
            Ok(draw(which, (range.end - range.start) as usize))
        })
        .unwrap()
    }

    fn on_first(rates: [f64; 3]) -> [[f64; 2]; 3] {
        rates.map(|rate| [rate, 0.0])
    }

    #[test]
    fn the_best_gain_that_keeps_the_limit_is_chosen() {
        let limits = limits(0.2, None);
        let candidates = trial(on_first([0.5, 0.1, 0.01]), 0, &limits);
        let verdicts: Vec<_> = candidates.iter().map(|candidate| candidate.verdict).collect();
        assert_eq!(verdicts, [TestResult::NotShown, TestResult::Certified, TestResult::Certified]);
        let chosen = best(&candidates, &measures(), &limits).unwrap();
        assert_eq!(chosen.score.multipliers.get("first"), Some(&1.0));
        assert!(*candidates[1].upper_bounds.get("first").unwrap() <= 0.2);
    }

    #[test]
    fn a_second_limit_rules_out_what_the_first_allows() {
        let rates = [[0.01, 0.5], [0.01, 0.3], [0.01, 0.01]];
        let both = limits(0.2, Some(0.1));
        let candidates = trial(rates, 0, &both);
        let chosen = best(&candidates, &measures(), &both).unwrap();
        assert_eq!(chosen.score.multipliers.get("first"), Some(&2.0));
        assert_eq!(chosen.upper_bounds.len(), 2);
    }

    #[test]
    fn a_limit_that_none_keeps_and_one_that_cannot_be_tested_are_refused() {
        let strict = limits(0.001, None);
        let candidates = trial(on_first([0.5, 0.05, 0.02]), 0, &strict);
        assert!(best(&candidates, &measures(), &strict).is_none());
        assert_eq!(candidates[0].verdict, TestResult::NotTested);
        let sure = Limits { confidence: 1.0, ..limits(0.2, None) };
        let nothing = Limits { limits: Named::default(), ..limits(0.2, None) };
        let other = Limits { maximise: "glory".into(), ..limits(0.2, None) };
        for limits in [limits(0.0, None), limits(f64::NAN, None), sure, nothing, other] {
            assert!(limits.check(&measures()).is_err(), "{limits:?}");
        }
        let stranger = Limits {
            limits: [("third".to_owned(), 0.1)].into_iter().collect(),
            ..limits(0.2, None)
        };
        let error = stranger.check(&measures()).unwrap_err().to_string();
        assert!(error.contains("`first`, `second`"), "{error}");
    }

    #[test]
    fn a_choice_breaks_a_limit_no_more_often_than_it_says() {
        // All three are just above a limit, so that every choice is a wrong one.
        let n_trials = 600;
        let rates = [[0.205, 0.1], [0.1, 0.202], [0.2, 0.1]];
        let both = limits(0.2, Some(0.2));
        let wrong = (0..n_trials)
            .filter(|index| best(&trial(rates, *index, &both), &measures(), &both).is_some());
        let share = wrong.count() as f64 / n_trials as f64;
        assert!(share <= 0.1, "wrong in {share} of the trials");
    }
}
