//! Choosing the operating point with the highest coverage among those shown to keep a limit.
//!
//! A pilot sorts out dominated candidates and orders the rest, safest first; each is then tested on
//! fresh episodes at the full confidence until the first that fails. Such a fixed sequence needs no correction for the number
//! of candidates: a wrong certificate requires that the first bad candidate reached is certified,
//! and that one test errs with probability 1 − confidence at most (Bonferroni would charge for all).

use super::{
    certificate::{log_capital, upper_bound, values_needed},
    pareto::pareto_optimal,
    score::Score,
    statistics::mean_estimate,
};
use crate::{
    episode::Summary,
    error::{Error, Result},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Episodes between two looks at the evidence.
const BATCH: usize = 500;

/// What a choice must keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Overlapping pairs per step, at most.
    pub max_collisions: f64,
    /// How sure to be.
    pub confidence: f64,
    /// Most episodes of each candidate.
    pub episodes: usize,
}

impl Limit {
    /// Refuses a limit that cannot be tested.
    pub fn check(&self) -> Result<()> {
        if !(self.max_collisions.is_finite() && self.max_collisions > 0.0) {
            let reason = "must be positive: no number of episodes shows that a rate is zero";
            return Err(Error::setting("max-collisions", self.max_collisions, reason));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::setting("confidence", self.confidence, "must lie between 0 and 1"));
        }
        if self.episodes == 0 {
            return Err(Error::setting("episodes", 0, "must be positive"));
        }
        Ok(())
    }
}

/// What the test of a candidate came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its collisions are below the limit with the wanted confidence.
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
    /// Its collisions per step are below this with the wanted confidence; absent without a test.
    pub upper_bound: Option<f64>,
    /// What the test came to.
    pub verdict: Verdict,
    /// Episodes that would settle it if it goes on like this, where it could be settled.
    pub episodes_needed: Option<usize>,
}

/// Plays episodes with these numbers at the candidate with this index.
pub type PlayFresh<'a> = dyn FnMut(usize, Range<u64>) -> Result<Vec<Summary>> + 'a;

/// Tests candidates from the safest pilot score on, with fresh episodes, until one fails.
pub fn test_candidates(
    pilot: &[Score],
    n_agents: usize,
    limit: &Limit,
    play: &mut PlayFresh<'_>,
) -> Result<Vec<Candidate>> {
    let trade_offs: Vec<_> = pilot.iter().map(Score::trade_off).collect();
    let optimal = pareto_optimal(&trade_offs);
    // Where the pilot cannot tell, the larger multiplier is the safer guess; the sort is stable.
    let mut order: Vec<usize> = (0..pilot.len()).rev().filter(|index| optimal[*index]).collect();
    let rate = |index: usize| pilot[index].measures.collisions_per_step.mean;
    order.sort_by(|left, right| rate(*left).total_cmp(&rate(*right)));
    let mut candidates: Vec<Candidate> = pilot.iter().cloned().map(untested).collect();
    for index in order {
        let score = &pilot[index];
        candidates[index] = test(score, n_agents, limit, &mut |episodes| play(index, episodes))?;
        if candidates[index].verdict != Verdict::Certified {
            break;
        }
    }
    Ok(candidates)
}

/// The certified candidate with the highest coverage; on a tie the one with fewer collisions.
pub fn best(candidates: &[Candidate]) -> Option<&Candidate> {
    let key = |candidate: &Candidate| candidate.score.trade_off();
    candidates.iter().filter(|candidate| candidate.verdict == Verdict::Certified).max_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.gain.total_cmp(&b.gain).then(b.cost.total_cmp(&a.cost))
    })
}

fn untested(score: Score) -> Candidate {
    Candidate { score, upper_bound: None, verdict: Verdict::NotTested, episodes_needed: None }
}

/// Plays batch after batch until the limit is shown, is out of reach, or the episodes are used up.
fn test(
    pilot: &Score,
    n_agents: usize,
    limit: &Limit,
    play: &mut dyn FnMut(Range<u64>) -> Result<Vec<Summary>>,
) -> Result<Candidate> {
    let most = (n_agents * n_agents.saturating_sub(1) / 2).max(1) as f64;
    let wanted = -(1.0 - limit.confidence).ln();
    let mut episodes: Vec<Summary> = Vec::new();
    let (is_certified, rates) = loop {
        let end = (episodes.len() + BATCH).min(limit.episodes);
        episodes.extend(play(episodes.len() as u64..end as u64)?);
        let rates: Vec<f64> = episodes.iter().map(|episode| episode.collisions).collect();
        let scaled: Vec<f64> = rates.iter().map(|rate| rate / most).collect();
        if log_capital(&scaled, limit.max_collisions / most) >= wanted {
            break (true, rates);
        }
        // Giving up early can only withhold a certificate, so it needs no proof of its own.
        let hopeless = mean_estimate(&rates).low > limit.max_collisions;
        if hopeless || end == limit.episodes {
            break (false, rates);
        }
    };
    let needed = values_needed(&rates, most, limit.max_collisions, limit.confidence);
    Ok(Candidate {
        score: Score::of_episodes(pilot.label.clone(), pilot.multiplier, n_agents, &episodes),
        upper_bound: Some(upper_bound(&rates, most, limit.confidence)),
        verdict: if is_certified { Verdict::Certified } else { Verdict::NotShown },
        episodes_needed: needed.filter(|_| !is_certified),
    })
}

/// What `choose` leaves in a run, for the commands that need a multiplier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The multiplier to play at.
    pub multiplier: f64,
    /// What it keeps.
    pub limit: Limit,
    /// Its evidence.
    pub evidence: Candidate,
    /// Where it was measured.
    pub environment: serde_json::Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng, Streams};

    const LIMIT: Limit = Limit { max_collisions: 0.2, confidence: 0.9, episodes: 1000 };

    fn episode(rng: &mut Rng, rate: f64, coverage: f32) -> Summary {
        let collisions = if rng.uniform() < rate { 1.0 } else { 0.0 };
        Summary { coverage: [coverage; 3], collisions, ..Summary::default() }
    }

    /// Three candidates whose collisions rise with their coverage, tested with the draws of one trial.
    fn trial(rates: [f64; 3], index: u64, limit: &Limit) -> Vec<Candidate> {
        let coverages = [0.9, 0.6, 0.3];
        let mut rng = Streams::new(12).rng(Purpose::Problem, index);
        let mut draw = |which: usize, n: usize| -> Vec<Summary> {
            (0..n).map(|_| episode(&mut rng, rates[which], coverages[which])).collect()
        };
        let pilot: Vec<Score> = (0..3)
            .map(|which| Score::of_episodes("λ", Some(which as f64), 2, &draw(which, 100)))
            .collect();
        test_candidates(&pilot, 2, limit, &mut |which, range| {
            Ok(draw(which, (range.end - range.start) as usize))
        })
        .unwrap()
    }

    #[test]
    fn the_best_coverage_that_keeps_the_limit_is_chosen() {
        let candidates = trial([0.5, 0.1, 0.01], 0, &LIMIT);
        let verdicts: Vec<_> = candidates.iter().map(|candidate| candidate.verdict).collect();
        assert_eq!(verdicts, [Verdict::NotShown, Verdict::Certified, Verdict::Certified]);
        assert_eq!(best(&candidates).unwrap().score.multiplier, Some(1.0));
        assert!(candidates[1].upper_bound.unwrap() <= LIMIT.max_collisions);
    }

    #[test]
    fn a_limit_that_none_keeps_is_refused() {
        let strict = Limit { max_collisions: 0.001, ..LIMIT };
        let candidates = trial([0.5, 0.05, 0.02], 0, &strict);
        assert!(best(&candidates).is_none());
        assert_eq!(candidates[0].verdict, Verdict::NotTested);
        for limit in [Limit { max_collisions: 0.0, ..LIMIT }, Limit { confidence: 1.0, ..LIMIT }] {
            assert!(limit.check().is_err(), "{limit:?}");
        }
    }

    #[test]
    fn a_choice_breaks_its_limit_no_more_often_than_it_says() {
        // All three are just above the limit, so that every choice is a wrong one.
        let n_trials = 600;
        let wrong = (0..n_trials)
            .filter(|index| best(&trial([0.205, 0.202, 0.2], *index, &LIMIT)).is_some());
        let share = wrong.count() as f64 / n_trials as f64;
        assert!(share <= 0.1, "wrong in {share} of the trials");
    }
}
