//! A part of an evaluation: some of its episodes, played anywhere, merged into what one process finds.

use super::{front::Front, front::Measures, named::Named, score::Score};
use crate::{
    episode::Summary,
    error::{Error, Result},
};
use serde::{Deserialize, Serialize};

/// The episodes of one policy: a row for each, with a number for each metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayedEpisodes {
    /// Which policy.
    pub label: String,
    /// Its multiplier for each constraint; none for a policy that has no multipliers.
    pub multipliers: Named<f64>,
    /// Every episode, in the order of their numbers.
    pub episodes: Vec<Vec<f64>>,
}

impl PlayedEpisodes {
    /// What was played.
    pub fn new(label: String, multipliers: Named<f64>, episodes: Vec<Summary>) -> Self {
        let episodes = episodes.into_iter().map(|episode| episode.metrics).collect();
        Self { label, multipliers, episodes }
    }

    fn score(&self, measures: &Measures) -> Score {
        let summary =
            |metrics: &Vec<f64>| Summary { metrics: metrics.clone(), ..Summary::default() };
        let episodes: Vec<Summary> = self.episodes.iter().map(summary).collect();
        let (label, multipliers) = (self.label.clone(), self.multipliers.clone());
        Score::of_episodes(label, multipliers, &measures.metrics, &episodes)
    }
}

/// Some of the episodes of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What is measured, of what, on which start states: the same for all parts.
    #[serde(flatten)]
    pub whole: Whole,
    /// Number of the first episode of this part.
    pub from: usize,
    /// Number of the episode behind its last one.
    pub to: usize,
    /// The policies whose trade-offs are compared.
    pub points: Vec<PlayedEpisodes>,
    /// The policies played beside them; none where a single policy is scored.
    pub references: Vec<PlayedEpisodes>,
}

/// What the parts of one evaluation share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// Name of the task.
    pub task: String,
    /// Who learned.
    pub algorithm: String,
    /// Team size.
    pub agents: usize,
    /// Tells the model from others.
    pub model: u32,
    /// Seed of the start states.
    pub start_seed: u64,
    /// Episodes of all parts together.
    pub episodes: usize,
    /// What the numbers mean.
    #[serde(flatten)]
    pub measures: Measures,
    /// What the environment was, in full.
    pub environment: serde_json::Value,
}

/// What the parts of an evaluation come to.
pub enum Merged {
    /// Of a sweep.
    Front(Box<Front>),
    /// Of a single policy.
    Score(Score, Measures),
}

/// Puts the parts of an evaluation together, in whichever order they are given; refuses what does not
/// belong together, what is missing and what is there twice.
pub fn merge(mut parts: Vec<Part>) -> Result<Merged> {
    parts.sort_by_key(|part| (part.from, part.to));
    let mut rest = parts.into_iter();
    let Some(mut all) = rest.next() else {
        return Err(Error::Refused("no part to merge".into()));
    };
    all.check()?;
    if all.from > 0 {
        return Err(missing(0, all.from));
    }
    for part in rest {
        part.check()?;
        all.append(part)?;
    }
    if all.to != all.whole.episodes {
        return Err(missing(all.to, all.whole.episodes));
    }
    let Part { whole, points, references, .. } = all;
    let score = |played: &PlayedEpisodes| played.score(&whole.measures);
    let (scores, references): (Vec<_>, Vec<_>) =
        (points.iter().map(score).collect(), references.iter().map(score).collect());
    if references.is_empty()
        && let Some(score) = scores.first()
    {
        return Ok(Merged::Score(score.clone(), whole.measures));
    }
    let names = (whole.task.as_str(), whole.algorithm.as_str());
    let front = Front::new(
        names,
        whole.agents,
        whole.measures.clone(),
        scores,
        references,
        whole.environment,
    );
    Ok(Merged::Front(Box::new(front)))
}

impl Part {
    /// Refuses a part that holds other episodes than it says.
    fn check(&self) -> Result<()> {
        let Self { from, to, .. } = *self;
        let n_metrics = self.whole.measures.metrics.len();
        let fits = |played: &PlayedEpisodes| {
            played.episodes.len() == to.saturating_sub(from)
                && played.episodes.iter().all(|episode| episode.len() == n_metrics)
        };
        let all = || self.points.iter().chain(&self.references);
        if from < to && to <= self.whole.episodes && !self.points.is_empty() && all().all(fits) {
            return Ok(());
        }
        Err(Error::Refused(format!("the part {from}..{to} does not hold the episodes it says")))
    }

    fn append(&mut self, next: Self) -> Result<()> {
        let (from, to) = (next.from, next.to);
        if next.from < self.to {
            let twice = format!("episodes {from}..{} are there twice", self.to.min(to));
            return Err(Error::Refused(twice));
        }
        if next.from > self.to {
            return Err(missing(self.to, next.from));
        }
        let labels = |part: &Self| {
            let all = part.points.iter().chain(&part.references);
            all.map(|played| (played.label.clone(), played.multipliers.clone())).collect::<Vec<_>>()
        };
        let same_counts = self.points.len() == next.points.len();
        if self.whole != next.whole || labels(self) != labels(&next) || !same_counts {
            let other = "is of another evaluation than those before it: model, conditions, \
                         multipliers, start states and episodes must be the same";
            return Err(Error::Refused(format!("the part {from}..{to} {other}")));
        }
        let mine = self.points.iter_mut().chain(&mut self.references);
        for (mine, theirs) in mine.zip(next.points.into_iter().chain(next.references)) {
            mine.episodes.extend(theirs.episodes);
        }
        self.to = to;
        Ok(())
    }
}

fn missing(from: usize, to: usize) -> Error {
    Error::Refused(format!("episodes {from}..{to} are missing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Better, Metric, Reduce};

    fn part(from: usize, to: usize) -> Part {
        let metric = |name: &str, better| Metric::new(name, "", Reduce::Mean, better, [0.0, 1.0]);
        let played = |label: &str| PlayedEpisodes {
            label: label.into(),
            multipliers: Named::default(),
            episodes: (from..to).map(|number| vec![number as f64 / 10.0]).collect(),
        };
        let measures = Measures {
            metrics: vec![metric("gain", Better::Higher)],
            constraints: vec![],
            axes: vec!["gain".into()],
        };
        let whole = Whole {
            task: "choir".into(),
            algorithm: "cg_cmarl".into(),
            agents: 3,
            model: 7,
            start_seed: 1,
            episodes: 4,
            measures,
            environment: serde_json::Value::Null,
        };
        let (points, references) = (vec![played("λ=0")], vec![played("random")]);
        Part { whole, from, to, points, references }
    }

    fn refused(parts: Vec<Part>) -> String {
        merge(parts).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let front = |parts| match merge(parts).unwrap() {
            Merged::Front(front) => *front,
            Merged::Score(..) => panic!("a sweep"),
        };
        let whole = front(vec![part(0, 4)]);
        assert_eq!(front(vec![part(3, 4), part(0, 1), part(1, 3)]), whole);
        assert_eq!(whole.points[0].score.n_episodes, 4);
        assert!((whole.points[0].score.mean("gain") - 0.15).abs() < 1e-12);
        let text = serde_json::to_string(&part(1, 3)).unwrap();
        assert_eq!(serde_json::from_str::<Part>(&text).unwrap(), part(1, 3));
    }

    #[test]
    fn what_is_missing_twice_or_of_another_evaluation_is_told() {
        assert_eq!(refused(vec![part(0, 2), part(3, 4)]), "episodes 2..3 are missing");
        assert_eq!(refused(vec![part(1, 4)]), "episodes 0..1 are missing");
        assert_eq!(refused(vec![part(0, 3)]), "episodes 3..4 are missing");
        assert_eq!(refused(vec![part(0, 3), part(1, 4)]), "episodes 1..3 are there twice");
        assert_eq!(refused(vec![]), "no part to merge");
        let mut other = part(2, 4);
        other.whole.model = 8;
        assert!(
            refused(vec![part(0, 2), other]).contains("the part 2..4 is of another evaluation")
        );
        let mut short = part(0, 4);
        short.points[0].episodes.pop();
        assert!(refused(vec![short]).contains("does not hold"));
    }
}
