//! The messages of a pair, from its table as it lies in memory: rows are read without padding, so
//! that the last register of a row holds numbers of another, which no maximum may see.

use super::kernel::LANES;
use pulp::Simd;
use std::any::Any;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512, _MM_HINT_T0};

/// Numbers in one register.
#[inline(always)]
pub(crate) fn lanes<S: Simd>() -> usize {
    size_of::<S::f32s>() / size_of::<f32>()
}

/// The register that starts at a number.
#[inline(always)]
fn load<S: Simd>(row: &[f32], at: usize) -> S::f32s {
    S::as_simd_f32s(&row[at..at + lanes::<S>()]).0[0]
}

/// Asks for what lies this far behind the row at hand, in bytes: a table and a half of 25 actions.
const AHEAD: usize = 3840;

/// Bytes that memory delivers together.
const LINE: usize = 64;

/// Asks for a cache line before it is needed; a hint, which may point anywhere.
#[inline(always)]
pub(crate) fn fetch<S: Simd>(simd: S, at: *const f32, ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>() {
        simd.sse._mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(ahead));
    } else if let Some(simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V3>() {
        simd.sse._mm_prefetch::<_MM_HINT_T0>(at.cast::<i8>().wrapping_add(ahead));
    }
}

/// How many numbers behind a table whose rows of `n` numbers fill `width` may be read: four rows are
/// read at a time, and the last register of each goes on into the next.
pub(crate) fn overrun(n: usize, width: usize) -> usize {
    3 * n + width
}

/// The messages of a pair: `to_first(a) = max_b [table(a, b) + from_second(b)]` and
/// `to_second(b) = max_a [table(a, b) + from_first(a)]`, which it returns; anything behind the last.
///
/// Rows of `n_second` numbers fill `W` registers. What comes from the members is minus infinity
/// behind the last action, where numbers behind the row or the table are read ([`overrun`]).
#[inline(always)]
pub(crate) fn pair_in_registers<S: Simd, const W: usize>(
    simd: S,
    table: &[f32],
    n_first: usize,
    n_second: usize,
    from_first: &[[f32; LANES]],
    from_second: [S::f32s; W],
    to_first: &mut [[f32; LANES]],
) -> [S::f32s; W] {
    let lowest = simd.splat_f32s(f32::NEG_INFINITY);
    let mut to_second = [lowest; W];
    for (chunk, (from_first, to_first)) in from_first.iter().zip(to_first).enumerate() {
        *to_first = largest_each(
            simd,
            #[inline(always)]
            |quad| {
                let mut row_values = [lowest; 4];
                let action = chunk * LANES + 4 * quad;
                if action < n_first {
                    for (lane, value) in row_values.iter_mut().enumerate() {
                        let rest = &table[(action + lane) * n_second..];
                        fetch(simd, rest.as_ptr(), AHEAD);
                        fetch(simd, rest.as_ptr(), AHEAD + LINE);
                        let message = from_first[4 * quad + lane];
                        *value = read_row(simd, rest, message, from_second, &mut to_second);
                    }
                }
                row_values
            },
        );
    }
    to_second
}

/// Raises the messages to the second agent by one row of the table; returns `row + from_second`,
/// of which the largest number is the message to the first agent for this row's action.
#[inline(always)]
fn read_row<S: Simd, const W: usize>(
    simd: S,
    table: &[f32],
    from_first: f32,
    from_second: [S::f32s; W],
    to_second: &mut [S::f32s; W],
) -> S::f32s {
    let (row, _) = S::as_simd_f32s(&table[..W * lanes::<S>()]);
    let from_first = simd.splat_f32s(from_first);
    let mut best = simd.add_f32s(row[0], from_second[0]);
    for w in 0..W {
        to_second[w] = simd.max_f32s(simd.add_f32s(row[w], from_first), to_second[w]);
        if w > 0 {
            best = simd.max_f32s(simd.add_f32s(row[w], from_second[w]), best);
        }
    }
    best
}

/// Both messages of a pair whose rows hold at least as many numbers as a register; `to_first` is
/// made of whole chunks, and what lies behind its numbers becomes minus infinity.
#[inline(always)]
pub(crate) fn pair_in_place<S: Simd>(
    simd: S,
    table: &[f32],
    from_first: &[f32],
    from_second: &[f32],
    to_first: &mut [f32],
    to_second: &mut [f32],
) {
    let n = from_second.len();
    to_second[..n].fill(f32::NEG_INFINITY);
    to_first[from_first.len()..].fill(f32::NEG_INFINITY);
    for ((row, &from_first), to_first) in table.chunks_exact(n).zip(from_first).zip(to_first) {
        let from_first = simd.splat_f32s(from_first);
        let mut best = simd.splat_f32s(f32::NEG_INFINITY);
        for w in 0..n.div_ceil(lanes::<S>()) {
            // The last register of a row overlaps the one before it.
            let start = (w * lanes::<S>()).min(n - lanes::<S>());
            let payoffs = load::<S>(row, start);
            let value = simd.add_f32s(payoffs, load::<S>(from_second, start));
            best = simd.max_f32s(value, best);
            let column = &mut S::as_mut_simd_f32s(&mut to_second[start..start + lanes::<S>()]).0[0];
            *column = simd.max_f32s(simd.add_f32s(payoffs, from_first), *column);
        }
        *to_first = simd.reduce_max_f32s(best);
    }
}

/// The largest number of each of sixteen registers, which come in four quads.
#[inline(always)]
fn largest_each<S: Simd>(simd: S, mut quad: impl FnMut(usize) -> [S::f32s; 4]) -> [f32; LANES] {
    #[cfg(target_arch = "x86_64")]
    if let Some(&simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>() {
        return pulp::cast(transposed_max(
            simd,
            #[inline(always)]
            |index| {
                let bests = quad(index);
                let bests = (&bests as &dyn Any).downcast_ref::<[pulp::f32x16; 4]>();
                let Some(&[x, y, z, w]) = bests else {
                    return [simd.avx512f._mm512_setzero_ps(); 4];
                };
                // One by one: `map` would not be compiled for this instruction set.
                [pulp::cast(x), pulp::cast(y), pulp::cast(z), pulp::cast(w)]
            },
        ));
    }
    let mut largest = [0.0; LANES];
    for index in 0..4 {
        let bests = quad(index);
        for lane in 0..4 {
            largest[4 * index + lane] = simd.reduce_max_f32s(bests[lane]);
        }
    }
    largest
}

/// [`largest_each`] for AVX-512: each step halves the number of registers, so that 45 instructions
/// do the work of 130.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed_max(simd: pulp::x86::V4, mut quad: impl FnMut(usize) -> [__m512; 4]) -> __m512 {
    let mut quads = [simd.avx512f._mm512_setzero_ps(); 4];
    for (index, to) in quads.iter_mut().enumerate() {
        let [x, y, z, w] = quad(index);
        *to = merge_pairs(simd, merge_numbers(simd, x, y), merge_numbers(simd, z, w));
    }
    let (x, y) = (merge_halves(simd, quads[0], quads[1]), merge_halves(simd, quads[2], quads[3]));
    let even = simd.avx512f._mm512_shuffle_f32x4::<0b10_00_10_00>(x, y);
    simd.avx512f._mm512_max_ps(even, simd.avx512f._mm512_shuffle_f32x4::<0b11_01_11_01>(x, y))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn merge_numbers(simd: pulp::x86::V4, x: __m512, y: __m512) -> __m512 {
    let v = simd.avx512f;
    v._mm512_max_ps(v._mm512_unpacklo_ps(x, y), v._mm512_unpackhi_ps(x, y))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn merge_pairs(simd: pulp::x86::V4, x: __m512, y: __m512) -> __m512 {
    let v = simd.avx512f;
    let (x, y) = (v._mm512_castps_pd(x), v._mm512_castps_pd(y));
    let low = v._mm512_castpd_ps(v._mm512_unpacklo_pd(x, y));
    v._mm512_max_ps(low, v._mm512_castpd_ps(v._mm512_unpackhi_pd(x, y)))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn merge_halves(simd: pulp::x86::V4, x: __m512, y: __m512) -> __m512 {
    let v = simd.avx512f;
    let low = v._mm512_shuffle_f32x4::<0b01_00_01_00>(x, y);
    v._mm512_max_ps(low, v._mm512_shuffle_f32x4::<0b11_10_11_10>(x, y))
}
