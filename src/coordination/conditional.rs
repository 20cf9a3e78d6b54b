//! Sequential conditional decoding: fix the agent with the largest margin, condition, repeat.

use super::kernel::{apart, first_largest, largest_but};
use super::messages::fill_padding;
use super::replies::exchange;
use super::rows::Rows;
use super::view::View;
use pulp::Simd;

/// Buffers of the decoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditional {
    /// What the messages say before anyone has decided.
    start: State,
    now: State,
    decided: Vec<bool>,
}

/// What the agents hold for best.
#[derive(Clone, Debug, Default)]
struct State {
    /// Belief of each agent, in which the messages of decided regions are replaced by payoffs.
    beliefs: Rows,
    /// Each agent's best action, and how far it is ahead of the second.
    action: Vec<usize>,
    margins: Vec<f32>,
}

impl Conditional {
    /// Takes the beliefs of the messages.
    #[inline(always)]
    pub(crate) fn fit<S: Simd>(&mut self, simd: S, view: View) {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                self.start.beliefs.copy_from(&view.messages.beliefs);
                self.start.action.resize(layout.n_agents(), 0);
                self.start.margins.resize(layout.n_agents(), 0.0);
                for agent in 0..layout.n_agents() {
                    let row = &mut self.start.beliefs[layout.agent(agent)];
                    fill_padding(row, layout.n_actions[agent], f32::NEG_INFINITY);
                    self.start.weigh(simd, view, agent);
                }
            },
        );
    }

    /// Writes the joint action that the messages lead to when agents decide one after the other,
    /// after one that is told what to do.
    #[inline(always)]
    pub(crate) fn decode<S: Simd>(
        &mut self,
        simd: S,
        view: View,
        told: Option<(usize, usize)>,
        action: &mut Vec<usize>,
    ) {
        apart(
            simd,
            #[inline(always)]
            || {
                let n = view.messages.layout.n_agents();
                self.now.beliefs.copy_from(&self.start.beliefs);
                self.now.action.clone_from(&self.start.action);
                self.now.margins.clone_from(&self.start.margins);
                self.decided.clear();
                self.decided.resize(n, false);
                if let Some((agent, to)) = told {
                    self.now.action[agent] = to;
                    self.decided[agent] = true;
                    self.tell_neighbours(simd, view, agent);
                }
                for _ in usize::from(told.is_some())..n {
                    let Some(next) = self.surest() else { break };
                    self.decided[next] = true;
                    self.tell_neighbours(simd, view, next);
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
    fn tell_neighbours<S: Simd>(&mut self, simd: S, view: View, agent: usize) {
        let layout = &view.messages.layout;
        for seat in view.graph.seats_of(agent) {
            let places = layout.places(seat.region);
            let mut open = places.clone().filter(|&p| !self.decided[layout.members[p]]);
            let (Some(place), None) = (open.next(), open.next()) else { continue };
            let other = layout.members[place];
            let start = layout.message_starts[seat.region] + layout.offsets[place];
            let message = &view.messages.to_members[start..];
            let beliefs = &mut self.now.beliefs[layout.agent(other)];
            if layout.is_pair(seat.region) && !view.messages.hard {
                let payoffs = view.given(seat.region, 1 - seat.slot, self.now.action[agent]);
                exchange(simd, beliefs, message, payoffs);
            } else {
                let entry: usize = places
                    .filter(|&p| p != place)
                    .map(|p| self.now.action[layout.members[p]] * layout.strides[p])
                    .sum();
                let table = view.messages.tables[layout.table(seat.region)].as_flattened();
                let payoffs = table[entry..].iter().step_by(layout.strides[place]);
                let beliefs = &mut beliefs.as_flattened_mut()[..layout.n_actions[other]];
                let messages = message.as_flattened();
                for ((belief, &message), &payoff) in beliefs.iter_mut().zip(messages).zip(payoffs) {
                    let message = if message == f32::NEG_INFINITY { 0.0 } else { message };
                    *belief += payoff - message;
                }
            }
            self.now.weigh(simd, view, other);
        }
    }
}

impl State {
    /// The agent's best action and how far it is ahead of the second.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, view: View, agent: usize) {
        let row = &self.beliefs[view.messages.layout.agent(agent)];
        let (best, belief) = first_largest(simd, row);
        self.action[agent] = best;
        self.margins[agent] = belief - largest_but(simd, row, best);
    }
}
