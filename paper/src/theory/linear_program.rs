//! Linear programs: the constrained optimum over occupation measures, the best sum of regions.

use super::{problems::FactoredCmdp, tabular::TabularCmdp};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Variable};

/// max Σ ρ r_0 over the discounted occupation measures ρ of all randomised policies with
/// Σ ρ r_1 ≥ `least`; none where no policy satisfies it.
///
/// ρ ≥ 0 and Σ_a ρ(s', a) − γ Σ_{s,a} P(s' | s, a) ρ(s, a) = μ(s') for every s'.
pub fn constrained_optimum(mdp: &TabularCmdp, start: &[f64], least: f64) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let occupancy: Vec<Variable> =
        mdp.reward.iter().map(|&r| problem.add_var(r, (0.0, f64::INFINITY))).collect();
    for (next, &chance) in start.iter().enumerate() {
        let mut flow = LinearExpr::empty();
        for (row, &variable) in occupancy.iter().enumerate() {
            let stays = if row / mdp.n_actions == next { 1.0 } else { 0.0 };
            let arrives = mdp.transition[row * mdp.n_states + next];
            flow.add(variable, stays - mdp.gamma * arrives);
        }
        problem.add_constraint(flow, ComparisonOp::Eq, chance);
    }
    let mut constraint = LinearExpr::empty();
    occupancy.iter().zip(&mdp.constraint_reward).for_each(|(&v, &c)| constraint.add(v, c));
    problem.add_constraint(constraint, ComparisonOp::Ge, least);
    Some(problem.solve().ok()?.solution()?.objective())
}

/// min over f of ‖Σ_R f_R(s^R, a^R) − `target`‖_∞: how far a joint function is from every sum of
/// regional ones.
pub fn distance_from_sums(cmdp: &FactoredCmdp, target: &[f64]) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let distance = problem.add_var(1.0, (0.0, f64::INFINITY));
    let unbounded = (f64::NEG_INFINITY, f64::INFINITY);
    let parts: Vec<Vec<Variable>> = cmdp
        .rewards
        .iter()
        .map(|table| table.iter().map(|_| problem.add_var(0.0, unbounded)).collect())
        .collect();
    let (n, n_actions) = (cmdp.graph.n_agents(), cmdp.n_joint_actions());
    for (row, &value) in target.iter().enumerate() {
        for (comparison, sign) in [(ComparisonOp::Le, -1.0), (ComparisonOp::Ge, 1.0)] {
            let mut sum = LinearExpr::empty();
            for (members, part) in cmdp.graph.regions().zip(&parts) {
                sum.add(part[cmdp.regional_row(members, n, row / n_actions, row % n_actions)], 1.0);
            }
            sum.add(distance, sign);
            problem.add_constraint(sum, comparison, value);
        }
    }
    Some(problem.solve().ok()?.solution()?.objective())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::graph::CoordinationGraph;

    #[test]
    fn a_coin_between_two_actions_spends_the_whole_budget() {
        // One state, reward 1 at cost 1 or nothing; a quarter of the steps may cost.
        let mdp = TabularCmdp {
            n_states: 1,
            n_actions: 2,
            gamma: 0.5,
            transition: vec![1.0, 1.0],
            reward: vec![0.0, 1.0],
            constraint_reward: vec![0.0, -1.0],
        };
        let value = constrained_optimum(&mdp, &[1.0], -0.25 / 0.5).unwrap();
        assert!((value - 0.5).abs() < 1e-9, "{value}");
        assert_eq!(constrained_optimum(&mdp, &[1.0], 0.1), None);
    }

    #[test]
    fn a_sum_of_regions_has_no_distance_and_a_product_has() {
        let cmdp = FactoredCmdp::numbered(CoordinationGraph::path(3), (1, 2), 0.9, 1, 0);
        let mut target = cmdp.sum(&cmdp.rewards);
        assert!(distance_from_sums(&cmdp, &target).unwrap() < 1e-7);
        // a_0 xor a_2: the best sum is constant, half a unit away.
        (0..8).for_each(|a| target[a] = f64::from(((a >> 2) ^ a) as u32 & 1));
        assert!((distance_from_sums(&cmdp, &target).unwrap() - 0.5).abs() < 1e-7);
    }
}
