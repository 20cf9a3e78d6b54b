//! A turned world gives the turned decision: regions that see the world in their own frame make
//! every policy equivariant, whatever its head, its regions and its weights.

#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

use cgcmarl::{
    CoordinationGraph, Model,
    algorithm::{CgCmarl, CgCmarlOptions, Start},
    checkpoint::Checkpoint,
    environment::{Batch, View, check, check_environment, simple_spread::SimpleSpreadTask},
    evaluation::EvaluationOptions,
    rng::{Purpose, Rng, Streams},
    run::Config,
};

/// A team, what its regions are and see, and the head.
const TEAMS: [&str; 7] = [
    "agents=3 frame=octant",
    "agents=4 frame=octant coast=0 occupancy=false landmark_flags=true team=true landmarks=6",
    "agents=3 frame=cone",
    "agents=3 frame=octant head=free hidden=16",
    "agents=3 frame=octant physics=mpe2 head=free",
    "agents=4 frame=octant topology=k_nearest k=2",
    "agents=4 frame=octant topology=explicit regions=[[0,1,2],[1,2,3]]",
];

fn config(words: &str) -> Config {
    let pairs: Vec<_> = words
        .split(' ')
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Config::resolve(None, &pairs).expect("valid settings")
}

/// Places that meet by chance, and some that stand on one line or diagonal.
fn state(rng: &mut Rng, width: usize, tied: bool) -> Vec<f32> {
    let coarse = |x: f64| if tied { (2.0 * x).round() / 2.0 } else { x };
    (0..width).map(|_| coarse(rng.range(-1.0, 1.0)) as f32).collect()
}

/// The tables of a state and the decision, both in the words of the world as it is.
fn decide(
    (view, learner): (&dyn View, &CgCmarl),
    state: &[f32],
    symmetry: usize,
) -> (Vec<Vec<f32>>, Vec<usize>) {
    let mut turned = state.to_vec();
    view.transform_state(symmetry, &mut turned);
    let (mut policy, mut action) = (learner.model().policy_with(vec![0.5]), Vec::new());
    let (graph, tables, _) = policy.decide(view, &turned, &mut action);
    let n = view.spec().n_actions();
    let mut expected = CoordinationGraph::default();
    view.graph(state, &mut expected);
    assert_eq!(*graph, expected);
    let named = |region: usize| -> Vec<f32> {
        let size = graph.region(region).len() as u32;
        let entry = |entry: usize| {
            let digits = (0..size).rev().map(|slot| entry / n.pow(slot) % n);
            digits.fold(0, |index, a| index * n + view.transform_action(symmetry, a))
        };
        (0..n.pow(size)).map(|index| tables.region(region)[entry(index)]).collect()
    };
    let tables = (0..graph.n_regions()).map(named).collect();
    (tables, action)
}

#[test]
fn a_turned_world_gives_the_turned_decision() {
    for words in TEAMS {
        let config = config(words);
        let environment = config.scenario().unwrap().build().unwrap();
        let view = environment.view();
        let streams = Streams::new(5);
        let start = Start { teams: &[view], n_environments: 1, total_steps: 1, streams };
        let options: CgCmarlOptions = config.typed_options().unwrap();
        let learner = CgCmarl::new(&options, start).unwrap();
        let mut rng = streams.rng(Purpose::Problem, 0);
        for trial in 0..20 {
            let state = state(&mut rng, view.spec().state_width, trial % 2 == 1);
            let (tables, action) = decide((view, &learner), &state, 0);
            for symmetry in 1..view.n_symmetries() {
                let (turned, chosen) = decide((view, &learner), &state, symmetry);
                let entries = tables.iter().flatten().zip(turned.iter().flatten());
                if view.n_frames() == 1 && view.spec().region_size == 2 {
                    // Every region sees the very same numbers, and pairs add them up in the same order.
                    assert!(entries.clone().all(|(a, b)| a.to_bits() == b.to_bits()), "{words}");
                }
                assert!(entries.clone().all(|(a, b)| (a - b).abs() < 1e-5), "{words}");
                let expected: Vec<usize> =
                    action.iter().map(|&a| view.transform_action(symmetry, a)).collect();
                let worth = |action: &[usize]| value(view, &state, &tables, action);
                let back: Vec<usize> = inverse(view, symmetry, &chosen);
                let equal = (worth(&back) - worth(&action)).abs() < 1e-4;
                assert!(chosen == expected || equal, "{words} {symmetry} {chosen:?} {expected:?}");
            }
        }
    }
}

/// What a joint action is worth by these tables: decisions may differ where two are worth the same.
fn value(view: &dyn View, state: &[f32], tables: &[Vec<f32>], action: &[usize]) -> f32 {
    let (mut graph, n) = (CoordinationGraph::default(), view.spec().n_actions());
    view.graph(state, &mut graph);
    let entry = |members: &[usize]| members.iter().fold(0, |index, &m| index * n + action[m]);
    graph.regions().zip(tables).map(|(members, table)| table[entry(members)]).sum()
}

/// The actions that a symmetry takes to these.
fn inverse(view: &dyn View, symmetry: usize, actions: &[usize]) -> Vec<usize> {
    let n = view.spec().n_actions();
    let back = |&wanted: &usize| (0..n).find(|&a| view.transform_action(symmetry, a) == wanted);
    actions.iter().filter_map(back).collect()
}

/// The greedy joint action of a fresh baseline in a state, as the world calls it.
fn baseline_action(config: &Config, view: &dyn View, state: &[f32]) -> Vec<usize> {
    let streams = Streams::new(5);
    let start = Start { teams: &[view], n_environments: 1, total_steps: 1, streams };
    let algorithm = config.algorithm().unwrap();
    let learner = algorithm.learner(&config.options, start).unwrap();
    let mut weights = Checkpoint::new(0, serde_json::Value::Null);
    learner.save_model(&mut weights);
    let model = algorithm.model(&config.options, view, &weights).unwrap();
    let mut actions = vec![Vec::new()];
    model.policy(&[0.5]).act(Batch { view, states: state, slots: &[0] }, &mut actions);
    actions.remove(0)
}

/// How many of some turned worlds give the turned decision of a baseline.
fn turned_decisions(words: &str) -> (usize, usize) {
    let config = config(words);
    let environment = config.scenario().unwrap().build().unwrap();
    let view = environment.view();
    let mut rng = Streams::new(7).rng(Purpose::Problem, 0);
    let (mut equal, mut all) = (0, 0);
    for trial in 0..6 {
        let state = state(&mut rng, view.spec().state_width, trial % 2 == 1);
        let action = baseline_action(&config, view, &state);
        for symmetry in 1..view.n_symmetries() {
            let mut turned = state.clone();
            view.transform_state(symmetry, &mut turned);
            let expected: Vec<usize> =
                action.iter().map(|&a| view.transform_action(symmetry, a)).collect();
            equal += usize::from(baseline_action(&config, view, &turned) == expected);
            all += 1;
        }
    }
    (equal, all)
}

/// Agents that see as regions do, each in its own frame, turn with the world; those that see MPE2's
/// observation do not.
#[test]
fn a_turned_world_gives_the_turned_decision_of_agents_in_their_frames() {
    for algorithm in ["iql", "vdn", "qmix", "dcg", "casec", "mappo", "mappo_lag"] {
        for task in ["agents=3 frame=octant", "agents=4 frame=cone physics=mpe2 landmarks=2"] {
            let words = format!("algorithm={algorithm} {task} agent_row=shared");
            let (equal, all) = turned_decisions(&words);
            assert_eq!(equal, all, "{words}");
            let (equal, all) = turned_decisions(&words.replace("shared", "raw"));
            assert!(equal < all / 2, "raw {words}: {equal} of {all}");
        }
    }
}

#[test]
fn every_frame_keeps_the_contract() {
    for frame in ["world", "cone", "octant"] {
        for agent_row in ["raw", "shared"] {
            let words = format!("agents=4 frame={frame} landmark_flags=true agent_row={agent_row}");
            let mut environment = config(&words).scenario().unwrap().build().unwrap();
            check_environment(environment.as_mut()).unwrap();
        }
    }
    check(&SimpleSpreadTask).unwrap();
}

/// A model of an earlier version, whose regions see the world as it is, plays on the same start
/// states as the file beside it says that it did.
#[test]
fn a_model_of_an_earlier_version_plays_as_before() {
    let model = Model::open("tests/data/earlier_model").unwrap();
    let told = model.front().unwrap();
    let options = EvaluationOptions { multipliers: vec![1.0], ..EvaluationOptions::default() };
    let played = model.sweep(&model.scenario().unwrap(), &options, &mut |_| {}).unwrap();
    let told = told.points.iter().find(|point| point.score.label == "λ=1").unwrap();
    for metric in ["coverage", "collisions_per_step"] {
        let [told, played] =
            [told, &played.points[0]].map(|point| point.score.metrics.get(metric).unwrap().mean);
        // A decision between equals may fall otherwise: the tables are summed in another order.
        assert!((told - played).abs() < 0.002 * told.max(0.1), "{metric} {told} {played}");
    }
}
