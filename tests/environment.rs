//! Environments keep their contract, in every shape they can be given.

use cgcmarl::{
    environment::{
        Environment, Outcome, Spec, Task, View, check, check_environment,
        matrix_game::MatrixGame,
        simple_spread::{
            Cost, Physics, RewardRule, SimpleSpread, SimpleSpreadOptions, SimpleSpreadTask,
            StartSquare,
            layout::Layout,
            observation::{ObservationKind, ObservationOptions},
            oracle::Oracle,
            recording,
        },
    },
    episode::{Acting, EpisodeStreams, VectorEnvironment},
    graph::{CoordinationGraph, GraphOptions, Topology},
    rng::{Purpose, Streams},
};

fn spread(change: impl FnOnce(&mut SimpleSpreadOptions)) -> SimpleSpread {
    let mut options = SimpleSpreadOptions::default();
    change(&mut options);
    SimpleSpread::new(&options).expect("valid options")
}

#[track_caller]
fn keeps_the_contract(environment: &mut dyn Environment, what: &str) {
    check_environment(environment).unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn simple_spread_keeps_the_contract() {
    check(&SimpleSpreadTask).unwrap();
    for agents in [2, 3, 4, 6, 10, 40] {
        for (kind, occupancy) in [
            (ObservationKind::Paper, false),
            (ObservationKind::Relative, false),
            (ObservationKind::Relative, true),
        ] {
            let mut environment = spread(|o| {
                o.agents = agents;
                o.horizon = if agents == 40 { 3 } else { 25 };
                o.observation =
                    ObservationOptions { kind, occupancy, ..ObservationOptions::default() };
                o.constraints = vec![Cost::Energy, Cost::Collision];
                o.reward = if occupancy { RewardRule::Counterfactual } else { RewardRule::Shared };
            });
            keeps_the_contract(&mut environment, &format!("{agents} agents, {kind:?}"));
        }
    }
}

#[test]
fn every_physics_and_layout_keeps_the_contract() {
    use Layout::{ClusteredPair, Line, Random, SpreadUniform};
    for physics in [Physics::Paper, Physics::Mpe2] {
        for layout in [Random, SpreadUniform, Line, ClusteredPair] {
            let mut environment = spread(|o| (o.physics, o.layout) = (physics, layout));
            keeps_the_contract(&mut environment, &format!("{physics:?}, {layout:?}"));
        }
    }
}

#[test]
fn teams_in_a_square_that_grows_keep_the_contract() {
    for agents in [3, 60] {
        let mut environment = spread(|o| {
            (o.agents, o.horizon, o.square) = (agents, 4, StartSquare::Scaled);
            o.graph =
                GraphOptions { topology: Topology::KNearest, k: 2, ..GraphOptions::default() };
            o.observation = ObservationOptions {
                occupancy: true,
                landmark_flags: true,
                positions: false,
                free_landmarks: 2,
                auction: true,
                ..ObservationOptions::default()
            };
        });
        keeps_the_contract(&mut environment, &format!("{agents} agents in a square that grows"));
    }
    let square = StartSquare::Scaled;
    let options = SimpleSpreadOptions { agents: 100, square, ..SimpleSpreadOptions::default() };
    assert_eq!(options.resolved().radius, Some(0.08));
    let card = |options: &SimpleSpreadOptions| SimpleSpreadTask.card(options);
    assert_eq!(card(&options)["start"]["half_side"], 5.0);
    assert!(card(&SimpleSpreadOptions::default())["start"].is_null());
}

#[test]
fn every_graph_keeps_the_contract() {
    use Topology::{Complete, Explicit, KNearest, Path, Radius, Ring, Star};
    for topology in [Complete, Path, Star, Ring, KNearest, Radius, Explicit] {
        let regions = vec![vec![0, 1, 2], vec![4, 3, 2], vec![0, 5, 3]];
        let graph = GraphOptions { topology, k: 2, reach: Some(0.7), regions };
        let mut environment = spread(|o| {
            (o.agents, o.graph) = (6, graph);
            o.constraints = vec![Cost::Collision, Cost::Energy];
            o.observation.occupancy = true;
            // Crowded, so that there is something to pay for.
            o.cost_distance = Some(0.8);
        });
        keeps_the_contract(&mut environment, &format!("{topology:?}"));
    }
}

/// A view that says nothing about its graph.
struct Silent(Spec);

impl View for Silent {
    fn spec(&self) -> &Spec {
        &self.0
    }
}

#[test]
fn all_pairs_coordinate_unless_a_task_says_otherwise() {
    let view = Silent(Spec::new("silent", 4, 2, 1));
    let pairs = CoordinationGraph::complete(4);
    for mut graph in [
        CoordinationGraph::default(),
        CoordinationGraph::empty(4),
        CoordinationGraph::ring(4),
        CoordinationGraph::complete(5),
        pairs.clone(),
    ] {
        view.graph(&[], &mut graph);
        assert_eq!(graph, pairs);
    }
}

#[test]
fn other_seeds_are_other_episodes() {
    let mut environment = spread(|_| {});
    let mut state = |seed| {
        environment.reset(&mut Streams::new(seed).rng(Purpose::Problem, 0));
        let mut state = vec![0.0; environment.view().spec().state_width];
        environment.write_state(&mut state);
        state
    };
    assert_ne!(state(7), state(8));
}

#[test]
fn recorded_mpe2_episodes_are_reproduced() {
    let groups = recording::check(std::path::Path::new("tests/data/mpe2_subset.json.gz")).unwrap();
    assert!(groups.len() >= 8 && groups.iter().all(|g| g.steps == 25 * g.episodes));
    for group in groups {
        assert!(group.passes(), "{group:?}");
    }
}

#[test]
fn a_recording_that_is_not_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        recording::check(&path).unwrap_err().to_string()
    };
    let head = r#"{"format":"mpe2-golden-1","local_ratio":0.5,"groups":"#;
    let group = r#"[{"env":"simple_spread","N":2,"size":0.1,"contact":true,"episodes":[{
        "init_pos":[[0,0]],"init_vel":[],"landmarks":[],"obs0":[],"steps":[{"a":[99],"u":[[0,0]],
        "pos":[],"vel":[],"env_reward":[],"local":[],"global":0,"lm_min":[],"pairs_2r":0,
        "pairs_d02":0,"truncated":true}],"obs_last":[]}]}]}"#;
    assert!(recording::check(&directory.path().join("none")).is_err());
    assert!(error("a", b"\x1f\x8bnot gzip").contains("/a: "));
    assert!(error("b", b"{").contains("/b:1: not a recording"));
    assert!(error("c", format!("{head}[]}}").as_bytes()).contains("no group"));
    assert!(error("d", format!("{head}{group}").as_bytes()).contains("not one of 2 agents"));
    let other = r#"{"format":"other","local_ratio":0.5,"groups":[]}"#;
    assert!(error("e", other.as_bytes()).contains("`other`"));
    let alone = group.replace("\"N\":2", "\"N\":1");
    assert!(error("f", format!("{head}{alone}").as_bytes()).contains("`agents`: 1"));
}

#[test]
fn matrix_games_keep_the_contract() {
    let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
    let hyper = CoordinationGraph::new(5, &[vec![0, 1, 2], vec![3], vec![2, 3, 4, 0]]).unwrap();
    let games = [
        MatrixGame::worked_example(),
        MatrixGame::climbing(),
        MatrixGame::penalty(-100.0),
        MatrixGame::random(CoordinationGraph::ring(5), 3, 2, 4, &mut rng),
        MatrixGame::random(hyper, 3, 2, 4, &mut rng),
        MatrixGame::random(CoordinationGraph::path(3), 300, 1, 2, &mut rng),
    ];
    for (index, game) in games.into_iter().enumerate() {
        keeps_the_contract(&mut game.unwrap(), &format!("game {index}"));
    }
}

fn options_error(change: impl FnOnce(&mut SimpleSpreadOptions)) -> String {
    let mut options = SimpleSpreadOptions::default();
    change(&mut options);
    SimpleSpread::new(&options).expect_err("options that cannot work").to_string()
}

#[test]
fn options_that_cannot_work_are_refused_by_name() {
    assert!(options_error(|o| o.agents = 1).contains("`agents`: 1"));
    assert!(options_error(|o| o.radius = Some(f64::NAN)).contains("`radius`"));
    assert!(options_error(|o| o.cost_distance = Some(-1.0)).contains("`cost_distance`: -1"));
    assert!(options_error(|o| o.cost_radii = Some(0.0)).contains("`cost_radii`: 0"));
    let twice = options_error(|o| (o.cost_distance, o.cost_radii) = (Some(0.2), Some(2.0)));
    assert!(twice.contains("`cost_radii`: 2") && twice.contains("`cost_distance` is 0.2"));
    assert!(options_error(|o| o.horizon = 0).contains("`horizon`"));
    assert!(options_error(|o| o.local_ratio = Some(1.5)).contains("`local_ratio`: 1.5"));
    assert!(options_error(|o| o.constraints.clear()).contains("`constraints`"));
    assert!(options_error(|o| o.observation.landmarks = Some(0)).contains("`landmarks`"));
    let regions = vec![vec![0, 1], vec![0, 1, 2]];
    let graph = GraphOptions { topology: Topology::Explicit, regions, ..GraphOptions::default() };
    assert!(options_error(|o| o.graph = graph).contains("`regions`"));
    assert!(toml::from_str::<SimpleSpreadOptions>("agnets = 3").is_err());
}

#[test]
fn presets_resolve_to_the_documented_values() {
    let resolved = |agents, physics| {
        let o = SimpleSpreadOptions { agents, physics, ..Default::default() }.resolved();
        (o.radius.unwrap(), o.contact.unwrap(), o.local_ratio.unwrap(), o.cost_distance.unwrap())
    };
    assert_eq!(resolved(4, Physics::Paper), (0.08, false, 0.0, 2.125 * 0.08));
    assert_eq!(resolved(16, Physics::Paper), (0.04, false, 0.0, 2.125 * 0.04));
    assert_eq!(resolved(3, Physics::Mpe2), (0.15, true, 0.5, 2.125 * 0.15));
    let contact = SimpleSpreadOptions { agents: 16, cost_radii: Some(2.0), ..Default::default() };
    assert_eq!(contact.resolved().cost_distance, Some(0.08), "whatever the team's radius");
    let text = toml::to_string(&SimpleSpreadOptions::default()).unwrap();
    let read: SimpleSpreadOptions = toml::from_str(&text).unwrap();
    assert_eq!(read, SimpleSpreadOptions::default());
}

/// The metrics of a step are those that the spec lists, in its order.
#[test]
fn two_agents_on_one_landmark_are_measured_as_they_are() {
    let mut environment = spread(|o| o.agents = 2);
    environment.place(&[[0.0, 0.0], [0.12, 0.0]], &[[0.0; 2]; 2], &[[0.0, 0.0], [0.9, 0.9]]);
    let mut outcome = Outcome::default();
    environment.step(&[12, 12], &mut Streams::new(0).rng(Purpose::Problem, 0), &mut outcome);
    let names = environment.view().spec().metrics.iter().map(|metric| metric.name.as_str());
    let found: Vec<_> = names.zip(outcome.metrics).collect();
    let expected = [
        ("coverage", 0.5),
        ("coverage_0.15", 0.5),
        ("coverage_0.2", 0.5),
        ("collisions_per_step", 1.0),
        ("per_pair_rate", 1.0),
        ("collision_floor", 1.0),
        ("collision_free", 0.0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_oracle_covers_and_avoids_almost_to_the_floor() {
    for agents in [3, 10] {
        let environment = spread(|o| o.agents = agents);
        let mut oracle = Oracle::new(&environment);
        let copies = vec![Box::new(environment.clone()) as _, Box::new(environment) as _];
        let mut environments = VectorEnvironment::new(copies);
        let reported = environments.spec().reported();
        let metric = |name| reported.iter().position(|metric| metric.name == name).unwrap();
        let [coverage, collisions, floor] =
            ["coverage", "collisions_per_step", "collision_floor"].map(metric);
        let (mut covered, mut excess) = (0.0, 0.0);
        for first in (0..200).step_by(2) {
            let streams = EpisodeStreams {
                streams: Streams::new(0),
                start: Purpose::Evaluation,
                dynamics: Purpose::EvaluationDynamics,
                act: Purpose::Problem,
                first,
            };
            for summary in environments.play(&mut Acting(&mut oracle), streams, 2) {
                covered += summary.metrics[coverage] / 200.0;
                excess += (summary.metrics[collisions] - summary.metrics[floor]) / 200.0;
            }
        }
        assert!(covered > 0.99 && excess < 0.001, "{agents}: {covered} {excess}");
    }
}
