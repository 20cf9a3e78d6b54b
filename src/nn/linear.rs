//! A linear layer: y = x Wᵀ + b, with W stored as outputs × inputs.

use super::{Layout, Matrix, Span, product};

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

    /// Weight (one contiguous row per output) and bias.
    pub fn parts<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        (self.weight.of(parameters), self.bias.of(parameters))
    }

    /// Weight and bias, to change both.
    pub fn parts_mut<'a>(&self, parameters: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        self.weight.pair_mut(self.bias, parameters)
    }

    /// Writes `n_rows` output rows.
    pub fn forward(&self, parameters: &[f32], input: &[f32], n_rows: usize, output: &mut [f32]) {
        let bias = self.bias.of(parameters);
        let output = &mut output[..n_rows * self.n_outputs];
        output.chunks_exact_mut(self.n_outputs).for_each(|row| row.copy_from_slice(bias));
        let weight = Matrix::new(self.weight.of(parameters), self.n_outputs, self.n_inputs);
        let input = Matrix::new(input, n_rows, self.n_inputs);
        product(output, true, input, weight.transposed());
    }

    /// Adds the gradients of weight and bias, given the rows that came in and the output's gradient.
    pub fn backward(&self, gradient: &mut [f32], input: &[f32], n_rows: usize, d_output: &[f32]) {
        let (d_weight, d_bias) = self.parts_mut(gradient);
        let d_rows = Matrix::new(d_output, n_rows, self.n_outputs);
        let input = Matrix::new(input, n_rows, self.n_inputs);
        product(d_weight, true, d_rows.transposed(), input);
        for row in d_output[..n_rows * self.n_outputs].chunks_exact(self.n_outputs) {
            d_bias.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
        }
    }

    /// Writes the gradient of the rows that came in.
    pub fn backward_input(
        &self,
        parameters: &[f32],
        n_rows: usize,
        d_output: &[f32],
        d_input: &mut [f32],
    ) {
        let weight = Matrix::new(self.weight.of(parameters), self.n_outputs, self.n_inputs);
        product(d_input, false, Matrix::new(d_output, n_rows, self.n_outputs), weight);
    }
}
