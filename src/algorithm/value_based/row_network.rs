//! A network whose inputs, outputs and gradients are kept as rows, for networks built of several.

use crate::nn::{Columns, Mlp, MlpWorkspace, RowWorkspace, are_many};

/// The network and the rows of its last batch, one after the other.
#[derive(Clone, Debug)]
pub(super) struct RowNetwork {
    pub(super) mlp: Mlp,
    pub(super) input: Vec<f32>,
    pub(super) output: Vec<f32>,
    pub(super) d_output: Vec<f32>,
    pub(super) d_input: Vec<f32>,
    by_columns: MlpWorkspace,
    d_columns: Columns,
    by_rows: RowWorkspace,
}

impl RowNetwork {
    pub(super) fn new(mlp: Mlp) -> Self {
        let [input, output, d_output, d_input] = [const { Vec::new() }; 4];
        let (by_columns, by_rows) = (MlpWorkspace::default(), RowWorkspace::default());
        let d_columns = Columns::default();
        Self { mlp, input, output, d_output, d_input, by_columns, d_columns, by_rows }
    }

    /// Runs the rows in `input`.
    pub(super) fn forward(&mut self, parameters: &[f32]) {
        let (n_rows, stay_rows) = (self.n_rows(), self.stay_rows());
        let Self { mlp, input, output, by_columns, by_rows, .. } = self;
        if stay_rows {
            output.clear();
            output.extend_from_slice(mlp.forward_rows(parameters, input, n_rows, by_rows));
        } else {
            mlp.forward(parameters, input, n_rows, by_columns).write_rows(output);
            output.truncate(n_rows * mlp.n_outputs());
        }
    }

    /// Takes the gradient in `d_output` down to the parameters, and to `d_input` where it is wanted.
    pub(super) fn backward(&mut self, parameters: &[f32], gradient: &mut [f32], down: bool) {
        let (n_rows, stay_rows) = (self.n_rows(), self.stay_rows());
        let Self { mlp, input, d_output, d_input, by_columns, d_columns, by_rows, .. } = self;
        if stay_rows {
            mlp.output_rows(n_rows, by_rows).1.copy_from_slice(d_output);
            d_input.resize(input.len(), 0.0);
            let d_rows = down.then_some(&mut d_input[..]);
            return mlp.backward_rows(parameters, gradient, (input, n_rows), by_rows, d_rows);
        }
        mlp.d_output(by_columns).read_rows(d_output, mlp.n_outputs(), n_rows);
        mlp.backward(parameters, gradient, input, by_columns, down.then_some(&mut *d_columns));
        if down {
            d_columns.write_rows(d_input);
        }
    }

    fn n_rows(&self) -> usize {
        self.input.len() / self.mlp.n_inputs()
    }

    /// Whether nothing is turned into columns on the way: with one layer that takes longer than it saves.
    fn stay_rows(&self) -> bool {
        self.mlp.n_layers() == 1 && are_many(self.n_rows())
    }
}
