//! Where the padded rows of a factor graph lie in flat buffers.

use super::kernel::{Chunk, LANES, chunks_of};
use super::padded_rows::PaddedRows;
use crate::coordination::FactorTables;
use crate::graph::CoordinationGraph;

/// Positions, in chunks, of every agent's row, every region's table and every message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MessageLayout {
    /// Actions of each agent.
    pub n_actions: Vec<usize>,
    /// First chunk of each agent's row, and the end.
    pub agent_starts: Vec<usize>,
    /// First chunk of each region's table, and the end.
    pub table_starts: Vec<usize>,
    /// First chunk of each pair's transposed table, and the end; other regions have none.
    pub transposed_starts: Vec<usize>,
    /// First place of each region, and the end; places number the slots of all regions in order.
    pub region_places: Vec<usize>,
    /// Agent of each place.
    pub members: Vec<usize>,
    /// Actions of the agent of each place.
    pub member_actions: Vec<usize>,
    /// First chunk of the message to each place, counted from the region's first message.
    pub offsets: Vec<usize>,
    /// Distance, in numbers, between neighbouring actions of each place in its padded table.
    pub strides: Vec<usize>,
    /// First chunk of each region's messages, and the end.
    pub message_starts: Vec<usize>,
}

impl MessageLayout {
    /// Takes the shape of a graph; allocates nothing once its buffers are large enough.
    pub(crate) fn fit(&mut self, graph: &CoordinationGraph, n_actions: &[usize]) {
        for starts in [
            &mut self.agent_starts,
            &mut self.table_starts,
            &mut self.transposed_starts,
            &mut self.message_starts,
        ] {
            starts.clear();
            starts.push(0);
        }
        for buffer in [
            &mut self.region_places,
            &mut self.members,
            &mut self.member_actions,
            &mut self.offsets,
            &mut self.strides,
            &mut self.n_actions,
        ] {
            buffer.clear();
        }
        self.region_places.push(0);
        self.n_actions.extend_from_slice(n_actions);
        let mut end = 0;
        self.agent_starts.extend(n_actions.iter().map(|&n| {
            end += chunks_of(n);
            end
        }));
        for members in graph.regions() {
            self.push_region(members);
        }
    }

    /// Whether this is the shape of a graph.
    pub(crate) fn is_of(&self, graph: &CoordinationGraph, n_actions: &[usize]) -> bool {
        self.n_actions == n_actions && graph.has_regions(&self.members, &self.region_places)
    }

    /// Whether every region is a pair whose rows fill a chunk.
    pub(crate) fn has_long_pairs_only(&self) -> bool {
        self.members.len() == 2 * self.n_regions()
            && self.n_actions.iter().all(|&n| n >= LANES)
            && self.region_places.windows(2).all(|w| w[1] - w[0] == 2)
    }

    /// Becomes equal to another layout; allocates nothing once its buffers are large enough.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.n_actions.clone_from(&other.n_actions);
        self.agent_starts.clone_from(&other.agent_starts);
        self.table_starts.clone_from(&other.table_starts);
        self.transposed_starts.clone_from(&other.transposed_starts);
        self.region_places.clone_from(&other.region_places);
        self.members.clone_from(&other.members);
        self.member_actions.clone_from(&other.member_actions);
        self.offsets.clone_from(&other.offsets);
        self.strides.clone_from(&other.strides);
        self.message_starts.clone_from(&other.message_starts);
    }

    fn push_region(&mut self, members: &[usize]) {
        let mut offset = 0;
        let mut rows = 1;
        for (slot, &agent) in members.iter().enumerate() {
            let n = self.n_actions[agent];
            self.members.push(agent);
            self.member_actions.push(n);
            self.offsets.push(offset);
            offset += chunks_of(n);
            rows *= if slot + 1 == members.len() { chunks_of(n) } else { n };
        }
        self.push_strides(members);
        self.region_places.push(self.members.len());
        self.message_starts.push(self.message_starts[self.message_starts.len() - 1] + offset);
        self.table_starts.push(self.table_starts[self.table_starts.len() - 1] + rows);
        let transposed = match *members {
            [first, second] => self.n_actions[second] * chunks_of(self.n_actions[first]),
            _ => 0,
        };
        self.transposed_starts
            .push(self.transposed_starts[self.transposed_starts.len() - 1] + transposed);
    }

    fn push_strides(&mut self, members: &[usize]) {
        let start = self.strides.len();
        self.strides.resize(start + members.len(), 1);
        for slot in (0..members.len().saturating_sub(1)).rev() {
            let n = self.n_actions[members[slot + 1]];
            let last = slot + 2 == members.len();
            let rows = if last { chunks_of(n) * LANES } else { n };
            self.strides[start + slot] = self.strides[start + slot + 1] * rows;
        }
    }

    pub(crate) fn n_agents(&self) -> usize {
        self.n_actions.len()
    }

    pub(crate) fn n_regions(&self) -> usize {
        self.region_places.len() - 1
    }

    /// The places of one region.
    #[inline]
    pub(crate) fn places(&self, region: usize) -> std::ops::Range<usize> {
        self.region_places[region]..self.region_places[region + 1]
    }

    /// The chunks of one region's table.
    #[inline]
    pub(crate) fn table(&self, region: usize) -> std::ops::Range<usize> {
        self.table_starts[region]..self.table_starts[region + 1]
    }

    /// The chunks of one agent's row.
    #[inline]
    pub(crate) fn agent(&self, agent: usize) -> std::ops::Range<usize> {
        self.agent_starts[agent]..self.agent_starts[agent + 1]
    }

    /// The chunks of one region's messages.
    #[inline]
    pub(crate) fn messages(&self, region: usize) -> std::ops::Range<usize> {
        self.message_starts[region]..self.message_starts[region + 1]
    }

    /// Whether a region joins two agents.
    #[inline]
    pub(crate) fn is_pair(&self, region: usize) -> bool {
        self.region_places[region + 1] - self.region_places[region] == 2
    }

    /// Chunks of the widest agent's row.
    pub(crate) fn widest_agent(&self) -> usize {
        self.n_actions.iter().map(|&n| chunks_of(n)).max().unwrap_or(0)
    }

    /// Chunks of the widest region's messages.
    pub(crate) fn widest_region(&self) -> usize {
        self.message_starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }

    /// Copies utilities into rows padded with minus infinity.
    pub(crate) fn load_agents(&self, tables: &FactorTables, padded: &mut PaddedRows) {
        fit(padded, self.agent_starts[self.n_agents()]);
        for agent in 0..self.n_agents() {
            let row = tables.agent(agent);
            pad(row, row.len(), f32::NEG_INFINITY, &mut padded[self.agent(agent)]);
        }
    }

    /// Copies tables into padded rows.
    pub(crate) fn load_regions(&self, tables: &FactorTables, padded: &mut PaddedRows) {
        fit(padded, self.table_starts[self.n_regions()]);
        let padded = &mut **padded;
        for region in 0..self.n_regions() {
            let width = self.member_actions[self.region_places[region + 1] - 1];
            pad(tables.region(region), width, 0.0, &mut padded[self.table(region)]);
        }
    }

    /// Copies the tables of pairs into padded columns.
    pub(crate) fn load_transposed(&self, tables: &FactorTables, padded: &mut PaddedRows) {
        fit(padded, self.transposed_starts[self.n_regions()]);
        let padded = &mut **padded;
        for region in (0..self.n_regions()).filter(|&region| self.is_pair(region)) {
            let n = self.member_actions[self.region_places[region] + 1];
            let columns =
                &mut padded[self.transposed_starts[region]..self.transposed_starts[region + 1]];
            transpose(tables.region(region), n, columns);
        }
    }
}

fn fit(rows: &mut PaddedRows, n_chunks: usize) {
    if rows.len() != n_chunks {
        rows.fit(n_chunks, 0.0);
    }
}

/// Numbers that are transposed together, four rows at a time.
const BLOCK: usize = 4;

/// Copies the columns of rows of `n` numbers into whole chunks; the rest of them is 0.
fn transpose(from: &[f32], n: usize, to: &mut [Chunk<f32>]) {
    let (n_rows, stride) = (from.len() / n, to.len() / n * LANES);
    let to = to.as_flattened_mut();
    if n.min(n_rows) < BLOCK {
        for (entry, &x) in from.iter().enumerate() {
            to[entry % n * stride + entry / n] = x;
        }
        return;
    }
    // The last blocks overlap the ones before them.
    let starts = |n: usize| (0..n).step_by(BLOCK).map(move |at| at.min(n - BLOCK));
    for a in starts(n_rows) {
        let rows: [&[f32]; BLOCK] = std::array::from_fn(|row| &from[(a + row) * n..][..n]);
        for b in starts(n) {
            let mut block = [[0.0; BLOCK]; BLOCK];
            for (line, row) in block.iter_mut().zip(rows) {
                line.copy_from_slice(&row[b..b + BLOCK]);
            }
            let [first, second, third, fourth] = block;
            for column in 0..BLOCK {
                let line = [first[column], second[column], third[column], fourth[column]];
                to[(b + column) * stride + a..][..BLOCK].copy_from_slice(&line);
            }
        }
    }
}

/// Copies rows of `width` numbers into whole chunks.
fn pad(from: &[f32], width: usize, fill: f32, to: &mut [Chunk<f32>]) {
    let rows = from.chunks_exact(width).zip(to.chunks_exact_mut(chunks_of(width)));
    for (row, padded) in rows {
        let (whole, rest) = row.as_chunks::<LANES>();
        padded[..whole.len()].copy_from_slice(whole);
        if let Some(last) = padded.get_mut(whole.len()) {
            // Lane by lane, unlike a copy of unknown length.
            *last = std::array::from_fn(|lane| rest.get(lane).copied().unwrap_or(fill));
        }
    }
}
