//! What the decoder and the local search work on: a graph with its padded tables and messages.

use super::message_passing::kernel::{Chunk, LANES};
use super::message_passing::message_layout::MessageLayout;
use super::message_passing::messages::Messages;
use crate::graph::CoordinationGraph;

/// A graph and the messages that were loaded with its payoffs.
#[derive(Clone, Copy)]
pub(crate) struct PaddedProblem<'a> {
    pub graph: &'a CoordinationGraph,
    pub messages: &'a Messages,
}

/// What one agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub agent: usize,
    pub action: usize,
}

/// A region of two agents and the chunks of their rows.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub region: usize,
    pub first: usize,
    pub second: usize,
    pub first_width: usize,
    pub second_width: usize,
}

impl<'a> PaddedProblem<'a> {
    #[inline(always)]
    pub(crate) fn layout(&self) -> &'a MessageLayout {
        &self.messages.layout
    }

    /// Whether some payoff is minus infinity.
    #[inline(always)]
    pub(crate) fn has_forbidden(&self) -> bool {
        self.messages.has_forbidden
    }

    /// The padded table of a region.
    #[inline(always)]
    pub(crate) fn table(&self, region: usize) -> &'a [Chunk<f32>] {
        &self.messages.tables[self.layout().table(region)]
    }

    /// A region that joins two agents.
    #[inline(always)]
    pub(crate) fn pair(&self, region: usize) -> Pair {
        let layout = self.layout();
        let place = layout.region_places[region];
        let (first, second) = (layout.members[place], layout.members[place + 1]);
        let (first_width, second_width) = (layout.agent(first).len(), layout.agent(second).len());
        Pair { region, first, second, first_width, second_width }
    }

    /// The payoffs of one member of a pair, given the other's action, as a padded row.
    #[inline(always)]
    pub(crate) fn payoffs_given(
        &self,
        pair: usize,
        slot: usize,
        other_action: usize,
    ) -> &'a [Chunk<f32>] {
        let layout = self.layout();
        let width = layout.member_actions[layout.region_places[pair] + slot].div_ceil(LANES);
        let offset = other_action * width;
        if slot == 0 {
            &self.messages.transposed[layout.transposed_starts[pair] + offset..][..width]
        } else {
            &self.messages.tables[layout.table_starts[pair] + offset..][..width]
        }
    }
}
