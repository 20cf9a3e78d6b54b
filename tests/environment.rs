//! Environments keep their contract.

use cgcmarl::{
    environment::{
        Ending, Environment, Outcome, View,
        matrix_game::MatrixGame,
        observation::{ObservationKind, ObservationOptions},
        oracle::Oracle,
        recording,
        simple_spread::{Constraint, Physics, RewardRule, SimpleSpread, SimpleSpreadOptions},
    },
    episode::{Arena, Draws},
    graph::{CoordinationGraph, GraphOptions, Topology},
    rng::{Purpose, Streams},
};

/// What every environment must do, whatever it is.
fn keeps_the_contract(environment: &mut dyn Environment, ending: Ending) {
    let first = play(environment, 7, ending);
    assert_eq!(first, play(environment, 7, ending), "same seed, same bytes");
    let spec = environment.view().spec();
    if spec.horizon > 1 {
        assert_ne!(first, play(environment, 8, ending), "another seed, another episode");
    }
}

/// Plays one episode of random actions, checking every step; returns all that was seen.
fn play(environment: &mut dyn Environment, seed: u64, ending: Ending) -> Vec<u32> {
    let mut rng = Streams::new(seed).rng(Purpose::Problem, 0);
    environment.reset(&mut rng);
    let spec = environment.view().spec().clone();
    let mut state = vec![f32::NAN; spec.state_width];
    environment.write_state(&mut state);
    let (mut outcome, mut graph) = (Outcome::default(), CoordinationGraph::default());
    let mut seen = Vec::new();
    for step in 1..=spec.horizon {
        environment.view().graph(&state, &mut graph);
        seen.extend(look(environment.view(), &state, &graph));
        let action: Vec<usize> = (0..spec.n_agents).map(|_| rng.below(spec.n_actions)).collect();
        environment.step(&action, &mut outcome);
        environment.write_state(&mut state);
        assert_eq!(outcome.region_rewards.len(), graph.n_regions());
        assert_eq!(outcome.region_costs.len(), graph.n_regions() * spec.constraints.len());
        assert_eq!(outcome.agent_costs.len(), spec.n_agents * spec.constraints.len());
        assert_eq!(outcome.agent_rewards.len(), spec.n_agents);
        let costs = outcome.region_costs.iter().chain(&outcome.agent_costs);
        assert!(costs.clone().all(|cost| *cost >= 0.0 && cost.is_finite()));
        let rewards = outcome.region_rewards.iter().chain(&outcome.agent_rewards);
        assert!(rewards.clone().all(|reward| reward.is_finite()));
        assert!(outcome.metrics.unavoidable <= outcome.metrics.collisions);
        seen.extend(costs.chain(rewards).map(|x| x.to_bits()));
        let expected = if step == spec.horizon { ending } else { Ending::Running };
        assert_eq!(outcome.ending, expected, "step {step}");
    }
    seen
}

/// All rows of a state, checked.
fn look(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Vec<u32> {
    let spec = view.spec();
    assert_eq!(graph.n_agents(), spec.n_agents);
    assert!(graph.n_regions() <= spec.max_regions, "{} regions", graph.n_regions());
    assert!(graph.regions().all(|members| members.len() == spec.region_size));
    let swapped: Vec<bool> = (0..graph.n_regions()).map(|region| region % 3 == 1).collect();
    let mut rows = vec![f32::NAN; graph.n_regions() * spec.region_width];
    view.region_rows(state, graph, &swapped, &mut rows, spec.region_width);
    let mut row = vec![f32::NAN; spec.region_width];
    for (region, members) in graph.regions().enumerate() {
        let mut members = members.to_vec();
        if swapped[region] {
            members.reverse();
        }
        view.region_row(state, &members, &mut row);
        assert_eq!(row, rows[region * spec.region_width..][..spec.region_width]);
    }
    for agent in 0..spec.n_agents {
        let start = rows.len();
        rows.resize(start + spec.agent_width, f32::NAN);
        view.agent_row(state, agent, &mut rows[start..]);
    }
    rows.extend_from_slice(state);
    assert!(rows.iter().all(|x| x.is_finite()), "rows are finite and fully written");
    rows.iter().map(|x| x.to_bits()).collect()
}

fn spread(change: impl FnOnce(&mut SimpleSpreadOptions)) -> SimpleSpread {
    let mut options = SimpleSpreadOptions::default();
    change(&mut options);
    SimpleSpread::new(&options).expect("valid options")
}

#[test]
fn simple_spread_keeps_the_contract() {
    use ObservationKind::{Paper, Relative};
    for agents in [2, 3, 4, 6, 10, 40] {
        for (kind, occupancy) in [(Paper, false), (Relative, false), (Relative, true)] {
            keeps_the_contract(
                &mut spread(|o| {
                    o.agents = agents;
                    o.horizon = if agents == 40 { 3 } else { 25 };
                    o.observation = ObservationOptions { kind, occupancy, landmarks: None };
                    o.constraints = vec![Constraint::Energy, Constraint::Collision];
                    o.reward =
                        if occupancy { RewardRule::Counterfactual } else { RewardRule::Shared };
                }),
                Ending::Truncated,
            );
        }
    }
}

#[test]
fn every_graph_keeps_the_contract() {
    use Topology::{Explicit, KNearest, Path, Ring, Star};
    for topology in [Path, Star, Ring, KNearest, Explicit] {
        let regions = vec![vec![0, 1, 2], vec![4, 3, 2], vec![0, 5, 3]];
        let graph = GraphOptions { topology, k: 2, regions };
        keeps_the_contract(
            &mut spread(|o| {
                (o.agents, o.graph) = (6, graph);
                o.observation.occupancy = true;
            }),
            Ending::Truncated,
        );
    }
}

#[test]
fn recorded_mpe2_episodes_are_reproduced() {
    let subset = std::path::Path::new("tests/data/mpe2_subset.json.gz");
    let full = std::path::Path::new("../shared/data/mpe2_golden.json.gz");
    for path in [subset, full].into_iter().filter(|path| *path == subset || path.exists()) {
        let groups = recording::check(path).unwrap();
        assert!(groups.len() >= 8 && groups.iter().all(|g| g.steps == 25 * g.episodes));
        for group in groups {
            assert!(group.passes(), "{group:?}");
        }
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
    let ring = CoordinationGraph::ring(5);
    let games = [
        MatrixGame::worked_example(),
        MatrixGame::climbing(),
        MatrixGame::penalty(-100.0),
        MatrixGame::random(ring, 3, 2, 4, &mut rng),
    ];
    for game in games {
        keeps_the_contract(&mut game.unwrap(), Ending::Terminal);
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
    assert!(options_error(|o| o.horizon = 0).contains("`horizon`"));
    assert!(options_error(|o| o.local_ratio = Some(1.5)).contains("`local_ratio`: 1.5"));
    assert!(options_error(|o| o.constraints.clear()).contains("`constraints`"));
    assert!(options_error(|o| o.observation.landmarks = Some(0)).contains("`landmarks`"));
    let regions = vec![vec![0, 1], vec![0, 1, 2]];
    let graph = GraphOptions { topology: Topology::Explicit, k: 1, regions };
    assert!(options_error(|o| o.graph = graph).contains("`regions`"));
    assert!(toml::from_str::<SimpleSpreadOptions>("agnets = 3").is_err());
}

#[test]
fn presets_resolve_to_the_documented_values() {
    let resolved = |agents, physics| {
        let o = SimpleSpreadOptions { agents, physics, ..Default::default() }.resolved();
        (o.radius.unwrap(), o.contact.unwrap(), o.local_ratio.unwrap(), o.cost_distance.unwrap())
    };
    assert_eq!(resolved(4, Physics::Paper), (0.08, false, 0.0, 0.2));
    assert_eq!(resolved(16, Physics::Paper), (0.04, false, 0.0, 2.4 * 0.04));
    assert_eq!(resolved(3, Physics::Mpe2), (0.15, true, 0.5, 2.4 * 0.15));
    let text = toml::to_string(&SimpleSpreadOptions::default()).unwrap();
    let read: SimpleSpreadOptions = toml::from_str(&text).unwrap();
    assert_eq!(read, SimpleSpreadOptions::default());
}

#[test]
fn the_oracle_covers_and_avoids_almost_to_the_floor() {
    for agents in [3, 10] {
        let environment = spread(|o| o.agents = agents);
        let mut oracle = Oracle::new(&environment);
        let mut arena = Arena::new(vec![Box::new(environment.clone()), Box::new(environment)]);
        let (mut coverage, mut excess) = (0.0, 0.0);
        for first in (0..200).step_by(2) {
            let streams = Streams::new(0);
            let draws = Draws { streams, start: Purpose::Evaluation, act: Purpose::Problem, first };
            for summary in arena.play(&mut oracle, draws, 2) {
                coverage += f64::from(summary.coverage[0]) / 200.0;
                excess += (summary.collisions - summary.floor) / 200.0;
            }
        }
        assert!(coverage > 0.99 && excess < 0.001, "{agents}: {coverage} {excess}");
    }
}
