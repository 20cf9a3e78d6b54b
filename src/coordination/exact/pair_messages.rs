//! The messages of a pair to its two variables, in full precision.

use crate::coordination::message_passing::kernel::{Chunk, LANES, Number};
use pulp::Simd;

/// The payoff of what is pruned.
pub(crate) const PRUNED: f64 = f64::NEG_INFINITY;

/// `to(b) = max_a [table(a, b) + from_first(a)]` over the values that remain.
#[inline(always)]
pub(crate) fn message_to_second<S: Simd>(
    simd: S,
    table: &[Chunk<f64>],
    from_first: &[f64],
    to: &mut [Chunk<f64>],
) {
    let to = f64::vectors_mut::<S>(to.as_flattened_mut());
    let table = f64::vectors::<S>(table.as_flattened());
    if let Ok(to) = <&mut [S::f64s; 2]>::try_from(&mut *to) {
        *to = columns::<S, 2>(simd, table, from_first);
    } else if let Ok(to) = <&mut [S::f64s; 4]>::try_from(&mut *to) {
        *to = columns::<S, 4>(simd, table, from_first);
    } else if let Ok(to) = <&mut [S::f64s; 6]>::try_from(&mut *to) {
        *to = columns::<S, 6>(simd, table, from_first);
    } else if let Ok(to) = <&mut [S::f64s; 8]>::try_from(&mut *to) {
        *to = columns::<S, 8>(simd, table, from_first);
    } else {
        to.fill(simd.splat_f64s(PRUNED));
        for (row, &x) in table.chunks_exact(to.len()).zip(from_first).filter(|(_, x)| **x > PRUNED)
        {
            let x = simd.splat_f64s(x);
            for (to, &q) in to.iter_mut().zip(row) {
                *to = simd.max_f64s(simd.add_f64s(q, x), *to);
            }
        }
    }
}

/// [`message_to_second`] in registers.
#[inline(always)]
fn columns<S: Simd, const W: usize>(
    simd: S,
    table: &[S::f64s],
    from_first: &[f64],
) -> [S::f64s; W] {
    let mut best = [simd.splat_f64s(PRUNED); W];
    for (row, &x) in table.as_chunks::<W>().0.iter().zip(from_first) {
        if x > PRUNED {
            let x = simd.splat_f64s(x);
            for w in 0..W {
                best[w] = simd.max_f64s(simd.add_f64s(row[w], x), best[w]);
            }
        }
    }
    best
}

/// `to(a) = max_b [table(a, b) + from_second(b)]` for the values that remain.
#[inline(always)]
pub(crate) fn message_to_first<S: Simd>(
    simd: S,
    table: &[Chunk<f64>],
    from_second: &[Chunk<f64>],
    remaining: &[f64],
    to: &mut [f64],
) {
    let from_second = f64::vectors::<S>(from_second.as_flattened());
    let table = f64::vectors::<S>(table.as_flattened());
    for ((row, to), &remaining) in table.chunks_exact(from_second.len()).zip(to).zip(remaining) {
        if remaining > PRUNED {
            let lowest = simd.splat_f64s(PRUNED);
            let best = row
                .iter()
                .zip(from_second)
                .fold(lowest, |best, (&x, &y)| simd.max_f64s(simd.add_f64s(x, y), best));
            *to = simd.reduce_max_f64s(best);
        } else {
            *to = PRUNED;
        }
    }
}

/// Appends a row, filled up with minus infinity.
pub(crate) fn push_padded(row: &[f64], to: &mut Vec<Chunk<f64>>) {
    for piece in row.chunks(LANES) {
        let mut chunk = [PRUNED; LANES];
        chunk[..piece.len()].copy_from_slice(piece);
        to.push(chunk);
    }
}
