//! What a reproduction found, team by team and layout by layout: the content of `results.json`.

use super::rows::LeftOut;
use crate::tables::TradeOff;
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
    /// Files that do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// One per team size and layout.
    pub teams: Vec<Team>,
}

impl Results {
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
    /// Every operating point.
    pub points: Vec<Point>,
    /// The front of each method.
    pub fronts: Vec<MethodFront>,
    /// Which points are dominated by which front.
    pub dominance: Vec<Dominance>,
    /// How fast each model learnt.
    pub learning: Vec<Learning>,
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
    /// Environment steps of its training.
    pub steps: u64,
    /// Training seeds.
    pub seeds: usize,
    /// Overlapping pairs per step.
    pub collisions: Spread,
    /// The same per pair of agents.
    pub per_pair_rate: Spread,
    /// Share of landmarks covered.
    pub coverage: Spread,
    /// Whether no point of the same method is better.
    pub pareto: bool,
    /// Whether no point of any method is better.
    pub pareto_overall: bool,
}

/// The front of one method: all points of its models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MethodFront {
    /// Such as `cg_cmarl`.
    pub algorithm: String,
    /// Against the random policy, with its 95 % bootstrap interval.
    pub hypervolume: Spread,
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
    /// Whether some point of that front is at least as good in both means and better in one.
    pub dominated: bool,
    /// Share of resampled seeds and start states in which it is.
    pub probability: f64,
}

/// How fast a team learnt, by its own coverage while it trained (exploration included); that of smaller
/// teams before it does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// The model.
    pub row: String,
    /// Environment steps until each coverage of [`COVERAGES`] was first reached, mean over seeds;
    /// nothing where a seed never reached it.
    pub steps_to: Vec<Option<f64>>,
}

/// The coverages whose first time is told.
pub const COVERAGES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];
