//! What was played, episode by episode, so that everything can be resampled later.

use crate::tables::TradeOff;
use cgcmarl::{
    environment::{Spec, TEAM_RETURN},
    episode::Summary,
};
use serde::{Deserialize, Serialize};

/// The episodes of one model, or of the references, on one layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// Such as `random`.
    pub layout: String,
    /// Seed of the start states, the same for every model.
    pub start_seed: u64,
    /// One per operating point.
    pub points: Vec<PlayedPoint>,
}

/// The episodes of one operating point, in the order of the start states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlayedPoint {
    /// What was varied: `λ=0.2`, `lr=0.3`, `cl=0.1`.
    pub parameter: String,
    /// The multiplier, where there is one.
    pub multiplier: Option<f64>,
    /// Share of landmarks covered within 0.1 at the end.
    pub coverage: Vec<f32>,
    /// Overlapping pairs per step.
    pub collisions: Vec<f64>,
    /// Sum of team rewards.
    pub team_return: Vec<f64>,
}

impl PlayedPoint {
    /// Keeps of some episodes what the comparison needs.
    pub fn of_episodes(
        parameter: &str,
        multiplier: Option<f64>,
        spec: &Spec,
        episodes: &[Summary],
    ) -> Self {
        let reported = spec.reported();
        let column = |name: &str| -> Vec<f64> {
            let index = reported.iter().position(|metric| metric.name == name);
            let value = |episode: &Summary| index.map_or(f64::NAN, |i| episode.metrics[i]);
            episodes.iter().map(value).collect()
        };
        let [coverage, collisions] = TradeOff::METRICS.map(column);
        Self {
            parameter: parameter.into(),
            multiplier,
            coverage: coverage.iter().map(|&share| share as f32).collect(),
            collisions,
            team_return: column(TEAM_RETURN),
        }
    }

    /// Number of episodes.
    pub fn n_episodes(&self) -> usize {
        self.coverage.len()
    }

    /// The means when each start state counts `weights` times.
    pub fn weighted(&self, weights: &[f64]) -> TradeOff {
        let total: f64 = weights.iter().sum::<f64>().max(1.0);
        let mut sum = TradeOff::default();
        for ((weight, coverage), collisions) in
            weights.iter().zip(&self.coverage).zip(&self.collisions)
        {
            sum.coverage += weight * f64::from(*coverage);
            sum.collisions += weight * collisions;
        }
        TradeOff { coverage: sum.coverage / total, collisions: sum.collisions / total }
    }
}
