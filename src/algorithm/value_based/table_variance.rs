//! How much a square table of payoffs varies over either member's actions, with its gradient.

use crate::nn::{Matrix, transpose, vectorised};

/// Numbers that are worked on together, in registers: more than a table has actions, as a rule. A table that is
/// read or written so many at a time has as many behind its end, which do not count.
pub(super) const WIDE: usize = 32;

/// Σ_a `Var_b` q(a, b) + Σ_b `Var_a` q(a, b) of the last table, and all that it takes to compute it.
#[derive(Clone, Debug, Default)]
pub(super) struct TableVariance {
    /// The gradient with respect to the table, times the scale that was asked for; [`WIDE`] numbers behind it.
    pub(super) gradient: Vec<f32>,
    /// The same with columns as rows.
    pub(super) gradient_by_columns: Vec<f32>,
    table_by_columns: Vec<f32>,
    row_means: Vec<f32>,
    column_means: Vec<f32>,
    /// What each column adds.
    parts: Vec<f32>,
}

impl TableVariance {
    /// The sum of variances of a table of `n` by `n` payoffs, with [`WIDE`] numbers behind it; fills `scale` × its
    /// gradient.
    pub(super) fn read(&mut self, table: &[f32], n: usize, scale: f32) -> f32 {
        assert_eq!(table.len(), n * n + WIDE, "a table of {n} by {n} payoffs with room behind it");
        write_columns(table, n, &mut self.table_by_columns);
        write_means(table, n, &mut self.column_means);
        write_means(&self.table_by_columns, n, &mut self.row_means);
        let Self { gradient, parts, row_means, column_means, .. } = self;
        gradient.resize(n * n + WIDE, 0.0);
        parts.resize(n.next_multiple_of(WIDE), 0.0);
        let share = 1.0 / n as f32;
        vectorised(
            #[inline(always)]
            || {
                let columns = parts.as_chunks_mut::<WIDE>().0.iter_mut();
                let columns = columns.zip(column_means.as_chunks::<WIDE>().0);
                for (block, (parts, column_means)) in columns.enumerate() {
                    let mut sums = [0.0; WIDE];
                    for (row, &row_mean) in row_means[..n].iter().enumerate() {
                        let first = row * n + block * WIDE;
                        let mut d = [0.0; WIDE];
                        for i in 0..WIDE {
                            let payoff = table[first..][..WIDE][i];
                            let (in_row, in_column) = (payoff - row_mean, payoff - column_means[i]);
                            sums[i] += share * in_row * in_row + share * in_column * in_column;
                            d[i] = scale * (2.0 * share * in_row + 2.0 * share * in_column);
                        }
                        put(&mut gradient[first..], &d, n - block * WIDE, n);
                    }
                    *parts = sums;
                }
            },
        );
        write_columns(&self.gradient, n, &mut self.gradient_by_columns);
        self.parts[..n].iter().sum()
    }
}

/// Writes the numbers of one block of a row of `n`, of which `left` are still to come. What is written behind the
/// end of a short row belongs to the next, which comes later.
#[inline(always)]
pub(super) fn put(to: &mut [f32], numbers: &[f32; WIDE], left: usize, n: usize) {
    let len = left.min(WIDE);
    match to.first_chunk_mut::<WIDE>() {
        Some(to) if len == n.min(WIDE) => *to = *numbers,
        _ => to[..len].copy_from_slice(&numbers[..len]),
    }
}

/// The mean of every column of a square table, up to a multiple of [`WIDE`] of which the last do not count.
fn write_means(table: &[f32], n: usize, means: &mut Vec<f32>) {
    means.resize(n.next_multiple_of(WIDE), 0.0);
    vectorised(
        #[inline(always)]
        || {
            for (block, means) in means.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
                let mut sums = [0.0; WIDE];
                for row in 0..n {
                    let payoffs = &table[row * n + block * WIDE..][..WIDE];
                    sums.iter_mut().zip(payoffs).for_each(|(sum, payoff)| *sum += payoff);
                }
                *means = sums.map(|sum| sum * (1.0 / n as f32));
            }
        },
    );
}

/// Writes the columns of a square table as rows.
fn write_columns(table: &[f32], n: usize, columns: &mut Vec<f32>) {
    columns.resize(n * n + WIDE, 0.0);
    transpose(Matrix::new(table, n, n), columns, n);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_room<const N: usize>(table: [f32; N]) -> Vec<f32> {
        let mut table = table.to_vec();
        table.resize(N + WIDE, f32::NAN);
        table
    }

    /// Rows (3, 0) and (0, 2) vary by 2.25 and 1, and so do the columns.
    #[test]
    fn variances_by_hand() {
        let mut variance = TableVariance::default();
        assert_eq!(variance.read(&with_room([3.0, 0.0, 0.0, 2.0]), 2, 1.0), 6.5);
        assert_eq!(variance.gradient[..4], [3.0, -2.5, -2.5, 2.0]);
        assert_eq!(variance.read(&with_room([4.0; 9]), 3, 1.0), 0.0);
        assert_eq!(variance.gradient[..9], [0.0; 9]);
    }

    /// Rows (0, 4) and (2, 2) vary by 4 and 0, columns (0, 2) and (4, 2) by 1 each.
    #[test]
    fn a_table_that_is_not_symmetric_varies_differently_by_rows_and_columns() {
        let mut variance = TableVariance::default();
        assert_eq!(variance.read(&with_room([0.0, 4.0, 2.0, 2.0]), 2, 0.5), 6.0);
        assert_eq!(variance.gradient[..4], [-1.5, 1.5, 0.5, -0.5]);
        assert_eq!(variance.gradient_by_columns[..4], [-1.5, 0.5, 1.5, -0.5]);
    }
}
