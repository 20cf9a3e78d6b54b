//! A batch stored feature by feature, so that one vector holds the same feature of many rows.

use super::{Matrix, Numbers, transpose::transpose};
use pulp::{Arch, Simd, WithSimd};

/// Rows are padded to whole vectors of this many numbers, on every machine.
const LANES: usize = 16;

/// `n_rows` rows of `n_features` numbers; the numbers of one feature lie side by side.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    data: Numbers,
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
            self.data = Numbers::zeros((n_features * self.stride).max(self.data.len() * 3 / 2));
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
        let numbers = &self.data[..n_features * self.stride];
        let features = Features { numbers, stride: self.stride };
        for start in (0..self.n_rows).step_by(COMPARED * LANES) {
            let mut winners = [0u32; COMPARED * LANES];
            let n_winners = (self.n_rows - start).min(COMPARED * LANES);
            let padded = &mut winners[..n_winners.next_multiple_of(LANES)];
            Arch::new().dispatch(Argmax { features, start, winners: padded });
            winners[..n_winners].iter().for_each(|&f| found(f as usize));
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

/// Vectors of rows that are compared together.
const COMPARED: usize = 4;

/// Which feature of each row is the largest, compiled for each instruction set.
struct Argmax<'a> {
    features: Features<'a>,
    start: usize,
    winners: &'a mut [u32],
}

/// Numbers feature by feature.
#[derive(Clone, Copy)]
struct Features<'a> {
    numbers: &'a [f32],
    stride: usize,
}

impl WithSimd for Argmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let winners = S::as_mut_simd_u32s(self.winners).0;
        let (several, alone) = winners.as_chunks_mut::<COMPARED>();
        let mut first = self.start;
        for winners in several {
            *winners = self.features.winners::<S, COMPARED>(simd, first);
            first += COMPARED * S::F32_LANES;
        }
        for winner in alone {
            [*winner] = self.features.winners::<S, 1>(simd, first);
            first += S::F32_LANES;
        }
    }
}

impl Features<'_> {
    /// The largest of some vectors of rows, from the row `first` on.
    #[inline(always)]
    fn winners<S: Simd, const V: usize>(self, simd: S, first: usize) -> [S::u32s; V] {
        let mut best = [simd.splat_f32s(f32::NEG_INFINITY); V];
        let mut winners = [simd.splat_u32s(0); V];
        for (f, feature) in self.numbers.chunks_exact(self.stride).enumerate() {
            let number = simd.splat_u32s(f as u32);
            let values = S::as_simd_f32s(&feature[first..][..V * S::F32_LANES]).0;
            for v in 0..V {
                let better = simd.less_than_f32s(best[v], values[v]);
                winners[v] = simd.select_u32s(better, number, winners[v]);
                best[v] = simd.select_f32s(better, values[v], best[v]);
            }
        }
        winners
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
