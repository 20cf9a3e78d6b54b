//! What a task declares about itself: sizes for learners, measures and constraints for everybody.

use super::check_snapshot;
use crate::error::{Result, count};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// How the values of an episode's steps become the episode's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// The value at the last step.
    Last,
    /// The mean over the steps.
    Mean,
    /// The sum over the steps.
    Sum,
    /// One where the value was not zero at any step, else zero.
    All,
}

/// Which direction of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One thing that is measured of every episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// How files and reports call it.
    pub name: String,
    /// What it counts, such as `share of parcels`; plain words.
    pub unit: String,
    /// How the steps' values become the episode's.
    pub reduce: Reduce,
    /// Which direction is better.
    pub better: Better,
    /// Smallest and largest value an episode can have; infinite where unknown.
    #[serde(with = "range")]
    pub range: [f64; 2],
    /// Whether people read it as a percentage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percent: bool,
    /// What files of earlier versions call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formerly: Option<String>,
}

impl Metric {
    /// A metric that an episode averages over its steps.
    pub fn new(name: &str, unit: &str, reduce: Reduce, better: Better, range: [f64; 2]) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            reduce,
            better,
            range,
            percent: false,
            formerly: None,
        }
    }

    /// The same metric, read as a percentage.
    #[must_use]
    pub fn percent(self) -> Self {
        Self { percent: true, ..self }
    }

    /// The same metric, which files of earlier versions know by another name.
    #[must_use]
    pub fn formerly(self, name: &str) -> Self {
        Self { formerly: Some(name.into()), ..self }
    }
}

/// Something that is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// How users call it, such as `collision`.
    pub name: String,
    /// What one unit of its cost is.
    pub unit: String,
    /// The metric that a limit on it limits.
    pub metric: String,
    /// Most that an agent can pay at one step; infinite where unknown.
    #[serde(default = "unbounded", with = "end")]
    pub most: f64,
    /// The metric that tells which part of it no action could have avoided, where the task knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavoidable: Option<String>,
}

impl Constraint {
    /// A constraint on what it costs (the mean per agent and step), of which an agent can pay any
    /// amount.
    pub fn new(name: &str, unit: &str) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            metric: cost_metric(name),
            most: f64::INFINITY,
            unavoidable: None,
        }
    }

    /// The same constraint, limits on which are in the unit of a metric of the task's own.
    #[must_use]
    pub fn limits(self, metric: &str) -> Self {
        Self { metric: metric.into(), ..self }
    }

    /// The same constraint, of which an agent pays at most this at one step.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        Self { most, ..self }
    }

    /// The same constraint, whose unavoidable part a metric tells.
    #[must_use]
    pub fn unavoidable(self, metric: &str) -> Self {
        Self { unavoidable: Some(metric.into()), ..self }
    }
}

/// What a learner must know of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// Actions it has.
    pub n_actions: usize,
}

/// Sizes, measures and names of an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the task.
    pub task: String,
    /// The team.
    pub agents: Vec<AgentSpec>,
    /// Actions along each axis where they form a square force grid (their number is its square).
    pub action_grid: Option<usize>,
    /// The task's own metrics, in the order of [`super::Outcome::metrics`].
    pub metrics: Vec<Metric>,
    /// The metric that the team is there for: the front's first axis.
    pub objective: String,
    /// What is paid for, in the order of every per-constraint array.
    pub constraints: Vec<Constraint>,
    /// How reports call the reward that the agents are paid, where it already holds a penalty.
    pub reward_label: Option<String>,
    /// Whether an episode can truly end before its time.
    pub terminates: bool,
    /// Width of the state row.
    pub state_width: usize,
    /// Width of one agent row.
    pub agent_width: usize,
    /// Width of one region row.
    pub region_width: usize,
    /// Members of the largest region.
    pub region_size: usize,
    /// Most regions the graph can have.
    pub max_regions: usize,
    /// Most steps of one episode.
    pub horizon: usize,
}

/// Name of the metric that every task has: the sum of team rewards over an episode.
pub const TEAM_RETURN: &str = "team_return";

impl Spec {
    /// Agents of one kind that coordinate in pairs, without anything that is measured or paid for;
    /// the widths are left to set.
    ///
    /// ```
    /// # use cgcmarl::environment::{Constraint, Spec};
    /// let noise = Constraint::new("noise", "decibels");
    /// let spec = Spec::new("choir", 4, 3, 20).rows(8, 8, 4).measures(vec![], [noise]);
    /// assert_eq!((spec.n_agents(), spec.n_actions(), spec.max_regions), (4, 3, 6));
    /// assert_eq!(spec.axes(), ["team_return", "cost_noise"]);
    /// ```
    pub fn new(task: &str, n_agents: usize, n_actions: usize, horizon: usize) -> Self {
        Self {
            task: task.into(),
            agents: Self::team(n_agents, n_actions),
            action_grid: None,
            metrics: Vec::new(),
            objective: TEAM_RETURN.into(),
            constraints: Vec::new(),
            reward_label: None,
            terminates: false,
            state_width: 0,
            agent_width: 0,
            region_width: 0,
            region_size: 2,
            max_regions: n_agents * n_agents.saturating_sub(1) / 2,
            horizon,
        }
    }

    /// The same environment whose state, agent and region rows have these widths.
    #[must_use]
    pub fn rows(self, state_width: usize, agent_width: usize, region_width: usize) -> Self {
        Self { state_width, agent_width, region_width, ..self }
    }

    /// The same environment with metrics of the task's own, for the first of which the team is there,
    /// and with something to be paid for.
    #[must_use]
    pub fn measures(
        self,
        metrics: impl Into<Vec<Metric>>,
        constraints: impl Into<Vec<Constraint>>,
    ) -> Self {
        let (metrics, constraints) = (metrics.into(), constraints.into());
        let objective = metrics.first().map_or(self.objective, |metric| metric.name.clone());
        Self { metrics, objective, constraints, ..self }
    }

    /// The same environment, whose episodes can truly end before their time.
    #[must_use]
    pub fn terminating(self) -> Self {
        Self { terminates: true, ..self }
    }

    /// Refuses a team of a size that a task does not have.
    pub fn check_team(agents: usize, sizes: RangeInclusive<usize>) -> Result<()> {
        count("agents", agents as u64, *sizes.start() as u64..=*sizes.end() as u64)
    }

    /// Reads a snapshot that is a state; refuses numbers that are none.
    pub fn read_snapshot(&self, snapshot: &[f64], state: &mut [f32]) -> Result<()> {
        check_snapshot(snapshot, self.state_width)?;
        state.iter_mut().zip(snapshot).for_each(|(number, &exact)| *number = exact as f32);
        Ok(())
    }

    /// Team size.
    pub fn n_agents(&self) -> usize {
        self.agents.len()
    }

    /// Actions of the agent that has most.
    pub fn n_actions(&self) -> usize {
        self.agents.iter().map(|agent| agent.n_actions).max().unwrap_or(0)
    }

    /// Number of constraints.
    pub fn n_constraints(&self) -> usize {
        self.constraints.len()
    }

    /// Names of the constraints.
    pub fn constraint_names(&self) -> Vec<String> {
        self.constraints.iter().map(|constraint| constraint.name.clone()).collect()
    }

    /// The same actions for every agent.
    pub fn team(n_agents: usize, n_actions: usize) -> Vec<AgentSpec> {
        vec![AgentSpec { n_actions }; n_agents]
    }

    /// Everything that is scored: the task's own metrics, the return, and the cost of each
    /// constraint (its mean per agent and step, the unit of every cost limit).
    pub fn reported(&self) -> Vec<Metric> {
        let mut all = self.metrics.clone();
        let anything = [f64::NEG_INFINITY, f64::INFINITY];
        all.push(Metric::new(
            TEAM_RETURN,
            "reward per episode",
            Reduce::Sum,
            Better::Higher,
            anything,
        ));
        all.extend(self.constraints.iter().map(|constraint| {
            let unit = format!("{} per agent and step", constraint.unit);
            let name = cost_metric(&constraint.name);
            Metric::new(&name, &unit, Reduce::Mean, Better::Lower, [0.0, constraint.most])
        }));
        all
    }

    /// Names of the axes of a front: the objective, then what each constraint limits.
    pub fn axes(&self) -> Vec<String> {
        let limited = self.constraints.iter().map(|constraint| constraint.metric.clone());
        std::iter::once(self.objective.clone()).chain(limited).collect()
    }
}

/// The metric that tells what a constraint costs.
fn cost_metric(constraint: &str) -> String {
    format!("cost_{constraint}")
}

fn unbounded() -> f64 {
    f64::INFINITY
}

/// An infinite number is written as nothing, since JSON has no infinity.
mod end {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
    pub(super) fn serialize<S: Serializer>(end: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        end.is_finite().then_some(*end).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(input)?.unwrap_or(f64::INFINITY))
    }
}

/// An infinite end of a range is written as nothing, since JSON has no infinity.
mod range {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        range: &[f64; 2],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        range.map(|end| end.is_finite().then_some(end)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[f64; 2], D::Error> {
        let [low, high] = <[Option<f64>; 2]>::deserialize(deserializer)?;
        Ok([low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY)])
    }
}
