#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

//! The warehouse keeps the contract in every shape, blocks what must be blocked, and its planner
//! delivers without conflicts.

use cgcmarl::{
    environment::{
        Batch, Environment, Outcome, Scenario, Task, check, check_environment,
        warehouse::{Warehouse, WarehouseOptions, WarehouseTask},
    },
    rng::{Purpose, Streams},
};

fn warehouse(change: impl FnOnce(&mut WarehouseOptions)) -> Warehouse {
    let mut options = WarehouseOptions { horizon: 40, ..WarehouseOptions::default() };
    change(&mut options);
    Warehouse::new(&options).unwrap()
}

#[test]
fn it_keeps_the_contract_in_every_shape() {
    check(&WarehouseTask).unwrap();
    for (agents, aisle, one_way, battery) in
        [(2, 1, false, 0), (6, 1, true, 80), (12, 2, true, 0), (20, 2, false, 200)]
    {
        let mut environment = warehouse(|o| {
            (o.agents, o.aisle, o.one_way, o.battery) = (agents, aisle, one_way, battery);
        });
        check_environment(&mut environment).unwrap_or_else(|error| panic!("{agents}: {error}"));
    }
}

/// A robot: place, goal, battery.
type Numbers = [f64; 4];

/// What a step of three robots at these places costs and earns; they do right, left, stay.
fn played(robots: [Numbers; 3]) -> (Outcome, Vec<f64>) {
    let mut environment = warehouse(|o| o.agents = 3);
    environment.restore(&[&robots.concat()[..], &[0.0]].concat()).unwrap();
    let mut outcome = Outcome::default();
    let mut rng = Streams::new(0).rng(Purpose::Dynamics, 0);
    environment.step(&[1, 2, 0], &mut rng, &mut outcome);
    (outcome, environment.snapshot())
}

#[test]
fn a_contested_cell_blocks_both_and_both_pay() {
    let (outcome, after) =
        played([[4.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]);
    assert_eq!(outcome.team_costs, [2.0, 0.1]);
    assert_eq!(outcome.metrics[1], 2.0 / 3.0);
    assert_eq!([after[0], after[4]], [4.0, 6.0]);
    // Two conflicts of the first two robots, a move of each.
    assert_eq!(outcome.agent_costs, [2.0, 0.05, 2.0, 0.05, 0.0, 0.0]);
}

#[test]
fn free_robots_move_and_are_paid_for_progress() {
    // Goal 0 is the cell beside the first shelf: (1, 2).
    let (outcome, after) =
        played([[4.0, 0.0, 0.0, 0.0], [7.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]);
    assert_eq!(outcome.team_costs, [0.0, 0.1]);
    assert_eq!([after[0], after[4]], [5.0, 6.0]);
    assert!(outcome.team_reward.abs() < 1e-6, "one went away, one came nearer");
}

#[test]
fn a_battery_that_is_empty_leaves_nothing_but_staying() {
    let environment = warehouse(|o| (o.agents, o.battery) = (6, 100));
    let view = environment.view();
    let mut state = vec![0.0; view.spec().state_width];
    environment.write_state(&mut state);
    let allowed = |state: &[f32]| {
        let mut allowed = [true; 5];
        view.action_mask(state, 0, &mut allowed);
        allowed
    };
    state[..4].copy_from_slice(&[0.0, 0.0, 0.0, 0.5]);
    assert_eq!(allowed(&state), [true, true, false, true, false]);
    state[3] = 0.0;
    assert_eq!(allowed(&state), [true, false, false, false, false]);
}

#[test]
fn the_planner_delivers_without_conflicts() {
    for (agents, one_way) in [(6, false), (12, false), (12, true)] {
        let options = WarehouseOptions { agents, one_way, ..WarehouseOptions::default() };
        let mut environment = Warehouse::new(&options).unwrap();
        let mut planner = WarehouseTask.references(&options).unwrap().remove(0).policy;
        let mut state = vec![0.0; environment.view().spec().state_width];
        let streams = Streams::new(3);
        environment.reset(&mut streams.rng(Purpose::Problem, 0));
        let (mut chance, mut outcome) = (streams.rng(Purpose::Dynamics, 0), Outcome::default());
        let (mut deliveries, mut conflicts) = (0.0, 0.0);
        for _ in 0..options.horizon {
            environment.write_state(&mut state);
            let mut actions = [vec![]];
            let batch = Batch { view: environment.view(), states: &state, slots: &[0] };
            planner.act(batch, &mut actions);
            environment.step(&actions[0], &mut chance, &mut outcome);
            deliveries += outcome.metrics[0];
            conflicts += outcome.metrics[1];
        }
        assert!(deliveries >= 3.0 * agents as f64, "{agents} robots deliver {deliveries}");
        assert!(conflicts < 0.5, "{conflicts} conflicts per robot");
    }
}

#[test]
fn options_that_cannot_work_are_refused() {
    let error = |key: &str, value: i64| {
        let mut options = Scenario::of("warehouse").unwrap().options().clone();
        options.insert(key.into(), value.into());
        let scenario = Scenario::of("warehouse").unwrap().with_options(options);
        scenario.build().map(drop).unwrap_err().to_string()
    };
    assert!(error("agents", 1).contains("`agents`: 1 (must be from 2 to 200)"));
    assert!(error("width", 3).contains("`width`: 3"));
    assert!(error("aisle", 3).contains("`aisle`: 3"));
    assert!(error("battery", 20).contains("at least 136 on this map"));
    assert!(error("k", 0).contains("`k`: 0"));
    let crowded = WarehouseOptions {
        width: Some(6),
        height: Some(5),
        agents: 15,
        ..WarehouseOptions::default()
    };
    assert!(Warehouse::new(&crowded).unwrap_err().to_string().contains("has room for"));
}
