//! The options of the warehouse: everything that defines a score on it.

use super::observation::{AGENT_WIDTH, REGION_WIDTH};
use crate::{
    environment::{Better, Constraint, Metric, Reduce, Spec},
    error::{Error, Result, count},
};
use serde::{Deserialize, Serialize};

/// What a move costs: half of what a step nearer to the goal earns, so that robots still move where
/// all multipliers are 1.
pub(super) const MOVE_ENERGY: f64 = 0.05;
/// Numbers of the state for each robot: place, goal, battery.
pub(super) const ROBOT_NUMBERS: usize = 4;
/// Maps of teams up to a size: agents, width, height.
const MAPS: [[usize; 3]; 4] = [[8, 12, 8], [16, 20, 14], [30, 30, 20], [usize::MAX, 40, 30]];
/// Most that a robot can pay for conflicts at one step: its own, those of four neighbours that want
/// its cell, and those of three that want where it goes.
const MOST_CONFLICTS: f64 = 8.0;

/// What users may set under `[environment]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarehouseOptions {
    /// Number of robots.
    pub agents: usize,
    /// Cells from left to right; 12 to 40, by the number of robots.
    pub width: Option<usize>,
    /// Cells from bottom to top; 8 to 30, by the number of robots.
    pub height: Option<usize>,
    /// Columns of an aisle: 1 or 2.
    pub aisle: usize,
    /// Whether aisles are driven one way only.
    pub one_way: bool,
    /// Moves of a full battery; 0 for a battery without end.
    pub battery: usize,
    /// Steps of one episode.
    pub horizon: usize,
    /// Neighbours that each robot shares a region with.
    pub k: usize,
}

impl Default for WarehouseOptions {
    fn default() -> Self {
        Self {
            agents: 12,
            width: None,
            height: None,
            aisle: 2,
            one_way: false,
            battery: 0,
            horizon: 100,
            k: 3,
        }
    }
}

impl WarehouseOptions {
    /// Width and height of the map.
    pub(super) fn size(&self) -> [usize; 2] {
        let fits = |map: &&[usize; 3]| self.agents <= map[0];
        let [_, width, height] = MAPS.iter().find(fits).copied().unwrap_or(MAPS[3]);
        [self.width.unwrap_or(width), self.height.unwrap_or(height)]
    }

    pub(super) fn validate(&self) -> Result<()> {
        let [width, height] = self.size();
        Spec::check_team(self.agents, 2..=200)?;
        count("width", width as u64, 6..=100)?;
        count("height", height as u64, 5..=100)?;
        count("aisle", self.aisle as u64, 1..=2)?;
        count("horizon", self.horizon as u64, 1..=100_000)?;
        count("k", self.k as u64, 1..=10)?;
        let least = 4 * (width + height);
        if self.battery > 0 && self.battery < least {
            let reason = format!("must be 0 (no end), or at least {least} on this map");
            return Err(Error::setting("battery", self.battery, reason));
        }
        Ok(())
    }

    pub(super) fn spec(&self) -> Spec {
        let n = self.agents;
        let conflict = Constraint::new("conflict", "blocked moves").at_most(MOST_CONFLICTS);
        let energy = Constraint::new("energy", "0.05 for each move").at_most(MOVE_ENERGY);
        let max_regions = (n * self.k.min(n - 1)).min(n * (n - 1) / 2);
        Spec {
            max_regions,
            ..Spec::new(super::task::NAME, n, 5, self.horizon)
                .rows(ROBOT_NUMBERS * n, AGENT_WIDTH, REGION_WIDTH)
                .measures(self.metrics(), [conflict.limits("conflicts"), energy.limits("moves")])
        }
    }

    fn metrics(&self) -> Vec<Metric> {
        let steps = self.horizon as f64;
        let rate = |name: &str, unit: &str| {
            Metric::new(name, unit, Reduce::Mean, Better::Lower, [0.0, 1.0])
        };
        let most = self.agents as f64 * steps;
        let deliveries = "orders delivered in an episode";
        let throughput = "orders delivered per robot and 100 steps";
        vec![
            Metric::new("deliveries", deliveries, Reduce::Sum, Better::Higher, [0.0, most]),
            rate("conflicts", "blocked moves per robot and step"),
            rate("moves", "moves per robot and step"),
            Metric::new("throughput", throughput, Reduce::Mean, Better::Higher, [0.0, 100.0]),
        ]
    }
}
