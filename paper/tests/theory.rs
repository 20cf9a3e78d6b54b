#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! Each theory check in small: it agrees with the right algorithm and objects to a wrong one.

use cgcmarl::{
    algorithm::{
        CgCmarlOptions,
        cg_cmarl::{CgCmarlPolicy, HeadTargets, NextValues, bootstrap, two_head_targets},
    },
    coordination::{Coordination, Coordinator, FactorTables},
    graph::{CoordinationGraph, JointAction},
    run::{Model, vectorise},
};
use cgcmarl_paper::theory::{
    BoundOptions, ClaimOutcome, ConvergenceOptions, DualOptions, ErrorBudget, Report,
    RepresentationOptions, StructureOptions, TrainedOptions, ViolationOptions, check_bound,
    check_convergence, check_dual, check_representation, check_structure, check_trained,
    check_violation,
};
use std::path::Path;

const SEED: u64 = 1;

fn verdict(report: &Report, name: &str) -> ClaimOutcome {
    let finding = report.finding(name).unwrap_or_else(|| panic!("no finding {name}"));
    finding.verdict.clone()
}

fn is_conditional(verdict: &ClaimOutcome) -> bool {
    matches!(verdict, ClaimOutcome::HoldsUnder(_))
}

fn small_convergence() -> ConvergenceOptions {
    ConvergenceOptions { n_seeds: 6, n_steps: 60_000, ..ConvergenceOptions::default() }
}

#[test]
fn both_heads_converge_where_the_greedy_action_is_unique() {
    let report = check_convergence(&small_convergence(), SEED, &|| {});
    assert_eq!(verdict(&report, "convergence.primary"), ClaimOutcome::Holds);
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
    assert_eq!(verdict(&report, "convergence.primary"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "convergence.cost"), ClaimOutcome::DoesNotHold);
}

#[test]
fn steps_that_never_fall_are_caught() {
    let options = ConvergenceOptions { step: |_| 0.2, ..small_convergence() };
    let report = check_convergence(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "convergence.primary"), ClaimOutcome::DoesNotHold);
}

fn small_dual() -> DualOptions {
    DualOptions { n_problems: 6, n_episodes: 8000, ..DualOptions::default() }
}

#[test]
fn the_multiplier_reaches_the_dual_optimum_of_the_optimal_policy_only() {
    let report = check_dual(&small_dual(), SEED, &|| {});
    assert_eq!(verdict(&report, "dual.diminishing"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "dual.constant"), ClaimOutcome::Holds);
    assert!(is_conditional(&verdict(&report, "dual.episode_mean")));
    assert!(is_conditional(&verdict(&report, "dual.own_multipliers")));
    assert!(is_conditional(&verdict(&report, "dual.conservatism")));
    assert_eq!(verdict(&report, "dual.gap_deterministic"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.executed"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.executed_feasible"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.gap_joint"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "dual.gap_factorised"), ClaimOutcome::DoesNotHold);
}

#[test]
fn a_dual_step_of_the_wrong_sign_is_caught() {
    let options = DualOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, -step),
        ..small_dual()
    };
    let report = check_dual(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "dual.diminishing"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.constant"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.episode_mean"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.own_multipliers"), ClaimOutcome::DoesNotHold);
}

#[test]
fn a_dual_step_that_never_falls_enough_is_caught() {
    let options = DualOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, step.max(2.0)),
        ..small_dual()
    };
    let report = check_dual(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "dual.diminishing"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "dual.constant"), ClaimOutcome::DoesNotHold);
}

fn small_bound() -> BoundOptions {
    BoundOptions { n_problems: 3, sampling: (4, 30_000), ..BoundOptions::default() }
}

#[test]
fn the_bound_holds_with_one_definition_of_beta_only() {
    let report = check_bound(&small_bound(), SEED, &|| {});
    assert_eq!(verdict(&report, "bound.operator_beta"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "bound.term_b"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "bound.total_operator"), ClaimOutcome::DoesNotHold);
    assert_eq!(verdict(&report, "bound.total_overlap"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "bound.corrected"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "bound.trees"), ClaimOutcome::Holds);
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
    assert_eq!(verdict(&report, "bound.trees"), ClaimOutcome::DoesNotHold);
}

#[test]
fn disjoint_regions_have_no_structural_error_and_overlapping_ones_are_caught() {
    let options = StructureOptions { n_problems: 4, ..StructureOptions::default() };
    let report = check_structure(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "structure.disjoint"), ClaimOutcome::Holds);
    assert_eq!(verdict(&report, "structure.coupling"), ClaimOutcome::Holds);
    assert!(is_conditional(&verdict(&report, "structure.own_terms")));
    let options = StructureOptions { disjoint: CoordinationGraph::path(4), ..options };
    let report = check_structure(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "structure.disjoint"), ClaimOutcome::DoesNotHold);
}

fn small_violation() -> ViolationOptions {
    let episodes = vec![100, 300, 1000, 3000, 10_000];
    ViolationOptions { n_problems: 5, episodes, ..ViolationOptions::default() }
}

#[test]
fn violations_grow_like_a_root_only_with_their_sign() {
    let report = check_violation(&small_violation(), SEED, &|| {});
    assert!(is_conditional(&verdict(&report, "violation.cumulative")));
    assert_eq!(verdict(&report, "violation.suboptimality"), ClaimOutcome::Holds);
    assert!(is_conditional(&verdict(&report, "violation.suboptimality_chained")));
}

#[test]
fn violations_under_a_dual_step_of_the_wrong_sign_are_caught() {
    let options = ViolationOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, -step),
        ..small_violation()
    };
    let report = check_violation(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "violation.cumulative"), ClaimOutcome::DoesNotHold);
}

fn small_representation() -> RepresentationOptions {
    RepresentationOptions {
        n_problems: 4,
        n_episodes: 4000,
        units: vec![16, 6],
        ..RepresentationOptions::default()
    }
}

#[test]
fn a_network_that_cannot_represent_the_values_moves_the_limit_by_what_its_policy_may_lose() {
    let report = check_representation(&small_representation(), SEED, &|| {});
    assert!(is_conditional(&verdict(&report, "representation.additive")));
    assert_ne!(verdict(&report, "representation.dual"), ClaimOutcome::DoesNotHold);
    let multiplier = report.finding("representation.multiplier").unwrap();
    assert!(is_conditional(&multiplier.verdict) && multiplier.counterexample.is_some());
}

#[test]
fn a_dual_step_of_the_wrong_sign_and_a_fit_that_is_not_the_best_are_caught() {
    let options = RepresentationOptions {
        ascend: |multipliers, costs, step| multipliers.ascend(costs, -step),
        units: vec![16],
        ..small_representation()
    };
    let report = check_representation(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "representation.dual"), ClaimOutcome::DoesNotHold);
    let options =
        RepresentationOptions { fit: f64::max, n_episodes: 100, ..small_representation() };
    let report = check_representation(&options, SEED, &|| {});
    assert_eq!(verdict(&report, "representation.additive"), ClaimOutcome::DoesNotHold);
}

/// The shipped team of three, on a few held-out starts.
fn budget_of_three(change: impl Fn(&mut TrainedOptions)) -> ErrorBudget {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/simple_spread_3");
    let model = Model::open(&folder).unwrap();
    let scenario = model.scenario().unwrap();
    let mut policies: Vec<CgCmarlPolicy> = vec![model.cg_cmarl(&scenario).unwrap().policy_at(0.5)];
    let gamma = model.config.typed_options::<CgCmarlOptions>().unwrap().learning.gamma;
    let mut options =
        TrainedOptions { episodes: 12, n_decisions: 40, ..TrainedOptions::new(gamma, 7) };
    change(&mut options);
    let mut environments = vectorise(&scenario, options.episodes).unwrap();
    check_trained(&mut policies, &mut environments, &options, &|_| {})
}

#[test]
fn the_error_budget_of_a_trained_model_shows_a_broken_coordinator_and_a_wrong_discount() {
    let budget = budget_of_three(|_| {});
    let point = &budget.points[0];
    assert_eq!((budget.n_agents, budget.decisions), (3, 38));
    assert_eq!(point.proven, 1.0);
    assert!(point.max_sum.missed < 0.3 && point.deficit[0] >= 0.0, "{point:?}");
    let broken = budget_of_three(|options| options.coordinator = || Box::new(Broken));
    assert!(broken.points[0].max_sum.missed > 0.9, "{broken:?}");
    let myopic = budget_of_three(|options| options.gamma = 0.0);
    assert!(myopic.points[0].td_errors[0] > 2.0 * point.td_errors[0], "{myopic:?}");
}

#[test]
fn a_check_gives_the_same_numbers_every_time() {
    let options = BoundOptions { n_problems: 2, sampling: (2, 3000), ..BoundOptions::default() };
    let text = || format!("{:?}", check_bound(&options, 5, &|| {}));
    assert_eq!(text(), text());
}
