//! Padded rows that start on a cache line, so that no register of them spans two.

use super::kernel::{Chunk, LANES};
use std::ops::{Deref, DerefMut};

/// Chunks in a row, on cache lines; otherwise like a slice.
#[derive(Debug, Default)]
pub(crate) struct PaddedRows {
    numbers: Vec<f32>,
    start: usize,
    n_chunks: usize,
}

impl PaddedRows {
    /// Becomes this many chunks of one value; allocates nothing once it has been as large.
    pub(crate) fn fit(&mut self, n_chunks: usize, value: f32) {
        self.numbers.clear();
        self.numbers.resize((n_chunks + 1) * LANES, value);
        self.start = self.numbers.as_ptr().align_offset(LANES * size_of::<f32>()) % LANES;
        self.n_chunks = n_chunks;
    }

    /// Becomes equal to other rows.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        if self.n_chunks != other.n_chunks {
            self.fit(other.n_chunks, 0.0);
        }
        self.copy_from_slice(other);
    }
}

impl Clone for PaddedRows {
    fn clone(&self) -> Self {
        let mut rows = Self::default();
        rows.copy_from(self);
        rows
    }
}

impl Deref for PaddedRows {
    type Target = [Chunk<f32>];

    #[inline(always)]
    fn deref(&self) -> &[Chunk<f32>] {
        self.numbers[self.start..][..self.n_chunks * LANES].as_chunks().0
    }
}

impl DerefMut for PaddedRows {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Chunk<f32>] {
        self.numbers[self.start..][..self.n_chunks * LANES].as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_their_copies_start_on_cache_lines() {
        let mut rows = PaddedRows::default();
        assert!(rows.is_empty());
        for n_chunks in [1, 7, 3, 1000] {
            rows.fit(n_chunks, 2.0);
            rows[n_chunks - 1][LANES - 1] = 5.0;
            let copy = rows.clone();
            assert_eq!(*copy, *rows);
            for rows in [&rows, &copy] {
                assert_eq!(rows.as_ptr().addr() % 64, 0);
            }
        }
    }
}
