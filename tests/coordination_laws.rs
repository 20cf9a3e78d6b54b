//! Laws that every coordinator keeps on any factor graph (property tests).

mod factor_graphs;

use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordinator, Exact, ExactOptions, Exhaustive, FactorTables, MaxSum,
    MaxSumOptions, upper_bound,
};
use cgcmarl::graph::{CoordinationGraph, JointAction};
use proptest::prelude::*;

/// A graph of up to six agents with regions of up to three, and payoffs, some forbidden.
#[derive(Clone, Debug)]
struct Case {
    n_actions: Vec<usize>,
    regions: Vec<Vec<usize>>,
    seed: u64,
    forbidden: bool,
}

impl Case {
    fn build(&self) -> (CoordinationGraph, FactorTables) {
        let graph = CoordinationGraph::new(self.n_actions.len(), &self.regions).expect("a graph");
        let mut tables = FactorTables::with_domains(&graph, &self.n_actions);
        let mut draw = factor_graphs::noise(self.seed);
        for agent in 0..graph.n_agents() {
            tables.agent_mut(agent).iter_mut().for_each(|x| *x = draw());
        }
        for payoff in tables.regions_mut() {
            *payoff = draw();
            if self.forbidden && draw() > 0.8 {
                *payoff = f32::NEG_INFINITY;
            }
        }
        (graph, tables)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    (2_usize..=6).prop_flat_map(|n| {
        let region =
            proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=n.min(3)).prop_shuffle();
        (
            proptest::collection::vec(1_usize..=5, n),
            proptest::collection::vec(region, 0..=8),
            any::<u64>(),
            any::<bool>(),
        )
            .prop_map(|(n_actions, regions, seed, forbidden)| Case {
                n_actions,
                regions,
                seed,
                forbidden,
            })
    })
}

/// Up to four agents with pairs and single agents only: what `anytime` enumerates.
fn small_cases() -> impl Strategy<Value = Case> {
    (2_usize..=4).prop_flat_map(|n| {
        let region =
            proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=2).prop_shuffle();
        (
            proptest::collection::vec(1_usize..=14, n),
            proptest::collection::vec(region, 0..=8),
            any::<u64>(),
            any::<bool>(),
        )
            .prop_map(|(n_actions, regions, seed, forbidden)| Case {
                n_actions,
                regions,
                seed,
                forbidden,
            })
    })
}

/// A random tree: each agent but the first is joined to an earlier one.
fn trees() -> impl Strategy<Value = Case> {
    (2_usize..=7).prop_flat_map(|n| {
        let parents: Vec<_> =
            (1..n).map(|child| (0..child).prop_map(move |p| vec![p, child])).collect();
        (proptest::collection::vec(1_usize..=5, n), parents, any::<u64>()).prop_map(
            |(n_actions, regions, seed)| Case { n_actions, regions, seed, forbidden: false },
        )
    })
}

/// A tree of regions of one to three agents with their own numbers of actions, some with long rows.
fn mixed_trees() -> impl Strategy<Value = Case> {
    let grow = proptest::collection::vec((any::<u16>(), 1_usize..=2, any::<bool>()), 1..=4);
    (grow, any::<u64>()).prop_map(|(steps, seed)| {
        let mut regions = Vec::new();
        let mut n_actions = vec![3];
        for (at, joined, long) in steps {
            let mut region = vec![usize::from(at) % n_actions.len()];
            for _ in 0..joined {
                region.push(n_actions.len());
                n_actions.push(if long && joined == 1 { 17 } else { 1 + usize::from(at) % 4 });
            }
            regions.push(region);
        }
        Case { n_actions, regions, seed, forbidden: false }
    })
}

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

    #[test]
    fn relabelling_agents_relabels_the_answer(case in trees()) {
        let problem = case.build();
        let n = case.n_actions.len();
        let renamed = |agent: usize| n - 1 - agent;
        let mirror = Case {
            n_actions: case.n_actions.iter().rev().copied().collect(),
            regions: case
                .regions
                .iter()
                .map(|r| r.iter().map(|&a| renamed(a)).collect())
                .collect(),
            ..case.clone()
        };
        let (graph, mut tables) = mirror.build();
        for agent in 0..n {
            tables.agent_mut(renamed(agent)).copy_from_slice(problem.1.agent(agent));
        }
        for region in 0..graph.n_regions() {
            tables.region_mut(region).copy_from_slice(problem.1.region(region));
        }
        let (value, action) = run(MaxSum::new(MaxSumOptions::default()), &problem);
        let (mirrored, reversed) = run(MaxSum::new(MaxSumOptions::default()), &(graph, tables));
        prop_assert!(close(value, mirrored));
        prop_assert_eq!(action, reversed.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn adding_a_constant_changes_nothing(case in cases(), constant in -8_i8..8) {
        let problem = case.build();
        let mut shifted = problem.clone();
        // Payoffs and constant are multiples of 2^-10, so that no sum is rounded.
        let mut exact = problem.clone();
        let round = |x: f32| (x * 1024.0).round() / 1024.0;
        exact.1.regions_mut().iter_mut().for_each(|x| *x = round(*x));
        shifted.1.regions_mut().iter_mut().for_each(|x| *x = round(*x) + f32::from(constant));
        let shift = f64::from(constant) * exact.0.n_regions() as f64;
        let (value, action) = run(Exact::new(ExactOptions::default()), &exact);
        let (other, _) = run(Exact::new(ExactOptions::default()), &shifted);
        prop_assert!(close(value + shift, other), "{value} {shift} {other}");
        prop_assert!(close(exact.1.value(&exact.0, &action), value));
    }

    #[test]
    fn messages_stay_finite_for_a_thousand_rounds(seed in any::<u64>(), scale in 0.1_f32..1e4) {
        let graph = CoordinationGraph::complete(6);
        let mut tables = FactorTables::zeros(&graph, 7);
        let mut draw = factor_graphs::noise(seed);
        tables.regions_mut().iter_mut().for_each(|x| *x = scale * draw());
        let options = MaxSumOptions { msg_iterations: 1000, ..MaxSumOptions::default() };
        let mut solver = MaxSum::new(options);
        let answer = solver.coordinate(&graph, &tables, &mut Vec::new());
        prop_assert!(answer.residual.is_finite());
        for agent in 0..6 {
            prop_assert!(solver.beliefs(agent).iter().all(|x| x.is_finite()));
        }
    }
}
