//! Each theory check in small: it agrees with the right algorithm and objects to a wrong one.

use cgcmarl::{
    algorithm::{HeadTargets, NextValues, bootstrap, two_head_targets},
    coordination::{Coordination, Coordinator, FactorTables},
    graph::{CoordinationGraph, JointAction},
    theory::{
        BoundOptions, ConvergenceOptions, DualOptions, Report, StructureOptions, Verdict,
        ViolationOptions, check_bound, check_convergence, check_dual, check_structure,
        check_violation,
    },
};

const SEED: u64 = 1;

fn verdict(report: &Report, name: &str) -> Verdict {
    let finding = report.finding(name).unwrap_or_else(|| panic!("no finding {name}"));
    finding.verdict.clone()
}

fn is_conditional(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::HoldsUnder(_))
}

fn small_convergence() -> ConvergenceOptions {
    ConvergenceOptions { n_seeds: 6, n_steps: 60_000, ..ConvergenceOptions::default() }
}

#[test]
fn both_heads_converge_where_the_greedy_action_is_unique() {
    let report = check_convergence(&small_convergence(), SEED, &|| {});
    assert_eq!(verdict(&report, "convergence.primary"), Verdict::Holds);
    assert!(is_conditional(&verdict(&report, "convergence.cost")));
}

/// A cost head that maximises its own value, as the paper warns against.
fn selfish_cost(reward: f32, cost: f32, discount: f32, next: NextValues<'_>) -> HeadTargets {
    let best = next.target_cost.iter().fold(f32::MIN, |best, &value| best.max(value));
    let right = two_head_targets(reward, cost, discount, next);
    HeadTargets { cost: bootstrap(cost, discount, best), ..right }
}

#[test]
fn a_cost_head_that_maximises_itself_is_caught() {
    let options = ConvergenceOptions { rule: selfish_cost, ..small_convergence() };
    let report = check_convergence(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "convergence.primary"), Verdict::Holds);
    assert_eq!(verdict(&report, "convergence.cost"), Verdict::DoesNotHold);
}

#[test]
fn steps_that_never_shrink_are_caught() {
    let options = ConvergenceOptions { step: |_| 0.2, ..small_convergence() };
    let report = check_convergence(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "convergence.primary"), Verdict::DoesNotHold);
}

fn small_dual() -> DualOptions {
    DualOptions { n_problems: 6, n_episodes: 8000, ..DualOptions::default() }
}

#[test]
fn the_multiplier_reaches_the_dual_optimum_of_the_optimal_policy_only() {
    let report = check_dual(&small_dual(), SEED, &|| {});
    assert_eq!(verdict(&report, "dual.diminishing"), Verdict::Holds);
    assert_eq!(verdict(&report, "dual.constant"), Verdict::Holds);
    assert!(is_conditional(&verdict(&report, "dual.own_multipliers")));
    assert_eq!(verdict(&report, "dual.executed"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "dual.executed_feasible"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "dual.gap_joint"), Verdict::Holds);
    assert_eq!(verdict(&report, "dual.gap_factorised"), Verdict::DoesNotHold);
}

#[test]
fn a_dual_step_of_the_wrong_sign_is_caught() {
    let options = DualOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, -step),
        ..small_dual()
    };
    let report = check_dual(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "dual.diminishing"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "dual.constant"), Verdict::DoesNotHold);
}

fn small_bound() -> BoundOptions {
    BoundOptions { n_problems: 3, sampling: (4, 30_000), ..BoundOptions::default() }
}

#[test]
fn the_bound_holds_with_one_definition_of_beta_only() {
    let report = check_bound(&small_bound(), SEED, &|| {});
    assert_eq!(verdict(&report, "bound.operator_beta"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "bound.term_b"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "bound.total_operator"), Verdict::DoesNotHold);
    assert_eq!(verdict(&report, "bound.total_overlap"), Verdict::Holds);
    assert_eq!(verdict(&report, "bound.corrected"), Verdict::Holds);
    assert_eq!(verdict(&report, "bound.trees"), Verdict::Holds);
    assert!(is_conditional(&verdict(&report, "bound.sampling")));
}

/// Always the first action of everyone.
struct Broken;

impl Coordinator for Broken {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        *action = vec![0; graph.n_agents()];
        Coordination {
            value: tables.value(graph, action),
            upper_bound: f64::INFINITY,
            residual: 0.0,
            iterations: 0,
            converged: false,
        }
    }
}

#[test]
fn a_broken_coordinator_is_caught() {
    let options = BoundOptions { coordinator: || Box::new(Broken), ..small_bound() };
    let report = check_bound(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "bound.trees"), Verdict::DoesNotHold);
}

#[test]
fn disjoint_regions_have_no_structural_error_and_overlapping_ones_are_caught() {
    let options = StructureOptions { n_problems: 4, ..StructureOptions::default() };
    let report = check_structure(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "structure.disjoint"), Verdict::Holds);
    assert_eq!(verdict(&report, "structure.coupling"), Verdict::Holds);
    assert!(is_conditional(&verdict(&report, "structure.own_terms")));
    let options = StructureOptions { disjoint: CoordinationGraph::path(4), ..options };
    let report = check_structure(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "structure.disjoint"), Verdict::DoesNotHold);
}

fn small_violation() -> ViolationOptions {
    let episodes = vec![100, 300, 1000, 3000, 10_000];
    ViolationOptions { n_problems: 5, episodes, ..ViolationOptions::default() }
}

#[test]
fn violations_grow_like_a_root_only_with_their_sign() {
    let report = check_violation(&small_violation(), SEED, &|| {});
    assert!(is_conditional(&verdict(&report, "violation.cumulative")));
    assert_eq!(verdict(&report, "violation.suboptimality"), Verdict::Holds);
    assert!(is_conditional(&verdict(&report, "violation.suboptimality_chained")));
}

#[test]
fn violations_under_a_dual_step_of_the_wrong_sign_are_caught() {
    let options = ViolationOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, -step),
        ..small_violation()
    };
    let report = check_violation(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "violation.cumulative"), Verdict::DoesNotHold);
}

#[test]
fn a_check_gives_the_same_numbers_every_time() {
    let options = BoundOptions { n_problems: 2, sampling: (2, 3000), ..BoundOptions::default() };
    let text = || format!("{:?}", check_bound(&options, 5, &|| {}));
    assert_eq!(text(), text());
}
