//! Projected dual ascent on problems whose dual function is known: λ^i ← Π(λ^i + η_k (c_i − limit)).

use super::{
    figure::largest,
    lagrangian::{DualFunction, expected},
    problems::{FactoredCmdp, sample},
    tabular::TabularCmdp,
};
use cgcmarl::{graph::CoordinationGraph, multipliers::Multipliers};

/// No multiplier exceeds this; λ* lies well below.
pub(super) const CEILING: f64 = 50.0;
/// Steps of an episode whose mean cost is observed.
pub(super) const EPISODE: usize = 25;

/// The dual step under test: multipliers, agents' costs, step size.
pub type AscentRule = fn(&mut Multipliers, &[f32], f32);

/// A problem with a limit that binds: cost per step at most `limit`.
pub(super) struct Case {
    pub(super) problem: FactoredCmdp,
    pub(super) joint: TabularCmdp,
    pub(super) start: Vec<f64>,
    pub(super) limit: f64,
    pub(super) dual: DualFunction,
    agent_rewards: Vec<Vec<f64>>,
}

impl Case {
    /// The problem with its limit two fifths of the way from the least cost to the primary-greedy
    /// policy's; none where those hardly differ.
    pub(super) fn new(problem: FactoredCmdp) -> Option<Self> {
        let joint = problem.joint();
        let start = vec![1.0 / joint.n_states as f64; joint.n_states];
        let free = DualFunction::new(&joint, &start, 0.0, CEILING).pieces;
        let cost = |slack: f64| -(1.0 - joint.gamma) * slack;
        let (most, least) = (cost(free[0].slack), cost(free[free.len() - 1].slack));
        let limit = least + 0.4 * (most - least);
        (most - least > 0.05).then(|| Self::with_limit(problem, joint, start, limit))
    }

    /// The problem with a given limit.
    pub(super) fn with_limit(
        problem: FactoredCmdp,
        joint: TabularCmdp,
        start: Vec<f64>,
        limit: f64,
    ) -> Self {
        let dual = DualFunction::new(&joint, &start, -limit / (1.0 - joint.gamma), CEILING);
        let agent_rewards = problem.agent_constraint_rewards();
        Self { problem, joint, start, limit, dual, agent_rewards }
    }

    /// V_1 ≥ this is the constraint.
    pub(super) fn least(&self) -> f64 {
        -self.limit / (1.0 - self.joint.gamma)
    }

    /// Each agent's discounted mean cost per step under a policy.
    pub(super) fn agent_costs(&self, policy: &[usize]) -> Vec<f32> {
        let cost = |reward: &Vec<f64>| {
            let value = expected(&self.start, &self.joint.evaluate(policy, reward));
            (-(1.0 - self.joint.gamma) * value) as f32
        };
        self.agent_rewards.iter().map(cost).collect()
    }

    /// The team's mean of those, for every agent.
    pub(super) fn team_costs(&self, policy: &[usize]) -> Vec<f32> {
        let costs = self.agent_costs(policy);
        vec![costs.iter().sum::<f32>() / costs.len() as f32; costs.len()]
    }

    /// Each agent's plain mean cost over the steps of an episode.
    pub(super) fn episode_costs(&self, policy: &[usize]) -> Vec<f32> {
        let mut costs = vec![0.0; self.agent_rewards.len()];
        let mut chances = self.start.clone();
        for _ in 0..EPISODE {
            let mut next = vec![0.0; chances.len()];
            for (state, &chance) in chances.iter().enumerate() {
                let row = state * self.joint.n_actions + policy[state];
                let reward = self.agent_rewards.iter().map(|reward| reward[row]);
                costs.iter_mut().zip(reward).for_each(|(sum, r)| *sum -= chance * r);
                let outcomes = &self.joint.transition[row * chances.len()..][..chances.len()];
                next.iter_mut().zip(outcomes).for_each(|(n, p)| *n += chance * p);
            }
            chances = next;
        }
        costs.iter().map(|cost| (cost / EPISODE as f64) as f32).collect()
    }

    /// Each agent's discounted mean cost of one sampled episode.
    pub(super) fn sampled_costs(&self, policy: &[usize], rng: &mut cgcmarl::rng::Rng) -> Vec<f32> {
        let mut costs = vec![0.0; self.agent_rewards.len()];
        let mut state = sample(&self.start, rng);
        let mut weight = 1.0 - self.joint.gamma;
        while weight > 1e-4 {
            let row = state * self.joint.n_actions + policy[state];
            let rewards = self.agent_rewards.iter().map(|reward| reward[row]);
            costs.iter_mut().zip(rewards).for_each(|(sum, r)| *sum -= (weight * r) as f32);
            state = sample(
                &self.joint.transition[row * self.joint.n_states..][..self.joint.n_states],
                rng,
            );
            weight *= self.joint.gamma;
        }
        costs
    }
}

/// Random cases on a graph.
pub(super) fn cases(graph: &CoordinationGraph, n: usize, gamma: f64, seed: u64) -> Vec<Case> {
    (0..)
        .filter_map(|number| {
            Case::new(FactoredCmdp::numbered(graph.clone(), (2, 2), gamma, seed, number))
        })
        .take(n)
        .collect()
}

/// Mean multiplier before and mean cost in each episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Ascent {
    pub(super) multipliers: Vec<f64>,
    pub(super) costs: Vec<f64>,
}

/// Projected dual ascent against a policy that answers λ̄ with the agents' costs.
pub(super) fn ascend(
    case: &Case,
    rule: AscentRule,
    n_episodes: u64,
    step: &dyn Fn(u64) -> f64,
    answer: &mut dyn FnMut(f64) -> Vec<f32>,
) -> Ascent {
    let n_agents = case.agent_rewards.len();
    let mut multipliers = Multipliers::new(n_agents, vec![case.limit as f32], CEILING as f32);
    let mut ascent = Ascent::default();
    for episode in 0..n_episodes {
        let mean = f64::from(multipliers.mean(0));
        let costs = answer(mean);
        ascent.multipliers.push(mean);
        ascent.costs.push(costs.iter().map(|&c| f64::from(c)).sum::<f64>() / n_agents as f64);
        rule(&mut multipliers, &costs, step(episode) as f32);
    }
    ascent
}

/// η_0 of the diminishing steps. Σ η_k grows like k^(1/10) only, so this factor decides whether a
/// multiplier that rises slowly arrives within the episodes played.
pub(super) const FIRST_STEP: f64 = 100.0;

/// η_k = η_0 (k + 1)^(−9/10), the exponent of assumption (A6).
pub(super) fn diminishing(episode: u64) -> f64 {
    FIRST_STEP * ((episode + 1) as f64).powf(-0.9)
}

/// Costs of every Lagrangian-optimal policy, looked up by multiplier.
pub(super) fn lagrangian_answer(
    case: &Case,
    costs_of: impl Fn(&[usize]) -> Vec<f32>,
) -> impl FnMut(f64) -> Vec<f32> {
    let costs: Vec<Vec<f32>> =
        case.dual.pieces.iter().map(|piece| costs_of(&piece.policy)).collect();
    move |multiplier| costs[case.dual.piece(multiplier)].clone()
}

/// Largest distance from the set of dual optima in the last tenth of an ascent.
pub(super) fn final_distance(case: &Case, ascent: &Ascent) -> f64 {
    let tail = ascent.multipliers.len() * 9 / 10;
    largest(ascent.multipliers[tail..].iter().map(|multiplier| case.dual.distance(*multiplier)))
}

/// Act once for reward 1 at cost 1, in the first state only; a tenth of the discounted steps may cost.
pub(super) fn once(gamma: f64) -> Case {
    let graph = CoordinationGraph::new(1, &[vec![0]]).expect("one agent by itself");
    let mut problem = FactoredCmdp::numbered(graph, (2, 2), gamma, 0, 0);
    problem.transitions = vec![[0.0, 1.0].repeat(4)];
    problem.rewards = vec![vec![0.0, 1.0, 0.0, 0.0]];
    problem.constraint_rewards = vec![vec![0.0, -1.0, 0.0, 0.0]];
    let joint = problem.joint();
    Case::with_limit(problem, joint, vec![1.0, 0.0], 0.5 * (1.0 - gamma))
}

/// One state; the first agent earns 0, 2 or 3 at cost 0, 1 or 2, the second neither earns nor pays.
pub(super) fn payer_and_bystander(gamma: f64, limit: f64) -> Case {
    let graph = CoordinationGraph::new(2, &[vec![0], vec![1]]).expect("two agents apart");
    let mut problem = FactoredCmdp::numbered(graph, (1, 3), gamma, 0, 0);
    problem.rewards = vec![vec![0.0, 2.0, 3.0], vec![0.0; 3]];
    problem.constraint_rewards = vec![vec![0.0, -1.0, -2.0], vec![0.0; 3]];
    let joint = problem.joint();
    Case::with_limit(problem, joint, vec![1.0], limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_a_policy_meets_exactly_has_an_interval_of_dual_optima() {
        // Earning 2 at cost 1 is best for every λ from 1 to 2, and meets a limit of 1 exactly.
        let case = payer_and_bystander(0.5, 1.0);
        let (low, high) = case.dual.minimisers();
        assert!((low - 1.0).abs() < 1e-6 && (high - 2.0).abs() < 1e-6, "{low} {high}");
        assert!((case.dual.distance(0.25) - 0.75).abs() < 1e-6);
        assert_eq!(case.dual.distance(1.5), 0.0);
        assert!((case.dual.distance(4.0) - 2.0).abs() < 1e-6);
        // A limit between two policies has one optimum.
        let (low, high) = payer_and_bystander(0.5, 1.5).dual.minimisers();
        assert!((low - 1.0).abs() < 1e-6 && (high - low).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn one_cost_at_the_start_counts_less_in_the_mean_of_an_episode() {
        let case = once(0.8);
        assert!((case.dual.minimisers().0 - 1.0).abs() < 1e-6);
        assert!((case.agent_costs(&[1, 0])[0] - 0.2).abs() < 1e-6);
        assert!((case.episode_costs(&[1, 0])[0] - 0.04).abs() < 1e-6);
    }
}
