//! The ring of targets keeps its contract with every kind of region.

use cgcmarl::{
    CoordinationGraph, Scenario, Streams,
    environment::{
        Environment, Outcome,
        capture::{Capture, CaptureOptions, CaptureTask, Regions},
        check, check_environment,
    },
    rng::Purpose,
};

fn ring(regions: Regions, agents: usize) -> Capture {
    Capture::new(&CaptureOptions { regions, agents, horizon: 10 }).expect("valid options")
}

#[test]
fn the_ring_keeps_the_contract() {
    check(&CaptureTask).unwrap();
    for regions in [Regions::Pairs, Regions::Triplets, Regions::Mixed] {
        for agents in [5, 6, 8] {
            let checked = check_environment(&mut ring(regions, agents));
            checked.unwrap_or_else(|error| panic!("{regions:?}, {agents}: {error}"));
        }
    }
}

#[test]
fn options_that_cannot_work_are_refused_by_name() {
    let refused = |agents, horizon| {
        let options = CaptureOptions { agents, horizon, ..CaptureOptions::default() };
        Capture::new(&options).expect_err("options that cannot work").to_string()
    };
    assert!(refused(4, 10).contains("`agents`: 4"));
    assert!(refused(6, 0).contains("`horizon`: 0"));
    assert!(toml::from_str::<CaptureOptions>("regions = \"fours\"").is_err());
}

/// Agents 0, 1 and 2 take a target worth 2; agent 3 acts on the next one alone.
#[test]
fn three_are_paid_and_one_pays() {
    for regions in [Regions::Pairs, Regions::Triplets, Regions::Mixed] {
        let mut environment = ring(regions, 6);
        environment.restore(&[2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let mut rng = Streams::new(1).rng(Purpose::Dynamics, 0);
        let mut outcome = Outcome::default();
        environment.step(&[3, 2, 1, 2, 0, 0], &mut rng, &mut outcome);
        assert_eq!(outcome.metrics, [2.0, 1.0, 0.0]);
        assert_eq!(outcome.agent_costs, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let mut graph = CoordinationGraph::default();
        environment.view().graph(&[0.0; 7], &mut graph);
        for (members, reward) in graph.regions().zip(&outcome.region_rewards) {
            let taken = members.iter().all(|agent| *agent < 3);
            let whole = regions == Regions::Pairs || members.len() == 3;
            let expected = if taken && whole {
                2.0 / [1.0, 3.0][usize::from(members.len() == 2)]
            } else {
                0.0
            };
            assert!((reward - expected).abs() < 1e-6, "{regions:?} {members:?}: {reward}");
        }
    }
}

#[test]
fn the_optimum_misses_nothing() {
    let mut environment = ring(Regions::Triplets, 6);
    let mut optimum = Scenario::of("capture").unwrap().references().unwrap().remove(0);
    let streams = Streams::new(2);
    environment.reset(&mut streams.rng(Purpose::Problem, 0));
    let (mut rng, mut outcome) = (streams.rng(Purpose::Dynamics, 0), Outcome::default());
    let (mut state, mut worth) = (vec![0.0; 7], 0.0);
    for _ in 0..10 {
        environment.write_state(&mut state);
        let batch =
            cgcmarl::environment::Batch { view: environment.view(), states: &state, slots: &[0] };
        let mut actions = [Vec::new()];
        optimum.policy.act(batch, &mut actions);
        environment.step(&actions[0], &mut rng, &mut outcome);
        assert_eq!(outcome.metrics[1..], [0.0, 0.0], "{state:?} {actions:?}");
        worth += outcome.metrics[0];
    }
    assert!(worth > 10.0, "{worth}");
}
