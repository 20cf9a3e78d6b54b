//! The problem as the decoder and the search see it: padded tables, by rows and by columns.

use super::kernel::{Chunk, LANES};
use super::messages::Messages;
use crate::graph::CoordinationGraph;

/// A graph and the payoffs that its messages were loaded with.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub graph: &'a CoordinationGraph,
    pub messages: &'a Messages,
}

impl<'a> View<'a> {
    #[inline(always)]
    pub(crate) fn table(&self, region: usize) -> &'a [f32] {
        self.messages.tables[self.messages.layout.table(region)].as_flattened()
    }

    /// The payoffs of one member of a pair, given what the other does, as a padded row.
    #[inline(always)]
    pub(crate) fn given(&self, pair: usize, slot: usize, other: usize) -> &'a [Chunk<f32>] {
        let layout = &self.messages.layout;
        let width = layout.member_actions[layout.region_places[pair] + slot].div_ceil(LANES);
        if slot == 0 {
            &self.messages.turned[layout.turned_starts[pair] + other * width..][..width]
        } else {
            &self.messages.tables[layout.table_starts[pair] + other * width..][..width]
        }
    }
}
