//! The largest number of each row.

use pulp::{Arch, Simd, WithSimd};

/// Vectors that are compared together.
const COMPARED: usize = 4;

/// Tells, row by row, which number is the largest; the lowest index wins a tie.
pub fn row_argmax(rows: &[f32], width: usize, found: impl FnMut(usize)) {
    Arch::new().dispatch(Argmax { rows, width, found });
}

struct Argmax<'a, F> {
    rows: &'a [f32],
    width: usize,
    found: F,
}

impl<F: FnMut(usize)> WithSimd for Argmax<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for row in self.rows.chunks_exact(self.width) {
            let place = place_of(simd, row, largest(simd, row));
            (self.found)(place);
        }
    }
}

#[inline(always)]
fn largest<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(row);
    let mut best = [simd.splat_f32s(f32::NEG_INFINITY); COMPARED];
    let (several, alone) = vectors.as_chunks::<COMPARED>();
    for vectors in several {
        for i in 0..COMPARED {
            best[i] = simd.max_f32s(vectors[i], best[i]);
        }
    }
    for &vector in alone {
        best[0] = simd.max_f32s(vector, best[0]);
    }
    let [a, b, c, d] = best;
    let best = simd.max_f32s(simd.max_f32s(a, b), simd.max_f32s(c, d));
    rest.iter().fold(simd.reduce_max_f32s(best), |best, &x| if x > best { x } else { best })
}

/// The first place of a number.
#[inline(always)]
fn place_of<S: Simd>(simd: S, row: &[f32], number: f32) -> usize {
    let vectors = S::as_simd_f32s(row).0;
    let wanted = simd.splat_f32s(number);
    // Which vector it is in, by vectors; where in there, one by one.
    let mut before = 0;
    for &vector in vectors {
        if simd.first_true_m32s(simd.equal_f32s(vector, wanted)) < S::F32_LANES {
            break;
        }
        before += S::F32_LANES;
    }
    row[before..].iter().position(|&x| x == number).map_or(0, |place| before + place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argmax::argmax;

    #[test]
    fn the_first_of_the_largest_in_rows_of_any_width() {
        for width in [1, 7, 16, 37, 81, 200, 625] {
            let number = |i: usize| ((i * 7919) % 101) as f32 - 60.0;
            let rows: Vec<f32> = (0..9 * width).map(number).collect();
            let mut found = Vec::new();
            row_argmax(&rows, width, |place| found.push(place));
            assert!(rows.chunks_exact(width).map(argmax).eq(found), "{width}");
        }
        row_argmax(&[f32::NEG_INFINITY; 40], 40, |place| assert_eq!(place, 0));
    }
}
