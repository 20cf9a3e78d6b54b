//! Matrix products on vectors of columns: nothing is copied, packed or allocated.
//!
//! `C = start + A · B`. B's and C's rows are read as vectors; A's numbers are broadcast, so A may be
//! transposed for free. Every entry of C is summed in the order of A's columns.

use pulp::{Arch, Simd, WithSimd};

/// A read-only row-major matrix; transposing it moves no number.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    data: &'a [f32],
    n_rows: usize,
    n_columns: usize,
    stride: usize,
    transposed: bool,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix without gaps.
    pub fn new(data: &'a [f32], n_rows: usize, n_columns: usize) -> Self {
        Self::strided(data, n_rows, n_columns, n_columns)
    }

    /// A row-major matrix whose rows start `stride` numbers apart; the last may end with its numbers.
    pub fn strided(data: &'a [f32], n_rows: usize, n_columns: usize, stride: usize) -> Self {
        assert!(n_columns <= stride, "{n_columns} columns in rows of {stride}");
        let len = if n_rows == 0 { 0 } else { (n_rows - 1) * stride + n_columns };
        assert!(data.len() >= len, "{} < {n_rows}x{stride}", data.len());
        Self { data, n_rows, n_columns, stride, transposed: false }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Whether rows and columns were exchanged.
    pub(super) fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// Some rows of a matrix that is not transposed.
    pub(super) fn rows(self, rows: std::ops::Range<usize>) -> Self {
        debug_assert!(!self.transposed && rows.end <= self.n_rows, "{rows:?} of {self:?}");
        Self { data: &self.data[rows.start * self.stride..], n_rows: rows.len(), ..self }
    }

    /// One row of a matrix that is not transposed.
    pub fn row(&self, row: usize) -> &'a [f32] {
        debug_assert!(!self.transposed, "rows of a transposed matrix do not lie together");
        &self.data[row * self.stride..][..self.n_columns]
    }

    /// The same numbers with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            n_rows: self.n_columns,
            n_columns: self.n_rows,
            transposed: !self.transposed,
            ..self
        }
    }
}

/// What a product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// Nothing.
    Zero,
    /// One number for each row.
    Bias(&'a [f32]),
    /// One number for each column.
    Row(&'a [f32]),
    /// What the destination holds.
    Destination,
}

/// `destination = start + left · right`, then max(·, 0) where `rectify`; the destination's rows lie
/// as far apart as those of `right`, which must not be transposed.
///
/// ```
/// use cgcmarl::nn::{Matrix, Start, product};
/// let mut c = [1.0; 2];
/// let (a, b) = ([1.0, 2.0], [3.0, 4.0, 5.0, 6.0]);
/// product(&mut c, Start::Destination, Matrix::new(&a, 1, 2), Matrix::new(&b, 2, 2), false);
/// assert_eq!(c, [14.0, 17.0]);
/// ```
pub fn product(
    destination: &mut [f32],
    start: Start<'_>,
    left: Matrix<'_>,
    right: Matrix<'_>,
    rectify: bool,
) {
    assert_eq!(left.n_columns, right.n_rows, "inner sizes differ");
    assert!(!right.transposed, "the right operand is read by rows");
    if let Start::Bias(bias) = start {
        assert!(bias.len() >= left.n_rows, "{} < {} rows", bias.len(), left.n_rows);
    }
    Arch::new().dispatch(Product { destination, start, left, right, rectify });
}

struct Product<'a> {
    destination: &'a mut [f32],
    start: Start<'a>,
    left: Matrix<'a>,
    right: Matrix<'a>,
    rectify: bool,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let most = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
        let n_columns = self.right.n_columns;
        let (mut vectors, mut column) = (n_columns / S::F32_LANES, 0);
        while vectors > 0 {
            // Nine vectors are better worked on as 3 + 3 + 3 than as 4 + 4 + 1.
            let width = vectors.div_ceil(vectors.div_ceil(most));
            // As many rows at a time as there are registers for their sums.
            match width {
                1 => self.columns::<S, 1, 8>(simd, column, 0),
                2 if most == 2 => self.columns::<S, 2, 4>(simd, column, 0),
                2 => self.columns::<S, 2, 8>(simd, column, 0),
                3 => self.columns::<S, 3, 8>(simd, column, 0),
                _ => self.columns::<S, 4, 6>(simd, column, 0),
            }
            vectors -= width;
            column += width * S::F32_LANES;
        }
        match column {
            _ if column == n_columns => {}
            0 => self.few_columns(simd),
            // The last columns together with some before them, which are there already.
            _ => {
                let first = n_columns - S::F32_LANES;
                self.columns::<S, 1, 8>(simd, first, column - first);
            }
        }
    }
}

impl Product<'_> {
    /// `V` whole vectors of columns, all rows, `M` of them at a time; the first `kept` columns stay as
    /// they are.
    #[inline(always)]
    fn columns<S: Simd, const V: usize, const M: usize>(
        &mut self,
        simd: S,
        column: usize,
        kept: usize,
    ) {
        let (mut row, n_rows) = (0, self.left.n_rows);
        while row + M <= n_rows {
            self.block::<S, V, M>(simd, row, column, kept);
            row += M;
        }
        while row + 2 <= n_rows {
            self.block::<S, V, 2>(simd, row, column, kept);
            row += 2;
        }
        if row < n_rows {
            self.block::<S, V, 1>(simd, row, column, kept);
        }
    }

    #[inline(always)]
    fn block<S: Simd, const V: usize, const M: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        kept: usize,
    ) {
        let (stride, width) = (self.right.stride, V * S::F32_LANES);
        let mut sums = [[simd.splat_f32s(0.0); V]; M];
        for (m, sums) in sums.iter_mut().enumerate() {
            match self.start {
                Start::Zero => {}
                Start::Bias(bias) => *sums = [simd.splat_f32s(bias[row + m]); V],
                Start::Row(numbers) => {
                    sums.copy_from_slice(S::as_simd_f32s(&numbers[column..][..width]).0);
                }
                Start::Destination => {
                    let from = &self.destination[(row + m) * stride + column..][..width];
                    sums.copy_from_slice(S::as_simd_f32s(from).0);
                }
            }
        }
        let (left, n_terms) = (self.left, self.left.n_columns);
        let right = self.right.data[column..].chunks(stride).take(n_terms).enumerate();
        if left.transposed {
            let data = &left.data[row..];
            for (k, right) in right {
                let factors = &data[k * left.stride..][..M];
                let factors = std::array::from_fn(|m| factors[m]);
                add_products::<S, V, M>(simd, factors, &right[..width], &mut sums);
            }
        } else {
            let rows: [&[f32]; M] =
                std::array::from_fn(|m| &left.data[(row + m) * left.stride..][..n_terms]);
            for (k, right) in right {
                let factors = std::array::from_fn(|m| rows[m][k]);
                add_products::<S, V, M>(simd, factors, &right[..width], &mut sums);
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            let to = &mut self.destination[(row + m) * stride + column..][..width];
            let ends =
                sums.map(
                    |sum| {
                        if self.rectify { simd.max_f32s(sum, simd.splat_f32s(0.0)) } else { sum }
                    },
                );
            if kept == 0 {
                S::as_mut_simd_f32s(to).0.copy_from_slice(&ends);
            } else {
                to[kept..].copy_from_slice(&bytemuck::cast_slice(&ends)[kept..]);
            }
        }
    }

    /// All columns, where they do not fill a vector.
    #[inline(always)]
    fn few_columns<S: Simd>(&mut self, simd: S) {
        let whole = self.left.n_rows / 4 * 4;
        for row in (0..whole).step_by(4) {
            self.few_block::<S, 4>(simd, row);
        }
        for row in whole..self.left.n_rows {
            self.few_block::<S, 1>(simd, row);
        }
    }

    #[inline(always)]
    fn few_block<S: Simd, const M: usize>(&mut self, simd: S, row: usize) {
        let (stride, width) = (self.right.stride, self.right.n_columns);
        let mut sums = [simd.splat_f32s(0.0); M];
        for (m, sum) in sums.iter_mut().enumerate() {
            let from = &self.destination[(row + m) * stride..][..width];
            *sum = match self.start {
                Start::Zero => simd.splat_f32s(0.0),
                Start::Bias(bias) => simd.splat_f32s(bias[row + m]),
                Start::Row(numbers) => simd.partial_load_f32s(&numbers[..width]),
                Start::Destination => simd.partial_load_f32s(from),
            };
        }
        let left = self.left;
        let (across, down) = if left.transposed { (left.stride, 1) } else { (1, left.stride) };
        let right = self.right.data.chunks(stride).take(left.n_columns);
        for (k, right) in right.enumerate() {
            let right = simd.partial_load_f32s(&right[..width]);
            for (m, sum) in sums.iter_mut().enumerate() {
                let factor = simd.splat_f32s(left.data[(row + m) * down + k * across]);
                *sum = simd.mul_add_e_f32s(factor, right, *sum);
            }
        }
        for (m, &sum) in sums.iter().enumerate() {
            let sum = if self.rectify { simd.max_f32s(sum, simd.splat_f32s(0.0)) } else { sum };
            let to = &mut self.destination[(row + m) * stride..][..width];
            simd.partial_store_f32s(to, sum);
        }
    }
}

/// `sums[m] += factors[m] · right`.
#[inline(always)]
fn add_products<S: Simd, const V: usize, const M: usize>(
    simd: S,
    factors: [f32; M],
    right: &[f32],
    sums: &mut [[S::f32s; V]; M],
) {
    let mut vectors = [simd.splat_f32s(0.0); V];
    vectors.copy_from_slice(S::as_simd_f32s(right).0);
    for m in 0..M {
        let factor = simd.splat_f32s(factors[m]);
        for v in 0..V {
            sums[m][v] = simd.mul_add_e_f32s(factor, vectors[v], sums[m][v]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed once more with what fills the last vector, and where the last rows end with their numbers.
    #[test]
    fn last_columns_have_the_bits_of_whole_vectors() {
        let (m, k, whole) = (9, 12, 64);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..k * whole).map(|i| (i as f32 * 0.3).cos()).collect();
        let line: Vec<f32> = (0..whole).map(|j| 0.5 - 0.01 * j as f32).collect();
        let left = Matrix::new(&a, m, k);
        let starts = [Start::Zero, Start::Row(&line), Start::Destination];
        for (start, n) in starts.into_iter().flat_map(|start| (17..whole).map(move |n| (start, n)))
        {
            let mut expected = vec![0.25; m * whole];
            product(&mut expected, start, left, Matrix::strided(&b, k, whole, whole), true);
            // The last rows may end with their numbers.
            let gap = whole - n;
            let mut found = vec![0.25; m * whole - gap];
            let right = Matrix::strided(&b[..b.len() - gap], k, n, whole);
            product(&mut found, start, left, right, true);
            for (found, expected) in found.chunks(whole).zip(expected.chunks(whole)) {
                assert!(found[..n] == expected[..n], "{n} columns");
                assert!(found[n..].iter().all(|x| *x == 0.25), "wrote into a gap");
            }
        }
    }

    /// Every shape up to a few vectors, both orders of the left operand, all starts.
    #[test]
    fn products_agree_with_the_triple_loop() {
        for (m, n, k) in [(1, 1, 1), (5, 7, 3), (4, 16, 9), (9, 37, 12), (6, 150, 5)] {
            let stride = n + 3;
            let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..k * stride).map(|i| (i as f32 * 0.3).cos()).collect();
            let bias: Vec<f32> = (0..m).map(|i| i as f32 - 1.5).collect();
            let line: Vec<f32> = (0..n).map(|j| 0.5 - 0.01 * j as f32).collect();
            let right = Matrix::strided(&b, k, n, stride);
            for flipped in [false, true] {
                let left = if flipped {
                    Matrix::new(&a, k, m).transposed()
                } else {
                    Matrix::new(&a, m, k)
                };
                let at = |i: usize, l: usize| if flipped { a[l * m + i] } else { a[i * k + l] };
                let starts =
                    [Start::Zero, Start::Bias(&bias), Start::Row(&line), Start::Destination];
                for start in starts {
                    let mut c = vec![0.25; m * stride];
                    product(&mut c, start, left, right, flipped);
                    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                        let first = match start {
                            Start::Zero => 0.0,
                            Start::Bias(bias) => bias[i],
                            Start::Row(line) => line[j],
                            Start::Destination => 0.25,
                        };
                        let sum: f32 = (0..k).map(|l| at(i, l) * b[l * stride + j]).sum();
                        let expected = if flipped { (first + sum).max(0.0) } else { first + sum };
                        assert!((c[i * stride + j] - expected).abs() < 1e-5, "{m} {n} {k}");
                    }
                    assert!((0..m).all(|i| c[i * stride + n] == 0.25), "wrote into a gap");
                }
            }
        }
    }
}
