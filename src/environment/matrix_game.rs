//! Small games given by tables, on which the right answer of a learner is known.
//!
//! Each region has a payoff table and one cost table per constraint, row-major over its members (the
//! last member's action runs fastest). The state is the share of the episode that has passed.

use super::{Constraint, Drawing, Ending, Environment, Outcome, Spec, View, check_snapshot};
use crate::{
    error::{Error, Result},
    graph::CoordinationGraph,
    rng::Rng,
};

/// The tables of one region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTables {
    /// Reward of each joint action of the region.
    pub reward: Vec<f32>,
    /// For each constraint, the cost of each joint action.
    pub costs: Vec<Vec<f32>>,
}

/// How a matrix game is seen: time, and who is in the region.
#[derive(Clone, Debug)]
pub struct MatrixView {
    spec: Spec,
    graph: CoordinationGraph,
}

/// A game given by tables, played for a few steps.
#[derive(Clone, Debug)]
pub struct MatrixGame {
    view: MatrixView,
    tables: Vec<RegionTables>,
    steps: usize,
}

impl MatrixGame {
    /// The game of the given graph and one set of tables per region.
    pub fn new(
        graph: CoordinationGraph,
        n_actions: usize,
        horizon: usize,
        tables: Vec<RegionTables>,
    ) -> Result<Self> {
        let region_size = graph.max_region_size();
        let refuse = |value: usize, reason: &str| Err(Error::setting("tables", value, reason));
        if tables.len() != graph.n_regions() || tables.is_empty() {
            return refuse(tables.len(), "one set of tables per region, and at least one region");
        }
        let n_constraints = tables[0].costs.len();
        for (region, members) in tables.iter().zip(graph.regions()) {
            let entries = n_actions.pow(members.len() as u32);
            let costs = region.costs.iter();
            if costs.clone().chain([&region.reward]).any(|table| table.len() != entries) {
                return refuse(entries, "every table needs this many entries");
            }
            if region.costs.len() != n_constraints || costs.flatten().any(|&cost| cost < 0.0) {
                return refuse(
                    n_constraints,
                    "costs: as many tables in each region, none negative",
                );
            }
        }
        let n = graph.n_agents();
        let constraint = |index: usize| Constraint::new(&format!("cost_{index}"), "cost");
        let spec = Spec {
            constraints: (0..n_constraints).map(constraint).collect(),
            terminates: true,
            region_size,
            max_regions: graph.n_regions(),
            ..Spec::new("matrix_game", n, n_actions, horizon).rows(1, 1 + n, 1 + region_size * n)
        };
        Ok(Self { view: MatrixView { spec, graph }, tables, steps: 0 })
    }

    /// The paper's worked example for two agents: both playing A earns 10 and costs 5, both playing
    /// B earns 9 and costs 1, anything else earns and costs nothing. B is better from λ = 1/4 on.
    pub fn worked_example() -> Result<Self> {
        let tables = RegionTables {
            reward: vec![10.0, 0.0, 0.0, 9.0],
            costs: vec![vec![5.0, 0.0, 0.0, 1.0]],
        };
        Self::new(CoordinationGraph::complete(2), 2, 1, vec![tables])
    }

    /// The climbing game: the best joint action (0, 0) is surrounded by penalties, so that learners
    /// which average over the partner, or mix monotonically, settle for less.
    pub fn climbing() -> Result<Self> {
        let reward = vec![11.0, -30.0, 0.0, -30.0, 7.0, 6.0, 0.0, 0.0, 5.0];
        let tables = RegionTables { reward, costs: vec![vec![0.0; 9]] };
        Self::new(CoordinationGraph::complete(2), 3, 1, vec![tables])
    }

    /// The penalty game: two best joint actions that punish a mistaken partner by `penalty`.
    pub fn penalty(penalty: f32) -> Result<Self> {
        let reward = vec![10.0, 0.0, penalty, 0.0, 2.0, 0.0, penalty, 0.0, 10.0];
        let tables = RegionTables { reward, costs: vec![vec![0.0; 9]] };
        Self::new(CoordinationGraph::complete(2), 3, 1, vec![tables])
    }

    /// Rewards and costs drawn at random on any graph.
    pub fn random(
        graph: CoordinationGraph,
        n_actions: usize,
        n_constraints: usize,
        horizon: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        let mut table = |members: &[usize], low, high| {
            let entries = n_actions.pow(members.len() as u32);
            (0..entries).map(|_| rng.range(low, high) as f32).collect()
        };
        let tables = graph.regions().map(|members| RegionTables {
            reward: table(members, -1.0, 1.0),
            costs: (0..n_constraints).map(|_| table(members, 0.0, 1.0)).collect(),
        });
        let tables = tables.collect();
        Self::new(graph, n_actions, horizon, tables)
    }

    /// The tables of each region.
    pub fn tables(&self) -> &[RegionTables] {
        &self.tables
    }

    fn entry(&self, members: &[usize], action: &[usize]) -> usize {
        members.iter().fold(0, |index, &agent| index * self.view.spec.n_actions() + action[agent])
    }
}

impl View for MatrixView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        if *graph != self.graph {
            graph.clone_from(&self.graph);
        }
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        row.fill(0.0);
        row[0] = state[0];
        for (slot, &agent) in members.iter().enumerate() {
            row[1 + slot * self.spec.n_agents() + agent] = 1.0;
        }
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        row.fill(0.0);
        row[0] = state[0];
        row[1 + agent] = 1.0;
    }
}

impl Environment for MatrixGame {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, _rng: &mut Rng) {
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        state[0] = self.steps as f32 / self.view.spec.horizon as f32;
    }

    /// Agents share the costs of their regions evenly; the last step is a true end.
    fn step(&mut self, action: &[usize], _rng: &mut Rng, outcome: &mut Outcome) {
        let Spec { horizon, ref constraints, .. } = self.view.spec;
        let n_agents = self.view.spec.n_agents();
        outcome.team_costs.clear();
        outcome.team_costs.resize(constraints.len(), 0.0);
        outcome.region_rewards.clear();
        outcome.region_costs.clear();
        outcome.agent_costs.clear();
        outcome.agent_costs.resize(n_agents * constraints.len(), 0.0);
        for (members, tables) in self.view.graph.regions().zip(&self.tables) {
            let entry = self.entry(members, action);
            outcome.region_rewards.push(tables.reward[entry]);
            for (column, costs) in tables.costs.iter().enumerate() {
                outcome.region_costs.push(costs[entry]);
                outcome.team_costs[column] += costs[entry];
                for agent in members {
                    outcome.agent_costs[agent * constraints.len() + column] +=
                        costs[entry] / members.len() as f32;
                }
            }
        }
        outcome.team_reward = outcome.region_rewards.iter().sum();
        outcome.agent_rewards.clear();
        outcome.agent_rewards.resize(n_agents, outcome.team_reward);
        outcome.metrics.clear();
        self.steps += 1;
        outcome.ending = if self.steps >= horizon { Ending::Terminal } else { Ending::Running };
    }

    fn snapshot(&self) -> Vec<f64> {
        vec![self.steps as f64]
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        check_snapshot(snapshot, 1)?;
        self.steps = snapshot[0] as usize;
        Ok(())
    }

    fn draw(&self) -> Drawing {
        Drawing::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn played(game: &mut MatrixGame, action: [usize; 2]) -> Outcome {
        let mut outcome = Outcome::default();
        game.step(&action, &mut Streams::new(0).rng(Purpose::Problem, 0), &mut outcome);
        outcome
    }

    #[test]
    fn the_worked_example_pays_what_the_paper_says() {
        let mut game = MatrixGame::worked_example().unwrap();
        let outcome = played(&mut game, [0, 0]);
        assert_eq!((outcome.team_reward, outcome.region_costs[0]), (10.0, 5.0));
        assert_eq!(outcome.agent_costs, [2.5, 2.5]);
        assert_eq!(outcome.ending, Ending::Terminal);
        let outcome = played(&mut game, [1, 1]);
        assert_eq!((outcome.team_reward, outcome.region_costs[0]), (9.0, 1.0));
        let outcome = played(&mut game, [1, 0]);
        assert_eq!((outcome.team_reward, outcome.region_costs[0]), (0.0, 0.0));
    }

    #[test]
    fn the_last_member_runs_fastest() {
        let mut game = MatrixGame::climbing().unwrap();
        let outcome = played(&mut game, [1, 2]);
        assert_eq!(outcome.team_reward, 6.0);
        let outcome = played(&mut game, [2, 1]);
        assert_eq!(outcome.team_reward, 0.0);
    }

    #[test]
    fn a_table_of_the_wrong_size_is_refused() {
        let tables = RegionTables { reward: vec![0.0; 3], costs: vec![] };
        let error = MatrixGame::new(CoordinationGraph::complete(2), 2, 1, vec![tables]);
        assert!(error.unwrap_err().to_string().contains("this many entries"));
    }
}
