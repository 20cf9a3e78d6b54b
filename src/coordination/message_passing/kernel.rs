//! The inner loops of message passing, on rows padded to whole chunks.
//!
//! `to_slot(a) = max over the others of [table + sum of the others' messages]`, for every slot of a
//! region in one pass over its table. Written on fixed-size chunks so that the compiler uses the
//! widest instructions of the context it is inlined into ([`pulp::Arch::dispatch`]); lane by lane
//! the operations are the same everywhere, so every machine computes the same bits.

use pulp::{Simd, WithSimd};
use std::any::Any;
use std::ops::{Add, Mul, Sub};

/// Numbers that are processed together: whole registers of every instruction set, up to the
/// sixteen `f32` of AVX-512.
pub(crate) const LANES: usize = 16;

/// One padded piece of a row.
pub(crate) type Chunk<T> = [T; LANES];

/// The two float types: `f32` for acting, `f64` for proofs.
pub(crate) trait Number:
    Copy + PartialOrd + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    const ZERO: Self;
    /// Minus infinity: what is forbidden.
    const LOWEST: Self;
    /// One register of an instruction set.
    type Vector<S: Simd>: Copy;
    /// A row of whole chunks as registers.
    fn vectors<S: Simd>(row: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(row: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    fn plus<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    fn max<S: Simd>(simd: S, x: Self::Vector<S>, y: Self::Vector<S>) -> Self::Vector<S>;
    fn largest<S: Simd>(simd: S, x: Self::Vector<S>) -> Self;
}

macro_rules! number {
    ($float:ty, $vector:ident, $vectors:ident, $vectors_mut:ident, $splat:ident, $add:ident,
     $max:ident, $largest:ident) => {
        impl Number for $float {
            const ZERO: Self = 0.0;
            const LOWEST: Self = Self::NEG_INFINITY;
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn vectors<S: Simd>(row: &[Self]) -> &[S::$vector] {
                S::$vectors(row).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(row: &mut [Self]) -> &mut [S::$vector] {
                S::$vectors_mut(row).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn plus<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
                simd.$add(x, y)
            }
            #[inline(always)]
            fn max<S: Simd>(simd: S, x: S::$vector, y: S::$vector) -> S::$vector {
                simd.$max(x, y)
            }
            #[inline(always)]
            fn largest<S: Simd>(simd: S, x: S::$vector) -> Self {
                simd.$largest(x)
            }
        }
    };
}

number!(f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, add_f32s, max_f32s, reduce_max_f32s);
number!(f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, add_f64s, max_f64s, reduce_max_f64s);

/// Runs a piece of work behind a call of its own: it is compiled once for each instruction set,
/// however often it is used.
#[inline(never)]
pub(crate) fn outlined<S: Simd, R>(simd: S, work: impl FnOnce() -> R) -> R {
    struct Apart<W>(W);
    impl<R, W: FnOnce() -> R> WithSimd for Apart<W> {
        type Output = R;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> R {
            (self.0)()
        }
    }
    simd.vectorize(Apart(work))
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
    let mut z = x;
    for lane in 0..LANES {
        z[lane] = f(x[lane], y[lane]);
    }
    z
}

/// The largest number of a row of whole chunks.
#[inline(always)]
pub(crate) fn row_max<S: Simd, T: Number>(simd: S, row: &[Chunk<T>]) -> T {
    let lowest = T::splat(simd, T::LOWEST);
    let best = T::vectors::<S>(row.as_flattened()).iter();
    T::largest(simd, best.fold(lowest, |best, &x| T::max(simd, x, best)))
}

/// The numbers of the lanes.
const LANE: Chunk<f32> =
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];

/// The first of the largest numbers of a row that is padded with minus infinity, and how large.
#[inline(always)]
pub(crate) fn first_largest<S: Simd>(simd: S, row: &[Chunk<f32>]) -> (usize, f32) {
    let largest = row_max(simd, row);
    if largest == f32::NEG_INFINITY {
        // In a row that is not a number anywhere, only the padding would be found.
        return (0, largest);
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(simd), Ok(&[x, y])) =
        ((&simd as &dyn Any).downcast_ref::<pulp::x86::V4>(), <&[Chunk<f32>; 2]>::try_from(row))
    {
        let wanted = simd.avx512f._mm512_set1_ps(largest);
        let low = simd.avx512f._mm512_cmpeq_ps_mask(pulp::cast(x), wanted);
        let high = simd.avx512f._mm512_cmpeq_ps_mask(pulp::cast(y), wanted);
        let place = (u32::from(high) << LANES | u32::from(low)).trailing_zeros();
        return (if place < u32::BITS { place as usize } else { 0 }, largest);
    }
    let wanted = simd.splat_f32s(largest);
    let nowhere = simd.splat_f32s(f32::INFINITY);
    let mut first = nowhere;
    for (index, chunk) in row.iter().enumerate() {
        let start = simd.splat_f32s((index * LANES) as f32);
        for (&x, &lane) in S::as_simd_f32s(chunk).0.iter().zip(S::as_simd_f32s(&LANE).0) {
            let place = simd.add_f32s(lane, start);
            let place = simd.select_f32s(simd.equal_f32s(x, wanted), place, nowhere);
            first = simd.min_f32s(place, first);
        }
    }
    let first = simd.reduce_min_f32s(first);
    (if first.is_finite() { first as usize } else { 0 }, largest)
}

/// The largest number of a row of whole chunks, but for one place.
#[inline(always)]
pub(crate) fn largest_but<S: Simd>(simd: S, row: &[Chunk<f32>], place: usize) -> f32 {
    let lowest = simd.splat_f32s(f32::NEG_INFINITY);
    let mut best = lowest;
    for (index, chunk) in row.iter().enumerate() {
        let place = simd.splat_f32s(place as f32 - (index * LANES) as f32);
        for (&x, &lane) in S::as_simd_f32s(chunk).0.iter().zip(S::as_simd_f32s(&LANE).0) {
            let x = simd.select_f32s(simd.equal_f32s(lane, place), lowest, x);
            best = simd.max_f32s(x, best);
        }
    }
    simd.reduce_max_f32s(best)
}

/// The smallest of many numbers, compiled for each instruction set; `f32::INFINITY` of none.
pub(crate) struct Lowest<'a> {
    pub numbers: &'a [f32],
}

impl WithSimd for Lowest<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (registers, rest) = S::as_simd_f32s(self.numbers);
        let (fours, single) = registers.as_chunks::<4>();
        let mut lowest = [simd.splat_f32s(f32::INFINITY); 4];
        for four in fours {
            for w in 0..4 {
                lowest[w] = simd.min_f32s(four[w], lowest[w]);
            }
        }
        let lowest = lowest.iter().chain(single).map(|&x| simd.reduce_min_f32s(x));
        lowest
            .chain(rest.iter().copied())
            .fold(f32::INFINITY, |low, x| if x < low { x } else { low })
    }
}

/// Both messages of a pair whose second row fills `W` registers.
#[inline(always)]
fn pair_of_width<S: Simd, T: Number, const W: usize>(
    simd: S,
    table: &[T::Vector<S>],
    from_first: &[T],
    from_second: &[T::Vector<S>],
    to_first: &mut [T],
    to_second: &mut [T::Vector<S>],
) {
    let lowest = T::splat(simd, T::LOWEST);
    let from_second: [T::Vector<S>; W] = std::array::from_fn(|w| from_second[w]);
    let mut columns = [lowest; W];
    for ((row, &message), to) in table.as_chunks::<W>().0.iter().zip(from_first).zip(to_first) {
        let message = T::splat(simd, message);
        let mut best = T::plus(simd, row[0], from_second[0]);
        columns[0] = T::max(simd, T::plus(simd, row[0], message), columns[0]);
        for w in 1..W {
            best = T::max(simd, T::plus(simd, row[w], from_second[w]), best);
            columns[w] = T::max(simd, T::plus(simd, row[w], message), columns[w]);
        }
        *to = T::largest(simd, best);
    }
    to_second[..W].copy_from_slice(&columns);
}

/// [`pair_of_width`] of any width.
#[inline(always)]
fn pair_of_any_width<S: Simd, T: Number>(
    simd: S,
    table: &[T::Vector<S>],
    from_first: &[T],
    from_second: &[T::Vector<S>],
    to_first: &mut [T],
    to_second: &mut [T::Vector<S>],
) {
    let lowest = T::splat(simd, T::LOWEST);
    to_second.fill(lowest);
    let rows = table.chunks_exact(from_second.len());
    for ((row, &message), to) in rows.zip(from_first).zip(to_first) {
        let message = T::splat(simd, message);
        let mut best = lowest;
        for ((&x, &from), column) in row.iter().zip(from_second).zip(&mut *to_second) {
            best = T::max(simd, T::plus(simd, x, from), best);
            *column = T::max(simd, T::plus(simd, x, message), *column);
        }
        *to = T::largest(simd, best);
    }
}

/// Both messages of a pair.
#[inline(always)]
fn pair_messages<S: Simd, T: Number>(
    simd: S,
    table: &[Chunk<T>],
    from_first: &[T],
    from_second: &[Chunk<T>],
    to_first: &mut [T],
    to_second: &mut [Chunk<T>],
) {
    let table = T::vectors::<S>(table.as_flattened());
    let from_second = T::vectors::<S>(from_second.as_flattened());
    let to_second = T::vectors_mut::<S>(to_second.as_flattened_mut());
    match from_second.len() {
        1 => pair_of_width::<S, T, 1>(simd, table, from_first, from_second, to_first, to_second),
        2 => pair_of_width::<S, T, 2>(simd, table, from_first, from_second, to_first, to_second),
        4 => pair_of_width::<S, T, 4>(simd, table, from_first, from_second, to_first, to_second),
        8 => pair_of_width::<S, T, 8>(simd, table, from_first, from_second, to_first, to_second),
        _ => pair_of_any_width::<S, T>(simd, table, from_first, from_second, to_first, to_second),
    }
}

/// All messages of a region to its members: `incoming` (theirs to it) and `fresh` hold one padded row per slot, at `starts`.
#[inline(always)]
pub(crate) fn region_messages<S: Simd, T: Number>(
    simd: S,
    table: &[Chunk<T>],
    n_actions: &[usize],
    starts: &[usize],
    incoming: &[Chunk<T>],
    fresh: &mut [Chunk<T>],
) {
    match *n_actions {
        [_] => fresh[..table.len()].copy_from_slice(table),
        [n_first, n_second] => {
            let width = chunks_of(n_second);
            let (from_first, from_second) = incoming.split_at(starts[1]);
            let (to_first, to_second) = fresh.split_at_mut(starts[1]);
            pair_messages(
                simd,
                table,
                &from_first.as_flattened()[..n_first],
                &from_second[..width],
                &mut to_first.as_flattened_mut()[..n_first],
                &mut to_second[..width],
            );
        }
        _ => many_messages(simd, table, n_actions, starts, incoming, fresh),
    }
}

/// All messages of a region of three or more agents.
#[inline(always)]
fn many_messages<S: Simd, T: Number>(
    simd: S,
    table: &[Chunk<T>],
    n_actions: &[usize],
    starts: &[usize],
    incoming: &[Chunk<T>],
    fresh: &mut [Chunk<T>],
) {
    let last = n_actions.len() - 1;
    let width = chunks_of(n_actions[last]);
    let lowest = T::splat(simd, T::LOWEST);
    fresh[..starts[last] + width].fill([T::LOWEST; LANES]);
    for (row_index, row) in table.chunks_exact(width).enumerate() {
        let from_last = T::vectors::<S>(incoming[starts[last]..][..width].as_flattened());
        let best = T::vectors::<S>(row.as_flattened())
            .iter()
            .zip(from_last)
            .fold(lowest, |best, (&x, &y)| T::max(simd, T::plus(simd, x, y), best));
        let best = T::largest(simd, best);
        let mut from_others = T::ZERO;
        for_each_digit(row_index, &n_actions[..last], |slot, action| {
            let mut others = best;
            for_each_digit(row_index, &n_actions[..last], |other, action| {
                if other != slot {
                    others = others + incoming[starts[other]..].as_flattened()[action];
                }
            });
            let to = &mut fresh[starts[slot]..].as_flattened_mut()[action];
            *to = larger(others, *to);
            from_others = from_others + incoming[starts[slot]..].as_flattened()[action];
        });
        let from_others = T::splat(simd, from_others);
        let to_last = T::vectors_mut::<S>(fresh[starts[last]..][..width].as_flattened_mut());
        for (&x, to) in T::vectors::<S>(row.as_flattened()).iter().zip(to_last) {
            *to = T::max(simd, T::plus(simd, x, from_others), *to);
        }
    }
}

/// Calls `f(slot, action)` for each digit of a row number, the last slot running fastest.
#[inline(always)]
pub(crate) fn for_each_digit(row: usize, n_actions: &[usize], mut f: impl FnMut(usize, usize)) {
    let mut rest = row;
    for (slot, &n) in n_actions.iter().enumerate().rev() {
        f(slot, rest % n);
        rest /= n;
    }
}
