//! The inner loops of message passing, on rows padded to whole chunks.
//!
//! `to_slot(a) = max over the others of [table + sum of what the others heard]`, for every slot of
//! a region in one pass over its table. Written on fixed-size chunks so that the compiler uses the
//! widest instructions of the context it is inlined into ([`pulp::Arch::dispatch`]); lane by lane
//! the operations are the same everywhere, so every machine computes the same bits.
#![expect(clippy::inline_always, reason = "the caller's instruction set must reach these loops")]

use std::ops::{Add, Mul, Sub};

/// Numbers that are processed together.
pub(crate) const LANES: usize = 8;

/// One padded piece of a row.
pub(crate) type Chunk<T> = [T; LANES];

/// The two float types: `f32` for acting, `f64` for proofs.
pub(crate) trait Number:
    Copy + PartialOrd + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// Minus infinity: what is forbidden.
    const LOWEST: Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;
}

/// Chunks that hold `n` numbers.
pub(crate) fn chunks_of(n: usize) -> usize {
    n.div_ceil(LANES)
}

/// The larger; the second if they cannot be compared. One instruction, unlike `f32::max`.
#[inline(always)]
pub(crate) fn larger<T: Number>(x: T, y: T) -> T {
    if x > y { x } else { y }
}

/// Lane-wise map of two chunks.
#[inline(always)]
pub(crate) fn zip<T: Number>(x: Chunk<T>, y: Chunk<T>, f: impl Fn(T, T) -> T) -> Chunk<T> {
    std::array::from_fn(|lane| f(x[lane], y[lane]))
}

/// The largest lane.
#[inline(always)]
pub(crate) fn horizontal_max<T: Number>(x: Chunk<T>) -> T {
    let four: [T; 4] = std::array::from_fn(|i| larger(x[i], x[i + 4]));
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

/// The largest number of a row.
#[inline(always)]
pub(crate) fn row_max<T: Number>(row: &[Chunk<T>]) -> T {
    horizontal_max(row.iter().fold([T::LOWEST; LANES], |best, &x| zip(x, best, larger)))
}

/// Both messages of a pair whose second row fills `W` chunks.
#[inline(always)]
fn pair_of_width<T: Number, const W: usize>(
    table: &[Chunk<T>],
    heard_first: &[T],
    heard_second: &[Chunk<T>],
    to_first: &mut [T],
    to_second: &mut [Chunk<T>],
) {
    let heard: [Chunk<T>; W] = std::array::from_fn(|w| heard_second[w]);
    let mut columns = [[T::LOWEST; LANES]; W];
    let rows = table.as_chunks::<W>().0;
    for ((row, &from_first), to) in rows.iter().zip(heard_first).zip(to_first) {
        let mut best = [T::LOWEST; LANES];
        for w in 0..W {
            for lane in 0..LANES {
                best[lane] = larger(row[w][lane] + heard[w][lane], best[lane]);
                columns[w][lane] = larger(row[w][lane] + from_first, columns[w][lane]);
            }
        }
        *to = horizontal_max(best);
    }
    to_second[..W].copy_from_slice(&columns);
}

/// Both messages of a pair of any width.
#[inline(always)]
fn pair_messages<T: Number>(
    table: &[Chunk<T>],
    heard_first: &[T],
    heard_second: &[Chunk<T>],
    to_first: &mut [T],
    to_second: &mut [Chunk<T>],
) {
    match heard_second.len() {
        1 => pair_of_width::<T, 1>(table, heard_first, heard_second, to_first, to_second),
        2 => pair_of_width::<T, 2>(table, heard_first, heard_second, to_first, to_second),
        3 => pair_of_width::<T, 3>(table, heard_first, heard_second, to_first, to_second),
        4 => pair_of_width::<T, 4>(table, heard_first, heard_second, to_first, to_second),
        width => {
            to_second.fill([T::LOWEST; LANES]);
            for ((row, &from_first), to) in
                table.chunks_exact(width).zip(heard_first).zip(to_first)
            {
                let mut best = [T::LOWEST; LANES];
                for ((&x, &heard), column) in row.iter().zip(heard_second).zip(&mut *to_second) {
                    best = zip(zip(x, heard, T::add), best, larger);
                    *column = zip(x.map(|v| v + from_first), *column, larger);
                }
                *to = horizontal_max(best);
            }
        }
    }
}

/// All messages of a region: `heard` and `fresh` hold one padded row per slot, at `starts`.
#[inline(always)]
pub(crate) fn region_messages<T: Number>(
    table: &[Chunk<T>],
    n_actions: &[usize],
    starts: &[usize],
    heard: &[Chunk<T>],
    fresh: &mut [Chunk<T>],
) {
    match *n_actions {
        [_] => fresh[..table.len()].copy_from_slice(table),
        [n_first, n_second] => {
            let width = chunks_of(n_second);
            let (heard_first, heard_second) = heard.split_at(starts[1]);
            let (to_first, to_second) = fresh.split_at_mut(starts[1]);
            pair_messages(
                table,
                &heard_first.as_flattened()[..n_first],
                &heard_second[..width],
                &mut to_first.as_flattened_mut()[..n_first],
                &mut to_second[..width],
            );
        }
        _ => many_messages(table, n_actions, starts, heard, fresh),
    }
}

/// All messages of a region of three or more agents.
#[inline(always)]
fn many_messages<T: Number>(
    table: &[Chunk<T>],
    n_actions: &[usize],
    starts: &[usize],
    heard: &[Chunk<T>],
    fresh: &mut [Chunk<T>],
) {
    let last = n_actions.len() - 1;
    let width = chunks_of(n_actions[last]);
    fresh[..starts[last] + width].fill([T::LOWEST; LANES]);
    for (row_index, row) in table.chunks_exact(width).enumerate() {
        let mut best = [T::LOWEST; LANES];
        for (&x, &y) in row.iter().zip(&heard[starts[last]..]) {
            best = zip(zip(x, y, T::add), best, larger);
        }
        let best = horizontal_max(best);
        let mut from_others = T::ZERO;
        for_each_digit(row_index, &n_actions[..last], |slot, action| {
            let mut others = best;
            for_each_digit(row_index, &n_actions[..last], |other, action| {
                if other != slot {
                    others = others + heard[starts[other]..].as_flattened()[action];
                }
            });
            let to = &mut fresh[starts[slot]..].as_flattened_mut()[action];
            *to = larger(others, *to);
            from_others = from_others + heard[starts[slot]..].as_flattened()[action];
        });
        for (&x, to) in row.iter().zip(&mut fresh[starts[last]..]) {
            *to = zip(x.map(|v| v + from_others), *to, larger);
        }
    }
}

/// Calls `f(slot, action)` for each digit of a row number, the last slot running fastest.
#[inline(always)]
pub(crate) fn for_each_digit(
    row: usize,
    n_actions: &[usize],
    mut f: impl FnMut(usize, usize),
) {
    let mut rest = row;
    for (slot, &n) in n_actions.iter().enumerate().rev() {
        f(slot, rest % n);
        rest /= n;
    }
}
