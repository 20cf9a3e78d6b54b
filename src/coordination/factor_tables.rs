//! The payoffs that a coordinator maximises: one row per agent, one table per region.

use super::message_passing::kernel::Lowest;
use crate::graph::CoordinationGraph;

/// Payoffs to maximise: one row per agent (utilities) and one table per region, flat `f32`.
///
/// A region's table is row-major over its members: the last member's action runs fastest.
/// A forbidden action or combination is `f32::NEG_INFINITY`.
#[derive(Clone, Debug, Default)]
pub struct FactorTables {
    n_actions: Vec<usize>,
    agents: Vec<f32>,
    agent_starts: Vec<usize>,
    regions: Vec<f32>,
    region_starts: Vec<usize>,
    /// Whether it is known that nothing is forbidden.
    allows_all: bool,
}

impl FactorTables {
    /// Zero payoffs for every agent and region of the graph, the same actions for all agents.
    pub fn zeros(graph: &CoordinationGraph, n_actions: usize) -> Self {
        Self::with_domains(graph, &vec![n_actions; graph.n_agents()])
    }

    /// Zero payoffs where each agent has its own number of actions.
    pub fn with_domains(graph: &CoordinationGraph, n_actions: &[usize]) -> Self {
        let mut tables = Self { n_actions: n_actions.to_vec(), ..Self::default() };
        tables.fit(graph);
        tables
    }

    /// Takes the shape of another graph over the same agents; keeps no payoff.
    pub fn fit(&mut self, graph: &CoordinationGraph) {
        assert_eq!(graph.n_agents(), self.n_actions.len(), "one action count per agent");
        self.allows_all = false;
        self.agent_starts.clear();
        self.agent_starts.push(0);
        let mut total = 0;
        self.agent_starts.extend(self.n_actions.iter().map(|n| {
            total += n;
            total
        }));
        self.agents.clear();
        self.agents.resize(total, 0.0);
        self.region_starts.clear();
        self.region_starts.push(0);
        let mut total = 0;
        self.region_starts.extend(graph.regions().map(|members| {
            total += members.iter().map(|&agent| self.n_actions[agent]).product::<usize>();
            total
        }));
        self.regions.clear();
        self.regions.resize(total, 0.0);
    }

    /// Actions of each agent.
    pub fn n_actions(&self) -> &[usize] {
        &self.n_actions
    }

    /// Payoff of each action of one agent alone (DCG utilities; zero in CG-CMARL).
    pub fn agent(&self, agent: usize) -> &[f32] {
        &self.agents[self.agent_starts[agent]..self.agent_starts[agent + 1]]
    }

    /// Payoffs of one agent alone, to fill.
    pub fn agent_mut(&mut self, agent: usize) -> &mut [f32] {
        self.allows_all = false;
        &mut self.agents[self.agent_starts[agent]..self.agent_starts[agent + 1]]
    }

    /// Payoffs of one region.
    pub fn region(&self, region: usize) -> &[f32] {
        &self.regions[self.region_starts[region]..self.region_starts[region + 1]]
    }

    /// Payoffs of one region, to fill.
    pub fn region_mut(&mut self, region: usize) -> &mut [f32] {
        self.allows_all = false;
        &mut self.regions[self.region_starts[region]..self.region_starts[region + 1]]
    }

    /// The payoffs of a region and of all that follow it.
    pub(crate) fn regions_from(&self, region: usize) -> &[f32] {
        &self.regions[self.region_starts[region]..]
    }

    /// All region tables one after the other, in graph order.
    pub fn regions_mut(&mut self) -> &mut [f32] {
        self.allows_all = false;
        &mut self.regions
    }

    /// Takes the word of who wrote the payoffs, until the next is written, that none is minus
    /// infinity: nobody has to look at all of them.
    pub(crate) fn allow_all(&mut self) {
        self.allows_all = true;
    }

    /// Whether any payoff is minus infinity; looks at all of them unless that is known.
    pub(crate) fn has_forbidden(&self) -> bool {
        if self.allows_all {
            return false;
        }
        let lowest = |numbers| pulp::Arch::new().dispatch(Lowest { numbers });
        lowest(&self.agents).min(lowest(&self.regions)) == f32::NEG_INFINITY
    }

    /// Index of a joint action inside one region's table.
    pub fn entry(&self, members: &[usize], action: &[usize]) -> usize {
        members.iter().fold(0, |index, &agent| index * self.n_actions[agent] + action[agent])
    }

    /// Total payoff of a joint action: what every coordinator maximises.
    pub fn value(&self, graph: &CoordinationGraph, action: &[usize]) -> f64 {
        let alone: f64 =
            action.iter().enumerate().map(|(agent, &a)| f64::from(self.agent(agent)[a])).sum();
        let together: f64 = graph
            .regions()
            .enumerate()
            .map(|(region, members)| f64::from(self.region(region)[self.entry(members, action)]))
            .sum();
        alone + together
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payoff_that_is_written_ends_what_was_known() {
        let graph = CoordinationGraph::path(2);
        let mut tables = FactorTables::zeros(&graph, 3);
        for write in [
            |tables: &mut FactorTables| tables.agent_mut(1)[2] = f32::NEG_INFINITY,
            |tables: &mut FactorTables| tables.region_mut(0)[5] = f32::NEG_INFINITY,
            |tables: &mut FactorTables| tables.regions_mut()[8] = f32::NEG_INFINITY,
        ] {
            tables.fit(&graph);
            assert!(!tables.has_forbidden());
            tables.allow_all();
            assert!(!tables.has_forbidden());
            write(&mut tables);
            assert!(tables.has_forbidden());
        }
    }
}
