//! A stack of linear layers: h₀ = x, hₗ = ReLU(hₗ₋₁ Wₗᵀ + bₗ); the last layer may stay linear.

use super::{Layout, Linear, vectorised};

/// The shape of a multi-layer perceptron; its numbers live in a flat buffer elsewhere.
#[derive(Clone, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
    rectify_last: bool,
}

/// Activations and gradients of one batch; grows to the largest batch seen and stays.
#[derive(Clone, Debug, Default)]
pub struct MlpWorkspace {
    activations: Vec<Vec<f32>>,
    d_activations: Vec<Vec<f32>>,
}

impl Mlp {
    /// Reserves layers of the given widths (inputs first), named `name.0`, `name.1`, …
    pub fn new(layout: &mut Layout, name: &str, widths: &[usize], rectify_last: bool) -> Self {
        assert!(widths.len() >= 2, "a network needs inputs and outputs");
        let layers = widths
            .windows(2)
            .enumerate()
            .map(|(i, w)| Linear::new(layout, &format!("{name}.{i}"), w[0], w[1]))
            .collect();
        Self { layers, rectify_last }
    }

    /// Width of an input row.
    pub fn n_inputs(&self) -> usize {
        self.layers[0].n_inputs
    }

    /// Width of an output row.
    pub fn n_outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].n_outputs
    }

    /// Runs `n_rows` rows and returns the last layer's activations.
    pub fn forward<'w>(
        &self,
        parameters: &[f32],
        input: &[f32],
        n_rows: usize,
        workspace: &'w mut MlpWorkspace,
    ) -> &'w [f32] {
        workspace.activations.resize_with(self.layers.len(), Vec::new);
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = workspace.activations.split_at_mut(l);
            let input = if l == 0 { input } else { &before[l - 1] };
            let output = &mut after[0];
            grow(output, n_rows * layer.n_outputs);
            layer.forward(parameters, input, n_rows, output);
            if self.rectified(l) {
                rectify(&mut output[..n_rows * layer.n_outputs]);
            }
        }
        self.output(n_rows, workspace)
    }

    /// The last layer's activations of the last forward pass.
    pub fn output<'w>(&self, n_rows: usize, workspace: &'w MlpWorkspace) -> &'w [f32] {
        &workspace.activations[self.layers.len() - 1][..n_rows * self.n_outputs()]
    }

    /// Where the caller writes the gradient of the output before [`Self::backward`].
    pub fn d_output<'w>(&self, n_rows: usize, workspace: &'w mut MlpWorkspace) -> &'w mut [f32] {
        workspace.d_activations.resize_with(self.layers.len(), Vec::new);
        let len = n_rows * self.n_outputs();
        let d_output = &mut workspace.d_activations[self.layers.len() - 1];
        grow(d_output, len);
        &mut d_output[..len]
    }

    /// The output of the last forward pass beside its gradient, to write.
    pub fn output_and_gradient<'w>(
        &self,
        n_rows: usize,
        workspace: &'w mut MlpWorkspace,
    ) -> (&'w [f32], &'w mut [f32]) {
        self.d_output(n_rows, workspace);
        let (last, len) = (self.layers.len() - 1, n_rows * self.n_outputs());
        let MlpWorkspace { activations, d_activations } = workspace;
        (&activations[last][..len], &mut d_activations[last][..len])
    }

    /// Adds the gradients of all layers, from the output's gradient left in [`Self::d_output`];
    /// writes the input's gradient where it is wanted.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        input: &[f32],
        n_rows: usize,
        workspace: &mut MlpWorkspace,
        d_input: Option<&mut [f32]>,
    ) {
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = workspace.d_activations.split_at_mut(l);
            let d_output = &mut after[0][..n_rows * layer.n_outputs];
            if self.rectified(l) {
                rectify_gradient(d_output, &workspace.activations[l]);
            }
            let layer_input = if l == 0 { input } else { &workspace.activations[l - 1] };
            layer.backward(gradient, layer_input, n_rows, d_output);
            if l > 0 {
                grow(&mut before[l - 1], n_rows * layer.n_inputs);
                layer.backward_input(parameters, n_rows, d_output, &mut before[l - 1]);
            }
        }
        if let Some(d_input) = d_input {
            self.layers[0].backward_input(parameters, n_rows, &workspace.d_activations[0], d_input);
        }
    }

    fn rectified(&self, layer: usize) -> bool {
        self.rectify_last || layer + 1 < self.layers.len()
    }
}

fn grow(buffer: &mut Vec<f32>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
}

fn rectify(values: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            for v in values {
                *v = v.max(0.0);
            }
        },
    );
}

fn rectify_gradient(d_values: &mut [f32], values: &[f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (d, v) in d_values.iter_mut().zip(values) {
                *d = if *v > 0.0 { *d } else { 0.0 };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// ½Σy² of a small network, whose gradient is checked against central differences.
    fn loss(mlp: &Mlp, parameters: &[f32], input: &[f32], rows: usize) -> f64 {
        let mut workspace = MlpWorkspace::default();
        let output = mlp.forward(parameters, input, rows, &mut workspace);
        output.iter().map(|y| 0.5 * f64::from(*y) * f64::from(*y)).sum()
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut rng = Streams::new(11).rng(Purpose::Problem, 0);
        let mut layout = Layout::default();
        let mlp = Mlp::new(&mut layout, "net", &[3, 6, 5, 2], false);
        let parameters = layout.initialise(&mut rng);
        let rows = 4;
        let mut input: Vec<f32> = (0..rows * 3).map(|_| rng.normal() as f32).collect();

        let mut workspace = MlpWorkspace::default();
        let output = mlp.forward(&parameters, &input, rows, &mut workspace).to_vec();
        mlp.d_output(rows, &mut workspace).copy_from_slice(&output);
        let (mut gradient, mut d_input) = (vec![0.0; layout.len()], vec![0.0; rows * 3]);
        mlp.backward(&parameters, &mut gradient, &input, rows, &mut workspace, Some(&mut d_input));

        let h = 1e-3;
        let mut moved = parameters.clone();
        for i in 0..layout.len() {
            moved[i] = parameters[i] + h;
            let up = loss(&mlp, &moved, &input, rows);
            moved[i] = parameters[i] - h;
            let down = loss(&mlp, &moved, &input, rows);
            moved[i] = parameters[i];
            let numeric = (up - down) / f64::from(2.0 * h);
            assert!((numeric - f64::from(gradient[i])).abs() < 5e-3, "parameter {i}");
        }
        for i in 0..input.len() {
            let kept = input[i];
            input[i] = kept + h;
            let up = loss(&mlp, &parameters, &input, rows);
            input[i] = kept - h;
            let down = loss(&mlp, &parameters, &input, rows);
            input[i] = kept;
            let numeric = (up - down) / f64::from(2.0 * h);
            assert!((numeric - f64::from(d_input[i])).abs() < 5e-3, "input {i}");
        }
    }
}
