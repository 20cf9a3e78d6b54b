//! Targets that are looked for from what was done before.

use super::{
    CgCmarlOptions, ErrorKind, HeadKind, NextAction, Sample, TdRule,
    tests::{Case, nearest, rule, sample, standing},
};
use crate::{
    coordination::{Coordination, Coordinator, FactorTables},
    environment::Environment,
    graph::{CoordinationGraph, JointAction},
};

/// Finds the joint action best that it is told; its own where it is told none.
struct Obedient(JointAction);

impl Coordinator for Obedient {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        let own = self.0.clone();
        self.coordinate_from(graph, tables, &own, action)
    }

    fn coordinate_from(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        start: &[usize],
        action: &mut JointAction,
    ) -> Coordination {
        action.clear();
        action.extend_from_slice(start);
        Coordination {
            value: tables.value(graph, action),
            upper_bound: f64::INFINITY,
            residual: 0.0,
            iterations: 0,
            converged: true,
        }
    }
}

#[test]
fn a_warm_start_is_the_joint_action_that_was_taken() {
    let spread = nearest();
    let apart = standing([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.1, 0.0]]);
    let crossed = standing([[0.0, 0.0], [1.0, 0.0], [0.1, 0.0], [1.1, 0.0]]);
    let sample = Sample { frame: 3, ..sample(&[0.7]) };
    let case = Case::new(spread.view(), HeadKind::Free, [&apart, &crossed], sample);
    let losses = |warm_start, own: &[usize]| {
        let rule = TdRule { warm_start, ..rule(NextAction::Coupled, ErrorKind::Summed) };
        case.accumulate_by(&case.online, rule, Box::new(Obedient(own.to_vec()))).losses
    };
    let taken = case.replay.row(0).actions.iter().copied().map(usize::from);
    let told = losses(false, &taken.collect::<Vec<_>>());
    let other = [4; 4];
    assert_eq!(losses(true, &other), told);
    assert_ne!(losses(false, &other), told);
}

#[test]
fn a_warm_start_is_written_where_it_is_set() {
    let mut options = CgCmarlOptions::default();
    let text = |options: &CgCmarlOptions| toml::to_string(options).unwrap();
    assert!(!text(&options).contains("warm_start"));
    options.learning.warm_start = true;
    assert_eq!(toml::from_str::<CgCmarlOptions>(&text(&options)).unwrap(), options);
}
