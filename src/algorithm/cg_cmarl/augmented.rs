//! Terms of Q_aug = Q_prim + Σ_j λ_j Q_cost,j (Eq. augmented-q) for many rows at once.
//!
//! Rows that share their multipliers share one matrix W_prim + Σ_j λ_j W_cost,j, which halves the work
//! of the last layer; where too few do, all heads are computed and added up.

use super::{
    network::{TwoHead, TwoHeadWorkspace},
    pass::Pass,
    targets::augment,
};
use crate::nn::{Columns, Matrix, Start, is_sparse, product, row_argmax, vectorised};
use std::ops::Range;

/// Rows that must share their multipliers, on average, for a matrix of their own to pay.
const ROWS_PER_FOLD: usize = 24;

/// Heads added up with their multipliers.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldedHeads {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl TwoHead {
    /// Terms of Q_aug, one row of `n_terms` numbers per row whose joint actions are sought. `multipliers`
    /// holds one number per such row and constraint; none for Q_prim alone.
    pub fn terms<'w>(
        &self,
        parameters: &[f32],
        pass: Pass<'_>,
        multipliers: &[f32],
        workspace: &'w mut TwoHeadWorkspace,
    ) -> &'w mut [f32] {
        if self.augmented(parameters, pass, multipliers, workspace) {
            return &mut workspace.rows[..pass.sought.1 * self.head.n_terms()];
        }
        workspace.terms.truncate(self.head.n_terms());
        workspace.terms.write_rows(&mut workspace.rows)
    }

    /// The entry of the largest Q_aug in each row's table, lowest index first among equals, without
    /// writing the tables: for free heads and regions of full size. Other arguments as for
    /// [`Self::terms`].
    pub fn greedy(
        &self,
        parameters: &[f32],
        pass: Pass<'_>,
        multipliers: &[f32],
        found: impl FnMut(usize),
        workspace: &mut TwoHeadWorkspace,
    ) {
        assert!(self.head.is_free(), "the terms of a tied head are no table");
        let n_terms = self.head.n_terms();
        if self.augmented(parameters, pass, multipliers, workspace) {
            row_argmax(&workspace.rows[..pass.sought.1 * n_terms], n_terms, found);
        } else {
            workspace.terms.argmax(n_terms, found);
        }
    }

    /// Leaves the terms of Q_aug in the workspace: in its rows, or in its columns, with others behind
    /// them; returns whether in its rows.
    fn augmented(
        &self,
        parameters: &[f32],
        Pass { learned, sought }: Pass<'_>,
        multipliers: &[f32],
        workspace: &mut TwoHeadWorkspace,
    ) -> bool {
        let (rows, n_rows) = sought;
        let by_rows = workspace.skips_zeros(n_rows);
        workspace.learned_rows = if by_rows { learned.1 } else { 0 };
        if by_rows {
            let trunk = &mut workspace.trunk_rows;
            let features = self.trunk.forward_batches(parameters, &[learned, sought], trunk);
            let features = &features[learned.1 * self.heads.n_inputs..];
            workspace.dense = !is_sparse(std::iter::once(features));
            self.augmented_rows(parameters, learned.1..learned.1 + n_rows, multipliers, workspace);
            return true;
        }
        let TwoHeadWorkspace { trunk, terms, folded, column, dense, .. } = workspace;
        let features = self.trunk.forward(parameters, rows, n_rows, trunk);
        let n_features = self.trunk.n_outputs();
        *dense = !is_sparse((0..n_features).map(|feature| features.feature(feature)));
        self.augmented_columns(parameters, features, multipliers, (terms, folded, column));
        false
    }

    /// The terms of Q_aug given the trunk's features; behind them there may be others.
    fn augmented_columns(
        &self,
        parameters: &[f32],
        features: &Columns,
        multipliers: &[f32],
        (terms, folded, column): (&mut Columns, &mut FoldedHeads, &mut Vec<f32>),
    ) {
        let n_rows = features.n_rows();
        // One augmented value has the multipliers among its inputs and nothing to add.
        if self.n_heads == 1 || multipliers.iter().all(|multiplier| *multiplier == 0.0) {
            return self.heads.forward(parameters, features, self.head.n_terms(), false, terms);
        }
        let n_costs = self.n_heads - 1;
        assert_eq!(multipliers.len(), n_rows * n_costs, "one multiplier per row and constraint");
        let alike = || runs(multipliers, n_costs);
        let n_runs = alike().count();
        if n_runs == 1 || n_rows >= ROWS_PER_FOLD * n_runs {
            terms.fit(self.head.n_terms(), n_rows);
            for run in alike() {
                folded.fold(
                    self.heads.parts(parameters),
                    &multipliers[run.start * n_costs..][..n_costs],
                );
                folded.forward(features, run, terms);
            }
        } else {
            self.heads.forward(parameters, features, self.heads.n_outputs, false, terms);
            self.add_costs(multipliers, column, terms);
        }
    }

    /// The same row by row, for the features of some rows of the last [`crate::nn::Mlp::forward_batches`].
    fn augmented_rows(
        &self,
        parameters: &[f32],
        sought: Range<usize>,
        multipliers: &[f32],
        workspace: &mut TwoHeadWorkspace,
    ) {
        let TwoHeadWorkspace { trunk_rows, last_layer, outputs, rows: terms, folded, .. } =
            workspace;
        let (n_terms, n_costs, width) =
            (self.head.n_terms(), self.n_heads - 1, self.heads.n_inputs);
        let n_rows = sought.len();
        let features = &self.trunk.last_rows(trunk_rows)[sought.start * width..sought.end * width];
        if terms.len() < n_rows * n_terms {
            terms.resize(n_rows * n_terms, 0.0);
        }
        let terms = &mut terms[..n_rows * n_terms];
        let (weight, bias) = self.heads.parts(parameters);
        let all = Matrix::new(features, n_rows, width);
        // One augmented value has the multipliers among its inputs and nothing to add.
        if n_costs == 0 || multipliers.iter().all(|multiplier| *multiplier == 0.0) {
            let primary = (&weight[..n_terms * width], &bias[..n_terms]);
            return last_layer.forward(primary, all, false, terms);
        }
        assert_eq!(multipliers.len(), n_rows * n_costs, "one multiplier per row and constraint");
        let n_runs = runs(multipliers, n_costs).count();
        if n_runs == 1 || n_rows >= ROWS_PER_FOLD * n_runs {
            for run in runs(multipliers, n_costs) {
                folded.fold((weight, bias), &multipliers[run.start * n_costs..][..n_costs]);
                let features = Matrix::new(&features[run.start * width..], run.len(), width);
                let terms = &mut terms[run.start * n_terms..run.end * n_terms];
                last_layer.forward((&folded.weight, &folded.bias), features, false, terms);
            }
        } else {
            outputs.resize(n_rows * self.heads.n_outputs, 0.0);
            last_layer.forward((weight, bias), all, false, outputs);
            add_costs(outputs, multipliers, n_terms, terms);
        }
    }

    /// Adds the terms of the cost heads, times each row's multipliers, to those of the primary head.
    fn add_costs(&self, multipliers: &[f32], column: &mut Vec<f32>, terms: &mut Columns) {
        let (n_terms, n_costs, stride) = (self.head.n_terms(), self.n_heads - 1, terms.stride());
        let (primary, costs) = terms.data_mut().split_at_mut(n_terms * stride);
        for (j, cost) in costs.chunks_exact(n_terms * stride).enumerate() {
            column.clear();
            column.extend(multipliers.iter().skip(j).step_by(n_costs));
            column.resize(stride, 0.0);
            vectorised(
                #[inline(always)]
                || {
                    let terms = primary.chunks_exact_mut(stride).zip(cost.chunks_exact(stride));
                    terms.for_each(|(primary, cost)| augment(primary, cost, &*column));
                },
            );
        }
    }
}

impl FoldedHeads {
    /// Adds up the heads' weights and biases.
    fn fold(&mut self, (weight, bias): (&[f32], &[f32]), multipliers: &[f32]) {
        fold(weight, multipliers, &mut self.weight);
        fold(bias, multipliers, &mut self.bias);
    }

    /// Writes the terms of some rows.
    fn forward(&self, features: &Columns, rows: Range<usize>, terms: &mut Columns) {
        let (n_terms, stride) = (self.bias.len(), features.stride());
        let n_features = self.weight.len() / n_terms;
        let weight = Matrix::new(&self.weight, n_terms, n_features);
        // Rows to the end are computed with their padding, which saves looking at it.
        let n_columns = if rows.end == features.n_rows() {
            features.matrix().n_columns() - rows.start
        } else {
            rows.len()
        };
        let features = &features.data()[rows.start..];
        let features = Matrix::strided(features, n_features, n_columns, stride);
        let terms = &mut terms.data_mut()[rows.start..];
        product(terms, Start::Bias(&self.bias), weight, features, false);
    }
}

/// Writes, row by row, the terms of the primary head plus those of each other times its multiplier.
fn add_costs(outputs: &[f32], multipliers: &[f32], n_terms: usize, terms: &mut [f32]) {
    let n_rows = terms.len() / n_terms;
    let (n_outputs, n_costs) = (outputs.len() / n_rows, multipliers.len() / n_rows);
    vectorised(
        #[inline(always)]
        || {
            let rows = outputs.chunks_exact(n_outputs).zip(multipliers.chunks_exact(n_costs));
            for (terms, (outputs, multipliers)) in terms.chunks_exact_mut(n_terms).zip(rows) {
                let (primary, costs) = outputs.split_at(n_terms);
                terms.copy_from_slice(primary);
                for (cost, multiplier) in costs.chunks_exact(n_terms).zip(multipliers) {
                    augment(terms, cost, std::iter::repeat(multiplier));
                }
            }
        },
    );
}

/// The first part of `parts`, of as many numbers as the others, plus each other times its multiplier.
fn fold(parts: &[f32], multipliers: &[f32], sum: &mut Vec<f32>) {
    let (primary, costs) = parts.split_at(parts.len() / (1 + multipliers.len()));
    sum.clear();
    sum.extend_from_slice(primary);
    vectorised(
        #[inline(always)]
        || {
            for (cost, multiplier) in costs.chunks_exact(primary.len()).zip(multipliers) {
                sum.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += multiplier * cost);
            }
        },
    );
}

/// Stretches of rows with the same multipliers, which lie row by row.
fn runs(multipliers: &[f32], n_costs: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let row = move |row: usize| &multipliers[row * n_costs..][..n_costs];
    let n_rows = multipliers.len() / n_costs;
    let mut start = 0;
    std::iter::from_fn(move || {
        let run =
            start..(start + 1..n_rows).find(|&other| row(other) != row(start)).unwrap_or(n_rows);
        start = run.end;
        (!run.is_empty()).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::{NetworkOptions, network::tests::spec},
        rng::{Purpose, Streams},
    };

    #[test]
    fn runs_cover_all_rows() {
        let multipliers = [1.0, 2.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0];
        assert!(runs(&multipliers, 2).eq([0..2, 2..3, 3..4]));
        assert!(runs(&multipliers, 1).eq((0..8).map(|row| row..row + 1)));
        assert_eq!(runs(&[], 2).count(), 0);
    }

    /// Rows with the same multipliers, in stretches of any length, get what each gets alone.
    #[test]
    fn shared_matrices_change_nothing() {
        let mut rng = Streams::new(4).rng(Purpose::Problem, 0);
        let network = TwoHead::new(&NetworkOptions::default(), &spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let n_terms = network.head().n_terms();
        let mut workspace = TwoHeadWorkspace::default();
        for lengths in [vec![1], vec![40, 35], vec![90], vec![30, 1, 50, 33], vec![1; 40]] {
            let n_rows: usize = lengths.iter().sum();
            let rows: Vec<f32> =
                (0..n_rows * network.n_inputs()).map(|_| rng.normal() as f32).collect();
            let run = |(index, &length)| vec![[0.3 * index as f32, 0.7]; length];
            let multipliers: Vec<f32> =
                lengths.iter().enumerate().flat_map(run).flatten().collect();
            let together = network
                .terms(&parameters, Pass::of(&rows, n_rows), &multipliers, &mut workspace)
                .to_vec();
            for row in 0..n_rows {
                let input = &rows[row * network.n_inputs()..][..network.n_inputs()];
                let multipliers = &multipliers[2 * row..][..2];
                let alone = Pass::of(input, 1);
                let terms = network.terms(&parameters, alone, &[], &mut workspace).to_vec();
                let alone = network.terms(&parameters, alone, multipliers, &mut workspace);
                assert_ne!(alone, terms);
                let together = &together[row * n_terms..][..n_terms];
                let near = alone.iter().zip(together).all(|(x, y)| (x - y).abs() < 1e-5);
                assert!(near, "{lengths:?}, row {row}");
            }
        }
    }
}
