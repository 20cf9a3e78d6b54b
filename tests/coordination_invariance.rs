//! What must not change an answer: constants, names, masks, a thousand rounds (property tests).

mod factor_graphs;

use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordination, Coordinator, Exact, ExactOptions, Exhaustive,
    FactorTables, MaxSum, MaxSumOptions, upper_bound,
};
use cgcmarl::graph::{CoordinationGraph, JointAction};
use factor_graphs::cases::{Case, cases, long_cases, small_cases, trees};
use proptest::prelude::*;

type GraphAndTables = (CoordinationGraph, FactorTables);

fn run(mut solver: impl Coordinator, problem: &GraphAndTables) -> (Coordination, JointAction) {
    let mut action = Vec::new();
    (solver.coordinate(&problem.0, &problem.1, &mut action), action)
}

/// Without damping and for few rounds, sums of dyadic payoffs are exact.
fn undamped() -> MaxSum {
    MaxSum::new(MaxSumOptions { damping: 0.0, msg_iterations: 4, ..MaxSumOptions::default() })
}

fn undamped_anytime() -> Anytime {
    Anytime::new(AnytimeOptions { damping: 0.0, msg_iterations: 4, ..AnytimeOptions::default() })
}

fn exact() -> Exact {
    Exact::new(ExactOptions::default())
}

fn close(x: f64, y: f64) -> bool {
    x == y || (x - y).abs() < 1e-5
}

/// Payoffs rounded to multiples of 2^-10, so that no sum of a few is rounded.
fn dyadic((graph, mut tables): GraphAndTables) -> GraphAndTables {
    let round = |x: &mut f32| *x = (*x * 1024.0).round() / 1024.0;
    tables.regions_mut().iter_mut().for_each(round);
    (0..graph.n_agents()).for_each(|agent| tables.agent_mut(agent).iter_mut().for_each(round));
    (graph, tables)
}

/// Adds a constant to each agent's utilities and to each region's payoffs; returns their sum.
fn add_constants((graph, tables): &mut GraphAndTables, constants: &[i8]) -> f64 {
    let mut constants = constants.iter().copied().cycle();
    let mut sum = 0.0;
    for agent in 0..graph.n_agents() {
        let constant = constants.next().unwrap_or(0);
        tables.agent_mut(agent).iter_mut().for_each(|x| *x += f32::from(constant));
        sum += f64::from(constant);
    }
    for region in 0..graph.n_regions() {
        let constant = constants.next().unwrap_or(0);
        tables.region_mut(region).iter_mut().for_each(|x| *x += f32::from(constant));
        sum += f64::from(constant);
    }
    sum
}

/// The same problem where agent `i` is called `names[i]`.
fn renamed(case: &Case, (_, tables): &GraphAndTables, names: &[usize]) -> GraphAndTables {
    let mut n_actions = vec![0; names.len()];
    names.iter().zip(&case.n_actions).for_each(|(&name, &n)| n_actions[name] = n);
    let regions: Vec<Vec<usize>> =
        case.regions.iter().map(|members| members.iter().map(|&i| names[i]).collect()).collect();
    let graph = CoordinationGraph::new(names.len(), &regions).expect("a graph");
    let mut renamed = FactorTables::with_domains(&graph, &n_actions);
    for (agent, &name) in names.iter().enumerate() {
        renamed.agent_mut(name).copy_from_slice(tables.agent(agent));
    }
    for region in 0..graph.n_regions() {
        renamed.region_mut(region).copy_from_slice(tables.region(region));
    }
    (graph, renamed)
}

/// A case and new names for its agents.
fn with_names(cases: impl Strategy<Value = Case>) -> impl Strategy<Value = (Case, Vec<usize>)> {
    cases.prop_flat_map(|case| {
        let names: Vec<usize> = (0..case.n_actions.len()).collect();
        (Just(case), Just(names).prop_shuffle())
    })
}

/// The messages of `max_sum` are the same bits under other names: they are sums in the order of the
/// regions, which keep theirs.
fn max_sum_follows_names(case: &Case, names: &[usize]) {
    let problem = case.build();
    let other = renamed(case, &problem, names);
    let (mut plain, mut mirror) =
        (MaxSum::new(MaxSumOptions::default()), MaxSum::new(MaxSumOptions::default()));
    let (mut action, mut mirrored) = (Vec::new(), Vec::new());
    let answer = plain.coordinate(&problem.0, &problem.1, &mut action);
    let again = mirror.coordinate(&other.0, &other.1, &mut mirrored);
    assert!(close(answer.value, again.value));
    for (agent, &name) in names.iter().enumerate() {
        assert_eq!(plain.beliefs(agent), mirror.beliefs(name), "agent {agent}");
        assert_eq!(action[agent], mirrored[name], "agent {agent}");
    }
}

/// A problem without the masked actions, and the actions that are left.
fn without_masked(
    case: &Case,
    (graph, tables): &GraphAndTables,
) -> (GraphAndTables, Vec<Vec<usize>>) {
    let left: Vec<Vec<usize>> = (0..graph.n_agents())
        .map(|agent| {
            let row = tables.agent(agent).iter().enumerate();
            row.filter(|(_, x)| **x > f32::NEG_INFINITY).map(|(a, _)| a).collect()
        })
        .collect();
    let n_left: Vec<usize> = left.iter().map(Vec::len).collect();
    let mut small = FactorTables::with_domains(graph, &n_left);
    for (agent, left) in left.iter().enumerate() {
        let row = left.iter().map(|&a| tables.agent(agent)[a]);
        small.agent_mut(agent).iter_mut().zip(row).for_each(|(to, x)| *to = x);
    }
    for (region, members) in case.regions.iter().enumerate() {
        let mut action = vec![0; n_left.len()];
        for entry in 0..small.region(region).len() {
            let mut rest = entry;
            for &agent in members.iter().rev() {
                action[agent] = left[agent][rest % n_left[agent]];
                rest /= n_left[agent];
            }
            small.region_mut(region)[entry] = tables.region(region)[tables.entry(members, &action)];
        }
    }
    ((graph.clone(), small), left)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Without damping and rounding, `max_sum` and `anytime` choose the same actions; with damping
    /// they need not, because sums are rounded. `exact` finds the same value; of two equally good
    /// actions it may take the other. Forbidden payoffs stay forbidden.
    #[test]
    fn adding_constants_changes_nothing(
        case in prop_oneof![cases(), small_cases(), long_cases()],
        constants in proptest::collection::vec(-4_i8..=4, 1..12),
    ) {
        let problem = dyadic(case.build());
        let mut raised = problem.clone();
        let constant = add_constants(&mut raised, &constants);
        let (plain, action) = run(undamped(), &problem);
        let (other, other_action) = run(undamped(), &raised);
        prop_assert_eq!(&action, &other_action, "max_sum");
        prop_assert_eq!(plain.value + constant, other.value);
        prop_assert_eq!(plain.residual, other.residual);
        let (best, action) = run(undamped_anytime(), &problem);
        let (other, other_action) = run(undamped_anytime(), &raised);
        prop_assert_eq!(&action, &other_action, "anytime");
        prop_assert_eq!(best.value + constant, other.value);
        if case.n_actions.iter().all(|&n| n < 16) {
            let (value, other) = (run(exact(), &problem).0.value, run(exact(), &raised).0.value);
            prop_assert!(close(value + constant, other), "exact: {} {} {}", value, constant, other);
            let bound = upper_bound(&raised.0, &raised.1, 5, f64::NEG_INFINITY);
            prop_assert!(bound >= other, "bound {} and {}", bound, other);
        }
    }

    #[test]
    fn max_sum_follows_other_names((case, names) in with_names(cases())) {
        max_sum_follows_names(&case, &names);
    }

    #[test]
    fn max_sum_follows_other_names_on_trees((case, names) in with_names(trees())) {
        max_sum_follows_names(&case, &names);
    }

    #[test]
    fn max_sum_follows_other_names_with_long_rows((case, names) in with_names(long_cases())) {
        max_sum_follows_names(&case, &names);
    }

    /// The proven value has no names. `anytime` searches in the order of the agents, so that its
    /// value may differ on larger problems, but never below `max_sum` or above the optimum.
    #[test]
    fn proven_values_have_no_names((case, names) in with_names(cases())) {
        let problem = case.build();
        let other = renamed(&case, &problem, &names);
        let (value, again) = (run(exact(), &problem).0.value, run(exact(), &other).0.value);
        prop_assert!(close(value, again), "{} and {}", value, again);
        prop_assert!(close(run(Exhaustive, &other).0.value, value));
        let best = run(Anytime::new(AnytimeOptions::default()), &other).0.value;
        let plain = run(MaxSum::new(MaxSumOptions::default()), &other).0.value;
        prop_assert!(plain <= best && best <= value + 1e-5, "{} {} {}", plain, best, value);
    }

    /// Small problems are enumerated; random payoffs have one best answer.
    #[test]
    fn anytime_follows_other_names_on_small_problems((case, names) in with_names(small_cases())) {
        let problem = case.build();
        let other = renamed(&case, &problem, &names);
        let (answer, action) = run(Anytime::new(AnytimeOptions::default()), &problem);
        let (again, mirrored) = run(Anytime::new(AnytimeOptions::default()), &other);
        prop_assert!(close(answer.value, again.value), "{:?} {:?}", answer, again);
        if answer.value > f64::NEG_INFINITY {
            for (agent, &name) in names.iter().enumerate() {
                prop_assert_eq!(action[agent], mirrored[name]);
            }
        }
    }

    /// Masking an action is the same as not having it (to the bit where no sum is rounded), and no
    /// solver chooses it.
    #[test]
    fn masked_actions_might_as_well_not_exist(
        case in prop_oneof![cases(), long_cases()], every in 2_usize..5,
    ) {
        let mut problem = dyadic(case.build());
        for agent in 0..problem.0.n_agents() {
            let row = problem.1.agent_mut(agent);
            row.iter_mut().skip(1).step_by(every).for_each(|x| *x = f32::NEG_INFINITY);
        }
        let (small, left) = without_masked(&case, &problem);
        let (mut masked, mut plain) = (undamped(), undamped());
        let mut action = Vec::new();
        masked.coordinate(&problem.0, &problem.1, &mut action);
        plain.coordinate(&small.0, &small.1, &mut Vec::new());
        for (agent, left) in left.iter().enumerate() {
            let (row, expected) = (masked.beliefs(agent), plain.beliefs(agent));
            for (&a, &y) in left.iter().zip(&expected) {
                prop_assert_eq!(row[a], y, "agent {}", agent);
            }
        }
        let mut chosen = vec![("max_sum", action)];
        chosen.push(("anytime", run(Anytime::new(AnytimeOptions::default()), &problem).1));
        if case.n_actions.iter().all(|&n| n < 16) {
            let (answer, action) = run(exact(), &problem);
            prop_assert!(close(answer.value, run(exact(), &small).0.value));
            chosen.push(("exact", action));
        }
        for (solver, action) in chosen {
            // Without any allowed joint action, all are as bad.
            let is_allowed = problem.1.value(&problem.0, &action) > f64::NEG_INFINITY;
            let is_left = action.iter().zip(&left).all(|(a, left)| left.contains(a));
            prop_assert!(is_left || (case.forbidden && !is_allowed), "{solver} {action:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For short rows, long pairs (other code), threes and forbidden payoffs; what is forbidden is
    /// minus infinity, nothing is ever NaN or plus infinity.
    #[test]
    fn messages_stay_finite_for_a_thousand_rounds(
        case in prop_oneof![cases(), long_cases()], scale in 0.1_f32..1e4,
    ) {
        let (graph, mut tables) = case.build();
        tables.regions_mut().iter_mut().for_each(|x| *x *= scale);
        let options = MaxSumOptions { msg_iterations: 1000, ..MaxSumOptions::default() };
        let mut solver = MaxSum::new(options);
        let answer = solver.coordinate(&graph, &tables, &mut Vec::new());
        prop_assert!(answer.residual.is_finite());
        for agent in 0..graph.n_agents() {
            let beliefs = solver.beliefs(agent);
            let sound = |x: &f32| x.is_finite() || (case.forbidden && *x == f32::NEG_INFINITY);
            prop_assert!(beliefs.iter().all(sound), "{beliefs:?}");
        }
    }

    /// The same with the ten agents and 25 actions of the paper.
    #[test]
    fn ten_agents_stay_finite_for_a_thousand_rounds(seed in any::<u64>(), scale in 0.1_f32..1e4) {
        let graph = CoordinationGraph::complete(10);
        let mut tables = FactorTables::zeros(&graph, 25);
        let mut sample = factor_graphs::noise(seed);
        tables.regions_mut().iter_mut().for_each(|x| *x = scale * sample());
        let options = MaxSumOptions { msg_iterations: 1000, ..MaxSumOptions::default() };
        let mut solver = MaxSum::new(options);
        let answer = solver.coordinate(&graph, &tables, &mut Vec::new());
        prop_assert!(answer.residual.is_finite());
        for agent in 0..10 {
            prop_assert!(solver.beliefs(agent).iter().all(|x| x.is_finite()));
        }
    }
}
