//! The default for acting: Max-Sum, decoded well.
//!
//! Keeps the best joint action by true value over (1) each round's agent-wise decode, (2) the
//! sequential conditional decode, (3) single and pair moves from both, (4) kicks: an agent is
//! forced to an alternative, the others reply, the change stays if it gains. Never worse than
//! [`super::MaxSum`] on the same tables.

use super::conditional::Conditional;
use super::local_search::{LocalSearch, View};
use super::messages::Messages;
use super::{Coordination, Coordinator, FactorTables};
use crate::graph::{CoordinationGraph, JointAction};
use serde::{Deserialize, Serialize};

/// How the anytime coordinator runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnytimeOptions {
    /// Rounds of Max-Sum messages.
    pub msg_iterations: usize,
    /// Share of the old message kept in each round.
    pub damping: f32,
    /// Alternatives of each agent that are tried as kicks, best first.
    pub kicks: usize,
    /// Starts from the messages of the last call when the shape is the same.
    pub warm_start: bool,
}

impl Default for AnytimeOptions {
    fn default() -> Self {
        Self { msg_iterations: 10, damping: 0.3, kicks: 3, warm_start: false }
    }
}

/// Max-Sum with decoding by value; see the module.
#[derive(Clone, Debug, Default)]
pub struct Anytime {
    options: AnytimeOptions,
    messages: Messages,
    conditional: Conditional,
    search: LocalSearch,
    row: Vec<f32>,
    candidate: JointAction,
    previous: JointAction,
    alternatives: Vec<(f32, usize)>,
}

impl Anytime {
    /// A coordinator with these options.
    pub fn new(options: AnytimeOptions) -> Self {
        Self { options, ..Self::default() }
    }
}

impl Coordinator for Anytime {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        self.messages.load(graph, tables, self.options.warm_start);
        let run = Run { solver: self, graph, tables, action, value: f64::NEG_INFINITY };
        let (value, residual) = pulp::Arch::new().dispatch(run);
        Coordination {
            value,
            upper_bound: f64::INFINITY,
            residual,
            iterations: self.options.msg_iterations,
            converged: residual <= 1e-6,
        }
    }
}

/// One call, compiled for each instruction set.
struct Run<'a> {
    solver: &'a mut Anytime,
    graph: &'a CoordinationGraph,
    tables: &'a FactorTables,
    action: &'a mut JointAction,
    value: f64,
}

impl pulp::WithSimd for Run<'_> {
    type Output = (f64, f32);

    #[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) -> (f64, f32) {
        self.action.clear();
        self.action.resize(self.graph.n_agents(), 0);
        self.value = self.tables.value(self.graph, self.action);
        self.solver.messages.gather();
        let mut residual = f32::INFINITY;
        self.solver.previous.clear();
        for _ in 0..self.solver.options.msg_iterations {
            residual = self.solver.messages.iterate(simd, self.solver.options.damping);
            self.solver.messages.decode(&mut self.solver.row, &mut self.solver.candidate);
            if self.solver.candidate != self.solver.previous {
                self.offer();
                self.solver.previous.clone_from(&self.solver.candidate);
            }
        }
        self.improve(simd);
        (self.value, residual)
    }
}

impl Run<'_> {
    /// Keeps the candidate if it is worth more.
    fn offer(&mut self) {
        let value = self.tables.value(self.graph, &self.solver.candidate);
        if value > self.value {
            self.value = value;
            self.action.clone_from(&self.solver.candidate);
        }
    }

    /// Local search from the best decode and from the conditional decode, then kicks.
    #[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
    #[inline(always)]
    fn improve<S: pulp::Simd>(&mut self, simd: S) {
        let Anytime { messages, conditional, search, candidate, alternatives, options, .. } =
            &mut *self.solver;
        let view = View { graph: self.graph, messages };
        search.fit(view);
        search.start(view, self.action);
        search.ascend_pairs(simd, view);
        std::mem::swap(candidate, &mut search.action);
        let conditional_start = &mut search.action;
        conditional.decode(view, conditional_start);
        let start = conditional_start.clone();
        let first = self.tables.value(self.graph, candidate);
        search.start(view, &start);
        search.ascend_pairs(simd, view);
        if self.tables.value(self.graph, &search.action) <= first {
            let better = candidate.clone();
            search.start(view, &better);
        }
        kick(simd, view, search, alternatives, options.kicks);
        candidate.clone_from(&search.action);
        self.offer();
    }
}

/// Forces each agent to each of its best alternatives until none gains.
#[expect(clippy::inline_always, reason = "the dispatched instruction set must reach the loops")]
#[inline(always)]
fn kick<S: pulp::Simd>(
    simd: S,
    view: View,
    search: &mut LocalSearch,
    alternatives: &mut Vec<(f32, usize)>,
    kicks: usize,
) {
    let layout = &view.messages.layout;
    let mut since = 0;
    let mut agent = 0;
    while since < search.action.len() && kicks > 0 {
        let now = search.action[agent];
        let scores = search.scores(layout, agent);
        let level = scores[now];
        alternatives.clear();
        alternatives
            .extend(scores.iter().enumerate().filter(|(a, _)| *a != now).map(|(a, &s)| (s, a)));
        alternatives.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        since += 1;
        for &(score, to) in alternatives.iter().take(kicks) {
            search.undo.clear();
            search.set(view, agent, to);
            let gain = score - level + search.ascend(view, Some(agent));
            if gain > 1e-5 * (1.0 + score.abs()) {
                search.ascend_pairs(simd, view);
                since = 0;
                break;
            }
            search.take_back(view, 0);
        }
        agent = (agent + 1) % search.action.len();
    }
}
