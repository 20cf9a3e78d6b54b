//! A batch stored feature by feature, so that one vector holds the same feature of many rows.

use super::{Matrix, vectorised};
use std::ops::Range;

/// Rows are padded to whole vectors of this many numbers, on every machine.
const LANES: usize = 16;

/// `n_rows` rows of `n_features` numbers; the numbers of one feature lie side by side.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    data: Vec<f32>,
    n_rows: usize,
    n_features: usize,
    stride: usize,
}

impl Columns {
    /// Takes a shape; what it holds afterwards is undefined. Allocates only to grow.
    pub fn fit(&mut self, n_features: usize, n_rows: usize) {
        // An odd number of vectors keeps neighbouring features out of the same cache set.
        self.stride = LANES * (n_rows.div_ceil(LANES) | 1);
        (self.n_features, self.n_rows) = (n_features, n_rows);
        if self.data.len() < n_features * self.stride {
            self.data.resize(n_features * self.stride, 0.0);
        }
    }

    /// Rows of the batch.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Numbers between the starts of two features.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// All numbers of one feature.
    pub fn feature(&self, feature: usize) -> &[f32] {
        &self.data[feature * self.stride..][..self.n_rows]
    }

    /// All numbers, feature by feature, padding included.
    pub fn data(&self) -> &[f32] {
        &self.data[..self.n_features * self.stride]
    }

    /// All numbers, to change.
    pub fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data[..self.n_features * self.stride]
    }

    /// One row of the matrix for each feature, padded to whole vectors.
    pub fn matrix(&self) -> Matrix<'_> {
        let n_columns = self.n_rows.next_multiple_of(LANES);
        Matrix::strided(&self.data, self.n_features, n_columns, self.stride)
    }

    /// The same without padding.
    pub fn exact_matrix(&self) -> Matrix<'_> {
        Matrix::strided(&self.data, self.n_features, self.n_rows, self.stride)
    }

    /// Forgets the features from `n_features` on.
    pub fn truncate(&mut self, n_features: usize) {
        self.n_features = self.n_features.min(n_features);
    }

    /// Tells, row by row, which of the first `n_features` is the largest; the lowest wins a tie.
    pub fn argmax(&self, n_features: usize, mut found: impl FnMut(usize)) {
        for start in (0..self.n_rows).step_by(LANES) {
            let mut winners = [0u32; LANES];
            let features = self.data[..n_features * self.stride].chunks_exact(self.stride);
            vectorised(
                #[inline(always)]
                || {
                    let mut best = [f32::NEG_INFINITY; LANES];
                    for (f, feature) in features.enumerate() {
                        let values = &feature[start..start + LANES];
                        for lane in 0..LANES {
                            let better = values[lane] > best[lane];
                            winners[lane] = if better { f as u32 } else { winners[lane] };
                            best[lane] = if better { values[lane] } else { best[lane] };
                        }
                    }
                },
            );
            winners.iter().take(self.n_rows - start).for_each(|&f| found(f as usize));
        }
    }

    /// Takes rows that lie one after the other.
    pub fn read_rows(&mut self, rows: &[f32], n_features: usize, n_rows: usize) {
        self.fit(n_features, n_rows);
        let Self { data, stride, .. } = self;
        let padded = n_rows.next_multiple_of(LANES);
        let rows = Matrix::new(rows, n_rows, n_features);
        transpose(rows, data, *stride);
        for feature in data.chunks_exact_mut(*stride).take(n_features) {
            feature[n_rows..padded].fill(0.0);
        }
    }

    /// Writes rows one after the other; returns them.
    pub fn write_rows<'r>(&self, rows: &'r mut Vec<f32>) -> &'r mut [f32] {
        let (width, len) = (self.n_features, self.n_rows * self.n_features);
        if rows.len() < len {
            rows.resize(len, 0.0);
        }
        let rows = &mut rows[..len];
        transpose(self.exact_matrix(), rows, width);
        rows
    }
}

/// Rows of a matrix that are turned together, so that they stay in the nearest cache.
const TURNED: usize = 64;

/// Writes the columns of a row-major matrix as rows that start `stride` numbers apart.
fn transpose(from: Matrix<'_>, to: &mut [f32], stride: usize) {
    let (n_rows, n_columns) = (from.n_rows(), from.n_columns());
    let (whole_rows, whole_columns) = (n_rows / 4 * 4, n_columns / 4 * 4);
    for start in (0..whole_rows).step_by(TURNED) {
        let rows = start..whole_rows.min(start + TURNED);
        let targets = to[..whole_columns * stride].chunks_exact_mut(4 * stride);
        for (block, target) in targets.enumerate() {
            transpose_four(from, 4 * block, rows.clone(), target, stride);
        }
    }
    for row in 0..n_rows {
        let start = if row < whole_rows { whole_columns } else { 0 };
        for (column, value) in from.row(row).iter().enumerate().skip(start) {
            to[column * stride + row] = *value;
        }
    }
}

/// Four columns from `column` on, as four rows.
fn transpose_four(
    from: Matrix<'_>,
    column: usize,
    rows: Range<usize>,
    to: &mut [f32],
    stride: usize,
) {
    let (first, rest) = to.split_at_mut(stride);
    let (second, rest) = rest.split_at_mut(stride);
    let (third, fourth) = rest.split_at_mut(stride);
    let targets = [first, second, third, fourth].map(|row| &mut row[rows.clone()]);
    let [first, second, third, fourth] = targets.map(|row| row.as_chunks_mut::<4>().0.iter_mut());
    let targets = first.zip(second).zip(third.zip(fourth));
    for (row, ((first, second), (third, fourth))) in rows.step_by(4).zip(targets) {
        let line = |i: usize| -> [f32; 4] {
            let line = &from.row(row + i)[column..column + 4];
            [line[0], line[1], line[2], line[3]]
        };
        let [a, b, c, d] = [line(0), line(1), line(2), line(3)];
        *first = [a[0], b[0], c[0], d[0]];
        *second = [a[1], b[1], c[1], d[1]];
        *third = [a[2], b[2], c[2], d[2]];
        *fourth = [a[3], b[3], c[3], d[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_way_there_and_back() {
        for n_rows in [1, 16, 37] {
            let rows: Vec<f32> = (0..n_rows * 5).map(|i| i as f32).collect();
            let (mut columns, mut back) = (Columns::default(), Vec::new());
            columns.read_rows(&rows, 5, n_rows);
            assert_eq!(columns.feature(2)[n_rows - 1], rows[n_rows * 5 - 3]);
            assert_eq!(columns.write_rows(&mut back), rows);
            let mut largest = Vec::new();
            columns.argmax(4, |feature| largest.push(feature));
            assert_eq!(largest, vec![3; n_rows]);
        }
    }
}
