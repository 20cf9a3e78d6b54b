//! Matrix products: the one place that calls `gemm`.
#![expect(
    unsafe_code,
    reason = "`gemm` takes raw pointers; every bound is asserted before the call"
)]

/// A read-only view of a matrix; transposing it moves no number.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    data: &'a [f32],
    n_rows: usize,
    n_columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix.
    pub fn new(data: &'a [f32], n_rows: usize, n_columns: usize) -> Self {
        assert!(data.len() >= n_rows * n_columns, "{} < {n_rows}x{n_columns}", data.len());
        Self { data, n_rows, n_columns, row_stride: n_columns, column_stride: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            n_rows: self.n_columns,
            n_columns: self.n_rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// `destination (+)= left · right`, row-major; adds to what is there when `accumulate`.
///
/// One thread, and an order of summation that depends on the shapes only.
///
/// ```
/// use cgcmarl::nn::{Matrix, product};
/// let mut c = [1.0; 2];
/// let (a, b) = ([1.0, 2.0], [3.0, 4.0, 5.0, 6.0]);
/// product(&mut c, true, Matrix::new(&a, 1, 2), Matrix::new(&b, 2, 2));
/// assert_eq!(c, [14.0, 17.0]);
/// ```
pub fn product(destination: &mut [f32], accumulate: bool, left: Matrix<'_>, right: Matrix<'_>) {
    let (m, n, k) = (left.n_rows, right.n_columns, left.n_columns);
    assert_eq!(k, right.n_rows, "inner sizes differ");
    assert!(destination.len() >= m * n, "{} < {m}x{n}", destination.len());
    // SAFETY: both views cover `n_rows * n_columns` numbers (asserted in `new`, kept by
    // `transposed`), the destination covers `m * n` (asserted above) and is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            destination.as_mut_ptr(),
            1,
            n as isize,
            accumulate,
            left.data.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.data.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_operands_agree_with_the_triple_loop() {
        let (m, n, k) = (5, 7, 3);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..n * k).map(|i| (i as f32 * 0.3).cos()).collect();
        let mut c = vec![0.0; m * n];
        product(&mut c, false, Matrix::new(&a, m, k), Matrix::new(&b, n, k).transposed());
        for i in 0..m {
            for j in 0..n {
                let expected: f32 = (0..k).map(|l| a[i * k + l] * b[j * k + l]).sum();
                assert!((c[i * n + j] - expected).abs() < 1e-6);
            }
        }
    }
}
