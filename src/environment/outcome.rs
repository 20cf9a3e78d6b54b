//! The consequences of one joint action, and how they are shared among the regions of a graph.

use super::Spec;
use crate::graph::CoordinationGraph;

/// Whether the episode goes on, and whether the next value may be bootstrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The episode goes on.
    #[default]
    Running,
    /// Time limit: the episode stops, the future still has value.
    Truncated,
    /// A true end: the future has no value.
    Terminal,
}

impl Ending {
    /// How an episode stands after some steps, and whether it truly ended there.
    pub fn after(steps: usize, spec: &Spec, is_over: bool) -> Self {
        match (is_over, steps >= spec.horizon) {
            (true, _) => Self::Terminal,
            (false, true) => Self::Truncated,
            (false, false) => Self::Running,
        }
    }
}

/// The consequences of one joint action; its buffers are reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The shared task reward.
    pub team_reward: f32,
    /// What each agent is paid in a benchmark of its own kind (the baselines' reward).
    pub agent_rewards: Vec<f32>,
    /// Primary reward of each region, in the order of the graph in force when the action was chosen.
    pub region_rewards: Vec<f32>,
    /// What the step cost the team, one number per constraint; never negative.
    pub team_costs: Vec<f32>,
    /// What each region pays: row = region, column = constraint; never negative, and the column of a
    /// constraint adds up to what the team pays.
    pub region_costs: Vec<f32>,
    /// What each agent pays: row = agent, column = constraint; never negative.
    pub agent_costs: Vec<f32>,
    /// The step's value of every metric of the task's own, in the order of [`Spec::metrics`].
    pub metrics: Vec<f64>,
    /// Whether the episode goes on.
    pub ending: Ending,
}

impl Outcome {
    /// Begins a step: sizes that fit, nothing earned, nothing paid, no metric told, and on it goes.
    pub fn begin(&mut self, spec: &Spec, graph: &CoordinationGraph) {
        let (n_agents, n_constraints) = (spec.n_agents(), spec.n_constraints());
        self.team_reward = 0.0;
        self.ending = Ending::Running;
        self.metrics.clear();
        for (numbers, length) in [
            (&mut self.agent_rewards, n_agents),
            (&mut self.region_rewards, graph.n_regions()),
            (&mut self.team_costs, n_constraints),
            (&mut self.region_costs, graph.n_regions() * n_constraints),
            (&mut self.agent_costs, n_agents * n_constraints),
        ] {
            numbers.clear();
            numbers.resize(length, 0.0);
        }
    }

    /// Adds what some agents earn together: the team and each agent are paid it, the regions that hold
    /// these agents share it.
    ///
    /// ```
    /// # use cgcmarl::{CoordinationGraph, Outcome, Spec};
    /// let (spec, graph) = (Spec::new("game", 3, 2, 1), CoordinationGraph::path(3));
    /// let mut outcome = Outcome::default();
    /// outcome.begin(&spec, &graph);
    /// outcome.earn(&graph, &[1], 2.0);
    /// assert_eq!((outcome.team_reward, &outcome.region_rewards[..]), (2.0, &[1.0, 1.0][..]));
    /// ```
    pub fn earn(&mut self, graph: &CoordinationGraph, agents: &[usize], reward: f32) {
        self.team_reward += reward;
        self.agent_rewards.iter_mut().for_each(|sum| *sum += reward);
        share(graph, agents, reward, &mut |region, part| self.region_rewards[region] += part);
    }

    /// Adds what some agents cost together: the team and each of them pay it, the regions that hold
    /// them share it, so that regions always add up to the team.
    pub fn charge(
        &mut self,
        graph: &CoordinationGraph,
        constraint: usize,
        agents: &[usize],
        cost: f32,
    ) {
        let n_constraints = self.team_costs.len();
        self.team_costs[constraint] += cost;
        for agent in agents {
            self.agent_costs[agent * n_constraints + constraint] += cost;
        }
        share(graph, agents, cost, &mut |region, part| {
            self.region_costs[region * n_constraints + constraint] += part;
        });
    }
}

/// Splits an amount evenly over the regions that hold all of these agents; where none does, evenly
/// over the agents and the regions of each; an agent in no region leaves its part to all regions.
pub(crate) fn share(
    graph: &CoordinationGraph,
    agents: &[usize],
    amount: f32,
    add: &mut dyn FnMut(usize, f32),
) {
    let Some((first, rest)) = agents.split_first() else { return };
    let of_all = || {
        let regions = graph.memberships_of(*first).iter().map(|member| member.region);
        regions.filter(|&region| rest.iter().all(|agent| graph.region(region).contains(agent)))
    };
    let n_regions = of_all().count();
    if n_regions > 0 {
        return of_all().for_each(|region| add(region, amount / n_regions as f32));
    }
    if rest.is_empty() {
        let n_regions = graph.n_regions();
        return (0..n_regions).for_each(|region| add(region, amount / n_regions as f32));
    }
    let part = amount / agents.len() as f32;
    agents.iter().for_each(|&agent| share(graph, &[agent], part, add));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Constraint;

    fn begun(graph: &CoordinationGraph) -> Outcome {
        let constraints = ["noise", "heat"].map(|name| Constraint::new(name, ""));
        let n_agents = graph.n_agents();
        let spec = Spec { constraints: constraints.to_vec(), ..Spec::new("test", n_agents, 2, 1) };
        let mut outcome = Outcome { metrics: vec![3.0; 9], ..Outcome::default() };
        outcome.team_costs.push(7.0);
        outcome.begin(&spec, graph);
        outcome
    }

    #[test]
    fn a_pair_pays_in_the_regions_that_hold_it() {
        let regions = [vec![0, 1], vec![0, 1, 2], vec![2, 3]];
        let graph = CoordinationGraph::new(4, &regions).unwrap();
        let mut outcome = begun(&graph);
        outcome.charge(&graph, 1, &[0, 1], 1.0);
        assert_eq!(outcome.region_costs, [0.0, 0.5, 0.0, 0.5, 0.0, 0.0]);
        assert_eq!(outcome.agent_costs, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(outcome.team_costs, [0.0, 1.0]);
        assert!(outcome.metrics.is_empty() && outcome.ending == Ending::Running);
    }

    #[test]
    fn agents_that_share_no_region_pay_in_their_own() {
        let graph = CoordinationGraph::new(5, &[vec![0, 1], vec![2, 3], vec![1, 3]]).unwrap();
        let mut outcome = begun(&graph);
        outcome.charge(&graph, 0, &[0, 2], 1.0);
        let paid: Vec<f32> = outcome.region_costs.iter().step_by(2).copied().collect();
        assert_eq!(paid, [0.5, 0.5, 0.0]);
        // Agent 4 is in no region.
        outcome.charge(&graph, 0, &[0, 4], 3.0);
        let paid: Vec<f32> = outcome.region_costs.iter().step_by(2).copied().collect();
        assert_eq!(paid, [2.5, 1.0, 0.5]);
        assert_eq!(outcome.team_costs[0], 4.0);
    }

    #[test]
    fn a_true_end_goes_before_the_end_of_the_time() {
        let spec = Spec::new("test", 2, 2, 3);
        let after = |steps, is_over| Ending::after(steps, &spec, is_over);
        assert_eq!([after(2, false), after(3, false)], [Ending::Running, Ending::Truncated]);
        assert_eq!([after(2, true), after(3, true)], [Ending::Terminal; 2]);
    }

    #[test]
    fn what_one_earns_all_are_paid() {
        let graph = CoordinationGraph::complete(3);
        let mut outcome = begun(&graph);
        outcome.earn(&graph, &[2], 4.0);
        assert_eq!((outcome.team_reward, &outcome.agent_rewards[..]), (4.0, &[4.0; 3][..]));
        assert_eq!(outcome.region_rewards, [0.0, 2.0, 2.0]);
    }
}
