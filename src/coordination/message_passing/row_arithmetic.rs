//! Sums, differences and maxima of padded rows.

use super::kernel::{Chunk, LANES};
use pulp::Simd;

/// `scores += new - old` along a stride.
#[inline(always)]
pub(crate) fn replace_strided(scores: &mut [f32], old: &[f32], new: &[f32], stride: usize) {
    let rows = old.iter().step_by(stride).zip(new.iter().step_by(stride));
    for (score, (&old, &new)) in scores.iter_mut().zip(rows) {
        *score += new - old;
    }
}

/// `scores += new - old` for padded rows.
#[inline(always)]
pub(crate) fn exchange<S: Simd>(
    simd: S,
    scores: &mut [Chunk<f32>],
    old: &[Chunk<f32>],
    new: &[Chunk<f32>],
) {
    let scores = S::as_mut_simd_f32s(scores.as_flattened_mut()).0;
    let old = S::as_simd_f32s(old.as_flattened()).0;
    let new = S::as_simd_f32s(new.as_flattened()).0;
    for ((score, &old), &new) in scores.iter_mut().zip(old).zip(new) {
        *score = simd.add_f32s(*score, simd.sub_f32s(new, old));
    }
}

/// `to += row` for padded rows.
#[inline(always)]
pub(crate) fn add<S: Simd>(simd: S, to: &mut [Chunk<f32>], row: &[Chunk<f32>]) {
    let to = S::as_mut_simd_f32s(to.as_flattened_mut()).0;
    for (to, &x) in to.iter_mut().zip(S::as_simd_f32s(row.as_flattened()).0) {
        *to = simd.add_f32s(*to, x);
    }
}

/// `to -= row` for padded rows.
#[inline(always)]
pub(crate) fn subtract<S: Simd>(simd: S, to: &mut [Chunk<f32>], row: &[Chunk<f32>]) {
    let to = S::as_mut_simd_f32s(to.as_flattened_mut()).0;
    for (to, &x) in to.iter_mut().zip(S::as_simd_f32s(row.as_flattened()).0) {
        *to = simd.sub_f32s(*to, x);
    }
}

/// `best(b) = max_a [table(a, b) + first(a)]`.
#[inline(always)]
pub(crate) fn best_columns<S: Simd>(
    simd: S,
    table: &[Chunk<f32>],
    first: &[Chunk<f32>],
    best: &mut [Chunk<f32>],
) {
    let best = S::as_mut_simd_f32s(best.as_flattened_mut()).0;
    let table = S::as_simd_f32s(table.as_flattened()).0;
    let first = first.as_flattened();
    if let Ok(best) = <&mut [S::f32s; 4]>::try_from(&mut *best) {
        *best = columns_of_width(simd, table, first);
        return;
    }
    if let Ok(best) = <&mut [S::f32s; 2]>::try_from(&mut *best) {
        *best = columns_of_width(simd, table, first);
        return;
    }
    best.fill(simd.splat_f32s(f32::NEG_INFINITY));
    for (row, &x) in table.chunks_exact(best.len()).zip(first) {
        let x = simd.splat_f32s(x);
        for (best, &q) in best.iter_mut().zip(row) {
            *best = simd.max_f32s(simd.add_f32s(q, x), *best);
        }
    }
}

/// [`best_columns`] in registers.
#[inline(always)]
fn columns_of_width<S: Simd, const W: usize>(
    simd: S,
    table: &[S::f32s],
    first: &[f32],
) -> [S::f32s; W] {
    let mut best = [simd.splat_f32s(f32::NEG_INFINITY); W];
    for (row, &x) in table.as_chunks::<W>().0.iter().zip(first) {
        let x = simd.splat_f32s(x);
        for w in 0..W {
            best[w] = simd.max_f32s(simd.add_f32s(row[w], x), best[w]);
        }
    }
    best
}

/// Writes what lies behind the `n` numbers of a row; lane by lane, unlike a `fill` of unknown length.
#[inline(always)]
pub(crate) fn fill_padding(row: &mut [Chunk<f32>], n: usize, value: f32) {
    let whole = row.len().saturating_sub(1) * LANES;
    if let Some(last) = row.last_mut() {
        for (lane, x) in last.iter_mut().enumerate() {
            *x = if whole + lane < n { *x } else { value };
        }
    }
}
