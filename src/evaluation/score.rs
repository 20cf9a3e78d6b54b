//! What one operating point achieved: every reported number with its 95 % interval.

use super::{
    pareto::TradeOff,
    statistics::{Estimate, mean_estimate, share_estimate},
};
use crate::episode::Summary;
use serde::{Deserialize, Serialize};

/// One entry per coverage distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage<T> {
    /// Within 0.1, the main number.
    #[serde(rename = "0.1")]
    pub near: T,
    /// Within 0.15.
    #[serde(rename = "0.15")]
    pub middle: T,
    /// Within 0.2.
    #[serde(rename = "0.2")]
    pub wide: T,
}

/// One entry per reported number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures<T> {
    /// Fraction of landmarks covered at the end of an episode.
    pub coverage: Coverage<T>,
    /// Overlapping pairs per step.
    pub collisions_per_step: T,
    /// Overlapping pairs per step, divided by the number of pairs.
    pub per_pair_rate: T,
    /// Overlapping pairs per step that no action could avoid.
    pub collision_floor: T,
    /// Share of episodes without any collision.
    pub collision_free: T,
    /// Sum of team rewards over an episode.
    pub team_return: T,
}

/// The names of the measures, in the order of [`Measures::to_array`].
pub const MEASURE_NAMES: [&str; 8] = [
    "coverage_0.1",
    "coverage_0.15",
    "coverage_0.2",
    "collisions_per_step",
    "per_pair_rate",
    "collision_floor",
    "collision_free",
    "team_return",
];

impl<T: Copy> Measures<T> {
    /// All entries, in the order of [`MEASURE_NAMES`].
    pub fn to_array(&self) -> [T; 8] {
        [
            self.coverage.near,
            self.coverage.middle,
            self.coverage.wide,
            self.collisions_per_step,
            self.per_pair_rate,
            self.collision_floor,
            self.collision_free,
            self.team_return,
        ]
    }

    /// The measures with these entries, in the order of [`MEASURE_NAMES`].
    pub fn from_array(entries: [T; 8]) -> Self {
        let [near, middle, wide, collisions_per_step, per_pair_rate, floor, free, team_return] =
            entries;
        Self {
            coverage: Coverage { near, middle, wide },
            collisions_per_step,
            per_pair_rate,
            collision_floor: floor,
            collision_free: free,
            team_return,
        }
    }

    /// The same measures with every entry changed.
    pub fn map<U: Copy>(&self, change: impl Fn(T) -> U) -> Measures<U> {
        Measures::from_array(self.to_array().map(change))
    }
}

/// How well one labelled policy did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Record", into = "Record")]
pub struct Score {
    /// Which policy, such as `λ=0.5` or `oracle`.
    pub label: String,
    /// Its multiplier, where it has one.
    pub multiplier: Option<f64>,
    /// Episodes behind every number (of each seed).
    pub n_episodes: usize,
    /// Training seeds behind every number.
    pub n_seeds: usize,
    /// The numbers.
    pub measures: Measures<Estimate>,
}

impl Score {
    /// The score of one policy over independent episodes of a team.
    pub fn of_episodes(
        label: impl Into<String>,
        multiplier: Option<f64>,
        n_agents: usize,
        episodes: &[Summary],
    ) -> Self {
        let column = |value: &dyn Fn(&Summary) -> f64| {
            mean_estimate(&episodes.iter().map(value).collect::<Vec<_>>())
        };
        let covered = |place: usize| column(&|e| f64::from(e.coverage[place])).within(0.0, 1.0);
        let n_pairs = (n_agents * n_agents.saturating_sub(1) / 2).max(1) as f64;
        let n_free = episodes.iter().filter(|e| e.collisions == 0.0).count();
        Self {
            label: label.into(),
            multiplier,
            n_episodes: episodes.len(),
            n_seeds: 1,
            measures: Measures {
                coverage: Coverage { near: covered(0), middle: covered(1), wide: covered(2) },
                collisions_per_step: column(&|e| e.collisions).within(0.0, n_pairs),
                per_pair_rate: column(&|e| e.collisions / n_pairs).within(0.0, 1.0),
                collision_floor: column(&|e| e.floor).within(0.0, n_pairs),
                collision_free: share_estimate(n_free, episodes.len()),
                team_return: column(&|e| e.team_return),
            },
        }
    }

    /// The mean over training seeds, its interval Student's over the seeds; `None` of no scores.
    ///
    /// One seed keeps its own interval over episodes.
    pub fn over_seeds(scores: &[Self]) -> Option<Self> {
        let (first, rest) = scores.split_first()?;
        if rest.is_empty() {
            return Some(first.clone());
        }
        let seeds: Vec<_> = scores.iter().map(|score| score.measures.to_array()).collect();
        let measures = Measures::from_array(std::array::from_fn(|measure| {
            mean_estimate(&seeds.iter().map(|seed| seed[measure].mean).collect::<Vec<_>>())
        }));
        Some(Self { n_seeds: scores.len(), measures, ..first.clone() })
    }

    /// What a front compares: coverage within 0.1 against collisions per step.
    pub fn trade_off(&self) -> TradeOff {
        TradeOff {
            gain: self.measures.coverage.near.mean,
            cost: self.measures.collisions_per_step.mean,
        }
    }
}

/// How a score is written down: plain numbers first, their intervals beside them.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    label: String,
    multiplier: Option<f64>,
    #[serde(flatten)]
    means: Measures<f64>,
    intervals: Measures<[f64; 2]>,
    episodes: usize,
    seeds: usize,
}

impl From<Score> for Record {
    fn from(score: Score) -> Self {
        Self {
            means: score.measures.map(|estimate| estimate.mean),
            intervals: score.measures.map(|estimate| estimate.interval()),
            label: score.label,
            multiplier: score.multiplier,
            episodes: score.n_episodes,
            seeds: score.n_seeds,
        }
    }
}

impl From<Record> for Score {
    fn from(record: Record) -> Self {
        let (means, intervals) = (record.means.to_array(), record.intervals.to_array());
        Self {
            label: record.label,
            multiplier: record.multiplier,
            n_episodes: record.episodes,
            n_seeds: record.seeds,
            measures: Measures::from_array(std::array::from_fn(|measure| {
                let [low, high] = intervals[measure];
                Estimate { mean: means[measure], low, high }
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(coverage: f32, collisions: f64) -> Summary {
        Summary {
            coverage: [coverage; 3],
            collisions,
            floor: collisions / 2.0,
            ..Summary::default()
        }
    }

    #[test]
    fn a_score_averages_episodes_and_counts_the_free_ones() {
        let score =
            Score::of_episodes("λ=1", Some(1.0), 3, &[episode(1.0, 0.0), episode(0.5, 0.12)]);
        let means = score.measures.map(|estimate| estimate.mean);
        assert_eq!((means.coverage.near, means.collisions_per_step), (0.75, 0.06));
        assert!((means.per_pair_rate - 0.02).abs() < 1e-12);
        assert_eq!((means.collision_floor, means.collision_free), (0.03, 0.5));
        // Two episodes say little: the interval is cut at what is possible.
        assert_eq!(score.measures.coverage.near.interval(), [0.0, 1.0]);
    }

    #[test]
    fn seeds_are_averaged_with_students_interval() {
        let seeds = [0.2f32, 0.4, 0.6]
            .map(|coverage| Score::of_episodes("λ=1", Some(1.0), 3, &[episode(coverage, 0.0)]));
        let mean = Score::over_seeds(&seeds).unwrap();
        let expected = 4.302_653 * 0.2 / 3f64.sqrt();
        assert!((mean.measures.coverage.near.half_width() - expected).abs() < 1e-5);
        assert_eq!((mean.n_seeds, mean.n_episodes), (3, 1));
        assert!(Score::over_seeds(&[]).is_none());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let score = Score::of_episodes("λ=1", Some(1.0), 3, &vec![episode(0.7, 0.1); 5]);
        let text = serde_json::to_string(&score).unwrap();
        assert!(text.contains(r#""coverage":{"0.1":0.69999"#), "{text}");
        assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
    }
}
