//! The options of the hunt: everything that defines a score on it.

use super::{
    board::N_ACTIONS,
    credit::CAPTURE,
    view::{MOST_VIEW, Rows},
};
use crate::{
    environment::{Better, Constraint, Metric, Reduce, Spec},
    error::{Error, Result, count, within},
};
use serde::{Deserialize, Serialize};

/// Smallest and largest team that is accepted.
const TEAMS: std::ops::RangeInclusive<usize> = 2..=200;
/// Smallest and largest side of the grid.
const SIZES: std::ops::RangeInclusive<u64> = 3..=100;
/// Most steps of an episode.
const MAX_HORIZON: u64 = 100_000;
/// The punishment that the benchmark is best known by.
const KNOWN_PUNISHMENT: f64 = 2.0;

/// The hunt and everything that defines a score on it; the defaults are the published benchmark's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PredatorPreyOptions {
    /// Predators.
    pub agents: usize,
    /// Prey; as many as predators unless set.
    pub prey: Option<usize>,
    /// Cells along each side of the grid.
    pub size: usize,
    /// Steps of one episode.
    pub horizon: usize,
    /// How many cells a predator sees to each side.
    pub view: usize,
    /// Nearest other predators that each one is paired with.
    pub neighbours: usize,
    /// What a catch in vain takes from the reward of learners that know no multipliers.
    pub punishment: f64,
}

impl Default for PredatorPreyOptions {
    fn default() -> Self {
        Self {
            agents: 8,
            prey: None,
            size: 10,
            horizon: 200,
            view: 2,
            neighbours: 3,
            punishment: 0.0,
        }
    }
}

impl PredatorPreyOptions {
    /// Prey at the start of an episode.
    pub fn n_prey(&self) -> usize {
        self.prey.unwrap_or(self.agents)
    }

    /// Most prey that can be caught: it takes two predators each.
    pub fn most_captures(&self) -> usize {
        (self.agents / 2).min(self.n_prey())
    }

    pub(super) fn validate(&self) -> Result<()> {
        Spec::check_team(self.agents, TEAMS)?;
        count("size", self.size as u64, SIZES)?;
        count("prey", self.n_prey() as u64, 1..=10_000)?;
        count("horizon", self.horizon as u64, 1..=MAX_HORIZON)?;
        count("view", self.view as u64, 1..=MOST_VIEW as u64)?;
        count("neighbours", self.neighbours as u64, 1..=20)?;
        within("punishment", self.punishment, 0.0..=1e6)?;
        let (animals, cells) = (self.agents + self.n_prey(), self.size * self.size);
        if 2 * animals > cells {
            let reason = format!("{animals} predators and prey need a grid of twice as many cells");
            return Err(Error::setting("size", self.size, reason));
        }
        Ok(())
    }

    pub(super) fn spec(&self) -> Spec {
        let (n, n_prey) = (self.agents, self.n_prey());
        let rows = Rows::of(self.view);
        let vain = Constraint::new("vain", "tenths of a catch in vain").limits("vain_catches");
        let spec = Spec::new(super::task::NAME, n, N_ACTIONS, self.horizon)
            .rows(3 * (n + n_prey), rows.agent, rows.region)
            .measures(self.metrics(), [vain.at_most(0.4)])
            .terminating();
        Spec {
            max_regions: spec.max_regions.min(n * self.neighbours),
            reward_label: Some(format!("punishment={}", self.punishment)),
            ..spec
        }
    }

    /// What is measured of every episode.
    fn metrics(&self) -> Vec<Metric> {
        let most = self.most_captures() as f64;
        let sum = |name: &str, unit: &str, better, range| {
            Metric::new(name, unit, Reduce::Sum, better, range)
        };
        // A prey is tried for in vain once a step at most.
        let most_vain = (self.n_prey() * self.horizon) as f64;
        let published = [-KNOWN_PUNISHMENT * most_vain, f64::from(CAPTURE) * most];
        vec![
            sum("captures", "prey caught", Better::Higher, [0.0, most]),
            sum(
                "vain_catches",
                "prey that one neighbour alone tried to catch",
                Better::Lower,
                [0.0, most_vain],
            ),
            sum("return_p2", "10 × captures − 2 × vain catches", Better::Higher, published),
            sum("wasted", "catchers beyond two", Better::Lower, [0.0, self.agents as f64]),
            sum(
                "steps",
                "steps until the hunt was over",
                Better::Lower,
                [0.0, self.horizon as f64],
            ),
        ]
    }

    /// A step's metrics.
    pub(super) fn measure(captures: usize, vain: usize, wasted: usize) -> [f64; 5] {
        let (captures, vain) = (captures as f64, vain as f64);
        let published = f64::from(CAPTURE) * captures - KNOWN_PUNISHMENT * vain;
        [captures, vain, published, wasted as f64, 1.0]
    }
}
