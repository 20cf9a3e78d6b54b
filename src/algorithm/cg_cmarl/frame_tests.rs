//! What is learned from a transition is the same however the world was turned, by every rule and
//! head; and a region's own error is added to the summed one.

use super::{
    tests::{Case, RULES, rule, sample},
    *,
};
use crate::{
    coordination::Exact,
    environment::{
        Environment,
        simple_spread::{
            SimpleSpread, SimpleSpreadOptions,
            observation::{Frame, ObservationOptions},
        },
    },
    graph::{GraphOptions, Topology},
    rng::Streams,
};

/// Three agents whose regions have frames of their own.
fn framed(regions: &[Vec<usize>]) -> SimpleSpread {
    let observation =
        ObservationOptions { frame: Frame::Octant, coast: 0.2, ..ObservationOptions::default() };
    let topology = if regions.is_empty() { Topology::Complete } else { Topology::Explicit };
    let graph = GraphOptions { topology, regions: regions.to_vec(), ..GraphOptions::default() };
    let options = SimpleSpreadOptions { observation, graph, ..SimpleSpreadOptions::default() };
    SimpleSpread::new(&options).unwrap()
}

fn states(view: &dyn View) -> [Vec<f32>; 2] {
    let mut rng = Streams::new(2).rng(Purpose::Problem, 0);
    let width = view.spec().state_width;
    [(); 2].map(|()| (0..width).map(|_| rng.range(-1.0, 1.0) as f32).collect())
}

fn close(one: &[f32], other: &[f32]) -> bool {
    one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + a.abs()))
}

#[test]
fn a_turned_transition_teaches_the_same() {
    for regions in [vec![], vec![vec![0, 1, 2]]] {
        let spread = framed(&regions);
        let view = spread.view();
        let (states, actions) = (states(view), [3, 17, 9]);
        let heads = if regions.is_empty() {
            &[HeadKind::Free, HeadKind::Tied][..]
        } else {
            &[HeadKind::Tied]
        };
        for (head, symmetry) in heads.iter().flat_map(|head| (0..8).map(move |s| (*head, s))) {
            let turned = states.each_ref().map(|state| {
                let mut state = state.clone();
                view.transform_state(symmetry, &mut state);
                state
            });
            let done = actions.map(|action| view.transform_action(symmetry, action));
            let case = |states: &[Vec<f32>; 2], actions: &[usize]| {
                let states = states.each_ref().map(|state| &state[..]);
                Case::of_actions(view, (head, ValueKind::Heads), states, actions, sample(&[0.7]))
            };
            let (plain, turned) = (case(&states, &actions), case(&turned, &done));
            for (next_action, error) in RULES {
                let gradient = |case: &Case<'_>| {
                    let shard = case.accumulate(&case.online, (next_action, error));
                    shard.gradient.values().to_vec()
                };
                let same = close(&gradient(&plain), &gradient(&turned));
                assert!(same, "{head:?} {next_action:?} {error:?} symmetry {symmetry}");
            }
        }
    }
}

#[test]
fn own_errors_are_added_to_the_summed_one() {
    let spread = framed(&[]);
    let states = states(spread.view());
    let states = states.each_ref().map(|state| &state[..]);
    let case = Case::new(spread.view(), HeadKind::Tied, states, sample(&[0.7]));
    let gradient = |error, own_error| {
        let rule = TdRule { own_error, cost_weight: 0.0, ..rule(NextAction::Coupled, error) };
        case.accumulate_by(&case.online, rule, Box::<Exact>::default()).gradient.values().to_vec()
    };
    let (summed, own) = (gradient(ErrorKind::Summed, 0.0), gradient(ErrorKind::Regional, 0.0));
    let expected: Vec<f32> = summed.iter().zip(&own).map(|(s, o)| s + 0.3 * o).collect();
    assert!(close(&expected, &gradient(ErrorKind::Summed, 0.3)));
    assert!(!close(&expected, &summed));
}
