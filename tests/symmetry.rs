//! A turned world gives the turned decision: regions that see the world in their own frame make
//! every policy equivariant, whatever its head, its regions and its weights.

#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

use cgcmarl::{
    CoordinationGraph, Model,
    algorithm::{CgCmarl, CgCmarlOptions, Start},
    checkpoint::Checkpoint,
    environment::{
        AgentSpec, Batch, Constraint, Ending, Environment, Outcome, Pose, Spec, View, check,
        check_environment,
        simple_spread::SimpleSpreadTask,
        symmetry::{transform, transformed_actions},
    },
    evaluation::EvaluationOptions,
    rng::{Purpose, Rng, Streams},
    run::Config,
};

/// A team, what its regions are and see, and the head.
const TEAMS: [&str; 15] = [
    "agents=3 frame=octant",
    "agents=4 frame=octant coast=0 occupancy=false landmark_flags=true team=true landmarks=6",
    "agents=3 frame=cone",
    "agents=3 frame=octant head=free hidden=16",
    "agents=3 frame=octant physics=mpe2 head=free",
    "agents=4 frame=octant topology=k_nearest k=2",
    "agents=4 frame=octant topology=explicit regions=[[0,1,2],[1,2,3]]",
    "agents=3 frame=cone head=free hidden=16",
    "agents=4 frame=octant physics=mpe2 head=free topology=explicit regions=[[0,1,2],[1,2,3]]",
    "agents=4 frame=cone physics=mpe2 head=free topology=explicit regions=[[0,1,2],[1,2,3]]",
    "agents=3 frame=octant preset=augmented",
    "agents=3 frame=cone preset=augmented head=free hidden=16",
    "agents=3 frame=octant preset=two_head",
    "task=simple_tag agents=3 frame=octant",
    "task=simple_tag agents=4 frame=cone",
];

/// Hunts, on a grid where much stands on one line or diagonal.
const HUNTS: [&str; 3] = [
    "task=predator_prey",
    "task=predator_prey preset=augmented agents=4 neighbours=1",
    "task=predator_prey preset=two_head agents=3 size=5 view=1",
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

/// States of episodes with random actions, where not every row of numbers is a state.
fn played(environment: &mut dyn Environment, n_states: usize) -> Vec<Vec<f32>> {
    let mut rng = Streams::new(5).rng(Purpose::Dynamics, 0);
    let mut outcome = Outcome { ending: Ending::Terminal, ..Outcome::default() };
    let mut next = || {
        if outcome.ending != Ending::Running {
            environment.reset(&mut rng);
        }
        let mut state = vec![0.0; environment.view().spec().state_width];
        environment.write_state(&mut state);
        let action = allowed_actions(environment.view(), &state, &mut rng);
        environment.step(&action, &mut rng, &mut outcome);
        state
    };
    (0..n_states).map(|_| next()).collect()
}

/// An action of each agent, at random among those that it may take.
fn allowed_actions(view: &dyn View, state: &[f32], rng: &mut Rng) -> Vec<usize> {
    let choose = |(agent, spec): (usize, &AgentSpec)| {
        let mut allowed = vec![true; spec.n_actions];
        view.action_mask(state, agent, &mut allowed);
        let open: Vec<usize> = (0..spec.n_actions).filter(|&action| allowed[action]).collect();
        open[rng.below(open.len())]
    };
    view.spec().agents.iter().enumerate().map(choose).collect()
}

/// The tables of a state and the decision, both in the words of the world as it is.
fn decide(
    (view, learner): (&dyn View, &CgCmarl),
    state: &[f32],
    symmetry: usize,
) -> (Vec<Vec<f32>>, Vec<usize>) {
    let mut turned = state.to_vec();
    view.transform_state(symmetry, &mut turned);
    let (mut policy, mut action) = (learner.model().policy_at(0.5), Vec::new());
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

/// A fresh learner of a team.
fn learner(options: &CgCmarlOptions, view: &dyn View) -> CgCmarl {
    let start =
        Start { teams: &[view], n_environments: 1, total_steps: 1, streams: Streams::new(5) };
    CgCmarl::new(options, start).unwrap()
}

/// Asserts that a state under every symmetry gives the tables and the decision under that symmetry.
fn assert_turned(words: &str, (view, learner): (&dyn View, &CgCmarl), state: &[f32]) {
    let (tables, action) = decide((view, learner), state, 0);
    for symmetry in 1..view.n_symmetries() {
        let (turned, chosen) = decide((view, learner), state, symmetry);
        let mut entries = tables.iter().flatten().zip(turned.iter().flatten());
        if view.spec().region_size == 2 {
            // Every region sees the very same numbers, and pairs add them up in the same order.
            assert!(entries.clone().all(|(a, b)| a.to_bits() == b.to_bits()), "{words}");
        }
        assert!(entries.all(|(a, b)| (a - b).abs() < 1e-5), "{words}");
        let expected: Vec<usize> =
            action.iter().map(|&a| view.transform_action(symmetry, a)).collect();
        let worth = |action: &[usize]| value(view, state, &tables, action);
        let back: Vec<usize> = inverse(view, symmetry, &chosen);
        let equal = (worth(&back) - worth(&action)).abs() < 1e-4;
        assert!(chosen == expected || equal, "{words} {symmetry} {chosen:?} {expected:?}");
    }
}

#[test]
fn a_turned_world_gives_the_turned_decision() {
    for words in TEAMS {
        let config = config(words);
        let environment = config.scenario().unwrap().build().unwrap();
        let view = environment.view();
        let learner = learner(&config.typed_options().unwrap(), view);
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        for trial in 0..20 {
            let state = state(&mut rng, view.spec().state_width, trial % 2 == 1);
            assert_turned(words, (view, &learner), &state);
        }
    }
}

/// Regions of a state that look the same under two symmetries: what they see cannot tell them how the
/// world is turned.
fn n_symmetric_regions(view: &dyn View, state: &[f32]) -> usize {
    let mut graph = CoordinationGraph::default();
    view.graph(state, &mut graph);
    let looks = |members: &[usize], symmetry| {
        let mut row = vec![0.0; view.spec().region_width];
        view.posed_row(state, members, Pose { symmetry, reversed: false }, &mut row);
        row
    };
    let alike = |members: &&[usize]| {
        (1..view.n_symmetries()).any(|symmetry| looks(members, symmetry) == looks(members, 0))
    };
    graph.regions().filter(alike).count()
}

#[test]
fn a_turned_hunt_gives_the_turned_decision() {
    let mut n_symmetric = 0;
    for words in HUNTS {
        let config = config(words);
        let mut environment = config.scenario().unwrap().build().unwrap();
        let states = played(environment.as_mut(), 120);
        let view = environment.view();
        let learner = learner(&config.typed_options().unwrap(), view);
        states.iter().for_each(|state| assert_turned(words, (view, &learner), state));
        n_symmetric += states.iter().map(|state| n_symmetric_regions(view, state)).sum::<usize>();
    }
    assert!(n_symmetric > 5, "{n_symmetric} regions that look the same under two symmetries");
}

/// Points of a plane that move by one or stay, in regions of one, two and three, as a task of one's own
/// may have them: a region sees where its members are, in the frame in which that is the largest row, and
/// of equal rows in that of the largest state.
struct Points {
    spec: Spec,
    actions: Vec<Vec<usize>>,
}

impl Points {
    fn new() -> Self {
        let moves = || [-1.0, 0.0, 1.0].into_iter();
        let vectors: Vec<[f64; 2]> = moves().flat_map(|x| moves().map(move |y| [x, y])).collect();
        let constraints = vec![Constraint::new("nearness", "meetings")];
        let spec = Spec::new("points", 4, vectors.len(), 9).rows(8, 8, 6);
        let spec =
            Spec { action_grid: Some(3), region_size: 3, max_regions: 3, constraints, ..spec };
        Self { spec, actions: transformed_actions(&vectors) }
    }
}

impl View for Points {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        let regions = [vec![0], vec![2, 3], vec![0, 1, 2]];
        *graph = CoordinationGraph::new(4, &regions).unwrap();
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        row.fill(0.0);
        for (cells, &member) in row.chunks_exact_mut(2).zip(members) {
            cells.copy_from_slice(&state[2 * member..][..2]);
        }
    }

    fn n_symmetries(&self) -> usize {
        self.actions.len()
    }

    fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
        for point in state.chunks_exact_mut(2) {
            point.copy_from_slice(&transform(symmetry, [point[0], point[1]]));
        }
    }

    fn transform_action(&self, symmetry: usize, action: usize) -> usize {
        self.actions[symmetry][action]
    }

    fn n_frames(&self) -> usize {
        1
    }

    fn frame(&self, state: &[f32], members: &[usize], _frame: usize) -> usize {
        let look = |symmetry: &usize| {
            let mut row = vec![0.0; self.spec.region_width];
            self.posed_row(state, members, Pose { symmetry: *symmetry, reversed: false }, &mut row);
            let mut world = state.to_vec();
            self.transform_state(*symmetry, &mut world);
            (row, world)
        };
        let larger = |a: &usize, b: &usize| look(a).partial_cmp(&look(b)).unwrap();
        (0..self.n_symmetries()).max_by(larger).unwrap()
    }
}

#[test]
fn a_turned_world_gives_the_turned_decision_of_regions_of_several_sizes() {
    let view = Points::new();
    let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
    for words in
        ["head=tied", "head=free", "head=tied preset=augmented", "head=free preset=two_head"]
    {
        let learner = learner(&config(words).typed_options().unwrap(), &view);
        for _ in 0..20 {
            assert_turned(words, (&view, &learner), &state(&mut rng, 8, false));
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
