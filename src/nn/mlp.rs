//! A stack of linear layers: h₀ = x, hₗ = ReLU(Wₗ hₗ₋₁ + bₗ); the last layer may stay linear.

use super::{Columns, Layout, Linear, vectorised};

/// The shape of a multi-layer perceptron; its numbers live in a flat buffer elsewhere.
#[derive(Clone, Debug)]
pub struct Mlp {
    pub(super) layers: Vec<Linear>,
    rectify_last: bool,
}

/// Activations and gradients of one batch; grows to the largest batch seen and stays.
#[derive(Clone, Debug, Default)]
pub struct MlpWorkspace {
    input: Columns,
    activations: Vec<Columns>,
    d_activations: Vec<Columns>,
    rows: Vec<f32>,
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

    /// Number of layers.
    pub fn n_layers(&self) -> usize {
        self.layers.len()
    }

    /// Runs `n_rows` rows that lie one after the other and returns the last layer's activations.
    pub fn forward<'w>(
        &self,
        parameters: &[f32],
        rows: &[f32],
        n_rows: usize,
        workspace: &'w mut MlpWorkspace,
    ) -> &'w Columns {
        let MlpWorkspace { input, activations, .. } = workspace;
        activations.resize_with(self.layers.len(), Columns::default);
        input.read_rows(rows, self.n_inputs(), n_rows);
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.split_at_mut(l);
            let input = before.last().unwrap_or(input);
            layer.forward(parameters, input, layer.n_outputs, self.rectified(l), &mut after[0]);
        }
        self.output(workspace)
    }

    /// The last layer's activations of the last forward pass.
    pub fn output<'w>(&self, workspace: &'w MlpWorkspace) -> &'w Columns {
        &workspace.activations[self.layers.len() - 1]
    }

    /// Where the caller writes the gradient of the output before [`Self::backward`].
    pub fn d_output<'w>(&self, workspace: &'w mut MlpWorkspace) -> &'w mut Columns {
        workspace.d_activations.resize_with(self.layers.len(), Columns::default);
        &mut workspace.d_activations[self.layers.len() - 1]
    }

    /// Adds the gradients of all layers, from the output's gradient left in [`Self::d_output`];
    /// writes the input's gradient where it is wanted.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        input: &[f32],
        workspace: &mut MlpWorkspace,
        d_input: Option<&mut Columns>,
    ) {
        let MlpWorkspace { activations, d_activations, rows, .. } = workspace;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let (before, after) = d_activations.split_at_mut(l);
            let d_output = &mut after[0];
            if self.rectified(l) {
                rectify_gradient(d_output.data_mut(), activations[l].data());
            }
            if l > 0 {
                layer.backward(gradient, activations[l - 1].write_rows(rows), d_output);
                layer.backward_input(parameters, d_output, &mut before[l - 1]);
            } else {
                layer.backward(gradient, input, d_output);
            }
        }
        if let Some(d_input) = d_input {
            self.layers[0].backward_input(parameters, &d_activations[0], d_input);
        }
    }

    pub(super) fn rectified(&self, layer: usize) -> bool {
        self.rectify_last || layer + 1 < self.layers.len()
    }
}

pub(super) fn rectify_gradient(d_values: &mut [f32], values: &[f32]) {
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
        let (output, mut values) =
            (mlp.forward(parameters, input, rows, &mut workspace), Vec::new());
        output.write_rows(&mut values).iter().map(|y| 0.5 * f64::from(*y) * f64::from(*y)).sum()
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
        let output = mlp.forward(&parameters, &input, rows, &mut workspace).clone();
        *mlp.d_output(&mut workspace) = output;
        let (mut gradient, mut d_input) = (vec![0.0; layout.len()], Columns::default());
        mlp.backward(&parameters, &mut gradient, &input, &mut workspace, Some(&mut d_input));
        let mut d_rows = Vec::new();
        let d_input = d_input.write_rows(&mut d_rows);

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
