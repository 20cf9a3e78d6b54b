//! The default for acting: Max-Sum, decoded well.
//!
//! Keeps the best joint action by true value over (1) each round's agent-wise decode, (2) the
//! sequential conditional decode, (3) single and pair moves from both, (4) kicks: an agent is
//! forced to an alternative, the others reply, the change stays if it gains. Never worse than
//! [`super::MaxSum`] on the same tables. Small problems (three or four agents with 25 actions) are
//! solved exactly instead.

use super::conditional::Conditional;
use super::local_search::LocalSearch;
use super::messages::Messages;
use super::small::{Enumerate, Small, is_small};
use super::view::View;
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
    /// Decodes from which pair moves start: at least one, more while `starts · regions` is below
    /// `effort`.
    pub effort: usize,
    /// Restarts with one agent off its favourite action, times the number of regions.
    pub restarts: usize,
    /// Alternatives of each agent that are tried as kicks, best first.
    pub kicks: usize,
    /// Starts from the messages of the last call when the shape is the same.
    pub warm_start: bool,
}

impl Default for AnytimeOptions {
    fn default() -> Self {
        Self {
            msg_iterations: 10,
            damping: 0.3,
            effort: 15,
            restarts: 100,
            kicks: 2,
            warm_start: false,
        }
    }
}

/// Max-Sum with decoding by value; see the module.
#[derive(Clone, Debug, Default)]
pub struct Anytime {
    options: AnytimeOptions,
    messages: Messages,
    conditional: Conditional,
    search: LocalSearch,
    small: Small,
    row: Vec<f32>,
    candidate: JointAction,
    /// The distinct decodes of the rounds, one after the other, and their values.
    decodes: Vec<usize>,
    values: Vec<(f64, usize)>,
    /// Where searches started and ended, one joint action after the other.
    searched: Vec<usize>,
    alternatives: Vec<(f32, usize)>,
    /// Loss of belief, agent and action of the restarts.
    regrets: Vec<(f32, usize, usize)>,
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
        if is_small(graph, tables.n_actions()) {
            let small = &mut self.small;
            let iterations = pulp::Arch::new().dispatch(Enumerate { small, graph, tables, action });
            let value = tables.value(graph, action);
            let upper_bound = value + self.small.rounding();
            return Coordination { value, upper_bound, residual: 0.0, iterations, converged: true };
        }
        self.messages.load(graph, tables, self.options.warm_start, true);
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

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) -> (f64, f32) {
        self.action.clear();
        self.action.resize(self.graph.n_agents(), 0);
        self.value = self.tables.value(self.graph, self.action);
        self.solver.messages.gather();
        let mut residual = f32::INFINITY;
        self.solver.decodes.clear();
        self.solver.values.clear();
        self.solver.searched.clear();
        for _ in 0..self.solver.options.msg_iterations {
            residual = self.solver.messages.iterate(simd, self.tables, self.solver.options.damping);
            let Anytime { messages, row, candidate, .. } = &mut *self.solver;
            messages.decode(simd, row, candidate);
            self.remember();
        }
        self.improve(simd);
        (self.value, residual)
    }
}

impl Run<'_> {
    /// Notes the candidate among the decodes, unless it is there.
    fn remember(&mut self) {
        let Anytime { candidate, decodes, values, .. } = &mut *self.solver;
        if !candidate.is_empty() && !is_among(candidate, decodes) {
            let value = self.tables.value(self.graph, candidate);
            values.push((value, values.len()));
            decodes.extend_from_slice(candidate);
            self.keep(value);
        }
    }

    /// Keeps the candidate if it is worth more.
    fn offer(&mut self) {
        self.keep(self.tables.value(self.graph, &self.solver.candidate));
    }

    /// Keeps the candidate, which is worth this, if that is more.
    fn keep(&mut self, value: f64) {
        if value > self.value {
            self.value = value;
            self.action.clone_from(&self.solver.candidate);
        }
    }

    /// Local search from the best decodes and from the conditional decode, then kicks.
    #[inline(always)]
    fn improve<S: pulp::Simd>(&mut self, simd: S) {
        let n = self.graph.n_agents();
        let starts = (self.solver.options.effort / self.graph.n_regions().max(1)).max(1);
        self.solver.values.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        for start in 0..=starts.min(self.solver.values.len()) {
            let Anytime { messages, conditional, search, candidate, values, decodes, .. } =
                &mut *self.solver;
            let view = View { graph: self.graph, messages };
            if start == 0 {
                search.fit(view);
                conditional.fit(simd, view);
                conditional.decode(simd, view, None, candidate);
            } else {
                candidate.copy_from_slice(&decodes[values[start - 1].1 * n..][..n]);
            }
            self.search(simd);
        }
        self.restart(simd);
        let Anytime { messages, search, candidate, alternatives, options, .. } = &mut *self.solver;
        let view = View { graph: self.graph, messages };
        if search.action != *self.action {
            search.start(simd, view, self.action);
            search.settle();
        }
        if !view.messages.hard && search.triangles.len() <= options.effort.max(2 * n) {
            search.ascend_triples(simd, view);
        }
        kick(simd, view, search, alternatives, options.kicks);
        candidate.clone_from(&search.action);
        self.offer();
    }
}

impl Run<'_> {
    /// Conditional decodes in which one agent does not take its favourite action: the smallest
    /// losses of belief first.
    #[inline(always)]
    fn restart<S: pulp::Simd>(&mut self, simd: S) {
        let restarts = self.solver.options.restarts / self.graph.n_regions().max(1);
        if restarts == 0 {
            return;
        }
        let Anytime { messages, row, regrets, .. } = &mut *self.solver;
        regrets.clear();
        for agent in 0..self.graph.n_agents() {
            messages.belief(agent, row);
            let best = crate::argmax::argmax(row);
            let others = row.iter().enumerate().filter(|(a, _)| *a != best);
            regrets.extend(others.map(|(a, &x)| (row[best] - x, agent, a)));
        }
        let order = |x: &(f32, usize, usize), y: &(f32, usize, usize)| {
            x.0.total_cmp(&y.0).then((x.1, x.2).cmp(&(y.1, y.2)))
        };
        if restarts < regrets.len() {
            regrets.select_nth_unstable_by(restarts, order);
            regrets.truncate(restarts);
        }
        regrets.sort_unstable_by(order);
        for index in 0..self.solver.regrets.len() {
            let Anytime { messages, conditional, candidate, regrets, .. } = &mut *self.solver;
            let view = View { graph: self.graph, messages };
            let told = Some((regrets[index].1, regrets[index].2));
            conditional.decode(simd, view, told, candidate);
            self.search(simd);
        }
    }

    /// Single and pair moves from the candidate; only once along each path.
    #[inline(always)]
    fn search<S: pulp::Simd>(&mut self, simd: S) {
        let Anytime { messages, search, candidate, searched, .. } = &mut *self.solver;
        if is_among(candidate, searched) {
            return;
        }
        let view = View { graph: self.graph, messages };
        search.start(simd, view, candidate);
        search.ascend(simd, view, None);
        let known = is_among(&search.action, searched);
        searched.extend_from_slice(candidate);
        if known {
            return;
        }
        searched.extend_from_slice(&search.action);
        search.ascend_pairs(simd, view);
        searched.extend_from_slice(&search.action);
        candidate.copy_from_slice(&search.action);
        self.offer();
    }
}

/// Whether a joint action is one of many that lie one after the other.
#[inline(always)]
fn is_among(action: &[usize], all: &[usize]) -> bool {
    all.chunks_exact(action.len().max(1)).any(|other| other == action)
}

/// Forces each agent to each of its best alternatives until none gains.
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
        since += 1;
        for _ in 0..kicks {
            let Some((score, to)) = take_best(alternatives) else { break };
            search.undo.clear();
            search.set(simd, view, agent, to);
            let gain = score - level + search.ascend(simd, view, Some(agent));
            if gain > 1e-5 * (1.0 + score.abs()) {
                search.ascend_pairs(simd, view);
                since = 0;
                break;
            }
            search.take_back(simd, view);
        }
        agent = (agent + 1) % search.action.len();
    }
}

/// Takes out the first of the best alternatives.
fn take_best(alternatives: &mut Vec<(f32, usize)>) -> Option<(f32, usize)> {
    let order = |x: &(f32, usize), y: &(f32, usize)| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1));
    let places = 0..alternatives.len();
    let best = places.max_by(|&x, &y| order(&alternatives[x], &alternatives[y]))?;
    Some(alternatives.swap_remove(best))
}
