//! A region that loses a member for good expects nothing more.

use super::{
    HeadKind,
    tests::{Case, RULES, nearest, sample, standing},
};
use crate::{
    environment::{Environment, Spec, View},
    graph::CoordinationGraph,
};

/// Agent 1 is gone once it is at x = 1.
struct Leaving<'a>(&'a dyn View);

impl View for Leaving<'_> {
    fn spec(&self) -> &Spec {
        self.0.spec()
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        self.0.graph(state, graph);
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        self.0.region_row(state, members, row);
    }

    fn has_left(&self, state: &[f32], agent: usize) -> bool {
        agent == 1 && state[2] == 1.0
    }
}

#[test]
fn a_region_that_loses_a_member_expects_nothing_more() {
    let spread = nearest();
    let leaving = Leaving(spread.view());
    // The pairs 0-1 and 2-3 become 0-2 and 1-3.
    let apart = standing([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.1, 0.0]]);
    let crossed = standing([[0.0, 0.0], [1.0, 0.0], [0.1, 0.0], [1.1, 0.0]]);
    let states = [&apart[..], &crossed[..]];
    let [gone, there] = [&leaving, spread.view()]
        .map(|view: &dyn View| Case::new(view, HeadKind::Free, states, sample(&[0.7])));
    gone.check_losses("left");
    // Each region for itself is told apart; the cost heads always are.
    assert!(RULES.iter().all(|&rule| gone.losses(rule)[1] != there.losses(rule)[1]));
}
