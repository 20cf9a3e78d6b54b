//! A sweep's result: every point, which are Pareto-optimal, and the hypervolume with its reference.

use super::{
    named::Named,
    pareto::{Point, hypervolume, oriented, pareto_optimal},
    score::Score,
};
use crate::{
    environment::{Better, Constraint, Metric, Spec},
    error::{Error, Result},
};
use serde::{Deserialize, Serialize};
use std::{fmt::Write as _, path::PathBuf};

/// Label of the random policy.
pub const RANDOM: &str = "random";

/// One operating point of a front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// How well it did.
    #[serde(flatten)]
    pub score: Score,
    /// Whether no other point is at least as good on every axis and better on one.
    pub pareto: bool,
}

/// What the numbers of a front mean: taken from the task, so that readers need no environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Every metric that is scored.
    pub metrics: Vec<Metric>,
    /// What is paid for.
    pub constraints: Vec<Constraint>,
    /// The metrics that span the front: the objective, then what each constraint limits.
    pub axes: Vec<String>,
}

impl Measures {
    /// The measures of an environment.
    pub fn of(spec: &Spec) -> Self {
        Self { metrics: spec.reported(), constraints: spec.constraints.clone(), axes: spec.axes() }
    }

    /// The metric of a name.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The metrics that span the front.
    pub fn axis_metrics(&self) -> impl Iterator<Item = &Metric> {
        self.axes.iter().filter_map(|name| self.metric(name))
    }

    /// The metric that the team is there for.
    pub fn objective(&self) -> &str {
        self.axes.first().map_or("", String::as_str)
    }

    /// Where a score lies on the front, more is better on every axis.
    pub fn point(&self, score: &Score) -> Point {
        self.axis_metrics().map(|metric| oriented(metric, score.mean(&metric.name))).collect()
    }
}

/// What `sweep` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Name of the task.
    pub task: String,
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// Team size.
    #[serde(rename = "agents")]
    pub n_agents: usize,
    /// What the numbers mean.
    #[serde(flatten)]
    pub measures: Measures,
    /// In the order of the sweep.
    pub points: Vec<FrontPoint>,
    /// The policies played beside them: the task's own references, and the random policy.
    pub references: Vec<Score>,
    /// The volume between the front and the corner `reference`.
    pub hypervolume: f64,
    /// The hypervolume as a share of the largest possible one, where the ranges tell it.
    pub hypervolume_share: Option<f64>,
    /// Where the hypervolume is measured from: the worst of the objective, or the random policy's,
    /// and what the random policy costs.
    pub reference: Named<f64>,
    /// What the environment was, in full.
    #[serde(default)]
    pub environment: serde_json::Value,
}

impl Front {
    /// Marks the Pareto points of a sweep and measures its hypervolume against the random policy,
    /// which is one of the references.
    pub fn new(
        (task, algorithm): (&str, &str),
        n_agents: usize,
        measures: Measures,
        scores: Vec<Score>,
        references: Vec<Score>,
        environment: serde_json::Value,
    ) -> Self {
        let points: Vec<Point> = scores.iter().map(|score| measures.point(score)).collect();
        let random = references.iter().find(|score| score.label == RANDOM);
        let reference: Named<f64> = measures
            .axis_metrics()
            .map(|m| (m.name.clone(), corner(&measures, m, random)))
            .collect();
        let oriented_corner: Point =
            measures.axis_metrics().zip(reference.values()).map(|(m, v)| oriented(m, *v)).collect();
        let volume = hypervolume(&points, &oriented_corner);
        let largest: f64 =
            measures.axis_metrics().zip(&oriented_corner).map(|(m, c)| best(m) - c).product();
        let optimal = pareto_optimal(&points);
        let mark = |(score, pareto)| FrontPoint { score, pareto };
        Self {
            task: task.into(),
            algorithm: algorithm.into(),
            n_agents,
            points: scores.into_iter().zip(optimal).map(mark).collect(),
            references,
            hypervolume: volume,
            hypervolume_share: (largest.is_finite() && largest > 0.0).then(|| volume / largest),
            reference,
            environment,
            measures,
        }
    }

    /// A front as a file tells it; refuses one that cannot be.
    pub fn checked(self, file: PathBuf) -> Result<Self> {
        match self.flaw() {
            Some(flaw) => Err(Error::format(file, None, flaw)),
            None => Ok(self),
        }
    }

    fn flaw(&self) -> Option<String> {
        let axes = &self.measures.axes;
        if let Some(axis) = axes.iter().find(|axis| self.measures.metric(axis).is_none()) {
            return Some(format!("`axes` names `{axis}`, which is no metric"));
        }
        if axes.is_empty() || self.points.is_empty() {
            return Some("`axes` and `points` hold at least one entry each".into());
        }
        // Earlier versions reported fewer metrics beside the axes.
        let lacks = |score: &Score| {
            let is_known = |axis: &&String| {
                let ends = score.metrics.get(axis).map(|e| [e.mean, e.low, e.high]);
                ends.is_some_and(|ends| ends.iter().all(|end| end.is_finite()))
            };
            let missing = axes.iter().find(|axis| !is_known(axis))?;
            Some(format!("`{missing}` of {} is no number", score.label))
        };
        self.scores().find_map(lacks)
    }

    /// Points, and episodes of each.
    pub fn extent(&self) -> (usize, usize) {
        (self.points.len(), self.points.iter().map(|p| p.score.n_episodes).min().unwrap_or(0))
    }

    /// A policy played beside the points, by its label.
    pub fn reference(&self, label: &str) -> Option<&Score> {
        self.references.iter().find(|score| score.label == label)
    }

    /// Every score: the points, then the references.
    pub fn scores(&self) -> impl Iterator<Item = &Score> {
        self.points.iter().map(|point| &point.score).chain(&self.references)
    }

    /// The mean of the same sweep over training seeds, point by point; `None` where they differ.
    pub fn over_seeds(fronts: &[Self]) -> Option<Self> {
        let first = fronts.first()?;
        let labels =
            |front: &Self| front.scores().map(|score| score.label.clone()).collect::<Vec<_>>();
        let same = |front: &Self| {
            labels(front) == labels(first) && front.measures.axes == first.measures.axes
        };
        if !fronts.iter().all(same) {
            return None;
        }
        let column = |pick: &dyn Fn(&Self) -> Score| {
            Score::over_seeds(&fronts.iter().map(pick).collect::<Vec<_>>())
        };
        let scores = (0..first.points.len())
            .filter_map(|index| column(&|front| front.points[index].score.clone()));
        let references = (0..first.references.len())
            .filter_map(|index| column(&|front| front.references[index].clone()));
        Some(Self::new(
            (&first.task, &first.algorithm),
            first.n_agents,
            first.measures.clone(),
            scores.collect(),
            references.collect(),
            first.environment.clone(),
        ))
    }

    /// One line per policy for a spreadsheet, each number followed by the ends of its interval.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from("label");
        for constraint in &self.measures.constraints {
            let _ = write!(csv, ",multiplier_{}", constraint.name);
        }
        csv.push_str(",pareto,episodes,seeds");
        for Metric { name, .. } in &self.measures.metrics {
            let _ = write!(csv, ",{name},{name}_low,{name}_high");
        }
        csv.push('\n');
        let references = self.references.iter().map(|score| (score, false));
        for (score, pareto) in self.points.iter().map(|p| (&p.score, p.pareto)).chain(references) {
            let _ = write!(csv, "{}", score.label.replace(',', ";"));
            for constraint in &self.measures.constraints {
                let multiplier = score.multipliers.get(&constraint.name);
                let _ = write!(csv, ",{}", multiplier.map_or(String::new(), f64::to_string));
            }
            let _ = write!(csv, ",{pareto},{},{}", score.n_episodes, score.n_seeds);
            for Metric { name, .. } in &self.measures.metrics {
                let estimate = score.metrics.get(name).copied().unwrap_or_default();
                let _ = write!(csv, ",{},{},{}", estimate.mean, estimate.low, estimate.high);
            }
            csv.push('\n');
        }
        csv
    }
}

/// Where the hypervolume begins on one axis.
fn corner(measures: &Measures, metric: &Metric, random: Option<&Score>) -> f64 {
    let worst = match metric.better {
        Better::Higher => metric.range[0],
        Better::Lower => metric.range[1],
    };
    let chance = random.map_or(worst, |score| score.mean(&metric.name));
    if metric.name == measures.objective() && worst.is_finite() { worst } else { chance }
}

/// The best that a metric can be, more is better.
fn best(metric: &Metric) -> f64 {
    match metric.better {
        Better::Higher => metric.range[1],
        Better::Lower => -metric.range[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Reduce;

    fn measures() -> Measures {
        let metric = |name: &str, better| Metric::new(name, "", Reduce::Mean, better, [0.0, 1.0]);
        Measures {
            metrics: vec![metric("gain", Better::Higher), metric("cost", Better::Lower)],
            constraints: vec![Constraint {
                name: "collision".into(),
                unit: String::new(),
                metric: "cost".into(),
                most: 1.0,
                unavoidable: None,
            }],
            axes: vec!["gain".into(), "cost".into()],
        }
    }

    fn score(label: &str, multiplier: Option<f64>, gain: f64, cost: f64) -> Score {
        let multipliers = multiplier.map(|m| ("collision".to_owned(), m)).into_iter().collect();
        let summary = crate::episode::Summary { metrics: vec![gain, cost], ..Default::default() };
        Score::of_episodes(label, multipliers, &measures().metrics, &[summary])
    }

    fn front() -> Front {
        let points = vec![
            score("λ=0", Some(0.0), 1.0, 0.25),
            score("λ=1", Some(1.0), 0.5, 0.125),
            score("λ=2", Some(2.0), 0.25, 0.125),
        ];
        let random = score(RANDOM, None, 0.0, 0.5);
        let names = ("task", "cg_cmarl");
        Front::new(names, 3, measures(), points, vec![random], serde_json::Value::Null)
    }

    #[test]
    fn a_front_marks_its_best_and_measures_them_against_the_random_policy() {
        let front = front();
        assert_eq!(front.points.iter().map(|p| p.pareto).collect::<Vec<_>>(), [true, true, false]);
        assert!((front.hypervolume - (0.5 * 0.375 + 0.5 * 0.25)).abs() < 1e-12);
        assert!((front.hypervolume_share.unwrap() - front.hypervolume / 0.5).abs() < 1e-12);
        assert_eq!(front.reference.get("cost"), Some(&0.5));
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(front()).unwrap();
        for key in ["label", "multipliers", "episodes", "seeds", "metrics", "pareto"] {
            assert!(json["points"][0].get(key).is_some(), "{key} missing in {json}");
        }
        for key in ["points", "references", "hypervolume", "reference", "metrics", "constraints"] {
            assert!(json.get(key).is_some(), "{key} missing in {json}");
        }
        assert_eq!(json["points"][1]["metrics"]["gain"]["mean"], 0.5);
        assert_eq!(serde_json::from_value::<Front>(json).unwrap(), front());
    }

    #[test]
    fn the_csv_has_a_line_per_policy_and_no_ragged_rows() {
        let csv = front().to_csv();
        assert_eq!(csv.lines().count(), 1 + 3 + 1);
        assert!(csv.lines().all(|line| line.split(',').count() == 5 + 2 * 3), "{csv}");
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
