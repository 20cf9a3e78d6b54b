//! The options of Simple Tag: everything that defines a score on it.

use super::{
    observation::{AGENT_FIXED, REGION_WIDTH},
    prey::Prey,
};
use crate::{
    environment::{Better, Constraint, Metric, Reduce, Spec, frame::Frame},
    error::{Error, Result, count, within},
    graph::{CoordinationGraph, GraphOptions, Topology},
};
use serde::{Deserialize, Serialize};

/// Fewest and most predators.
const TEAMS: std::ops::RangeInclusive<usize> = 2..=20;
/// Most obstacles.
const MAX_OBSTACLES: u64 = 6;
/// Most steps of an episode.
const MAX_HORIZON: u64 = 100_000;

/// What users may set under `[environment]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimpleTagOptions {
    /// Number of predators.
    pub agents: usize,
    /// How the prey runs.
    pub prey: Prey,
    /// Number of obstacles.
    pub obstacles: usize,
    /// Whether what overlaps pushes apart, as MPE2 has it.
    pub contact: bool,
    /// Steps of one episode.
    pub horizon: usize,
    /// Where everybody starts.
    pub start: Start,
    /// What a predator's distance to the prey costs in the reward, beside one for each touch.
    pub shaping: f64,
    /// Predators pay for being nearer to each other, or to an obstacle, than this many times the
    /// distance at which they touch.
    pub cost_margin: f64,
    /// The frame in which a region sees the world.
    pub frame: Frame,
    /// Seconds of coasting before directions are taken.
    pub coast: f64,
    /// Which predators share a region.
    pub graph: GraphOptions,
}

impl Default for SimpleTagOptions {
    fn default() -> Self {
        Self {
            agents: 3,
            prey: Prey::default(),
            obstacles: 2,
            contact: true,
            horizon: 25,
            start: Start::default(),
            shaping: 0.1,
            cost_margin: 1.05,
            frame: Frame::Cone,
            coast: 0.2,
            graph: GraphOptions::default(),
        }
    }
}

/// Where everybody starts, at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Anywhere, but so that nothing touches.
    #[default]
    Apart,
    /// Anywhere, as MPE2 has it.
    Mpe2,
}

impl SimpleTagOptions {
    pub(super) fn validate(&self) -> Result<()> {
        Spec::check_team(self.agents, TEAMS)?;
        count("obstacles", self.obstacles as u64, 0..=MAX_OBSTACLES)?;
        count("horizon", self.horizon as u64, 1..=MAX_HORIZON)?;
        within("shaping", self.shaping, 0.0..=10.0)?;
        within("cost_margin", self.cost_margin, 1.0..=2.0)?;
        within("coast", self.coast, 0.0..=10.0)?;
        if self.graph.topology == Topology::Explicit {
            let reason =
                "regions are pairs here: `complete`, `path`, `star`, `ring`, `k_nearest`, `radius`";
            return Err(Error::setting("topology", "explicit", reason));
        }
        Ok(())
    }

    pub(super) fn spec(&self, n_actions: usize, graph: &CoordinationGraph) -> Spec {
        let n = self.agents;
        let max_regions = if self.graph.follows_positions() {
            self.graph.most_regions(n)
        } else {
            graph.n_regions()
        };
        let others = (n - 1) as f64;
        let collision = Constraint::new("collision", "near predators").at_most(others);
        let obstacle = Constraint::new("obstacle", "near obstacles").at_most(self.hits_at_once());
        Spec {
            action_grid: Some(5),
            max_regions,
            ..Spec::new(super::task::NAME, n, n_actions, self.horizon)
                .rows(
                    4 * (n + 1) + 2 * self.obstacles,
                    AGENT_FIXED + 2 * self.obstacles + 2 * n,
                    REGION_WIDTH,
                )
                .measures(
                    self.metrics(),
                    [collision.limits("collisions"), obstacle.limits("obstacle_hits")],
                )
        }
    }

    /// Obstacles that a predator can hit at once, which may overlap.
    fn hits_at_once(&self) -> f64 {
        self.obstacles.max(1) as f64
    }

    /// What is measured of every episode.
    fn metrics(&self) -> Vec<Metric> {
        let n = self.agents as f64;
        let touches = Metric::new(
            "touches",
            "predators on the prey, added up over the steps of an episode",
            Reduce::Sum,
            Better::Higher,
            [0.0, n * self.horizon as f64],
        );
        let rate = |name: &str, unit: &str, most: f64| {
            Metric::new(name, unit, Reduce::Mean, Better::Lower, [0.0, most])
        };
        vec![
            touches,
            rate("collisions", "overlapping pairs of predators per step", n * (n - 1.0) / 2.0),
            rate("obstacle_hits", "predators on obstacles per step", n * self.hits_at_once()),
            rate("prey_distance", "distance of the nearest predator to the prey", 1e3),
        ]
    }

    /// How far apart everybody starts beside what touches.
    pub(super) fn clearance(&self) -> f64 {
        self.cost_margin * 1.01
    }
}
