//! Matrix products whose left operand is full of zeros, as what a rectifier leaves is.
//!
//! `C = start + A · B`, every entry summed in the order of A's columns like [`super::product`], without
//! the terms that are zero: they would change nothing.

use super::{Matrix, Numbers, Start, transpose::transpose};
use pulp::{Arch, Simd, WithSimd};
use std::{any::Any, cmp::Ordering};

/// Numbers that are compressed together.
const LANES: usize = 16;

/// Most vectors in a row of a tile.
const WIDEST: usize = 4;

/// Numbers of a tile that stay in the nearest cache.
const NEAR: usize = 9600;

/// Rows of numbers without their zeros.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseRows {
    places: Vec<u32>,
    values: Vec<f32>,
    lengths: Vec<usize>,
    capacity: usize,
    n_columns: usize,
}

impl SparseRows {
    /// Takes the rows of a matrix that is not transposed.
    pub(super) fn read(&mut self, rows: Matrix<'_>) {
        self.n_columns = rows.n_columns();
        // Whole vectors are written, of which only the first numbers count.
        self.capacity = rows.n_columns() + LANES;
        let len = rows.n_rows() * self.capacity;
        if self.values.len() < len {
            self.places.resize(len, 0);
            self.values.resize(len, 0.0);
        }
        self.lengths.clear();
        self.lengths.resize(rows.n_rows(), 0);
        Arch::new().dispatch(Compress { rows, to: self });
    }

    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let (start, len) = (row * self.capacity, self.lengths[row]);
        (&self.places[start..start + len], &self.values[start..start + len])
    }
}

struct Compress<'a> {
    rows: Matrix<'a>,
    to: &'a mut SparseRows,
}

impl WithSimd for Compress<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let capacity = self.to.capacity;
        let places = self.to.places.chunks_exact_mut(capacity);
        let lists = places.zip(self.to.values.chunks_exact_mut(capacity));
        for ((row, length), (places, values)) in self.to.lengths.iter_mut().enumerate().zip(lists) {
            let row = self.rows.row(row);
            let (mut len, mut first) = (0, 0);
            #[cfg(target_arch = "x86_64")]
            if let Some(&simd) = (&simd as &dyn Any).downcast_ref::<pulp::x86::V4>() {
                for numbers in row.as_chunks::<LANES>().0 {
                    len += compress(simd, numbers, first, &mut places[len..], &mut values[len..]);
                    first += LANES;
                }
            }
            for (place, &value) in row.iter().enumerate().skip(first) {
                (places[len], values[len]) = (place as u32, value);
                len += usize::from(value != 0.0);
            }
            *length = len;
        }
    }
}

/// Writes those of sixteen numbers that are not zero, and their places from `first` on; returns how
/// many there are.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn compress(
    simd: pulp::x86::V4,
    numbers: &[f32; LANES],
    first: usize,
    places: &mut [u32],
    values: &mut [f32],
) -> usize {
    let v = simd.avx512f;
    let numbers = pulp::cast(*numbers);
    let mask =
        v._mm512_cmp_ps_mask::<{ std::arch::x86_64::_CMP_NEQ_UQ }>(numbers, v._mm512_setzero_ps());
    let here: [u32; LANES] = std::array::from_fn(|i| i as u32);
    let here = v._mm512_add_epi32(pulp::cast(here), v._mm512_set1_epi32(first as i32));
    let here: [u32; LANES] = pulp::cast(v._mm512_maskz_compress_epi32(mask, here));
    let kept: [f32; LANES] = pulp::cast(v._mm512_maskz_compress_ps(mask, numbers));
    places[..LANES].copy_from_slice(&here);
    values[..LANES].copy_from_slice(&kept);
    mask.count_ones() as usize
}

/// A matrix cut into upright tiles, each of which lies in one piece.
#[derive(Clone, Debug, Default)]
pub(super) struct Tiles {
    numbers: Numbers,
    n_rows: usize,
    n_columns: usize,
    /// Numbers of a vector.
    lanes: usize,
}

impl Tiles {
    /// Takes a matrix, which may be transposed.
    pub(super) fn read(&mut self, matrix: Matrix<'_>) {
        (self.n_rows, self.n_columns) = (matrix.n_rows(), matrix.n_columns());
        self.lanes = Arch::new().dispatch(Lanes);
        self.numbers.fit(self.n_rows * self.n_columns.next_multiple_of(self.lanes));
        for (start, width) in self.columns() {
            let to = &mut self.numbers[start * self.n_rows..][..width * self.n_rows];
            let inside = width.min(self.n_columns - start);
            if inside < width {
                to.fill(0.0);
            }
            if matrix.is_transposed() {
                transpose(matrix.transposed().rows(start..start + inside), to, width);
            } else {
                for (row, to) in to.chunks_exact_mut(width).enumerate() {
                    to[..inside].copy_from_slice(&matrix.row(row)[start..start + inside]);
                }
            }
        }
    }

    /// First column and width of every tile, which is of whole vectors.
    fn columns(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let lanes = self.lanes;
        let most = (NEAR / lanes / self.n_rows.max(1)).clamp(2, WIDEST);
        let (mut vectors, mut start) = (self.n_columns.div_ceil(lanes), 0);
        std::iter::from_fn(move || {
            let n_tiles = vectors.div_ceil(most);
            let tile = (start, lanes * vectors.div_ceil(n_tiles.max(1)));
            vectors -= tile.1 / lanes;
            start += tile.1;
            (n_tiles > 0).then_some(tile)
        })
    }
}

/// How many numbers a vector of this machine holds.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        S::F32_LANES
    }
}

/// `destination = start + left · right`, then max(·, 0) where `rectify`; the destination's rows lie
/// side by side.
pub(super) fn sparse_product(
    destination: &mut [f32],
    start: Start<'_>,
    left: &SparseRows,
    right: &Tiles,
    rectify: bool,
) {
    assert_eq!(left.n_columns, right.n_rows, "inner sizes differ");
    Arch::new().dispatch(SparseProduct { destination, start, left, right, rectify });
}

struct SparseProduct<'a> {
    destination: &'a mut [f32],
    start: Start<'a>,
    left: &'a SparseRows,
    right: &'a Tiles,
    rectify: bool,
}

impl WithSimd for SparseProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let right = self.right;
        debug_assert_eq!(right.lanes, S::F32_LANES, "tiles of another machine");
        for (column, width) in right.columns() {
            let tile = &right.numbers[column * right.n_rows..][..width * right.n_rows];
            let tile = S::as_simd_f32s(tile).0;
            match width / S::F32_LANES {
                1 => self.tile::<S, 1>(simd, tile, column),
                2 => self.tile::<S, 2>(simd, tile, column),
                3 => self.tile::<S, 3>(simd, tile, column),
                _ => self.tile::<S, WIDEST>(simd, tile, column),
            }
        }
    }
}

impl SparseProduct<'_> {
    /// All rows of some columns, two at a time.
    #[inline(always)]
    fn tile<S: Simd, const V: usize>(&mut self, simd: S, tile: &[S::f32s], column: usize) {
        let (tile, n_rows) = (tile.as_chunks::<V>().0, self.left.lengths.len());
        for row in (0..n_rows / 2 * 2).step_by(2) {
            self.rows::<S, V, 2>(simd, tile, row, column);
        }
        if n_rows % 2 == 1 {
            self.rows::<S, V, 1>(simd, tile, n_rows - 1, column);
        }
    }

    #[inline(always)]
    fn rows<S: Simd, const V: usize, const M: usize>(
        &mut self,
        simd: S,
        tile: &[[S::f32s; V]],
        row: usize,
        column: usize,
    ) {
        // Closures would not be compiled for the instruction set.
        let mut sums = [[simd.splat_f32s(0.0); V]; M];
        let mut lists: [(&[u32], &[f32]); M] = [(&[], &[]); M];
        let mut common = usize::MAX;
        for m in 0..M {
            sums[m] = self.first::<S, V>(simd, row + m, column);
            lists[m] = self.left.row(row + m);
            common = common.min(lists[m].0.len());
        }
        let mut heads = lists;
        for head in &mut heads {
            *head = (&head.0[..common], &head.1[..common]);
        }
        for term in 0..common {
            for m in 0..M {
                add_term(simd, tile, heads[m].0[term], &heads[m].1[term], &mut sums[m]);
            }
        }
        for (sums, (places, values)) in sums.iter_mut().zip(lists) {
            for (&place, value) in places[common..].iter().zip(&values[common..]) {
                add_term(simd, tile, place, value, sums);
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            self.write::<S, V>(simd, row + m, column, sums);
        }
    }

    /// What the sums of a row begin with.
    #[expect(clippy::manual_memcpy, reason = "copied whole, they would go through memory")]
    #[inline(always)]
    fn first<S: Simd, const V: usize>(&self, simd: S, row: usize, column: usize) -> [S::f32s; V] {
        let n_columns = self.right.n_columns;
        let from = match self.start {
            Start::Zero => return [simd.splat_f32s(0.0); V],
            Start::Bias(bias) => return [simd.splat_f32s(bias[row]); V],
            Start::Row(numbers) => &numbers[column..n_columns],
            Start::Destination => &self.destination[row * n_columns..][column..n_columns],
        };
        let mut sums = [simd.splat_f32s(0.0); V];
        let (whole, rest) = S::as_simd_f32s(from);
        if let Some(whole) = whole.first_chunk::<V>() {
            for v in 0..V {
                sums[v] = whole[v];
            }
        } else {
            for v in 0..V {
                match v.cmp(&whole.len()) {
                    Ordering::Less => sums[v] = whole[v],
                    Ordering::Equal => sums[v] = simd.partial_load_f32s(rest),
                    Ordering::Greater => {}
                }
            }
        }
        sums
    }

    #[expect(clippy::manual_memcpy, reason = "copied whole, they would go through memory")]
    #[inline(always)]
    fn write<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        sums: &[S::f32s; V],
    ) {
        let zero = simd.splat_f32s(0.0);
        let (rectify, n_columns) = (self.rectify, self.right.n_columns);
        let mut sums = *sums;
        if rectify {
            for sum in &mut sums {
                *sum = simd.max_f32s(*sum, zero);
            }
        }
        let to = &mut self.destination[row * n_columns..][column..n_columns];
        let (whole, rest) = S::as_mut_simd_f32s(to);
        if let Some(whole) = whole.first_chunk_mut::<V>() {
            for v in 0..V {
                whole[v] = sums[v];
            }
        } else {
            for v in 0..V {
                match v.cmp(&whole.len()) {
                    Ordering::Less => whole[v] = sums[v],
                    Ordering::Equal => simd.partial_store_f32s(rest, sums[v]),
                    Ordering::Greater => {}
                }
            }
        }
    }
}

/// `sums += value · (a row of the tile)`.
#[inline(always)]
fn add_term<S: Simd, const V: usize>(
    simd: S,
    tile: &[[S::f32s; V]],
    place: u32,
    value: &f32,
    sums: &mut [S::f32s; V],
) {
    let right = &tile[place as usize];
    // Read only now: as it is read it is copied into all lanes, for nothing.
    let value = simd.splat_f32s(*value);
    for v in 0..V {
        sums[v] = simd.mul_add_e_f32s(value, right[v], sums[v]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::product;

    /// Every width and length up to a few vectors, all starts: bit for bit the dense product.
    #[test]
    fn skipping_zeros_changes_no_bit() {
        let (mut left, mut right) = (SparseRows::default(), Tiles::default());
        for (m, n, k) in [(1, 1, 1), (5, 7, 3), (4, 16, 9), (9, 37, 12), (6, 150, 45), (3, 81, 300)]
        {
            let number = |i: usize| (i as f32 * 0.7).sin();
            let a: Vec<f32> = (0..m * k).map(|i| number(i).max(0.0)).collect();
            let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.3).cos()).collect();
            let mut turned = vec![0.0; k * n];
            transpose(Matrix::new(&b, k, n), &mut turned, k);
            let per_row: Vec<f32> = (0..m).map(|i| i as f32 - 1.5).collect();
            let per_column: Vec<f32> = (0..n).map(number).collect();
            left.read(Matrix::new(&a, m, k));
            assert!(m * k < 20 || left.lengths.iter().sum::<usize>() < m * k);
            for start in
                [Start::Zero, Start::Bias(&per_row), Start::Row(&per_column), Start::Destination]
            {
                for rectify in [false, true] {
                    let mut expected = vec![0.25; m * n];
                    let dense = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
                    product(&mut expected, start, dense.0, dense.1, rectify);
                    for matrix in [dense.1, Matrix::new(&turned, n, k).transposed()] {
                        right.read(matrix);
                        let mut found = vec![0.25; m * n];
                        sparse_product(&mut found, start, &left, &right, rectify);
                        assert_eq!(found, expected, "{m} {n} {k}");
                    }
                }
            }
        }
    }
}
