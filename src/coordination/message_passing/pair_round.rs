//! One round of messages among pairs with long rows and nothing forbidden, straight from the tables.
//!
//! Where memory, not arithmetic, is the limit (thousands of agents), what the next pairs need is
//! asked for while the present one is computed.

use super::kernel::{Chunk, LANES, chunks_of, outlined, row_max};
use super::message_layout::MessageLayout;
use super::messages::{FORBIDDEN, Messages};
use super::pair_kernel::{fetch, lanes, overrun, pair_in_place, pair_in_registers};
use super::row_arithmetic::fill_padding;
use crate::coordination::FactorTables;
use pulp::Simd;
use std::ops::Range;

/// How many pairs ahead beliefs are asked for.
const PAIRS_AHEAD: usize = 2;

/// All bits set for a chunk, then none: windows of it keep the first numbers of a row.
const KEEP: [f32; 2 * LANES] = {
    let mut keep = [0.0; 2 * LANES];
    let mut lane = 0;
    while lane < LANES {
        keep[lane] = f32::from_bits(u32::MAX);
        lane += 1;
    }
    keep
};

/// How a fresh message is averaged with the old one.
struct Damping<S: Simd> {
    keep: S::f32s,
    take: S::f32s,
    /// The largest change of each lane so far.
    change: S::f32s,
}

/// One pair: its members' chunks and numbers of actions, and its first message chunk.
struct Pair {
    region: usize,
    rows: [Range<usize>; 2],
    n_actions: [usize; 2],
    start: usize,
}

/// What one round reads and writes.
struct Round<'a> {
    layout: &'a MessageLayout,
    tables: &'a FactorTables,
    last_table: &'a [f32],
    beliefs: &'a [Chunk<f32>],
    next: &'a mut [Chunk<f32>],
    to_agents: &'a mut [Chunk<f32>],
    incoming: &'a mut [Chunk<f32>],
    fresh: &'a mut [Chunk<f32>],
}

impl Messages {
    /// Copies the last table, so that its last row may be read beyond its end.
    pub(super) fn load_last_table(&mut self, tables: &FactorTables) {
        self.last_table.clear();
        if let Some(last) = self.layout.n_regions().checked_sub(1) {
            self.last_table.extend_from_slice(tables.region(last));
            let n = self.layout.member_actions[self.layout.region_places[last] + 1];
            let behind = overrun(n, chunks_of(n) * LANES);
            self.last_table.resize(self.last_table.len() + behind, 0.0);
        }
    }

    /// [`Self::iterate`] for pairs with long rows and nothing forbidden.
    #[inline(always)]
    pub(super) fn iterate_pairs<S: Simd>(
        &mut self,
        simd: S,
        tables: &FactorTables,
        damping: f32,
    ) -> f32 {
        outlined(
            simd,
            #[inline(always)]
            || {
                self.next.copy_from_slice(&self.utilities);
                let mut round = Round {
                    layout: &self.layout,
                    tables,
                    last_table: &self.last_table,
                    beliefs: &self.beliefs,
                    next: &mut self.next,
                    to_agents: &mut self.to_agents,
                    incoming: &mut self.incoming,
                    fresh: &mut self.fresh,
                };
                let change = round.run(simd, damping);
                std::mem::swap(&mut self.beliefs, &mut self.next);
                change
            },
        )
    }
}

impl Round<'_> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, simd: S, damping: f32) -> f32 {
        let (keep, take) = (simd.splat_f32s(damping), simd.splat_f32s(1.0 - damping));
        let mut damping = Damping::<S> { keep, take, change: simd.splat_f32s(0.0) };
        let n_regions = self.layout.n_regions();
        for region in 0..n_regions {
            if region + PAIRS_AHEAD < n_regions {
                self.fetch_beliefs(simd, region + PAIRS_AHEAD);
            }
            let pair = self.pair(region);
            let per_chunk = LANES / lanes::<S>();
            match [pair.rows[0].len() * per_chunk, pair.rows[1].len() * per_chunk] {
                [2, 2] => self.update_pair::<S, 2>(simd, &pair, &mut damping),
                [4, 4] => self.update_pair::<S, 4>(simd, &pair, &mut damping),
                _ => self.update_pair_of_any_width(simd, &pair, &mut damping),
            }
        }
        simd.reduce_max_f32s(damping.change)
    }

    #[inline(always)]
    fn pair(&self, region: usize) -> Pair {
        let place = self.layout.region_places[region];
        let (first, second) = (self.layout.members[place], self.layout.members[place + 1]);
        Pair {
            region,
            rows: [self.layout.agent(first), self.layout.agent(second)],
            n_actions: [self.layout.n_actions[first], self.layout.n_actions[second]],
            start: self.layout.message_starts[region],
        }
    }

    /// Asks for the rows of a coming pair; its table and messages lie in the order of use.
    #[inline(always)]
    fn fetch_beliefs<S: Simd>(&self, simd: S, region: usize) {
        for row in self.pair(region).rows {
            for chunk in row {
                fetch(simd, self.beliefs[chunk].as_ptr(), 0);
                fetch(simd, self.next[chunk].as_ptr(), 0);
            }
        }
    }

    /// Both messages of a pair whose rows fill `W` registers.
    #[inline(always)]
    fn update_pair<S: Simd, const W: usize>(
        &mut self,
        simd: S,
        pair: &Pair,
        damping: &mut Damping<S>,
    ) {
        let [first, second] = pair.rows.clone();
        let [n_first, n_second] = pair.n_actions;
        let middle = first.len();
        let (own, other) = self.to_agents[pair.start..].split_at_mut(middle);
        let other = &mut other[..middle];
        let from_first = without_own::<S, W>(simd, &self.beliefs[first.clone()], own);
        registers_mut::<S, W>(self.incoming).copy_from_slice(&from_first);
        let from_second = without_own::<S, W>(simd, &self.beliefs[second.clone()], other);
        let is_last = pair.region + 1 == self.layout.n_regions();
        let table = if is_last { self.last_table } else { self.tables.regions_from(pair.region) };
        let columns = pair_in_registers::<S, W>(
            simd,
            table,
            n_first,
            n_second,
            &self.incoming[..middle],
            from_second,
            &mut self.fresh[..middle],
        );
        let rows = *registers_mut::<S, W>(self.fresh);
        damping.update::<W>(simd, rows, n_first, own, &mut self.next[first]);
        damping.update::<W>(simd, columns, n_second, other, &mut self.next[second]);
    }

    /// Both messages of a pair with rows of any length.
    #[inline(always)]
    fn update_pair_of_any_width<S: Simd>(
        &mut self,
        simd: S,
        pair: &Pair,
        damping: &mut Damping<S>,
    ) {
        let [first, second] = pair.rows.clone();
        let [n_first, n_second] = pair.n_actions;
        let middle = first.len();
        let (own, other) = self.to_agents[pair.start..].split_at_mut(middle);
        let other = &mut other[..second.len()];
        let (from_first, from_second) = self.incoming.split_at_mut(middle);
        subtract(simd, &self.beliefs[first.clone()], own, from_first);
        subtract(simd, &self.beliefs[second.clone()], other, from_second);
        let (to_first, to_second) = self.fresh.split_at_mut(middle);
        pair_in_place(
            simd,
            self.tables.region(pair.region),
            &from_first.as_flattened()[..n_first],
            &from_second.as_flattened()[..n_second],
            to_first.as_flattened_mut(),
            &mut to_second.as_flattened_mut()[..n_second],
        );
        damping.update_any_width(simd, n_first, &to_first[..middle], own, &mut self.next[first]);
        // What an earlier region with longer rows may have left behind.
        fill_padding(&mut to_second[..second.len()], n_second, FORBIDDEN);
        let fresh = &to_second[..second.len()];
        damping.update_any_width(simd, n_second, fresh, other, &mut self.next[second]);
    }
}

impl<S: Simd> Damping<S> {
    /// `message = (1-d)·(fresh - largest) + d·message` for `n` actions, which is then added to the next
    /// beliefs; the padding of the message stays 0.
    #[inline(always)]
    fn update<const W: usize>(
        &mut self,
        simd: S,
        fresh: [S::f32s; W],
        n: usize,
        message: &mut [Chunk<f32>],
        next: &mut [Chunk<f32>],
    ) {
        let valid = valid::<S, W>(n);
        let mut best = fresh[0];
        for w in 0..W {
            let padding = simd.and_f32s(simd.splat_f32s(FORBIDDEN), simd.not_f32s(valid[w]));
            let fresh = simd.or_f32s(simd.and_f32s(fresh[w], valid[w]), padding);
            best = if w == 0 { fresh } else { simd.max_f32s(fresh, best) };
        }
        let largest = simd.splat_f32s(simd.reduce_max_f32s(best));
        let (message, next) = (registers_mut::<S, W>(message), registers_mut::<S, W>(next));
        for w in 0..W {
            let fresh = simd.sub_f32s(fresh[w], largest);
            self.damp(simd, fresh, valid[w], &mut message[w], &mut next[w]);
        }
    }

    /// [`Self::update`] for rows of any length.
    #[inline(always)]
    fn update_any_width(
        &mut self,
        simd: S,
        n: usize,
        fresh: &[Chunk<f32>],
        message: &mut [Chunk<f32>],
        next: &mut [Chunk<f32>],
    ) {
        let largest = simd.splat_f32s(row_max(simd, fresh));
        let rows = fresh.iter().zip(message).zip(next);
        for (index, ((fresh, message), next)) in rows.enumerate() {
            let valid = keep_mask(n.saturating_sub(index * LANES));
            let fresh = S::as_simd_f32s(fresh).0.iter().zip(S::as_simd_f32s(valid).0);
            let rows = fresh.zip(S::as_mut_simd_f32s(message).0);
            for (((&fresh, &valid), old), next) in rows.zip(S::as_mut_simd_f32s(next).0) {
                self.damp(simd, simd.sub_f32s(fresh, largest), valid, old, next);
            }
        }
    }

    #[inline(always)]
    fn damp(
        &mut self,
        simd: S,
        fresh: S::f32s,
        valid: S::f32s,
        old: &mut S::f32s,
        next: &mut S::f32s,
    ) {
        let taken = simd.mul_f32s(self.take, fresh);
        let new = simd.add_f32s(taken, simd.mul_f32s(self.keep, *old));
        let new = simd.and_f32s(new, valid);
        self.change = simd.max_f32s(simd.abs_f32s(simd.sub_f32s(new, *old)), self.change);
        *old = new;
        *next = simd.add_f32s(*next, new);
    }
}

/// A member's message to the pair: its belief without the pair's own message.
#[inline(always)]
fn without_own<S: Simd, const W: usize>(
    simd: S,
    beliefs: &[Chunk<f32>],
    own: &[Chunk<f32>],
) -> [S::f32s; W] {
    let beliefs = S::as_simd_f32s(beliefs.as_flattened()).0;
    let own = S::as_simd_f32s(own.as_flattened()).0;
    std::array::from_fn(
        #[inline(always)]
        |w| simd.sub_f32s(beliefs[w], own[w]),
    )
}

/// The first `W` registers of a row.
#[inline(always)]
fn registers_mut<S: Simd, const W: usize>(row: &mut [Chunk<f32>]) -> &mut [S::f32s; W] {
    let registers = S::as_mut_simd_f32s(row.as_flattened_mut()).0;
    registers.first_chunk_mut().expect("a row of that width")
}

/// All bits set for the first `n` numbers of a chunk.
#[inline(always)]
fn keep_mask(n: usize) -> &'static [f32] {
    let start = LANES - n.min(LANES);
    &KEEP[start..start + LANES]
}

/// All bits set where one of `n` actions lies in a row of `W` registers.
#[inline(always)]
fn valid<S: Simd, const W: usize>(n: usize) -> [S::f32s; W] {
    std::array::from_fn(
        #[inline(always)]
        |w| {
            let left = n.saturating_sub(w * lanes::<S>()).min(lanes::<S>());
            S::as_simd_f32s(&KEEP[LANES - left..LANES - left + lanes::<S>()]).0[0]
        },
    )
}

/// `to = x - y`.
#[inline(always)]
fn subtract<S: Simd>(simd: S, x: &[Chunk<f32>], y: &[Chunk<f32>], to: &mut [Chunk<f32>]) {
    let to = S::as_mut_simd_f32s(to.as_flattened_mut()).0;
    let x = S::as_simd_f32s(x.as_flattened()).0;
    for ((to, &x), &y) in to.iter_mut().zip(x).zip(S::as_simd_f32s(y.as_flattened()).0) {
        *to = simd.sub_f32s(x, y);
    }
}
