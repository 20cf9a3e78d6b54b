#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

//! Simple Tag keeps the contract in every shape, MPE2's physics to the last digits, and its own
//! rules of what is paid.

use cgcmarl::{
    environment::{
        Batch, Environment, Outcome, Scenario, Task, check, check_environment,
        frame::Frame,
        simple_tag::{Prey, SimpleTag, SimpleTagOptions, SimpleTagTask, Start, recording},
    },
    graph::{GraphOptions, Topology},
    rng::{Purpose, Streams},
};
use std::path::Path;

fn tag(change: impl FnOnce(&mut SimpleTagOptions)) -> SimpleTag {
    let mut options = SimpleTagOptions::default();
    change(&mut options);
    SimpleTag::new(&options).unwrap()
}

#[test]
fn it_keeps_the_contract_in_every_shape() {
    check(&SimpleTagTask).unwrap();
    for agents in [2, 3, 4, 6] {
        for (prey, frame) in [(Prey::Runner, Frame::Octant), (Prey::Evader, Frame::World)] {
            for (topology, obstacles) in [(Topology::Complete, 0), (Topology::KNearest, 3)] {
                let mut environment = tag(|o| {
                    (o.agents, o.prey, o.frame, o.obstacles) = (agents, prey, frame, obstacles);
                    o.graph = GraphOptions { topology, k: 2, ..GraphOptions::default() };
                    o.start = if obstacles == 0 { Start::Mpe2 } else { Start::Apart };
                });
                check_environment(&mut environment)
                    .unwrap_or_else(|error| panic!("{agents} {prey:?} {topology:?}: {error}"));
            }
        }
    }
}

#[test]
fn recorded_mpe2_episodes_are_reproduced() {
    let groups = recording::check(Path::new("tests/data/mpe2_subset.json.gz")).unwrap();
    assert_eq!(groups.iter().map(|group| group.contact).collect::<Vec<_>>(), [true, false]);
    for group in groups {
        assert!(group.passes() && group.steps == 75, "{group:?}");
    }
}

#[test]
fn touches_earn_and_what_is_near_costs() {
    let mut environment = tag(|o| (o.obstacles, o.shaping) = (1, 0.0));
    // The first two predators touch the prey and each other; the third is in the obstacle.
    let still = [[0.0, 0.0]; 4];
    let places = [[0.1, 0.0], [0.0, 0.1], [0.9, 0.9], [0.0, 0.0]];
    environment.place(&places, &still, &[[0.7, 0.9]]);
    let mut outcome = Outcome::default();
    let mut rng = Streams::new(0).rng(Purpose::Dynamics, 0);
    environment.step(&[12, 12, 12], &mut rng, &mut outcome);
    assert_eq!(outcome.team_reward, 2.0);
    assert_eq!(outcome.region_rewards, [1.0, 0.5, 0.5]);
    assert_eq!(outcome.team_costs, [1.0, 1.0]);
    assert_eq!(outcome.agent_costs, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(outcome.metrics[..3], [2.0, 1.0, 1.0]);
}

#[test]
fn the_heuristic_runs_straight_at_the_prey() {
    let options = SimpleTagOptions::default();
    let mut environment = SimpleTag::new(&options).unwrap();
    let places = [[-0.8, 0.0], [0.0, 0.6], [0.4, -0.4], [0.0, 0.0]];
    environment.place(&places, &[[0.0, 0.0]; 4], &[[0.9, 0.9], [-0.9, -0.9]]);
    let mut state = vec![0.0; environment.view().spec().state_width];
    environment.write_state(&mut state);
    let mut actions = [vec![]];
    let batch = Batch { view: environment.view(), states: &state, slots: &[0] };
    SimpleTagTask.references(&options).unwrap()[0].policy.act(batch, &mut actions);
    // Right, down, left and up at once; action 5·ix + iy.
    assert_eq!(actions[0], [22, 10, 4]);
}

#[test]
fn options_that_cannot_work_are_refused() {
    let error = |key: &str, value: toml::Value| {
        let mut options = Scenario::of("simple_tag").unwrap().options().clone();
        options.insert(key.into(), value);
        let scenario = Scenario::of("simple_tag").unwrap().with_options(options);
        scenario.build().map(drop).unwrap_err().to_string()
    };
    assert!(error("agents", 1.into()).contains("`agents`: 1 (must be from 2 to 20)"));
    assert!(error("obstacles", 9.into()).contains("`obstacles`: 9"));
    assert!(error("cost_margin", 0.5.into()).contains("`cost_margin`: 0.5"));
    assert!(error("prey", "lazy".into()).contains("`prey`"));
    let explicit = toml::toml! { topology = "explicit" };
    assert!(error("graph", explicit.into()).contains("regions are pairs"));
}
