//! Sequential conditional decoding: fix the agent with the largest margin, condition, repeat.

use super::kernel::{Chunk, LANES, larger};
use super::local_search::View;
use crate::argmax::argmax;

/// Buffers of the decoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditional {
    /// Belief of each agent, in which the messages of decided regions are replaced by payoffs.
    beliefs: Vec<Chunk<f32>>,
    decided: Vec<bool>,
    margins: Vec<f32>,
}

impl Conditional {
    /// Writes the joint action that the messages lead to when agents decide one after the other,
    /// after one that is told what to do.
    pub(crate) fn decode(
        &mut self,
        view: View,
        told: Option<(usize, usize)>,
        action: &mut Vec<usize>,
    ) {
        let layout = &view.messages.layout;
        let n = layout.n_agents();
        self.beliefs.clone_from(&view.messages.beliefs);
        self.decided.clear();
        self.decided.resize(n, false);
        self.margins.clear();
        self.margins.resize(n, 0.0);
        action.clear();
        action.resize(n, 0);
        for agent in 0..n {
            self.weigh(view, agent, action);
        }
        if let Some((agent, to)) = told {
            action[agent] = to;
            self.decided[agent] = true;
            self.tell_neighbours(view, agent, action);
        }
        for _ in usize::from(told.is_some())..n {
            let next =
                (0..n).filter(|&agent| !self.decided[agent]).fold(None, |best, agent| match best {
                    Some(b) if self.margins[agent] <= self.margins[b] => best,
                    _ => Some(agent),
                });
            let Some(next) = next else { return };
            self.decided[next] = true;
            self.tell_neighbours(view, next, action);
        }
    }

    /// The agent's best action and how far it is ahead of the second.
    fn weigh(&mut self, view: View, agent: usize, action: &mut [usize]) {
        let layout = &view.messages.layout;
        let n = layout.n_actions[agent];
        let rows = &self.beliefs[layout.agent(agent)];
        let beliefs = &rows.as_flattened()[..n];
        let best = argmax(beliefs);
        let mut second = [f32::NEG_INFINITY; LANES];
        for (index, row) in rows.iter().enumerate() {
            for lane in 0..LANES {
                let at = index * LANES + lane;
                let x = if at < n && at != best { row[lane] } else { f32::NEG_INFINITY };
                second[lane] = larger(x, second[lane]);
            }
        }
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                second[lane] = larger(second[lane], second[lane + half]);
            }
        }
        action[agent] = best;
        self.margins[agent] = beliefs[best] - second[0];
    }

    /// In every region where one agent is left to decide, its message gives way to the payoffs.
    fn tell_neighbours(&mut self, view: View, agent: usize, action: &mut [usize]) {
        let layout = &view.messages.layout;
        for seat in view.graph.seats_of(agent) {
            let places = layout.places(seat.region);
            let mut open = places.clone().filter(|&p| !self.decided[layout.members[p]]);
            let (Some(place), None) = (open.next(), open.next()) else { continue };
            let other = layout.members[place];
            let entry: usize = places
                .clone()
                .filter(|&p| p != place)
                .map(|p| action[layout.members[p]] * layout.strides[p])
                .sum();
            let table = view.messages.tables[layout.table(seat.region)].as_flattened();
            let start = layout.message_starts[seat.region] + layout.offsets[place];
            let message = view.messages.to_members[start..].as_flattened();
            let beliefs = self.beliefs[layout.agent(other)].as_flattened_mut();
            let payoffs = table[entry..].iter().step_by(layout.strides[place]);
            let n = layout.n_actions[other];
            for ((belief, &message), &payoff) in beliefs[..n].iter_mut().zip(message).zip(payoffs) {
                let message = if message == f32::NEG_INFINITY { 0.0 } else { message };
                *belief += payoff - message;
            }
            self.weigh(view, other, action);
        }
    }
}
