//! How much a square table of payoffs varies over either member's actions, with its gradient.

use crate::nn::{Matrix, transpose, vectorised};

/// Σ_a `Var_b` q(a, b) + Σ_b `Var_a` q(a, b) of the last table, and all that it takes to compute it.
#[derive(Clone, Debug, Default)]
pub(super) struct TableVariance {
    /// The gradient with respect to the table, times the scale that was asked for.
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
    /// The sum of variances of a table of `n` by `n` payoffs; fills `scale` × its gradient.
    pub(super) fn read(&mut self, table: &[f32], n: usize, scale: f32) -> f32 {
        assert_eq!(table.len(), n * n, "a table of {} payoffs for {n} actions", table.len());
        write_columns(table, n, &mut self.table_by_columns);
        write_means(table, n, &mut self.column_means);
        write_means(&self.table_by_columns, n, &mut self.row_means);
        let Self { gradient, parts, row_means, column_means, .. } = self;
        gradient.resize(n * n, 0.0);
        parts.clear();
        parts.resize(n, 0.0);
        let share = 1.0 / n as f32;
        vectorised(
            #[inline(always)]
            || {
                let rows = table.chunks_exact(n).zip(gradient.chunks_exact_mut(n));
                for ((row, gradient), row_mean) in rows.zip(&*row_means) {
                    let cells = row.iter().zip(gradient).zip(&*column_means).zip(&mut *parts);
                    for (((payoff, d), column_mean), part) in cells {
                        let (in_row, in_column) = (payoff - row_mean, payoff - column_mean);
                        *part += share * in_row * in_row + share * in_column * in_column;
                        *d = scale * (2.0 * share * in_row + 2.0 * share * in_column);
                    }
                }
            },
        );
        write_columns(&self.gradient, n, &mut self.gradient_by_columns);
        self.parts.iter().sum()
    }
}

/// The mean of every column of a square table.
fn write_means(table: &[f32], n: usize, means: &mut Vec<f32>) {
    means.clear();
    means.resize(n, 0.0);
    vectorised(
        #[inline(always)]
        || {
            for row in table.chunks_exact(n) {
                means.iter_mut().zip(row).for_each(|(sum, payoff)| *sum += payoff);
            }
            means.iter_mut().for_each(|sum| *sum *= 1.0 / n as f32);
        },
    );
}

/// Writes the columns of a square table as rows.
fn write_columns(table: &[f32], n: usize, columns: &mut Vec<f32>) {
    columns.resize(n * n, 0.0);
    transpose(Matrix::new(table, n, n), columns, n);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows (3, 0) and (0, 2) vary by 2.25 and 1, and so do the columns.
    #[test]
    fn variances_by_hand() {
        let mut variance = TableVariance::default();
        assert_eq!(variance.read(&[3.0, 0.0, 0.0, 2.0], 2, 1.0), 6.5);
        assert_eq!(variance.gradient, [3.0, -2.5, -2.5, 2.0]);
        assert_eq!(variance.read(&[4.0; 9], 3, 1.0), 0.0);
        assert_eq!(variance.gradient, [0.0; 9]);
    }

    /// Rows (0, 4) and (2, 2) vary by 4 and 0, columns (0, 2) and (4, 2) by 1 each.
    #[test]
    fn a_table_that_is_not_symmetric_varies_differently_by_rows_and_columns() {
        let mut variance = TableVariance::default();
        assert_eq!(variance.read(&[0.0, 4.0, 2.0, 2.0], 2, 0.5), 6.0);
        assert_eq!(variance.gradient, [-1.5, 1.5, 0.5, -0.5]);
        assert_eq!(variance.gradient_by_columns, [-1.5, 0.5, 1.5, -0.5]);
    }
}
