//! Damped Max-Sum message passing (Section "Max-Sum Action Coordination", appendix B).
//!
//! `a_i = argmax Σ_{R∋i} M_{R→i}` after `msg_iterations` rounds. Exact on trees, approximate on
//! cycles. Complexity: `O(iterations · Σ_R |table of R|)`.

use super::messages::Messages;
use crate::coordination::{Coordination, Coordinator, FactorTables};
use crate::graph::{CoordinationGraph, JointAction};
use serde::{Deserialize, Serialize};

/// How Max-Sum runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaxSumOptions {
    /// Rounds of messages (the paper's K).
    pub msg_iterations: usize,
    /// Share of the old message kept in each round (the paper's d).
    pub damping: f32,
    /// Stops early when no message changes by more than this; 0 runs every round.
    pub tolerance: f32,
    /// Starts from the messages of the last call when the shape is the same.
    pub warm_start: bool,
}

impl Default for MaxSumOptions {
    fn default() -> Self {
        Self { msg_iterations: 10, damping: 0.3, tolerance: 0.0, warm_start: false }
    }
}

/// The paper's coordinator: synchronous rounds, then each agent's own best action.
///
/// ```
/// use cgcmarl::coordination::{Coordinator, FactorTables, MaxSum, MaxSumOptions};
/// use cgcmarl::graph::CoordinationGraph;
/// let graph = CoordinationGraph::path(2);
/// let mut tables = FactorTables::zeros(&graph, 2);
/// tables.region_mut(0).copy_from_slice(&[0.0, 1.0, 3.0, 2.0]);
/// let mut action = Vec::new();
/// let answer = MaxSum::new(MaxSumOptions::default()).coordinate(&graph, &tables, &mut action);
/// assert_eq!((action, answer.value), (vec![1, 0], 3.0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct MaxSum {
    options: MaxSumOptions,
    pub(crate) messages: Messages,
    row: Vec<f32>,
}

/// A residual below this counts as convergence when no tolerance is set.
const SETTLED: f32 = 1e-6;

impl MaxSum {
    /// A coordinator with these options.
    pub fn new(options: MaxSumOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The message of a region to one of its members after the last call, its largest entry 0
    /// up to damping.
    pub fn message(&self, region: usize, slot: usize) -> &[f32] {
        let layout = &self.messages.layout;
        let place = layout.region_places[region] + slot;
        let start = layout.message_starts[region] + layout.offsets[place];
        &self.messages.to_agents[start..].as_flattened()[..layout.member_actions[place]]
    }

    /// The agent's utility plus every message to it after the last call, normalised so that the
    /// largest is 0.
    pub fn beliefs(&self, agent: usize) -> Vec<f32> {
        let mut row = Vec::new();
        self.messages.belief(agent, &mut row);
        let best = row.iter().fold(f32::NEG_INFINITY, |best, &x| best.max(x));
        if best > f32::NEG_INFINITY {
            for x in &mut row {
                *x -= best;
            }
        }
        row
    }

    /// How strongly each region prefers some actions after the last call: the widest spread of its
    /// messages to its members, 0 where it is indifferent. In the order of the graph.
    pub fn strengths(&self) -> Vec<f32> {
        let layout = &self.messages.layout;
        let spread = |region: usize| {
            let messages = &self.messages.to_agents[layout.messages(region)];
            let rows = layout.places(region).map(|place| {
                let row = messages[layout.offsets[place]..].as_flattened();
                let row = row[..layout.member_actions[place]].iter().filter(|m| m.is_finite());
                let (low, high) =
                    row.fold((f32::INFINITY, 0f32), |(low, high), &m| (low.min(m), high.max(m)));
                (high - low).max(0.0)
            });
            rows.fold(0.0, f32::max)
        };
        (0..layout.n_regions()).map(spread).collect()
    }
}

impl Coordinator for MaxSum {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        self.messages.load(graph, tables, self.options.warm_start, false);
        self.answer(graph, tables, action)
    }

    /// Begins with the messages of regions whose other members do as in `start`; with none where a payoff
    /// is minus infinity.
    fn coordinate_from(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        start: &[usize],
        action: &mut JointAction,
    ) -> Coordination {
        self.messages.load(graph, tables, false, false);
        if !self.messages.has_forbidden {
            self.messages.begin_at(tables, start);
        }
        self.answer(graph, tables, action)
    }
}

impl MaxSum {
    /// Iterates the messages as they are and decodes them.
    fn answer(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        let tolerance = self.options.tolerance;
        let rounds = Rounds { solver: self, tables, action };
        let (residual, iterations) = pulp::Arch::new().dispatch(rounds);
        Coordination {
            value: tables.value(graph, action),
            upper_bound: f64::INFINITY,
            residual,
            iterations,
            converged: residual <= tolerance.max(SETTLED),
        }
    }
}

/// The rounds of one call and their decode, compiled for each instruction set.
struct Rounds<'a> {
    solver: &'a mut MaxSum,
    tables: &'a FactorTables,
    action: &'a mut JointAction,
}

impl pulp::WithSimd for Rounds<'_> {
    type Output = (f32, usize);

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> (f32, usize) {
        let MaxSum { options, messages, row } = self.solver;
        messages.sum_beliefs();
        let (mut residual, mut iterations) = (f32::INFINITY, 0);
        while iterations < options.msg_iterations {
            residual = messages.iterate(simd, self.tables, options.damping);
            iterations += 1;
            if residual <= options.tolerance && options.tolerance > 0.0 {
                break;
            }
        }
        messages.decode(simd, row, self.action);
        (residual, iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_are_spreads_of_messages() {
        let graph = CoordinationGraph::path(3);
        let mut tables = FactorTables::zeros(&graph, 25);
        tables.region_mut(0)[3 * 25 + 4] = 2.0;
        let options = MaxSumOptions { msg_iterations: 1, damping: 0.0, ..MaxSumOptions::default() };
        let mut solver = MaxSum::new(options);
        solver.coordinate(&graph, &tables, &mut Vec::new());
        // Each message is 2 higher for one action than for the others; the second region is indifferent.
        assert_eq!(solver.strengths(), [2.0, 0.0]);
    }

    /// A pair and three agents together, and a solver that decodes its first messages.
    fn unheard() -> (CoordinationGraph, FactorTables, MaxSum) {
        let graph = CoordinationGraph::new(3, &[vec![0, 1], vec![2, 0, 1]]).unwrap();
        let mut tables = FactorTables::with_domains(&graph, &[2, 3, 2]);
        tables.region_mut(0).copy_from_slice(&[1.0, 5.0, 2.0, 4.0, 0.0, 3.0]);
        let triple = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0];
        tables.region_mut(1).copy_from_slice(&triple);
        let options = MaxSumOptions { msg_iterations: 0, ..MaxSumOptions::default() };
        (graph, tables, MaxSum::new(options))
    }

    #[test]
    fn first_messages_are_what_regions_say_of_the_start() {
        let (graph, tables, mut solver) = unheard();
        let mut action = Vec::new();
        let answer = solver.coordinate_from(&graph, &tables, &[1, 2, 0], &mut action);
        // Agent 0 beside action 2 of agent 1: (2, 3); agent 1 beside action 1 of agent 0: (4, 0, 3).
        assert_eq!(solver.message(0, 0), [-1.0, 0.0]);
        assert_eq!(solver.message(0, 1), [0.0, -4.0, -1.0]);
        // Agent 2: (9, 8); agent 0: (4, 9); agent 1: (1, 5, 9).
        assert_eq!(solver.message(1, 0), [0.0, -1.0]);
        assert_eq!(solver.message(1, 1), [-5.0, 0.0]);
        assert_eq!(solver.message(1, 2), [-8.0, -4.0, 0.0]);
        let numbers = solver.messages.to_agents.as_flattened();
        assert_eq!(numbers.iter().filter(|number| **number != 0.0).count(), 7, "padding is 0");
        // Nobody gains alone; 3 of the pair and 9 of the three.
        assert_eq!((&action[..], answer.value), (&[1, 2, 0][..], 12.0));
        solver.coordinate(&graph, &tables, &mut action);
        assert_eq!(action, [0, 0, 0], "the next call begins with nothing");
    }

    #[test]
    fn where_something_is_forbidden_the_first_messages_are_zero() {
        let (graph, mut tables, mut solver) = unheard();
        tables.region_mut(0)[0] = f32::NEG_INFINITY;
        solver.coordinate_from(&graph, &tables, &[1, 2, 0], &mut Vec::new());
        assert!(solver.messages.to_agents.as_flattened().iter().all(|&number| number == 0.0));
    }

    #[test]
    #[should_panic(expected = "[1, 3, 0] is no joint action of 3")]
    fn a_start_that_nobody_can_play_is_our_mistake() {
        let (graph, tables, mut solver) = unheard();
        solver.coordinate_from(&graph, &tables, &[1, 3, 0], &mut Vec::new());
    }
}
