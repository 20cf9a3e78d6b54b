//! The default for acting: Max-Sum, decoded well.
//!
//! Keeps the best joint action by true value over (1) each round's agent-wise decode, (2) the
//! sequential conditional decode, (3) single and pair moves from both, (4) perturbations: an agent
//! is forced to an alternative, the others respond, the change stays if it gains. Never worse than
//! [`super::MaxSum`] on the same tables. Small problems (three or four agents with 25 actions) are
//! solved exactly instead.

use super::conditional_decoding::ConditionalDecoder;
use super::exact::enumeration::{Enumerate, Enumeration, is_enumerable};
use super::local_search::LocalSearch;
use super::message_passing::messages::Messages;
use super::padded_problem::{Assignment, PaddedProblem};
use super::{Coordination, Coordinator, FactorTables};
use crate::argmax::argmax;
use crate::graph::{CoordinationGraph, JointAction};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

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
    /// Alternatives to which each agent is forced, best first.
    pub perturbations: usize,
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
            perturbations: 2,
            warm_start: false,
        }
    }
}

/// Max-Sum with decoding by value; see the module.
#[derive(Clone, Debug, Default)]
pub struct Anytime {
    options: AnytimeOptions,
    messages: Messages,
    conditional: ConditionalDecoder,
    search: LocalSearch,
    enumeration: Enumeration,
    row: Vec<f32>,
    candidate: JointAction,
    /// The distinct decodes of the rounds, one joint action after the other, and their values.
    decodes: Vec<usize>,
    values: Vec<Decode>,
    /// Where searches started and ended, one joint action after the other.
    searched: Vec<usize>,
    restarts: Vec<Restart>,
}

/// What a decode is worth, and which one it is.
#[derive(Clone, Copy, Debug)]
struct Decode {
    value: f64,
    index: usize,
}

/// One agent off its favourite action, and what it believes to lose by that.
#[derive(Clone, Copy, Debug)]
struct Restart {
    regret: f32,
    first: Assignment,
}

impl Restart {
    /// The smallest regret first; then by agent and action.
    fn order(&self, other: &Self) -> Ordering {
        let key = |restart: &Self| (restart.first.agent, restart.first.action);
        self.regret.total_cmp(&other.regret).then(key(self).cmp(&key(other)))
    }
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
        if is_enumerable(graph, tables.n_actions()) {
            let enumeration = &mut self.enumeration;
            let iterations =
                pulp::Arch::new().dispatch(Enumerate { enumeration, graph, tables, action });
            let value = tables.value(graph, action);
            let upper_bound = value + self.enumeration.rounding();
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
        self.solver.messages.sum_beliefs();
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
            values.push(Decode { value, index: values.len() });
            decodes.extend_from_slice(candidate);
            self.keep_if_worth(value);
        }
    }

    /// Keeps the candidate if it is worth more.
    fn keep_better(&mut self) {
        self.keep_if_worth(self.tables.value(self.graph, &self.solver.candidate));
    }

    /// Keeps the candidate, which is worth this, if that is more than the best so far.
    fn keep_if_worth(&mut self, value: f64) {
        if value > self.value {
            self.value = value;
            self.action.clone_from(&self.solver.candidate);
        }
    }

    /// Local search from the best decodes and from the conditional decode, then perturbations.
    #[inline(always)]
    fn improve<S: pulp::Simd>(&mut self, simd: S) {
        let n = self.graph.n_agents();
        let starts = (self.solver.options.effort / self.graph.n_regions().max(1)).max(1);
        self.solver
            .values
            .sort_unstable_by(|x, y| y.value.total_cmp(&x.value).then(x.index.cmp(&y.index)));
        for start in 0..=starts.min(self.solver.values.len()) {
            let Anytime { messages, conditional, search, candidate, values, decodes, .. } =
                &mut *self.solver;
            let problem = PaddedProblem { graph: self.graph, messages };
            if start == 0 {
                search.fit(problem);
                conditional.fit(simd, problem);
                conditional.decode(simd, problem, None, candidate);
            } else {
                candidate.copy_from_slice(&decodes[values[start - 1].index * n..][..n]);
            }
            self.search(simd);
        }
        self.restart(simd);
        let Anytime { messages, search, candidate, options, .. } = &mut *self.solver;
        let problem = PaddedProblem { graph: self.graph, messages };
        if search.action != *self.action {
            search.start(simd, problem, self.action);
            search.settle();
        }
        if !problem.has_forbidden() && search.n_triangles() <= options.effort.max(2 * n) {
            search.ascend_triples(simd, problem);
        }
        search.perturb(simd, problem, options.perturbations);
        candidate.clone_from(&search.action);
        self.keep_better();
    }

    /// Conditional decodes in which one agent does not take its favourite action: the smallest
    /// losses of belief first.
    #[inline(always)]
    fn restart<S: pulp::Simd>(&mut self, simd: S) {
        let n_restarts = self.solver.options.restarts / self.graph.n_regions().max(1);
        if n_restarts == 0 {
            return;
        }
        self.rank_restarts(n_restarts);
        for index in 0..self.solver.restarts.len() {
            let Anytime { messages, conditional, candidate, restarts, .. } = &mut *self.solver;
            let problem = PaddedProblem { graph: self.graph, messages };
            conditional.decode(simd, problem, Some(restarts[index].first), candidate);
            self.search(simd);
        }
    }

    /// Lists the restarts that lose least.
    fn rank_restarts(&mut self, n_restarts: usize) {
        let Anytime { messages, row, restarts, .. } = &mut *self.solver;
        restarts.clear();
        for agent in 0..self.graph.n_agents() {
            messages.belief(agent, row);
            let best = argmax(row);
            let others = row.iter().enumerate().filter(|(action, _)| *action != best);
            restarts.extend(others.map(|(action, &belief)| Restart {
                regret: row[best] - belief,
                first: Assignment { agent, action },
            }));
        }
        if n_restarts < restarts.len() {
            restarts.select_nth_unstable_by(n_restarts, Restart::order);
            restarts.truncate(n_restarts);
        }
        restarts.sort_unstable_by(Restart::order);
    }

    /// Single and pair moves from the candidate; only once along each path.
    #[inline(always)]
    fn search<S: pulp::Simd>(&mut self, simd: S) {
        let Anytime { messages, search, candidate, searched, .. } = &mut *self.solver;
        if is_among(candidate, searched) {
            return;
        }
        let problem = PaddedProblem { graph: self.graph, messages };
        search.start(simd, problem, candidate);
        search.ascend(simd, problem, None);
        let known = is_among(&search.action, searched);
        searched.extend_from_slice(candidate);
        if known {
            return;
        }
        searched.extend_from_slice(&search.action);
        search.ascend_pairs(simd, problem);
        searched.extend_from_slice(&search.action);
        candidate.copy_from_slice(&search.action);
        self.keep_better();
    }
}

/// Whether a joint action is one of many that lie one after the other.
#[inline(always)]
fn is_among(action: &[usize], all: &[usize]) -> bool {
    all.chunks_exact(action.len().max(1)).any(|other| other == action)
}
