//! A sweep's result: every point, which are Pareto-optimal, and the hypervolume with its reference.

use super::{
    pareto::{TradeOff, hypervolume, pareto_optimal},
    score::{MEASURE_NAMES, Score},
};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The corner from which a hypervolume is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Always 0.
    pub coverage: f64,
    /// Those of the random policy.
    pub collisions_per_step: f64,
}

/// One operating point of a front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// How well it did.
    #[serde(flatten)]
    pub score: Score,
    /// Whether no other point is at least as good in both coverage and collisions.
    pub pareto: bool,
}

/// What `sweep` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Such as `simple_spread`.
    pub task: String,
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// Team size.
    pub n_agents: usize,
    /// In the order of the sweep.
    pub points: Vec<FrontPoint>,
    /// Coverage times collisions per step spared, against the reference.
    pub hypervolume: f64,
    /// The hypervolume as a share of the largest possible one.
    pub hypervolume_share: f64,
    /// Where the hypervolume is measured from.
    pub reference: Reference,
    /// The physical limit, where an oracle exists.
    pub oracle: Option<Score>,
    /// The random policy, whose collisions are the reference.
    pub random: Option<Score>,
    /// What the environment was, in full.
    #[serde(default)]
    pub environment: serde_json::Value,
}

impl Front {
    /// Marks the Pareto points of a sweep and measures its hypervolume against the random policy.
    pub fn new(
        task: &str,
        algorithm: &str,
        n_agents: usize,
        scores: Vec<Score>,
        random: Score,
    ) -> Self {
        let trade_offs: Vec<TradeOff> = scores.iter().map(Score::trade_off).collect();
        let corner = TradeOff { gain: 0.0, cost: random.trade_off().cost };
        let volume = hypervolume(&trade_offs, corner);
        let points = scores
            .into_iter()
            .zip(pareto_optimal(&trade_offs))
            .map(|(score, pareto)| FrontPoint { score, pareto })
            .collect();
        Self {
            task: task.into(),
            algorithm: algorithm.into(),
            n_agents,
            points,
            hypervolume: volume,
            hypervolume_share: if corner.cost > 0.0 { volume / corner.cost } else { 0.0 },
            reference: Reference { coverage: 0.0, collisions_per_step: corner.cost },
            oracle: None,
            random: Some(random),
            environment: serde_json::Value::Null,
        }
    }

    /// The mean of the same sweep over training seeds, point by point; `None` where they differ.
    pub fn over_seeds(fronts: &[Self]) -> Option<Self> {
        let first = fronts.first()?;
        let labels = |front: &Self| -> Vec<String> {
            front.points.iter().map(|point| point.score.label.clone()).collect()
        };
        if fronts.iter().any(|front| labels(front) != labels(first)) {
            return None;
        }
        let column = |pick: &dyn Fn(&Self) -> Option<Score>| {
            Score::over_seeds(&fronts.iter().filter_map(pick).collect::<Vec<_>>())
        };
        let scores = (0..first.points.len())
            .filter_map(|index| column(&|front| Some(front.points[index].score.clone())))
            .collect();
        let random = column(&|front| front.random.clone())?;
        let mean = Self::new(&first.task, &first.algorithm, first.n_agents, scores, random);
        Some(Self {
            oracle: column(&|front| front.oracle.clone()),
            environment: first.environment.clone(),
            ..mean
        })
    }

    /// One line per point for a spreadsheet, each number followed by the ends of its interval.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from("label,multiplier,pareto,episodes,seeds");
        for name in MEASURE_NAMES {
            let _ = write!(csv, ",{name},{name}_low,{name}_high");
        }
        csv.push('\n');
        let references = self.oracle.iter().chain(&self.random).map(|score| (score, false));
        for (score, pareto) in self.points.iter().map(|p| (&p.score, p.pareto)).chain(references) {
            let multiplier = score.multiplier.map_or(String::new(), |m| m.to_string());
            let label = &score.label;
            let _ =
                write!(csv, "{label},{multiplier},{pareto},{},{}", score.n_episodes, score.n_seeds);
            for estimate in score.measures.to_array() {
                let _ = write!(csv, ",{},{},{}", estimate.mean, estimate.low, estimate.high);
            }
            csv.push('\n');
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episode::Summary;

    fn score(label: &str, multiplier: Option<f64>, coverage: f32, collisions: f64) -> Score {
        let episode = Summary { coverage: [coverage; 3], collisions, ..Summary::default() };
        Score::of_episodes(label, multiplier, 3, &[episode])
    }

    fn front() -> Front {
        let points = vec![
            score("λ=0", Some(0.0), 1.0, 0.25),
            score("λ=1", Some(1.0), 0.5, 0.125),
            score("λ=2", Some(2.0), 0.25, 0.125),
        ];
        Front::new("simple_spread", "cg_cmarl", 3, points, score("random", None, 0.0, 0.5))
    }

    #[test]
    fn a_front_marks_its_best_and_measures_them_against_the_random_policy() {
        let front = front();
        assert_eq!(front.points.iter().map(|p| p.pareto).collect::<Vec<_>>(), [true, true, false]);
        assert!((front.hypervolume - (0.5 * 0.375 + 0.5 * 0.25)).abs() < 1e-12);
        assert!((front.hypervolume_share - front.hypervolume / 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(front()).unwrap();
        for key in [
            "multiplier",
            "coverage",
            "collisions_per_step",
            "per_pair_rate",
            "collision_floor",
            "collision_free",
            "pareto",
        ] {
            assert!(json["points"][0].get(key).is_some(), "{key} missing in {json}");
        }
        assert_eq!(json["points"][1]["coverage"]["0.1"], 0.5);
        assert_eq!(json["points"][1]["coverage"]["0.15"], 0.5);
        assert!(json["hypervolume"].is_f64());
        assert_eq!(serde_json::from_value::<Front>(json).unwrap(), front());
    }

    #[test]
    fn the_csv_has_a_line_per_policy_and_no_ragged_rows() {
        let csv = front().to_csv();
        assert_eq!(csv.lines().count(), 1 + 3 + 1);
        assert!(csv.lines().all(|line| line.split(',').count() == 5 + 8 * 3), "{csv}");
    }

    #[test]
    fn seeds_average_point_by_point() {
        let mean = Front::over_seeds(&[front(), front()]).unwrap();
        assert_eq!(mean.points[0].score.n_seeds, 2);
        assert_eq!(mean.hypervolume, front().hypervolume);
        let mut other = front();
        other.points.pop();
        assert!(Front::over_seeds(&[front(), other]).is_none());
    }
}
