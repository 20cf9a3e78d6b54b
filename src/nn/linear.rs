//! A linear layer: y = W x + b for every row x of a batch, with W stored as outputs × inputs.

use super::{Columns, Layout, Matrix, Span, Start, product, vectorised};

/// Where a linear layer's weight and bias live in the flat buffer.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// Width of a row that comes in.
    pub n_inputs: usize,
    /// Width of a row that goes out.
    pub n_outputs: usize,
    weight: Span,
    bias: Span,
}

impl Linear {
    /// Reserves `name.weight` and `name.bias`.
    pub fn new(layout: &mut Layout, name: &str, n_inputs: usize, n_outputs: usize) -> Self {
        let weight = layout.add(format!("{name}.weight"), &[n_outputs, n_inputs]);
        let bias = layout.add(format!("{name}.bias"), &[n_outputs]);
        Self { n_inputs, n_outputs, weight, bias }
    }

    /// Where the weight lies in the flat buffer.
    pub fn weight(&self) -> Span {
        self.weight
    }

    /// Weight (one contiguous row per output) and bias.
    pub fn parts<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        (self.weight.of(parameters), self.bias.of(parameters))
    }

    /// Weight and bias, to change both.
    pub fn parts_mut<'a>(&self, parameters: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        self.weight.pair_mut(self.bias, parameters)
    }

    /// Writes the first `n_outputs` outputs of every row, as max(·, 0) where `rectify`.
    pub fn forward(
        &self,
        parameters: &[f32],
        input: &Columns,
        n_outputs: usize,
        rectify: bool,
        output: &mut Columns,
    ) {
        output.fit(n_outputs, input.n_rows());
        let (weight, bias) = self.parts(parameters);
        let weight = Matrix::new(weight, n_outputs, self.n_inputs);
        product(output.data_mut(), Start::Bias(bias), weight, input.matrix(), rectify);
    }

    /// Adds the gradients of weight and bias, given the rows that came in (one after the other) and
    /// the output's gradient.
    pub fn backward(&self, gradient: &mut [f32], rows: &[f32], d_output: &Columns) {
        let (d_weight, d_bias) = self.parts_mut(gradient);
        let rows = Matrix::new(rows, d_output.n_rows(), self.n_inputs);
        product(d_weight, Start::Destination, d_output.exact_matrix(), rows, false);
        vectorised(
            #[inline(always)]
            || {
                for (output, sum) in d_bias.iter_mut().enumerate() {
                    *sum += lane_sum(d_output.feature(output));
                }
            },
        );
    }

    /// Writes the gradient of the rows that came in.
    pub fn backward_input(&self, parameters: &[f32], d_output: &Columns, d_input: &mut Columns) {
        d_input.fit(self.n_inputs, d_output.n_rows());
        let weight = Matrix::new(self.weight.of(parameters), self.n_outputs, self.n_inputs);
        let (left, right) = (weight.transposed(), d_output.matrix());
        product(d_input.data_mut(), Start::Zero, left, right, false);
    }
}

/// A sum in sixteen fixed lanes, so that every machine sums in the same order.
#[inline(always)]
pub(super) fn lane_sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    let whole = values.chunks_exact(16);
    let rest: f32 = whole.remainder().iter().sum();
    for chunk in whole {
        for i in 0..16 {
            lanes[i] += chunk[i];
        }
    }
    lanes.iter().sum::<f32>() + rest
}
