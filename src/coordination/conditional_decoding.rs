//! Sequential conditional decoding: fix the agent with the largest margin, condition, repeat.

use super::message_passing::kernel::{first_largest, largest_but, outlined};

use super::message_passing::padded_rows::PaddedRows;
use super::message_passing::row_arithmetic::{exchange, fill_padding};
use super::padded_problem::{Assignment, PaddedProblem};
use pulp::Simd;

/// Buffers of the decoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionalDecoder {
    /// What the messages say before anyone has decided.
    start: State,
    now: State,
    decided: Vec<bool>,
}

/// What the agents believe to be best.
#[derive(Clone, Debug, Default)]
struct State {
    /// Belief of each agent, in which the messages of decided regions are replaced by payoffs.
    beliefs: PaddedRows,
    /// Each agent's best action, and how far it is ahead of the second.
    action: Vec<usize>,
    margins: Vec<f32>,
}

impl ConditionalDecoder {
    /// Takes the beliefs of the messages.
    #[inline(always)]
    pub(crate) fn fit<S: Simd>(&mut self, simd: S, problem: PaddedProblem) {
        outlined(
            simd,
            #[inline(always)]
            || {
                let layout = problem.layout();
                self.start.beliefs.copy_from(&problem.messages.beliefs);
                self.start.action.resize(layout.n_agents(), 0);
                self.start.margins.resize(layout.n_agents(), 0.0);
                for agent in 0..layout.n_agents() {
                    let row = &mut self.start.beliefs[layout.agent(agent)];
                    fill_padding(row, layout.n_actions[agent], f32::NEG_INFINITY);
                    self.start.update_best(simd, problem, agent);
                }
            },
        );
    }

    /// Writes the joint action that the messages lead to when agents decide one after the other,
    /// beginning with one whose action is given.
    #[inline(always)]
    pub(crate) fn decode<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        first: Option<Assignment>,
        action: &mut Vec<usize>,
    ) {
        outlined(
            simd,
            #[inline(always)]
            || {
                let n = problem.layout().n_agents();
                self.now.beliefs.copy_from(&self.start.beliefs);
                self.now.action.clone_from(&self.start.action);
                self.now.margins.clone_from(&self.start.margins);
                self.decided.clear();
                self.decided.resize(n, false);
                if let Some(Assignment { agent, action }) = first {
                    self.now.action[agent] = action;
                    self.decided[agent] = true;
                    self.condition_neighbours(simd, problem, agent);
                }
                for _ in usize::from(first.is_some())..n {
                    let Some(next) = self.surest() else { break };
                    self.decided[next] = true;
                    self.condition_neighbours(simd, problem, next);
                }
                action.clone_from(&self.now.action);
            },
        );
    }

    /// The first undecided agent with the largest margin.
    #[inline(always)]
    fn surest(&self) -> Option<usize> {
        let open = (0..self.decided.len()).filter(|&agent| !self.decided[agent]);
        open.fold(None, |best, agent| match best {
            Some(b) if self.now.margins[agent] <= self.now.margins[b] => best,
            _ => Some(agent),
        })
    }

    /// In every region where one agent is left to decide, its message gives way to the payoffs.
    #[inline(always)]
    fn condition_neighbours<S: Simd>(&mut self, simd: S, problem: PaddedProblem, agent: usize) {
        let layout = problem.layout();
        for membership in problem.graph.memberships_of(agent) {
            let places = layout.places(membership.region);
            let mut open = places.clone().filter(|&p| !self.decided[layout.members[p]]);
            let (Some(place), None) = (open.next(), open.next()) else { continue };
            let other = layout.members[place];
            let start = layout.message_starts[membership.region] + layout.offsets[place];
            let message = &problem.messages.to_agents[start..];
            let beliefs = &mut self.now.beliefs[layout.agent(other)];
            if layout.is_pair(membership.region) && !problem.has_forbidden() {
                let payoffs = problem.payoffs_given(
                    membership.region,
                    1 - membership.slot,
                    self.now.action[agent],
                );
                exchange(simd, beliefs, message, payoffs);
            } else {
                let entry: usize = places
                    .filter(|&p| p != place)
                    .map(|p| self.now.action[layout.members[p]] * layout.strides[p])
                    .sum();
                let table = problem.table(membership.region).as_flattened();
                let payoffs = table[entry..].iter().step_by(layout.strides[place]);
                let beliefs = &mut beliefs.as_flattened_mut()[..layout.n_actions[other]];
                let messages = message.as_flattened();
                for ((belief, &message), &payoff) in beliefs.iter_mut().zip(messages).zip(payoffs) {
                    let message = if message == f32::NEG_INFINITY { 0.0 } else { message };
                    *belief += payoff - message;
                }
            }
            self.now.update_best(simd, problem, other);
        }
    }
}

impl State {
    /// The agent's best action and how far it is ahead of the second.
    #[inline(always)]
    fn update_best<S: Simd>(&mut self, simd: S, problem: PaddedProblem, agent: usize) {
        let row = &self.beliefs[problem.layout().agent(agent)];
        let (best, belief) = first_largest(simd, row);
        self.action[agent] = best;
        self.margins[agent] = belief - largest_but(simd, row, best);
    }
}
