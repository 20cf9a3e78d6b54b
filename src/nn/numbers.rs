//! A buffer of numbers that begins where a line of memory does, so that no vector lies across two.

use std::ops::{Deref, DerefMut};

/// Bytes that memory delivers together.
const LINE: usize = 64;

/// Most numbers before the first that begins a line.
const MOST_BEFORE: usize = LINE / size_of::<f32>() - 1;

/// As many numbers as it was made with.
#[derive(Debug, Default)]
pub struct Numbers {
    data: Vec<f32>,
    start: usize,
    len: usize,
}

impl Numbers {
    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        let data = vec![0.0_f32; len + MOST_BEFORE];
        let start = data.as_ptr().align_offset(LINE).min(MOST_BEFORE);
        Self { data, start, len }
    }

    /// Makes room for so many; what they are is undefined. Allocates only to grow.
    pub fn fit(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeros(len.max(self.len * 3 / 2));
        }
    }
}

impl From<&[f32]> for Numbers {
    fn from(numbers: &[f32]) -> Self {
        let mut own = Self::zeros(numbers.len());
        own.copy_from_slice(numbers);
        own
    }
}

impl From<Vec<f32>> for Numbers {
    fn from(numbers: Vec<f32>) -> Self {
        Self::from(&numbers[..])
    }
}

impl Clone for Numbers {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.data[self.start..self.start + self.len]
    }
}

impl DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_a_line_and_survive_copies() {
        for len in [0, 1, 5, 1000, 100_000] {
            let mut numbers = Numbers::zeros(len);
            numbers.iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
            let copy = numbers.clone();
            assert_eq!((copy.len(), copy == numbers), (len, true));
            for numbers in [&numbers, &copy] {
                assert!(len == 0 || (numbers.as_ptr() as usize).is_multiple_of(LINE), "{len}");
            }
        }
        assert!(Numbers::default().is_empty());
    }
}
