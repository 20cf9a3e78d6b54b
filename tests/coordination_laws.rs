//! Laws that every coordinator keeps on any factor graph (property tests).

mod factor_graphs;

use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordinator, Exact, ExactOptions, Exhaustive, FactorTables, MaxSum,
    MaxSumOptions, upper_bound,
};
use cgcmarl::graph::{CoordinationGraph, JointAction};
use factor_graphs::cases::{Case, cases, mixed_trees, small_cases, trees};
use proptest::prelude::*;

fn run(
    mut solver: impl Coordinator,
    case: &(CoordinationGraph, FactorTables),
) -> (f64, JointAction) {
    let mut action = Vec::new();
    let answer = solver.coordinate(&case.0, &case.1, &mut action);
    assert_eq!(answer.value, case.1.value(&case.0, &action), "the value is that of the action");
    assert!(answer.upper_bound >= answer.value, "{answer:?}");
    (answer.value, action)
}

fn close(x: f64, y: f64) -> bool {
    x == y || (x - y).abs() < 1e-5
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nobody_beats_the_optimum_and_exact_reaches_it(case in cases()) {
        let problem = case.build();
        let (optimum, _) = run(Exhaustive, &problem);
        let (exact, _) = run(Exact::new(ExactOptions::default()), &problem);
        let (anytime, _) = run(Anytime::new(AnytimeOptions::default()), &problem);
        let (plain, _) = run(MaxSum::new(MaxSumOptions::default()), &problem);
        prop_assert!(close(exact, optimum), "exact {exact}, optimum {optimum}");
        prop_assert!(anytime <= optimum + 1e-9 && plain <= anytime);
    }

    #[test]
    fn anytime_proves_small_problems(case in small_cases()) {
        let (graph, tables) = case.build();
        let (mut best, mut action) = (Vec::new(), Vec::new());
        let optimum = Exact::new(ExactOptions::default()).coordinate(&graph, &tables, &mut best);
        let answer =
            Anytime::new(AnytimeOptions::default()).coordinate(&graph, &tables, &mut action);
        prop_assert!(close(answer.value, optimum.value), "{answer:?}, {optimum:?}");
        prop_assert!(answer.converged && answer.proven());
    }

    #[test]
    fn branching_alone_reaches_the_optimum(case in cases()) {
        let problem = case.build();
        let (optimum, _) = run(Exhaustive, &problem);
        let options = ExactOptions { max_entries: 0, sweeps: 1, ..ExactOptions::default() };
        let (exact, _) = run(Exact::new(options), &problem);
        prop_assert!(close(exact, optimum), "exact {exact}, optimum {optimum}");
    }

    #[test]
    fn the_bound_is_never_below_the_optimum(case in cases(), sweeps in 0_usize..20) {
        let problem = case.build();
        let (optimum, _) = run(Exhaustive, &problem);
        let free = upper_bound(&problem.0, &problem.1, sweeps, f64::NEG_INFINITY);
        prop_assert!(free >= optimum, "bound {free}, optimum {optimum}");
        let (known, _) = run(Anytime::new(AnytimeOptions::default()), &problem);
        let bound = upper_bound(&problem.0, &problem.1, sweeps, known);
        prop_assert!(bound >= optimum, "bound {bound}, optimum {optimum}");
    }

    #[test]
    fn max_sum_is_exact_on_trees(case in trees()) {
        let problem = case.build();
        let (optimum, _) = run(Exhaustive, &problem);
        let options = MaxSumOptions { msg_iterations: 20, damping: 0.0, ..MaxSumOptions::default() };
        let (value, _) = run(MaxSum::new(options), &problem);
        prop_assert!(close(value, optimum), "{value} and {optimum}");
    }

    #[test]
    fn max_sum_is_exact_on_trees_of_mixed_regions(case in mixed_trees()) {
        let problem = case.build();
        let (optimum, _) = run(Exact::new(ExactOptions::default()), &problem);
        let options = MaxSumOptions { msg_iterations: 20, damping: 0.0, ..MaxSumOptions::default() };
        let (value, _) = run(MaxSum::new(options), &problem);
        prop_assert!(close(value, optimum), "{value} and {optimum}");
    }

    #[test]
    fn on_trees_max_sum_ends_at_the_optimum_from_any_start(
        case in mixed_trees(), digits in any::<u64>(),
    ) {
        let (graph, tables) = case.build();
        let (optimum, _) = run(Exact::new(ExactOptions::default()), &(graph.clone(), tables.clone()));
        let digit = |(agent, n): (usize, &usize)| (digits >> (5 * agent)) as usize % n;
        let start: Vec<usize> = tables.n_actions().iter().enumerate().map(digit).collect();
        let options = MaxSumOptions { msg_iterations: 20, damping: 0.0, ..MaxSumOptions::default() };
        let answer =
            MaxSum::new(options).coordinate_from(&graph, &tables, &start, &mut Vec::new());
        prop_assert!(close(answer.value, optimum), "{} and {optimum}", answer.value);
    }

    /// Pairs with long rows are computed by other code than the rest: a silent region of three
    /// sends the same pairs through the general code.
    #[test]
    fn long_pairs_speak_as_in_a_mixed_graph(
        n_actions in proptest::collection::vec(16_usize..70, 3), seed in any::<u64>(),
    ) {
        let mut regions = vec![vec![0, 1], vec![2, 1], vec![0, 2]];
        let pairs = Case { n_actions: n_actions.clone(), regions: regions.clone(), seed, forbidden: false };
        let (graph, tables) = pairs.build();
        regions.push(vec![3, 4, 5]);
        let n_mixed: Vec<usize> = n_actions.iter().copied().chain([1, 1, 1]).collect();
        let mixed = Case { n_actions: n_mixed, regions, seed, forbidden: false };
        let (mixed_graph, mut mixed_tables) = mixed.build();
        for agent in 0..3 {
            mixed_tables.agent_mut(agent).copy_from_slice(tables.agent(agent));
        }
        for region in 0..3 {
            mixed_tables.region_mut(region).copy_from_slice(tables.region(region));
        }
        let mut direct = MaxSum::new(MaxSumOptions::default());
        let mut general = MaxSum::new(MaxSumOptions::default());
        direct.coordinate(&graph, &tables, &mut Vec::new());
        general.coordinate(&mixed_graph, &mixed_tables, &mut Vec::new());
        for (region, slot) in (0..3).flat_map(|region| [(region, 0), (region, 1)]) {
            prop_assert_eq!(direct.message(region, slot), general.message(region, slot));
        }
    }
}

/// Complete graphs of random pairs, with short and with long rows.
#[test]
fn two_rounds_from_the_optimum_are_worth_more_than_two_from_nothing() {
    for n_actions in [5, 17] {
        let (mut warm, mut cold, mut best) = (0.0, 0.0, 0.0);
        for seed in 0..60 {
            let pairs = (0..5).flat_map(|i| (i + 1..5).map(move |j| vec![i, j]));
            let (n_actions, regions) = (vec![n_actions; 5], pairs.collect());
            let (graph, tables) = Case { n_actions, regions, seed, forbidden: false }.build();
            let (mut optimum, mut action) = (Vec::new(), Vec::new());
            let mut exact = Exact::new(ExactOptions::default());
            best += exact.coordinate(&graph, &tables, &mut optimum).value;
            let options = MaxSumOptions { msg_iterations: 2, ..MaxSumOptions::default() };
            let mut solver = MaxSum::new(options);
            warm += solver.coordinate_from(&graph, &tables, &optimum, &mut action).value;
            cold += solver.coordinate(&graph, &tables, &mut action).value;
        }
        assert!(cold < warm && warm <= best, "{n_actions}: {cold}, {warm}, {best}");
    }
}
