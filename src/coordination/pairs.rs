//! The messages of a pair, from its table as it lies in memory: rows are read without padding, the
//! last register of a row overlapping the one before it, which a maximum does not mind.

use super::kernel::LANES;
use pulp::Simd;
use std::any::Any;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

/// Starts on a cache line, so that no register in it spans two.
#[repr(align(64))]
struct Lined<T>(T);

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

/// `to_first(a) = max_b [table(a, b) + heard_second(b)]` and
/// `to_second(b) = max_a [table(a, b) + heard_first(a)]`. Rows hold at least [`LANES`] numbers;
/// `to_first` is made of whole chunks, and what lies behind its numbers becomes minus infinity.
#[inline(always)]
pub(crate) fn pair_in_place<S: Simd>(
    simd: S,
    table: &[f32],
    heard: [&[f32]; 2],
    to_first: &mut [f32],
    to_second: &mut [f32],
) {
    match heard[1].len().div_ceil(lanes::<S>()) {
        2 => in_registers::<S, 2>(simd, table, heard, to_first, to_second),
        4 => in_registers::<S, 4>(simd, table, heard, to_first, to_second),
        _ => of_any_width(simd, table, heard, to_first, to_second),
    }
}

/// [`pair_in_place`] for rows that fill `W` registers.
#[inline(always)]
fn in_registers<S: Simd, const W: usize>(
    simd: S,
    table: &[f32],
    [heard_first, heard_second]: [&[f32]; 2],
    to_first: &mut [f32],
    to_second: &mut [f32],
) {
    let n = heard_second.len();
    let at: [usize; W] = std::array::from_fn(|w| (w * lanes::<S>()).min(n - lanes::<S>()));
    let lowest = simd.splat_f32s(f32::NEG_INFINITY);
    let mut heard = [lowest; W];
    for w in 0..W {
        heard[w] = load::<S>(heard_second, at[w]);
    }
    let mut columns = [lowest; W];
    let blocks = table.chunks(LANES * n).zip(heard_first.chunks(LANES));
    for ((rows, from_first), to) in blocks.zip(to_first.as_chunks_mut::<LANES>().0) {
        let mut bests = Lined([lowest; LANES]);
        for ((row, &x), to) in rows.chunks_exact(n).zip(from_first).zip(&mut bests.0) {
            let x = simd.splat_f32s(x);
            let mut best = lowest;
            for w in 0..W {
                let payoffs = load::<S>(row, at[w]);
                columns[w] = simd.max_f32s(simd.add_f32s(payoffs, x), columns[w]);
                let reply = simd.add_f32s(payoffs, heard[w]);
                best = if w == 0 { reply } else { simd.max_f32s(reply, best) };
            }
            *to = best;
        }
        *to = largest_each(simd, &bests.0);
    }
    for w in 0..W {
        S::as_mut_simd_f32s(&mut to_second[at[w]..at[w] + lanes::<S>()]).0[0] = columns[w];
    }
}

/// [`pair_in_place`] for rows of any length.
#[inline(always)]
fn of_any_width<S: Simd>(
    simd: S,
    table: &[f32],
    [heard_first, heard_second]: [&[f32]; 2],
    to_first: &mut [f32],
    to_second: &mut [f32],
) {
    let n = heard_second.len();
    to_second[..n].fill(f32::NEG_INFINITY);
    to_first[heard_first.len()..].fill(f32::NEG_INFINITY);
    for ((row, &x), to) in table.chunks_exact(n).zip(heard_first).zip(to_first) {
        let x = simd.splat_f32s(x);
        let mut best = simd.splat_f32s(f32::NEG_INFINITY);
        for w in 0..n.div_ceil(lanes::<S>()) {
            let at = (w * lanes::<S>()).min(n - lanes::<S>());
            let payoffs = load::<S>(row, at);
            let reply = simd.add_f32s(payoffs, load::<S>(heard_second, at));
            best = simd.max_f32s(reply, best);
            let column = &mut S::as_mut_simd_f32s(&mut to_second[at..at + lanes::<S>()]).0[0];
            *column = simd.max_f32s(simd.add_f32s(payoffs, x), *column);
        }
        *to = simd.reduce_max_f32s(best);
    }
}

/// The largest number of each register.
#[inline(always)]
fn largest_each<S: Simd>(simd: S, rows: &[S::f32s; LANES]) -> [f32; LANES] {
    #[cfg(target_arch = "x86_64")]
    if let (Some(&simd), Some(rows)) = (
        (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>(),
        (rows as &dyn Any).downcast_ref::<[pulp::f32x16; LANES]>(),
    ) {
        return pulp::cast(transposed_max(simd, rows));
    }
    let mut largest = [0.0; LANES];
    for lane in 0..LANES {
        largest[lane] = simd.reduce_max_f32s(rows[lane]);
    }
    largest
}

/// [`largest_each`] of sixteen AVX-512 registers at once: each step halves their number, so that
/// 45 instructions do the work of 130.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed_max(simd: pulp::x86::V4, rows: &[pulp::f32x16; LANES]) -> __m512 {
    let mut quads = [simd.avx512f._mm512_setzero_ps(); 4];
    for q in 0..4 {
        let low = merge_numbers(simd, pulp::cast(rows[4 * q]), pulp::cast(rows[4 * q + 1]));
        let high = merge_numbers(simd, pulp::cast(rows[4 * q + 2]), pulp::cast(rows[4 * q + 3]));
        quads[q] = merge_pairs(simd, low, high);
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
