//! Random factored CMDPs: independent transitions (A1), rewards that add up over regions (A2).

use super::tabular::TabularCmdp;
use cgcmarl::{
    coordination::FactorTables,
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
};

/// Agents that move by themselves and are paid by region; every agent has the same set sizes.
#[derive(Clone, Debug)]
pub struct FactoredCmdp {
    /// Who shares a reward.
    pub graph: CoordinationGraph,
    /// Local states of each agent.
    pub n_states: usize,
    /// Actions of each agent.
    pub n_actions: usize,
    /// Discount γ.
    pub gamma: f64,
    /// P_i(s' | s, a) per agent.
    pub transitions: Vec<Vec<f64>>,
    /// r_0^R per region: row = regional state, column = regional action.
    pub rewards: Vec<Vec<f64>>,
    /// r_1^R ≤ 0 per region, minus the cost.
    pub constraint_rewards: Vec<Vec<f64>>,
}

/// The index of what `members` do inside an index over all agents; the last agent runs fastest.
pub(super) fn project(index: usize, base: usize, n_agents: usize, members: &[usize]) -> usize {
    members.iter().fold(0, |part, &agent| part * base + digit(index, base, n_agents, agent))
}

/// What one agent does inside an index over all agents.
pub(super) fn digit(index: usize, base: usize, n_agents: usize, agent: usize) -> usize {
    index / base.pow((n_agents - 1 - agent) as u32) % base
}

impl FactoredCmdp {
    /// Random transitions, rewards in [0, 1), costs in [0, 1) where the reward is high.
    pub fn random(
        graph: CoordinationGraph,
        sizes: (usize, usize),
        gamma: f64,
        rng: &mut Rng,
    ) -> Self {
        let (n_states, n_actions) = sizes;
        let transitions = (0..graph.n_agents())
            .map(|_| (0..n_states * n_actions).flat_map(|_| distribution(n_states, rng)).collect())
            .collect();
        let entries: Vec<usize> =
            graph.regions().map(|m| (n_states * n_actions).pow(m.len() as u32)).collect();
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.uniform()).collect() };
        let rewards: Vec<Vec<f64>> = entries.iter().map(|&n| draw(n)).collect();
        // What pays tends to cost, or the constraint would not bind.
        let constraint_rewards = rewards
            .iter()
            .map(|rewards| rewards.iter().zip(draw(rewards.len())).map(|(r, u)| -r * u).collect())
            .collect();
        Self { graph, n_states, n_actions, gamma, transitions, rewards, constraint_rewards }
    }

    /// The problem with this number of this seed.
    pub fn numbered(
        graph: CoordinationGraph,
        sizes: (usize, usize),
        gamma: f64,
        seed: u64,
        number: u64,
    ) -> Self {
        Self::random(graph, sizes, gamma, &mut Streams::new(seed).rng(Purpose::Problem, number))
    }

    /// Number of joint states.
    pub fn n_joint_states(&self) -> usize {
        self.n_states.pow(self.graph.n_agents() as u32)
    }

    /// Number of joint actions.
    pub fn n_joint_actions(&self) -> usize {
        self.n_actions.pow(self.graph.n_agents() as u32)
    }

    /// One region by itself; its Bellman operator is T_R (Eq. regional-bellman).
    pub fn region(&self, region: usize) -> TabularCmdp {
        let members = self.graph.region(region);
        self.team(members, self.rewards[region].clone(), self.constraint_rewards[region].clone())
    }

    /// All agents together; its Bellman operator is T (Eq. joint-bellman).
    pub fn joint(&self) -> TabularCmdp {
        let everyone: Vec<usize> = (0..self.graph.n_agents()).collect();
        self.team(&everyone, self.sum(&self.rewards), self.sum(&self.constraint_rewards))
    }

    /// Σ_R x_R(s^R, a^R) at every joint state and action.
    pub fn sum(&self, tables: &[Vec<f64>]) -> Vec<f64> {
        let (n, actions) = (self.graph.n_agents(), self.n_joint_actions());
        (0..self.n_joint_states() * actions)
            .map(|row| {
                let (state, action) = (row / actions, row % actions);
                let regions = self.graph.regions().zip(tables);
                regions.map(|(m, table)| table[self.regional_row(m, n, state, action)]).sum()
            })
            .collect()
    }

    /// The constraint reward of each agent: its equal share of every region it belongs to, times
    /// the number of agents, so that the mean over agents is the team's.
    pub fn agent_constraint_rewards(&self) -> Vec<Vec<f64>> {
        let n = self.graph.n_agents();
        let share = |agent: usize| {
            let tables: Vec<Vec<f64>> = self
                .graph
                .regions()
                .zip(&self.constraint_rewards)
                .map(|(members, table)| {
                    let mine = if members.contains(&agent) {
                        n as f64 / members.len() as f64
                    } else {
                        0.0
                    };
                    table.iter().map(|cost| mine * cost).collect()
                })
                .collect();
            self.sum(&tables)
        };
        (0..n).map(share).collect()
    }

    /// Fills the factor tables of one joint state from one value table per region.
    pub fn fill_tables(&self, values: &[Vec<f64>], state: usize, tables: &mut FactorTables) {
        let n = self.graph.n_agents();
        for (region, (members, values)) in self.graph.regions().zip(values).enumerate() {
            let n_actions = self.n_actions.pow(members.len() as u32);
            let row = project(state, self.n_states, n, members) * n_actions;
            let table = tables.region_mut(region);
            table.iter_mut().zip(&values[row..][..n_actions]).for_each(|(t, v)| *t = *v as f32);
        }
    }

    /// Row of a region's table at a joint state and action.
    pub(super) fn regional_row(
        &self,
        members: &[usize],
        n: usize,
        state: usize,
        action: usize,
    ) -> usize {
        let n_actions = self.n_actions.pow(members.len() as u32);
        project(state, self.n_states, n, members) * n_actions
            + project(action, self.n_actions, n, members)
    }

    /// Some agents as one MDP with these rewards.
    fn team(
        &self,
        members: &[usize],
        reward: Vec<f64>,
        constraint_reward: Vec<f64>,
    ) -> TabularCmdp {
        let size = members.len();
        let n_states = self.n_states.pow(size as u32);
        let n_actions = self.n_actions.pow(size as u32);
        let mut transition = Vec::with_capacity(n_states * n_actions * n_states);
        for (state, action, next) in cells(n_states, n_actions) {
            let chance = members.iter().enumerate().map(|(place, &agent)| {
                let at = |index, base| digit(index, base, size, place);
                let row = at(state, self.n_states) * self.n_actions + at(action, self.n_actions);
                self.transitions[agent][row * self.n_states + at(next, self.n_states)]
            });
            transition.push(chance.product());
        }
        let gamma = self.gamma;
        TabularCmdp { n_states, n_actions, gamma, transition, reward, constraint_reward }
    }
}

fn cells(n_states: usize, n_actions: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n_states * n_actions * n_states).map(move |cell| {
        let row = cell / n_states;
        (row / n_actions, row % n_actions, cell % n_states)
    })
}

/// A random distribution over `n` outcomes (uniform on the simplex).
fn distribution(n: usize, rng: &mut Rng) -> Vec<f64> {
    let weights: Vec<f64> = (0..n).map(|_| -(1.0 - rng.uniform()).ln()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Draws an outcome of a distribution.
pub(super) fn sample(chances: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.uniform();
    for (outcome, chance) in chances.iter().enumerate() {
        left -= chance;
        if left < 0.0 {
            return outcome;
        }
    }
    chances.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_problem_is_the_product_of_its_agents_and_the_sum_of_its_regions() {
        let problem = FactoredCmdp::numbered(CoordinationGraph::path(3), (2, 2), 0.9, 1, 0);
        let joint = problem.joint();
        for row in joint.transition.chunks_exact(joint.n_states) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // State 0b101, action 0b110: regions (0,1) and (1,2).
        let expected = problem.rewards[0][0b10 * 4 + 0b11] + problem.rewards[1][4 + 0b10];
        assert!((joint.reward[0b101 * 8 + 0b110] - expected).abs() < 1e-12);
        let agents = problem.agent_constraint_rewards();
        let mean: f64 = agents.iter().map(|cost| cost[37]).sum::<f64>() / 3.0;
        assert!((mean - joint.constraint_reward[37]).abs() < 1e-12);
    }

    #[test]
    fn a_regions_marginal_transition_ignores_the_others() {
        let problem = FactoredCmdp::numbered(CoordinationGraph::path(3), (2, 2), 0.9, 1, 0);
        let (joint, region) = (problem.joint(), problem.region(0));
        // Sum over the third agent's next state.
        let row = &joint.transition[(0b011 * 8 + 0b100) * 8..][..8];
        let marginal = row[0b100] + row[0b101];
        assert!((marginal - region.transition[(4 + 0b10) * 4 + 0b10]).abs() < 1e-12);
    }
}
