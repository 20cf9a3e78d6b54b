//! What one operating point achieved: every metric with its 95 % interval.

use super::{
    named::Named,
    statistics::{Estimate, mean_estimate, share_estimate},
};
use crate::{
    environment::{Metric, Reduce},
    episode::Summary,
};
use serde::{Deserialize, Serialize};

/// How well one labelled policy did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Which policy, such as `λ=0.5` or `oracle`.
    pub label: String,
    /// Its multiplier for each constraint; none for a policy that has no multipliers.
    #[serde(default)]
    pub multipliers: Named<f64>,
    /// Episodes behind every number (of each seed).
    #[serde(rename = "episodes")]
    pub n_episodes: usize,
    /// Training seeds behind every number.
    #[serde(rename = "seeds")]
    pub n_seeds: usize,
    /// Every metric of the task.
    pub metrics: Named<Estimate>,
}

impl Score {
    /// The score of one policy over independent episodes, whose metrics are those declared.
    pub fn of_episodes(
        label: impl Into<String>,
        multipliers: Named<f64>,
        metrics: &[Metric],
        episodes: &[Summary],
    ) -> Self {
        let estimate = |(index, metric): (usize, &Metric)| {
            let values: Vec<f64> = episodes.iter().map(|episode| episode.metrics[index]).collect();
            (metric.name.clone(), estimate(metric, &values))
        };
        Self {
            label: label.into(),
            multipliers,
            n_episodes: episodes.len(),
            n_seeds: 1,
            metrics: metrics.iter().enumerate().map(estimate).collect(),
        }
    }

    /// The mean of a metric; not a number where the score has none of that name.
    pub fn mean(&self, metric: &str) -> f64 {
        self.metrics.get(metric).map_or(f64::NAN, |estimate| estimate.mean)
    }

    /// The mean over training seeds, its interval Student's over the seeds; `None` of no scores.
    ///
    /// One seed keeps its own interval over episodes.
    pub fn over_seeds(scores: &[Self]) -> Option<Self> {
        let (first, rest) = scores.split_first()?;
        if rest.is_empty() {
            return Some(first.clone());
        }
        let mean = |name: &str| {
            let seeds: Vec<f64> = scores.iter().map(|score| score.mean(name)).collect();
            (name.to_owned(), mean_estimate(&seeds))
        };
        let metrics = first.metrics.names().map(mean).collect();
        Some(Self { n_seeds: scores.len(), metrics, ..first.clone() })
    }
}

/// A metric over episodes: a share has Wilson's interval, anything else Student's, cut at what is
/// possible.
fn estimate(metric: &Metric, values: &[f64]) -> Estimate {
    if metric.reduce == Reduce::All {
        return share_estimate(values.iter().filter(|value| **value != 0.0).count(), values.len());
    }
    mean_estimate(values).within(metric.range[0], metric.range[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Better;

    fn metrics() -> Vec<Metric> {
        let range = [0.0, 1.0];
        vec![
            Metric::new("gain", "share", Reduce::Last, Better::Higher, range),
            Metric::new("free", "share", Reduce::All, Better::Higher, range),
        ]
    }

    fn score(episodes: &[[f64; 2]]) -> Score {
        let episodes: Vec<Summary> = episodes
            .iter()
            .map(|values| Summary { metrics: values.to_vec(), ..Summary::default() })
            .collect();
        let multipliers = [("collision".to_owned(), 1.0)].into_iter().collect();
        Score::of_episodes("λ=1", multipliers, &metrics(), &episodes)
    }

    #[test]
    fn a_score_averages_episodes_and_cuts_at_what_is_possible() {
        let score = score(&[[1.0, 1.0], [0.5, 0.0]]);
        assert_eq!((score.mean("gain"), score.mean("free")), (0.75, 0.5));
        // Two episodes say little.
        assert_eq!(score.metrics.get("gain").unwrap().interval(), [0.0, 1.0]);
        let free = score.metrics.get("free").unwrap();
        assert_eq!(*free, share_estimate(1, 2));
        assert!(score.mean("nothing").is_nan());
    }

    #[test]
    fn seeds_are_averaged_with_students_interval() {
        let seeds = [0.2, 0.4, 0.6].map(|gain| score(&[[gain, 1.0]]));
        let mean = Score::over_seeds(&seeds).unwrap();
        let expected = 4.302_653 * 0.2 / 3f64.sqrt();
        assert!((mean.metrics.get("gain").unwrap().half_width() - expected).abs() < 1e-5);
        assert_eq!((mean.n_seeds, mean.n_episodes), (3, 1));
        assert!(Score::over_seeds(&[]).is_none());
    }

    #[test]
    fn what_is_written_has_the_promised_keys_and_is_read_back() {
        let score = score(&[[0.7, 1.0]; 5]);
        let json = serde_json::to_value(&score).unwrap();
        assert_eq!(json["multipliers"]["collision"], 1.0);
        assert_eq!((json["episodes"].as_u64(), json["seeds"].as_u64()), (Some(5), Some(1)));
        for key in ["mean", "low", "high"] {
            assert!(json["metrics"]["gain"][key].is_f64(), "{json}");
        }
        assert_eq!(serde_json::from_value::<Score>(json).unwrap(), score);
    }
}
