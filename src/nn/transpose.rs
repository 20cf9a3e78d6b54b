//! Turning rows into columns, in squares that fit the registers.

use super::Matrix;
use pulp::{Arch, Simd, WithSimd};
use std::any::Any;

/// Side of the squares that AVX-512 turns in its registers.
const SQUARE: usize = 16;

/// Rows of a matrix that are turned together, so that they stay in the nearest cache.
const TURNED: usize = 64;

/// Writes the columns of a row-major matrix as rows that start `stride` numbers apart.
pub fn transpose(from: Matrix<'_>, to: &mut [f32], stride: usize) {
    Arch::new().dispatch(Transpose { from, to, stride });
}

struct Transpose<'a> {
    from: Matrix<'a>,
    to: &'a mut [f32],
    stride: usize,
}

impl WithSimd for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (n_rows, n_columns) = (self.from.n_rows(), self.from.n_columns());
        #[cfg(target_arch = "x86_64")]
        if let Some(&simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>()
            && n_rows >= SQUARE
            && n_columns >= SQUARE
        {
            // The last squares lie over the ones before them, where the sides are no whole squares.
            for row in (0..n_rows).step_by(SQUARE) {
                for column in (0..n_columns).step_by(SQUARE) {
                    self.square(simd, row.min(n_rows - SQUARE), column.min(n_columns - SQUARE));
                }
            }
            return;
        }
        self.fours(n_rows, n_columns);
    }
}

impl Transpose<'_> {
    /// All rows and columns, four by four as far as they go.
    #[inline(always)]
    fn fours(&mut self, n_rows: usize, n_columns: usize) {
        let (last_row, last_column) = (n_rows / 4 * 4, n_columns / 4 * 4);
        for start in (0..last_row).step_by(TURNED) {
            for column in (0..last_column).step_by(4) {
                for row in (start..last_row.min(start + TURNED)).step_by(4) {
                    self.four(row, column);
                }
            }
        }
        for row in 0..n_rows {
            let start = if row < last_row { last_column } else { 0 };
            for (column, value) in (start..n_columns).zip(&self.from.row(row)[start..]) {
                self.to[column * self.stride + row] = *value;
            }
        }
    }

    /// Four rows of four columns.
    #[inline(always)]
    fn four(&mut self, row: usize, column: usize) {
        let line = |i: usize| -> [f32; 4] {
            let line = &self.from.row(row + i)[column..column + 4];
            [line[0], line[1], line[2], line[3]]
        };
        let [a, b, c, d] = [line(0), line(1), line(2), line(3)];
        for i in 0..4 {
            let to = &mut self.to[(column + i) * self.stride + row..][..4];
            to.copy_from_slice(&[a[i], b[i], c[i], d[i]]);
        }
    }

    /// Sixteen rows of sixteen columns: numbers change places within quarters of registers first,
    /// then the quarters do.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn square(&mut self, simd: pulp::x86::V4, row: usize, column: usize) {
        let v = simd.avx512f;
        let mut quarters = [[v._mm512_setzero_ps(); 4]; 4];
        for (group, quarters) in quarters.iter_mut().enumerate() {
            let mut lines = [v._mm512_setzero_ps(); 4];
            for (i, line) in lines.iter_mut().enumerate() {
                let mut numbers = [0.0; SQUARE];
                let from = self.from.row(row + 4 * group + i);
                numbers.copy_from_slice(&from[column..column + SQUARE]);
                *line = pulp::cast(numbers);
            }
            let [a, b, c, d] = lines;
            let low_ab = v._mm512_castps_pd(v._mm512_unpacklo_ps(a, b));
            let low_cd = v._mm512_castps_pd(v._mm512_unpacklo_ps(c, d));
            let high_ab = v._mm512_castps_pd(v._mm512_unpackhi_ps(a, b));
            let high_cd = v._mm512_castps_pd(v._mm512_unpackhi_ps(c, d));
            *quarters = [
                v._mm512_castpd_ps(v._mm512_unpacklo_pd(low_ab, low_cd)),
                v._mm512_castpd_ps(v._mm512_unpackhi_pd(low_ab, low_cd)),
                v._mm512_castpd_ps(v._mm512_unpacklo_pd(high_ab, high_cd)),
                v._mm512_castpd_ps(v._mm512_unpackhi_pd(high_ab, high_cd)),
            ];
        }
        let [first, second, third, fourth] = quarters;
        let columns = first.into_iter().zip(second).zip(third).zip(fourth);
        for (i, (((a, b), c), d)) in columns.enumerate() {
            let low = [
                v._mm512_shuffle_f32x4::<0b01_00_01_00>(a, b),
                v._mm512_shuffle_f32x4::<0b01_00_01_00>(c, d),
            ];
            let high = [
                v._mm512_shuffle_f32x4::<0b11_10_11_10>(a, b),
                v._mm512_shuffle_f32x4::<0b11_10_11_10>(c, d),
            ];
            let lines = [
                v._mm512_shuffle_f32x4::<0b10_00_10_00>(low[0], low[1]),
                v._mm512_shuffle_f32x4::<0b11_01_11_01>(low[0], low[1]),
                v._mm512_shuffle_f32x4::<0b10_00_10_00>(high[0], high[1]),
                v._mm512_shuffle_f32x4::<0b11_01_11_01>(high[0], high[1]),
            ];
            for (quarter, line) in lines.into_iter().enumerate() {
                let numbers: [f32; SQUARE] = pulp::cast(line);
                let to = (column + 4 * quarter + i) * self.stride + row;
                self.to[to..to + SQUARE].copy_from_slice(&numbers);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_finds_its_place() {
        for (n_rows, n_columns) in [(1, 1), (16, 16), (37, 21), (64, 152), (19, 4), (5, 40)] {
            let from: Vec<f32> = (0..n_rows * n_columns).map(|i| i as f32).collect();
            let stride = n_rows + 3;
            let mut to = vec![-1.0; n_columns * stride];
            transpose(Matrix::new(&from, n_rows, n_columns), &mut to, stride);
            for (column, line) in to.chunks_exact(stride).enumerate() {
                let expected = (0..n_rows).map(|row| (row * n_columns + column) as f32);
                assert!(line[..n_rows].iter().copied().eq(expected), "{n_rows} {n_columns}");
                assert!(line[n_rows..].iter().all(|x| *x == -1.0), "wrote into a gap");
            }
        }
    }
}
