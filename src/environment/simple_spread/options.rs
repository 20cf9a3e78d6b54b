//! The options of Simple Spread: everything that defines a score on it.

use super::{
    layout::Layout,
    observation::{AgentRowKind, ObservationOptions},
};
use crate::{
    environment::{Better, Constraint, Metric, Reduce, Spec, particle::grid_of_forces},
    error::{Error, Result, count, positive},
    graph::{CoordinationGraph, GraphOptions},
};
use serde::{Deserialize, Serialize};

/// Radii at which agents begin to pay; they touch at two.
const COST_RADII: f64 = 2.125;
/// Most steps of an episode.
const MAX_HORIZON: u64 = 100_000;
/// Most agents that are accepted.
const MAX_AGENTS: usize = 1000;

/// Simple Spread and everything that defines a score on it.
///
/// What is not set follows the `physics` preset and the number of agents; [`Self::resolved`] tells
/// what that comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimpleSpreadOptions {
    /// Team size, and number of landmarks.
    pub agents: usize,
    /// Whose world: sets `radius`, `contact`, `actions` and `local_ratio` where they are not set.
    pub physics: Physics,
    /// Radius of an agent. `paper`: 0.08, and 0.08·√(4/N) above 4 agents in the `unit` square; `mpe2`:
    /// 0.15.
    pub radius: Option<f64>,
    /// Whether overlapping agents push each other apart. `paper`: no; `mpe2`: yes.
    pub contact: Option<bool>,
    /// Steps of one episode.
    pub horizon: usize,
    /// Where the landmarks are.
    pub layout: Layout,
    /// How large the square is in which everything starts.
    #[serde(rename = "arena", skip_serializing_if = "StartSquare::is_unit")]
    pub square: StartSquare,
    /// Weight of the local collision reward in the agents' own reward. `paper`: 0; `mpe2`: 0.5.
    pub local_ratio: Option<f64>,
    /// What an agent can do. `paper`: `grid`; `mpe2`: `discrete`.
    pub actions: Option<ActionSet>,
    /// What is paid for, in the order of every per-constraint array.
    pub constraints: Vec<Cost>,
    /// Agents closer than this pay the collision cost: `cost_radii` radii where it is not set.
    pub cost_distance: Option<f64>,
    /// The same in radii, for teams whose agents differ in size; 2.125, a little before they touch at 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_radii: Option<f64>,
    /// How the task reward reaches the regions.
    pub reward: RewardRule,
    /// What a region sees.
    pub observation: ObservationOptions,
    /// Which agents share a region.
    pub graph: GraphOptions,
}

impl Default for SimpleSpreadOptions {
    fn default() -> Self {
        Self {
            agents: 3,
            physics: Physics::Paper,
            radius: None,
            contact: None,
            horizon: 25,
            layout: Layout::Random,
            square: StartSquare::Unit,
            local_ratio: None,
            actions: None,
            constraints: vec![Cost::Collision],
            cost_distance: None,
            cost_radii: None,
            reward: RewardRule::Shared,
            observation: ObservationOptions::default(),
            graph: GraphOptions::default(),
        }
    }
}

/// How large the square is in which agents and landmarks start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartSquare {
    /// [-1, 1]² for every team; the paper's agents shrink with their number instead.
    #[default]
    Unit,
    /// [-h, h]² with h = √(N/4), and 1 up to 4 agents: as many agents per area for every team, all of
    /// one size.
    Scaled,
}

impl StartSquare {
    /// Half the side of the square of a team.
    pub fn half_side(self, n_agents: usize) -> f64 {
        match self {
            Self::Unit => 1.0,
            Self::Scaled => (n_agents.max(4) as f64 / 4.0).sqrt(),
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
    fn is_unit(&self) -> bool {
        *self == Self::Unit
    }
}

/// Whose world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Physics {
    /// The paper's: small agents that pass through each other, a grid of forces.
    #[default]
    Paper,
    /// MPE2 as it is shipped: radius 0.15, contact forces, five actions, mixed reward.
    Mpe2,
}

/// What an agent can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionSet {
    /// Forces {-1, -0.5, 0, 0.5, 1}²: action 5·ix + iy.
    Grid,
    /// MPE2's: nothing, left, right, down, up.
    Discrete,
}

impl ActionSet {
    /// The action vectors u, by index.
    pub fn vectors(self) -> Vec<[f64; 2]> {
        match self {
            Self::Grid => grid_of_forces(),
            Self::Discrete => vec![[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]],
        }
    }
}

/// Something that is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// One for each pair closer than `cost_distance` after the step.
    Collision,
    /// |u|² of each agent; a region pays each member's share, split evenly over the regions it is in.
    Energy,
}

impl Cost {
    /// The name users write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collision => "collision",
            Self::Energy => "energy",
        }
    }

    /// What reports and limits know of it.
    fn constraint(self, n_agents: usize) -> Constraint {
        let (unit, metric, most, unavoidable) = match self {
            Self::Collision => (
                "near agents",
                "collisions_per_step",
                (n_agents - 1) as f64,
                Some("collision_floor"),
            ),
            Self::Energy => ("|u|²", "cost_energy", 2.0, None),
        };
        Constraint {
            name: self.name().into(),
            unit: unit.into(),
            metric: metric.into(),
            most,
            unavoidable: unavoidable.map(Into::into),
        }
    }
}

/// How the task reward reaches the regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewardRule {
    /// Each region earns the counterfactual credit of its members (the paper's).
    Counterfactual,
    /// All regions earn the same: (N−1)/2 · U / regions.
    #[default]
    Shared,
}

impl SimpleSpreadOptions {
    /// The same options with every rule replaced by its value.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let paper = self.physics == Physics::Paper;
        let scale = match self.square {
            StartSquare::Unit => (4.0 / self.agents.max(4) as f64).sqrt(),
            StartSquare::Scaled => 1.0,
        };
        let radius = self.radius.unwrap_or(if paper { 0.08 * scale } else { 0.15 });
        let actions = if paper { ActionSet::Grid } else { ActionSet::Discrete };
        // What is paid for begins before what collides, whatever the radius.
        let cost_distance = self.cost_radii.unwrap_or(COST_RADII) * radius;
        let mut resolved = self.clone();
        resolved.radius = Some(radius);
        resolved.contact = Some(self.contact.unwrap_or(!paper));
        resolved.local_ratio = Some(self.local_ratio.unwrap_or(if paper { 0.0 } else { 0.5 }));
        resolved.actions = Some(self.actions.unwrap_or(actions));
        resolved.cost_distance = Some(self.cost_distance.unwrap_or(cost_distance));
        resolved.cost_radii = None;
        resolved.observation.landmarks = Some(self.observation.n_landmarks(self.agents));
        if self.observation.agent_row == AgentRowKind::Shared {
            resolved.observation.others = Some(self.observation.n_others(self.agents));
        }
        resolved
    }

    pub(super) fn validate(&self) -> Result<()> {
        if !(2..=MAX_AGENTS).contains(&self.agents) {
            let reason = format!("a team has 2 to {MAX_AGENTS} agents");
            return Err(Error::setting("agents", self.agents, reason));
        }
        self.radius.map_or(Ok(()), |radius| positive("radius", radius, 10.0))?;
        self.cost_distance.map_or(Ok(()), |far| positive("cost_distance", far, 100.0))?;
        self.cost_radii.map_or(Ok(()), |radii| positive("cost_radii", radii, 100.0))?;
        if let (Some(far), Some(radii)) = (self.cost_distance, self.cost_radii) {
            let reason = format!("`cost_distance` is {far} already: set one of the two");
            return Err(Error::setting("cost_radii", radii, reason));
        }
        count("horizon", self.horizon as u64, 1..=MAX_HORIZON)?;
        if let Some(ratio) = self.local_ratio.filter(|ratio| !(0.0..=1.0).contains(ratio)) {
            return Err(Error::setting("local_ratio", ratio, "must be from 0 to 1"));
        }
        self.observation.check(MAX_AGENTS)?;
        let repeats = |(i, c): (usize, &Cost)| self.constraints[..i].contains(c);
        if self.constraints.is_empty() || self.constraints.iter().enumerate().any(repeats) {
            let names: Vec<_> = self.constraints.iter().map(|c| c.name()).collect();
            let reason = "list each constraint once, and at least one";
            return Err(Error::setting("constraints", format!("{names:?}"), reason));
        }
        Ok(())
    }

    pub(super) fn spec(&self, n_actions: usize, graph: &CoordinationGraph) -> Result<Spec> {
        let region_size = graph.max_region_size();
        if graph.regions().any(|region| region.len() != region_size) || region_size < 2 {
            let reason = "all regions must have the same number of agents, at least two";
            return Err(Error::setting("regions", format!("{:?}", self.graph.regions), reason));
        }
        let n = self.agents;
        let max_regions = if self.graph.follows_positions() {
            self.graph.most_regions(n)
        } else {
            graph.n_regions()
        };
        Ok(Spec {
            task: super::task::NAME.into(),
            agents: Spec::team(n, n_actions),
            action_grid: (n_actions == 25).then_some(5),
            metrics: self.metrics(),
            objective: "coverage".into(),
            constraints: self.constraints.iter().map(|cost| cost.constraint(n)).collect(),
            reward_label: self.local_ratio.map(|ratio| format!("local_ratio={ratio}")),
            terminates: false,
            state_width: 6 * n,
            agent_width: self.observation.agent_width(n),
            region_width: self.observation.region_width(n, region_size),
            region_size,
            max_regions,
            horizon: self.horizon,
        })
    }

    /// What is measured of every episode.
    fn metrics(&self) -> Vec<Metric> {
        let n_pairs = (self.agents * (self.agents - 1) / 2) as f64;
        let covered = |name: &str, within: &str| {
            let unit = format!("landmarks with an agent within {within} at the end");
            Metric::new(name, &unit, Reduce::Last, Better::Higher, [0.0, 1.0]).percent()
        };
        let rate = |name: &str, unit: &str, most: f64| {
            Metric::new(name, unit, Reduce::Mean, Better::Lower, [0.0, most])
        };
        vec![
            covered("coverage", "0.1").formerly("coverage_0.1"),
            covered("coverage_0.15", "0.15"),
            covered("coverage_0.2", "0.2"),
            rate("collisions_per_step", "overlapping pairs per step", n_pairs),
            rate("per_pair_rate", "overlapping pairs per step and pair", 1.0),
            rate("collision_floor", "overlapping pairs per step that no action avoids", n_pairs),
            Metric::new(
                "collision_free",
                "episodes without a collision",
                Reduce::All,
                Better::Higher,
                [0.0, 1.0],
            )
            .percent(),
        ]
    }
}
