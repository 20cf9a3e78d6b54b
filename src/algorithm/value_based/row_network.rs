//! A network whose inputs, outputs and gradients are kept as rows, for networks built of several.

use crate::nn::{
    Columns, Linear, Matrix, Mlp, MlpWorkspace, RowLayer, RowWorkspace, are_many, is_sparse,
};
use std::iter;

/// Rows from which on several layers are sooner done without what is zero between them.
const ROWS_TO_SKIP: usize = 192;

/// The network and the rows of its last batch, one after the other.
#[derive(Clone, Debug)]
pub(super) struct RowNetwork {
    pub(super) mlp: Mlp,
    pub(super) input: Vec<f32>,
    pub(super) output: Vec<f32>,
    pub(super) d_output: Vec<f32>,
    pub(super) d_input: Vec<f32>,
    by_columns: MlpWorkspace,
    columns: Columns,
    by_rows: RowWorkspace,
    /// Whether the last batch went through row by row, without what is zero between layers: that gives
    /// the same bits, sooner or later.
    went_by_rows: bool,
    /// Whether few of its numbers were zero: then it does not pay to skip those that are.
    dense: bool,
}

impl RowNetwork {
    pub(super) fn new(mlp: Mlp) -> Self {
        let [input, output, d_output, d_input] = [const { Vec::new() }; 4];
        let (by_columns, by_rows) = (MlpWorkspace::default(), RowWorkspace::default());
        let columns = Columns::default();
        Self {
            mlp,
            input,
            output,
            d_output,
            d_input,
            by_columns,
            columns,
            by_rows,
            went_by_rows: false,
            dense: false,
        }
    }

    /// Runs the rows in `input` and fills `output`.
    pub(super) fn forward(&mut self, parameters: &[f32]) {
        let n_rows = self.run(parameters);
        let Self { mlp, output, by_columns, by_rows, .. } = self;
        if self.went_by_rows {
            output.clear();
            output.extend_from_slice(mlp.output_rows(n_rows, by_rows).0);
        } else {
            mlp.output(by_columns).write_rows(output);
            output.truncate(n_rows * mlp.n_outputs());
        }
    }

    /// Runs the rows in `input` and then one more layer, whose outputs are written row by row.
    pub(super) fn forward_through(
        &mut self,
        parameters: &[f32],
        (last, by_rows): (&Linear, &mut RowLayer),
        outputs: &mut Vec<f32>,
    ) {
        let n_rows = self.run(parameters);
        if self.went_by_rows {
            let features = self.mlp.output_rows(n_rows, &mut self.by_rows).0;
            let features = Matrix::new(features, n_rows, last.n_inputs);
            outputs.resize(n_rows * last.n_outputs, 0.0);
            by_rows.forward(last.parts(parameters), features, outputs);
        } else {
            let features = self.mlp.output(&self.by_columns);
            last.forward(parameters, features, last.n_outputs, false, &mut self.columns);
            self.columns.write_rows(outputs);
            outputs.truncate(n_rows * last.n_outputs);
        }
    }

    /// Runs the rows in `input` the sooner way; returns their number.
    fn run(&mut self, parameters: &[f32]) -> usize {
        let Self { mlp, input, by_columns, by_rows, .. } = self;
        let n_rows = input.len() / mlp.n_inputs();
        let has_zeros = mlp.n_layers() > 1;
        let enough = if has_zeros { n_rows >= ROWS_TO_SKIP } else { are_many(n_rows) };
        self.went_by_rows = enough && !self.dense;
        if self.went_by_rows {
            let output = mlp.forward_rows(parameters, input, n_rows, by_rows);
            self.dense = has_zeros && !is_sparse(iter::once(output));
        } else {
            let output = mlp.forward(parameters, input, n_rows, by_columns);
            if enough {
                let features = (0..mlp.n_outputs()).map(|feature| output.feature(feature));
                self.dense = !is_sparse(features);
            }
        }
        n_rows
    }

    /// Takes the gradient in `d_output` down to the parameters, and to `d_input` where it is wanted.
    pub(super) fn backward(&mut self, parameters: &[f32], gradient: &mut [f32], down: bool) {
        let Self { mlp, input, d_output, d_input, by_columns, columns, by_rows, .. } = self;
        let n_rows = input.len() / mlp.n_inputs();
        if self.went_by_rows {
            mlp.output_rows(n_rows, by_rows).1.copy_from_slice(d_output);
            d_input.resize(input.len(), 0.0);
            let d_rows = down.then_some(&mut d_input[..]);
            return mlp.backward_rows(parameters, gradient, (input, n_rows), by_rows, d_rows);
        }
        mlp.d_output(by_columns).read_rows(d_output, mlp.n_outputs(), n_rows);
        mlp.backward(parameters, gradient, input, by_columns, down.then_some(&mut *columns));
        if down {
            columns.write_rows(d_input);
        }
    }
}
