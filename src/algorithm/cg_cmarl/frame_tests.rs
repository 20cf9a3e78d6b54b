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
            ActionSet, SimpleSpread, SimpleSpreadOptions,
            observation::{Frame, ObservationOptions},
        },
    },
    graph::{GraphOptions, Topology},
    rng::Streams,
};

/// Three agents whose regions have frames of their own.
fn framed(regions: &[Vec<usize>], actions: ActionSet) -> SimpleSpread {
    let observation =
        ObservationOptions { frame: Frame::Octant, coast: 0.2, ..ObservationOptions::default() };
    let topology = if regions.is_empty() { Topology::Complete } else { Topology::Explicit };
    let graph = GraphOptions { topology, regions: regions.to_vec(), ..GraphOptions::default() };
    let actions = Some(actions);
    let options =
        SimpleSpreadOptions { actions, observation, graph, ..SimpleSpreadOptions::default() };
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

/// Asserts that a transition under every symmetry has the gradient that it has as it is.
fn assert_teaches_the_same(spread: &SimpleSpread, actions: [usize; 3], head: HeadKind) {
    let (view, states) = (spread.view(), states(spread.view()));
    let values = [ValueKind::Heads, ValueKind::TwoHead, ValueKind::Augmented];
    for (value, symmetry) in values.into_iter().flat_map(|value| (1..8).map(move |s| (value, s))) {
        let turned = states.each_ref().map(|state| {
            let mut state = state.clone();
            view.transform_state(symmetry, &mut state);
            state
        });
        let done = actions.map(|action| view.transform_action(symmetry, action));
        let case = |states: &[Vec<f32>; 2], actions: &[usize]| {
            let states = states.each_ref().map(|state| &state[..]);
            Case::of_actions(view, (head, value), states, actions, sample(&[0.7]))
        };
        let (plain, turned) = (case(&states, &actions), case(&turned, &done));
        for (next_action, error) in RULES {
            let gradient = |case: &Case<'_>| {
                let shard = case.accumulate(&case.online, (next_action, error));
                shard.gradient.values().to_vec()
            };
            let same = close(&gradient(&plain), &gradient(&turned));
            assert!(same, "{head:?} {value:?} {next_action:?} {error:?} symmetry {symmetry}");
        }
    }
}

#[test]
fn a_turned_transition_teaches_the_same() {
    let triplet = [vec![0, 1, 2]];
    for head in [HeadKind::Free, HeadKind::Tied] {
        assert_teaches_the_same(&framed(&[], ActionSet::Grid), [3, 17, 9], head);
    }
    assert_teaches_the_same(&framed(&triplet, ActionSet::Grid), [3, 17, 9], HeadKind::Tied);
    assert_teaches_the_same(&framed(&triplet, ActionSet::Discrete), [3, 1, 4], HeadKind::Free);
}

#[test]
fn own_errors_are_added_to_the_summed_one() {
    let spread = framed(&[], ActionSet::Grid);
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
