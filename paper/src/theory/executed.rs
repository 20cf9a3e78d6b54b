//! The policy that is executed, argmax Q_prim + λ Q_cost: is it the Lagrangian optimum?
//!
//! Both heads evaluate the primary-greedy policy π_0, so the executed policy is one step of policy
//! improvement from π_0 for the reward r_0 + λ r_1: never worse than π_0, rarely optimal.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    ascent::{Case, ascend, diminishing, final_distance},
    convergence::fixed_points,
    dual::DualOptions,
    figure::{largest, median},
    lagrangian::{DualFunction, expected},
    problems::FactoredCmdp,
    tabular::TabularCmdp,
};
use cgcmarl::{
    algorithm::cg_cmarl::augment,
    coordination::{Coordinator, Exhaustive, FactorTables},
    graph::JointAction,
};
use std::{collections::BTreeMap, iter::repeat};

/// Differences below this are rounding.
const ROUNDING: f64 = 1e-4;
/// Multipliers at which policies are compared.
const MULTIPLIERS: [f64; 7] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

/// argmax_a Σ_R Q_prim,R + λ Q_cost,R in every joint state.
pub(super) fn executed_policy(
    problem: &FactoredCmdp,
    heads: &[Vec<Vec<f64>>; 2],
    multiplier: f64,
) -> Vec<usize> {
    let mut tables = FactorTables::zeros(&problem.graph, problem.n_actions);
    let mut costs = tables.clone();
    let mut action = JointAction::new();
    (0..problem.n_joint_states())
        .map(|state| {
            problem.fill_tables(&heads[0], state, &mut tables);
            problem.fill_tables(&heads[1], state, &mut costs);
            for region in 0..problem.graph.n_regions() {
                augment(
                    tables.region_mut(region),
                    costs.region(region),
                    repeat(&(multiplier as f32)),
                );
            }
            Exhaustive.coordinate(&problem.graph, &tables, &mut action);
            action.iter().fold(0, |index, a| index * problem.n_actions + a)
        })
        .collect()
}

/// A state that costs 1 per step and pays 1, and a free one that pays nothing: leaving costs 2 once.
/// The cost head expects the primary-greedy policy to return at once, so leaving never looks worth it.
fn trap() -> TabularCmdp {
    TabularCmdp {
        n_states: 2,
        n_actions: 2,
        gamma: 0.9,
        transition: vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
        reward: vec![1.0, 0.0, 0.0, 0.0],
        constraint_reward: vec![-1.0, -2.0, 0.0, 0.0],
    }
}

/// Greedy in Q_prim + λ Q_cost of one region.
fn executed_in(mdp: &TabularCmdp, multiplier: f64) -> Vec<usize> {
    let primary = mdp.optimal(&mdp.reward);
    let cost = mdp.evaluate_actions(&mdp.greedy(&primary), &mdp.constraint_reward);
    let augmented: Vec<f64> = primary.iter().zip(cost).map(|(q, c)| q + multiplier * c).collect();
    mdp.greedy(&augmented)
}

/// One comparison at one multiplier.
struct Comparison {
    problem: usize,
    multiplier: f64,
    /// (d(λ) − L(executed)) / (d(λ) − L(π_0)): 0 is optimal, 1 no better than π_0.
    share_lost: f64,
    /// States where the executed policy's constraint value is below the predicted one.
    optimistic: usize,
    /// States where it is below the primary-greedy policy's.
    worse: usize,
    n_states: usize,
}

fn compare(case: &Case, heads: &[Vec<Vec<f64>>; 2], multiplier: f64) -> Comparison {
    let (problem, joint) = (&case.problem, &case.joint);
    let policy = executed_policy(problem, heads, multiplier);
    let greedy = executed_policy(problem, heads, 0.0);
    let lagrangian = joint.lagrangian_reward(multiplier);
    let value = |policy: &[usize]| expected(&case.start, &joint.evaluate(policy, &lagrangian));
    let best = expected(&case.start, &joint.state_values(&joint.optimal(&lagrangian)));
    let (mine, plain) = (value(&policy), value(&greedy));
    let predicted = problem.sum(&heads[1]);
    let actual = joint.evaluate(&policy, &joint.constraint_reward);
    let before = joint.evaluate(&greedy, &joint.constraint_reward);
    let states = 0..joint.n_states;
    let prediction = |s: usize| predicted[s * joint.n_actions + policy[s]];
    let open = best - plain;
    Comparison {
        problem: 0,
        multiplier,
        share_lost: if open > ROUNDING { (best - mine) / open } else { 0.0 },
        optimistic: states.clone().filter(|&s| actual[s] < prediction(s) - ROUNDING).count(),
        worse: states.filter(|&s| actual[s] < before[s] - ROUNDING).count(),
        n_states: joint.n_states,
    }
}

/// Compares the executed policy with the Lagrangian optimum, and follows its own dual ascent.
pub(super) fn executed_findings(
    cases: &[Case],
    overlapping: &[Case],
    options: &DualOptions,
) -> Report {
    let heads: Vec<_> = cases.iter().map(|case| fixed_points(&case.problem)).collect();
    let comparisons = comparisons(cases);
    let distances: Vec<f64> = cases
        .iter()
        .zip(&heads)
        .map(|(case, heads)| {
            let mut known: BTreeMap<Vec<usize>, Vec<f32>> = BTreeMap::new();
            let mut answer = |multiplier: f64| {
                let policy = executed_policy(&case.problem, heads, multiplier);
                known.entry(policy).or_insert_with_key(|policy| case.agent_costs(policy)).clone()
            };
            let n = options.n_episodes / 4;
            final_distance(case, &ascend(case, options.ascend, n, &diminishing, &mut answer))
        })
        .collect();
    let findings = vec![
        optimum_finding(&comparisons, &distances),
        feasible_finding(),
        conservatism_finding(&comparisons, &self::comparisons(overlapping)),
    ];
    Report { findings, figures: vec![figure(&comparisons)] }
}

fn comparisons(cases: &[Case]) -> Vec<Comparison> {
    let each = |(problem, case): (usize, &Case)| {
        let heads = fixed_points(&case.problem);
        MULTIPLIERS.map(|multiplier| Comparison { problem, ..compare(case, &heads, multiplier) })
    };
    cases.iter().enumerate().flat_map(each).collect()
}

fn optimum_finding(comparisons: &[Comparison], distances: &[f64]) -> Finding {
    let short = comparisons.iter().filter(|c| c.share_lost > 0.01).count();
    let lost = largest(comparisons.iter().map(|c| c.share_lost));
    let near = distances.iter().filter(|d| **d <= 0.05).count();
    let trapped = trapped_lagrangian();
    let text = format!(
        "short of d(λ) in {short} of {} comparisons, by up to {:.0} % of what π_0 leaves open; its \
         ascent ends within 0.05 of λ* in {near} of {} problems (median distance {:.2})",
        comparisons.len(),
        100.0 * lost,
        distances.len(),
        median(distances.iter().copied()),
    );
    Finding::new(
        "dual.executed",
        "Thm 2: argmax Q_prim + λ Q_cost maximises the Lagrangian, so its λ̄ → λ*",
        text,
        ClaimOutcome::of(short == 0 && near == distances.len() && trapped.is_none()),
    )
    .against(trapped)
}

/// The trap at λ = 2: what the executed policy misses, if anything.
fn trapped_lagrangian() -> Option<String> {
    let (mdp, multiplier) = (trap(), 2.0);
    let lagrangian = mdp.lagrangian_reward(multiplier);
    let best = mdp.state_values(&mdp.optimal(&lagrangian))[0];
    let mine = mdp.evaluate(&executed_in(&mdp, multiplier), &lagrangian)[0];
    (best - mine > ROUNDING).then(|| {
        format!(
            "the agent of the next claim at λ = {multiplier}: it stays in A for ever, V_0 + λV_1 = {mine:.2}, \
             while leaving once is worth {best:.2}"
        )
    })
}

/// The trap: a feasible constraint that no multiplier meets.
fn feasible_finding() -> Finding {
    let (mdp, start) = (trap(), [1.0, 0.0]);
    let limit = 0.5;
    let least = -limit / (1.0 - mdp.gamma);
    let cost = |multiplier: f64| {
        let policy = executed_in(&mdp, multiplier);
        -(1.0 - mdp.gamma) * expected(&start, &mdp.evaluate(&policy, &mdp.constraint_reward))
    };
    let smallest =
        MULTIPLIERS.iter().chain(&[100.0, 1e4]).map(|&m| cost(m)).fold(f64::MAX, f64::min);
    let dual = DualFunction::new(&mdp, &start, least, 1e4);
    let feasible = dual.pieces.iter().any(|piece| piece.slack > 0.0);
    let met = !feasible || smallest <= limit;
    let text = format!(
        "limit {limit} per step: smallest cost of the executed policy over λ ≤ 10⁴ is {smallest:.2}, \
         while the Lagrangian-optimal policy meets it from λ = {:.2} on",
        dual.minimiser()
    );
    let counterexample = (!met).then(|| {
        "one agent, states A and B, γ = 0.9: in A stay (r_0 = 1, r_1 = −1) or leave to B (0, −2); in B \
         return or stay (0, 0). Q_cost(A, leave) assumes an immediate return: −10.1 < −10"
            .to_owned()
    });
    Finding::new(
        "dual.executed_feasible",
        "Thm 2: under Slater's condition the executed policy meets the constraint for λ large enough",
        text,
        ClaimOutcome::of(met),
    )
    .against(counterexample)
}

fn conservatism_finding(one: &[Comparison], overlapping: &[Comparison]) -> Finding {
    let count = |comparisons: &[Comparison], part: fn(&Comparison) -> usize| -> usize {
        comparisons.iter().map(part).sum()
    };
    let text = |comparisons: &[Comparison]| {
        format!(
            "{} of {} states (below V_1 of the primary-greedy policy in {})",
            count(comparisons, |c| c.optimistic),
            count(comparisons, |c| c.n_states),
            count(comparisons, |c| c.worse)
        )
    };
    let is_conservative = |comparisons: &[Comparison]| count(comparisons, |c| c.optimistic) == 0;
    Finding::new(
        "dual.conservatism",
        "Section two-head: Q_cost underestimates the constraint reward actually achieved",
        format!(
            "V_1 of the executed policy below Σ Q_cost(s, executed action): one region {}, all pairs of 3 {}",
            text(one),
            text(overlapping)
        ),
        ClaimOutcome::conditional(
            is_conservative(one) && is_conservative(overlapping),
            is_conservative(one),
            "regions that do not overlap",
        ),
    )
    .against(overlapping.iter().find(|c| c.optimistic > 0).map(|c| {
        format!(
            "all pairs of 3, two states, two actions, the {}. problem with a limit that binds, λ = {}: the \
             cost is higher than predicted in {} of {} states",
            c.problem + 1,
            c.multiplier,
            c.optimistic,
            c.n_states
        )
    }))
}

fn figure(comparisons: &[Comparison]) -> Figure {
    let at = |multiplier: f64| comparisons.iter().filter(move |c| c.multiplier == multiplier);
    let n = at(MULTIPLIERS[0]).count();
    let runs: Vec<Vec<f64>> = (0..n)
        .map(|run| {
            MULTIPLIERS.iter().filter_map(|&m| at(m).nth(run)).map(|c| c.share_lost).collect()
        })
        .collect();
    let curves = vec![
        Curve::of_runs("executed policy, median and 10-90 %", &MULTIPLIERS, &runs),
        Curve::reference("primary-greedy policy", MULTIPLIERS.map(|m| (m, 1.0)).to_vec()),
        Curve::reference("Lagrangian optimum", MULTIPLIERS.map(|m| (m, 0.0)).to_vec()),
    ];
    Figure {
        name: "executed",
        title: "What argmax Q_prim + λ Q_cost leaves of the way from π_0 to the Lagrangian optimum"
            .into(),
        horizontal: ("λ", true),
        vertical: ("share of d(λ) − L(π_0) lost", false),
        curves,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trap_is_what_its_text_says() {
        let mdp = trap();
        let primary = mdp.optimal(&mdp.reward);
        assert_eq!(mdp.greedy(&primary), [0, 0]);
        let cost = mdp.evaluate_actions(&[0, 0], &mdp.constraint_reward);
        assert!((cost[0] + 10.0).abs() < 1e-9 && (cost[1] + 10.1).abs() < 1e-9, "{cost:?}");
        assert_eq!(executed_in(&mdp, 1e4)[0], 0);
    }
}
