//! What a reproduction found, team by team and layout by layout: the content of `results.json`.

use super::{arm::Arm, rows::LeftOut};
use crate::tables::TradeOff;
use cgcmarl::evaluation::Estimate;
use serde::{Deserialize, Serialize};

/// Where the folder of a reproduction holds it.
pub const RESULTS_FILE: &str = "results.json";

/// Everything that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Always `cgcmarl`.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// Whose eyes the baselines had.
    #[serde(default)]
    pub arm: Arm,
    /// Files that do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// One per team size and layout.
    pub teams: Vec<Team>,
    /// Each method over all team sizes and layouts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reliability: Vec<MethodReliability>,
}

impl Results {
    /// The team sizes on random layouts, where models were trained.
    pub fn on_random_layouts(&self) -> impl Iterator<Item = &Team> {
        self.teams.iter().filter(|team| team.layout == "random")
    }

    /// What was measured for a team on a layout.
    pub fn team(&self, n_agents: usize, layout: &str) -> Option<&Team> {
        self.teams.iter().find(|team| team.n_agents == n_agents && team.layout == layout)
    }
}

/// One team size on one layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Team {
    /// Team size.
    pub n_agents: usize,
    /// Such as `random`.
    pub layout: String,
    /// Evaluation episodes of every point and seed.
    pub episodes: usize,
    /// The random policy: the reference of every hypervolume.
    pub random: Option<TradeOff>,
    /// The oracle: what the physics allows.
    pub oracle: Option<TradeOff>,
    /// The worst of every measure among all points: a reference of hypervolumes.
    #[serde(default)]
    pub worst: TradeOff,
    /// The worst of every measure among the points that no other dominates: another one.
    #[serde(default)]
    pub nadir: TradeOff,
    /// Every operating point.
    pub points: Vec<Point>,
    /// The front of each method.
    pub fronts: Vec<MethodFront>,
    /// Which points are dominated by which front.
    pub dominance: Vec<Dominance>,
    /// How fast each model learnt.
    pub learning: Vec<Learning>,
    /// What each method achieves where its trade-off is chosen on other start states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<Chosen>,
}

impl Team {
    /// Every method that has a point, in the order of the points.
    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = vec![];
        for point in &self.points {
            if !methods.contains(&point.algorithm.as_str()) {
                methods.push(&point.algorithm);
            }
        }
        methods
    }
}

/// A mean with its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Over seeds and episodes.
    pub mean: f64,
    /// Sample standard deviation over the seeds, as the paper prints it; 0 of one seed.
    pub deviation: f64,
    /// Lower end of the 95 % bootstrap interval over seeds and episodes.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// One operating point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Such as `iql`.
    pub algorithm: String,
    /// Such as `lr=0.3` or `λ=0.2`.
    pub parameter: String,
    /// The multiplier, where there is one.
    pub multiplier: Option<f64>,
    /// The model it belongs to.
    pub row: String,
    /// Environment steps of its training, mean over the seeds.
    pub steps: u64,
    /// Whether every seed learned and learned no more at its end.
    #[serde(default)]
    pub converged: bool,
    /// Training seeds.
    pub seeds: usize,
    /// Overlapping pairs per step.
    pub collisions: Spread,
    /// The same per pair of agents.
    pub per_pair_rate: Spread,
    /// Share of landmarks covered.
    pub coverage: Spread,
    /// Collisions per step that no action avoids.
    #[serde(default)]
    pub floor: f64,
    /// The team's return, and its sample deviation over the seeds.
    #[serde(default)]
    pub team_return: (f64, f64),
    /// What each seed achieved.
    #[serde(default)]
    pub per_seed: Vec<TradeOff>,
    /// Whether no point of the same method is better.
    pub pareto: bool,
    /// Whether no point of any method is better.
    pub pareto_overall: bool,
}

impl Point {
    /// Collisions in units of those that no action avoids; none where there are no such, or where nobody
    /// counted them.
    pub fn over_floor(&self) -> Option<f64> {
        (self.floor > 0.0).then(|| self.collisions.mean / self.floor)
    }
}

/// The front of one method: all points of its models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodFront {
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// Against the random policy, with its 95 % bootstrap interval.
    pub hypervolume: Spread,
    /// Against the worst point of all.
    #[serde(default)]
    pub from_worst: Spread,
    /// Against the nadir of the front of all methods together.
    #[serde(default)]
    pub from_nadir: Spread,
    /// That of the front the paper prints for this method, with the same reference.
    pub printed_hypervolume: Option<f64>,
    /// Ours over that of the paper's CG-CMARL.
    pub ratio_to_printed_cg_cmarl: Option<f64>,
}

/// Whether a front dominates a point of another method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dominance {
    /// The point's method.
    pub algorithm: String,
    /// Which of its points.
    pub parameter: String,
    /// Whose front.
    pub by: String,
    /// Whether every seed of the point learned and learned no more at its end.
    #[serde(default)]
    pub converged: bool,
    /// Whether some point of that front is at least as good in both means and better in one.
    pub dominated: bool,
    /// Share of resampled seeds and start states in which it is.
    pub probability: f64,
}

/// What a method achieves within a limit when each seed's trade-off is chosen on one set of start states
/// and measured on another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// The limit on collisions, in units of those that no action avoids.
    pub times_floor: f64,
    /// Seeds with a point within the limit; the safest point stands for the others.
    pub found: usize,
    /// Training seeds.
    pub seeds: usize,
    /// What was chosen, seed by seed.
    pub parameters: Vec<String>,
    /// Share of landmarks covered: mean, sample deviation over the seeds.
    pub coverage: (f64, f64),
    /// Collisions in units of those that no action avoids, mean over the seeds.
    pub collisions_over_floor: f64,
}

/// One method over all team sizes and layouts. A score is the hypervolume of one seed's points, as a
/// share of the largest possible one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodReliability {
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// Pairs of a team size and a layout on which a seed has every price.
    pub tasks: usize,
    /// Interquartile mean over seeds and tasks, with its interval over seeds and episodes.
    pub iqm: Estimate,
    /// That of CG-CMARL on the same tasks.
    #[serde(default)]
    pub ours: Estimate,
    /// Probability that a seed of CG-CMARL beats one of it on a task drawn at random.
    pub ours_better: Estimate,
    /// Share of seeds and tasks that score above each of [`THRESHOLDS`].
    pub profile: Vec<f64>,
    /// Lower ends of their intervals.
    pub profile_low: Vec<f64>,
    /// Upper ends of them.
    pub profile_high: Vec<f64>,
}

/// The thresholds of performance profiles: twentieths.
pub const THRESHOLDS: [f64; 21] = {
    let mut thresholds = [0.0; 21];
    let mut index = 0;
    while index < 21 {
        thresholds[index] = index as f64 / 20.0;
        index += 1;
    }
    thresholds
};

/// How fast a team learnt, by its own coverage without exploration; that of smaller teams before it does
/// not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// The model.
    pub row: String,
    /// Environment steps until each coverage of [`COVERAGES`] was first reached, mean over seeds;
    /// nothing where a seed never reached it.
    pub steps_to: Vec<Option<f64>>,
    /// Seconds of one processor until then.
    #[serde(default)]
    pub cpu_seconds_to: Vec<Option<f64>>,
    /// Environment steps in all, mean over seeds.
    #[serde(default)]
    pub trained: f64,
    /// Seconds of one processor in all.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// Seeds that learned and learned no more at their end.
    #[serde(default)]
    pub converged: usize,
    /// Training seeds.
    #[serde(default)]
    pub seeds: usize,
}

/// The coverages whose first time is told.
pub const COVERAGES: [f64; 4] = [0.5, 0.75, 0.9, 0.95];
