//! A network whose inputs, outputs and gradients are kept as rows, for networks built of several.

use crate::nn::{Columns, Mlp, MlpWorkspace};

/// The network and the rows of its last batch, one after the other.
#[derive(Clone, Debug)]
pub(super) struct RowNetwork {
    pub(super) mlp: Mlp,
    workspace: MlpWorkspace,
    pub(super) input: Vec<f32>,
    pub(super) output: Vec<f32>,
    pub(super) d_output: Vec<f32>,
    pub(super) d_input: Vec<f32>,
    columns: Columns,
}

impl RowNetwork {
    pub(super) fn new(mlp: Mlp) -> Self {
        let (workspace, columns) = (MlpWorkspace::default(), Columns::default());
        let [input, output, d_output, d_input] = [const { Vec::new() }; 4];
        Self { mlp, workspace, input, output, d_output, d_input, columns }
    }

    /// Runs the rows in `input`.
    pub(super) fn forward(&mut self, parameters: &[f32]) {
        let n_rows = self.input.len() / self.mlp.n_inputs();
        let output = self.mlp.forward(parameters, &self.input, n_rows, &mut self.workspace);
        output.write_rows(&mut self.output);
        self.output.truncate(n_rows * self.mlp.n_outputs());
    }

    /// Takes the gradient in `d_output` down to the parameters, and to `d_input` where it is wanted.
    pub(super) fn backward(&mut self, parameters: &[f32], gradient: &mut [f32], down: bool) {
        let Self { mlp, workspace, input, d_output, d_input, columns, .. } = self;
        let n_rows = input.len() / mlp.n_inputs();
        mlp.d_output(workspace).read_rows(d_output, mlp.n_outputs(), n_rows);
        mlp.backward(parameters, gradient, input, workspace, down.then_some(&mut *columns));
        if down {
            columns.write_rows(d_input);
        }
    }
}
