//! A flat gradient with rows that stay zero unless an action selected them.

use super::{Numbers, Span, vectorised};
use std::ops::Range;

/// A flat gradient; the rows of one weight are zero unless touched, and cost nothing then.
#[derive(Clone, Debug)]
pub struct Gradient {
    values: Numbers,
    rows: Range<usize>,
    width: usize,
    touched: Vec<bool>,
}

impl Gradient {
    /// A zero gradient of `len` numbers; `rows` is the weight that consists of rows of `width`.
    pub fn new(len: usize, rows: Span, width: usize) -> Self {
        let rows = rows.range();
        assert!(rows.end <= len && rows.len().is_multiple_of(width), "{rows:?} of {len}");
        Self { values: Numbers::zeros(len), touched: vec![false; rows.len() / width], rows, width }
    }

    /// A gradient all of whose numbers count.
    pub fn dense(values: Vec<f32>) -> Self {
        let rows = values.len()..values.len();
        Self { values: Numbers::from(values), rows, width: 1, touched: Vec::new() }
    }

    /// All numbers.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All numbers, to add to; a row may be written only after [`Self::touch`].
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Declares a row as written.
    pub fn touch(&mut self, row: usize) {
        self.touched[row] = true;
    }

    /// Rows that count only where they were touched.
    pub fn n_rows(&self) -> usize {
        self.touched.len()
    }

    /// Whether a row was written.
    pub(super) fn is_touched(&self, row: usize) -> bool {
        self.touched[row]
    }

    /// Where the rows lie that count only where they were touched, and how wide they are.
    pub(super) fn rows(&self) -> (Range<usize>, usize) {
        (self.rows.clone(), self.width)
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        for (row, touched) in self.touched.iter_mut().enumerate() {
            if std::mem::take(touched) {
                let start = self.rows.start + row * self.width;
                self.values[start..start + self.width].fill(0.0);
            }
        }
        self.values[..self.rows.start].fill(0.0);
        self.values[self.rows.end..].fill(0.0);
    }

    /// Adds another gradient of the same shape.
    pub fn add(&mut self, other: &Self) {
        let mut run = 0;
        while let Some((range, written)) = other.run(run) {
            run = range.end;
            if written {
                add(&mut self.values[range.clone()], &other.values[range]);
            }
        }
        self.touched.iter_mut().zip(&other.touched).for_each(|(own, touched)| *own |= touched);
    }

    /// The longest run of numbers from `start` on that are all written or all zero.
    fn run(&self, start: usize) -> Option<(Range<usize>, bool)> {
        let Range { start: first, end: last } = self.rows;
        if start >= self.values.len() {
            return None;
        }
        if start < first {
            return Some((start..first, true));
        }
        if start >= last {
            return Some((start..self.values.len(), true));
        }
        let row = (start - first) / self.width;
        let written = self.touched[row];
        let len = self.touched[row..].iter().take_while(|touched| **touched == written).count();
        Some((start..first + (row + len) * self.width, written))
    }
}

fn add(sums: &mut [f32], values: &[f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layout;

    #[test]
    fn only_touched_rows_are_added_and_cleared() {
        let mut layout = Layout::default();
        layout.add("before", &[2]);
        let rows = layout.add("rows", &[3, 2]);
        layout.add("after", &[1]);
        let mut sum = Gradient::new(layout.len(), rows, 2);
        let mut share = sum.clone();
        share.touch(1);
        share.values_mut().copy_from_slice(&[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 5.0]);
        sum.add(&share);
        sum.add(&share);
        assert_eq!(sum.values(), [2.0, 4.0, 0.0, 0.0, 6.0, 8.0, 0.0, 0.0, 10.0]);
        assert_eq!(sum.run(2), Some((2..4, false)));
        assert_eq!(sum.run(4), Some((4..6, true)));
        sum.clear();
        assert!(sum.values().iter().all(|x| *x == 0.0) && sum.run(2) == Some((2..8, false)));
    }
}
