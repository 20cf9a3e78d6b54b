//! A network with everything its training needs: numbers, Adam's moments, the shares of a batch.

use crate::algorithm::weights::{load_weights, save_weights};
use crate::{
    checkpoint::Checkpoint,
    error::Result,
    nn::{Adam, AdamOptions, Columns, Gradient, Layout, Mlp, MlpWorkspace},
    rng::Rng,
};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a batch that go through the network together; fixed, so that the number of threads never
/// changes a result.
const ROWS_PER_SHARE: usize = 256;

/// The shape of a network: layers and where their numbers lie.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) layout: Layout,
    pub(super) mlp: Mlp,
    layer_norm: bool,
}

impl Shape {
    /// A network of these widths, whose rows are brought to mean 0 and spread 1 where `layer_norm`.
    pub(super) fn new(widths: &[usize], layer_norm: bool) -> Self {
        let mut layout = Layout::default();
        let mlp = Mlp::new(&mut layout, "net", widths, false);
        Self { layout, mlp, layer_norm }
    }

    /// Rows as the network takes them.
    pub(super) fn inputs<'r>(&self, rows: &'r [f32], normalised: &'r mut Vec<f32>) -> &'r [f32] {
        if !self.layer_norm {
            return rows;
        }
        normalised.clear();
        normalised.extend_from_slice(rows);
        normalised.chunks_exact_mut(self.mlp.n_inputs()).for_each(layer_normalise);
        normalised
    }
}

/// Layer normalisation (Ba et al.): x ← (x − mean) / √(variance + 10⁻⁵). What is learned beside it, a
/// scale and an offset of each entry, the first layer behind it has already.
fn layer_normalise(row: &mut [f32]) {
    let n = row.len() as f32;
    let mean = row.iter().sum::<f32>() / n;
    let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
    let scale = (variance + 1e-5).sqrt().recip();
    row.iter_mut().for_each(|x| *x = (*x - mean) * scale);
}

/// A multi-layer perceptron that learns by Adam.
pub(super) struct Approximator {
    pub(super) shape: Arc<Shape>,
    pub(super) parameters: Vec<f32>,
    adam: Adam,
    shares: Vec<Share>,
}

/// Buffers for one share of a batch.
struct Share {
    workspace: MlpWorkspace,
    inputs: Vec<f32>,
    gradient: Gradient,
    outputs: Vec<f32>,
    d_outputs: Vec<f32>,
    sums: [f32; 2],
}

impl Approximator {
    /// A fresh network; `last_gain` sets the size of its first outputs.
    pub(super) fn new(shape: Shape, last_gain: f64, adam: AdamOptions, rng: &mut Rng) -> Self {
        let shape = Arc::new(shape);
        let parameters = shape.layout.initialise_orthogonal(last_gain, rng);
        let adam = Adam::new(adam, parameters.len());
        Self { shape, parameters, adam, shares: Vec::new() }
    }

    /// Writes the outputs of all rows, one row after the other.
    pub(super) fn outputs(&mut self, rows: &[f32], outputs: &mut Vec<f32>) {
        let (n_inputs, n_outputs) = self.widths();
        let n_shares = self.cut(rows.len() / n_inputs);
        outputs.resize(rows.len() / n_inputs * n_outputs, 0.0);
        let (shape, parameters) = (&*self.shape, &self.parameters);
        self.shares[..n_shares]
            .par_iter_mut()
            .zip(rows.par_chunks(ROWS_PER_SHARE * n_inputs))
            .zip(outputs.par_chunks_mut(ROWS_PER_SHARE * n_outputs))
            .for_each(|((share, rows), outputs)| {
                let Share { inputs, workspace, .. } = share;
                let (n_rows, rows) = (rows.len() / n_inputs, shape.inputs(rows, inputs));
                let columns = shape.mlp.forward(parameters, rows, n_rows, workspace);
                outputs.copy_from_slice(columns.write_rows(&mut share.outputs));
            });
    }

    /// One step against the mean over rows of a loss, no gradient longer than `max_norm`.
    ///
    /// `loss` gets a row's number and outputs, writes their gradient and returns two numbers whose
    /// means over all rows are handed back, the loss first.
    pub(super) fn descend(
        &mut self,
        rows: &[f32],
        lr: f32,
        max_norm: f32,
        loss: impl Fn(usize, &[f32], &mut [f32]) -> [f32; 2] + Sync,
    ) -> [f32; 2] {
        let means = self.differentiate(rows, loss);
        let Some(first) = self.shares.first_mut() else { return means };
        clip_gradient(first.gradient.values_mut(), max_norm);
        self.adam.step(lr, &first.gradient, &mut self.parameters);
        means
    }

    /// The gradient of the mean over rows of a loss.
    pub(super) fn gradient(
        &mut self,
        rows: &[f32],
        loss: impl Fn(usize, &[f32], &mut [f32]) -> [f32; 2] + Sync,
    ) -> Vec<f32> {
        self.differentiate(rows, loss);
        self.shares.first().map_or_else(Vec::new, |share| share.gradient.values().to_vec())
    }

    /// Leaves the gradient of the mean loss in the first share.
    fn differentiate(
        &mut self,
        rows: &[f32],
        loss: impl Fn(usize, &[f32], &mut [f32]) -> [f32; 2] + Sync,
    ) -> [f32; 2] {
        let n_inputs = self.widths().0;
        let n_rows = rows.len() / n_inputs;
        let n_shares = self.cut(n_rows);
        let (shape, parameters) = (&*self.shape, &self.parameters);
        self.shares[..n_shares]
            .par_iter_mut()
            .zip(rows.par_chunks(ROWS_PER_SHARE * n_inputs))
            .enumerate()
            .for_each(|(index, (share, rows))| {
                share.accumulate(shape, parameters, rows, n_rows, |row, outputs, d_outputs| {
                    loss(index * ROWS_PER_SHARE + row, outputs, d_outputs)
                });
            });
        let mut sums = [0.0; 2];
        for index in 0..n_shares {
            let (first, rest) = self.shares.split_at_mut(1);
            if index > 0 {
                first[0].gradient.add(&rest[index - 1].gradient);
            }
            let share = if index > 0 { &rest[index - 1] } else { &first[0] };
            sums.iter_mut().zip(share.sums).for_each(|(sum, part)| *sum += part);
        }
        sums.map(|sum| sum / n_rows.max(1) as f32)
    }

    /// Makes sure of a share for each part of a batch; returns their number.
    fn cut(&mut self, n_rows: usize) -> usize {
        let n_shares = n_rows.div_ceil(ROWS_PER_SHARE);
        let len = self.parameters.len();
        while self.shares.len() < n_shares {
            self.shares.push(Share {
                workspace: MlpWorkspace::default(),
                inputs: Vec::new(),
                gradient: Gradient::dense(vec![0.0; len]),
                outputs: Vec::new(),
                d_outputs: Vec::new(),
                sums: [0.0; 2],
            });
        }
        n_shares
    }

    fn widths(&self) -> (usize, usize) {
        (self.shape.mlp.n_inputs(), self.shape.mlp.n_outputs())
    }

    /// Weight and bias of the last layer, to change both.
    pub(super) fn last_layer(&mut self) -> (&mut [f32], &mut [f32]) {
        let tensors = self.shape.layout.tensors();
        let (weight, bias) = (&tensors[tensors.len() - 2], &tensors[tensors.len() - 1]);
        weight.span.pair_mut(bias.span, &mut self.parameters)
    }

    /// Writes numbers and moments.
    pub(super) fn save<'a>(&'a self, name: &str, checkpoint: &mut Checkpoint<'a>) {
        let layout = &self.shape.layout;
        save_weights(layout, name, &self.parameters, checkpoint);
        save_weights(layout, &format!("{name}.adam.mean"), &self.adam.mean, checkpoint);
        save_weights(layout, &format!("{name}.adam.root"), &self.adam.root, checkpoint);
        checkpoint.set(&format!("{name}_adam_steps"), self.adam.steps);
    }

    /// Reads back what [`Self::save`] wrote.
    pub(super) fn load(&mut self, name: &str, checkpoint: &Checkpoint) -> Result<()> {
        let layout = &self.shape.layout;
        load_weights(layout, name, checkpoint, &mut self.parameters)?;
        load_weights(layout, &format!("{name}.adam.mean"), checkpoint, &mut self.adam.mean)?;
        load_weights(layout, &format!("{name}.adam.root"), checkpoint, &mut self.adam.root)?;
        self.adam.steps = checkpoint.count(&format!("{name}_adam_steps"))?;
        Ok(())
    }
}

impl Share {
    /// Computes this share of the gradient of a mean over `n_rows` rows.
    fn accumulate(
        &mut self,
        shape: &Shape,
        parameters: &[f32],
        rows: &[f32],
        n_rows: usize,
        loss: impl Fn(usize, &[f32], &mut [f32]) -> [f32; 2],
    ) {
        let mlp = &shape.mlp;
        let width = mlp.n_outputs();
        let n_own = rows.len() / mlp.n_inputs();
        let rows = shape.inputs(rows, &mut self.inputs);
        let columns = mlp.forward(parameters, rows, n_own, &mut self.workspace);
        let outputs = columns.write_rows(&mut self.outputs);
        self.d_outputs.resize(n_own * width, 0.0);
        self.sums = [0.0; 2];
        let pairs = outputs.chunks_exact(width).zip(self.d_outputs.chunks_exact_mut(width));
        for (row, (outputs, d_outputs)) in pairs.enumerate() {
            let parts = loss(row, outputs, d_outputs);
            self.sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            d_outputs.iter_mut().for_each(|d| *d /= n_rows as f32);
        }
        let columns: &mut Columns = mlp.d_output(&mut self.workspace);
        columns.read_rows(&self.d_outputs, width, n_own);
        self.gradient.clear();
        mlp.backward(parameters, self.gradient.values_mut(), rows, &mut self.workspace, None);
    }
}

/// Scales a gradient down to a length, where it is longer.
pub(in crate::algorithm) fn clip_gradient(gradient: &mut [f32], max_norm: f32) {
    // Eight fixed lanes, so that every machine sums in the same order, and many numbers at a time.
    let mut lanes = [0.0_f64; 8];
    let whole = gradient.chunks_exact(8);
    let rest: f64 = whole.remainder().iter().map(|g| f64::from(*g) * f64::from(*g)).sum();
    for numbers in whole {
        lanes.iter_mut().zip(numbers).for_each(|(sum, g)| *sum += f64::from(*g) * f64::from(*g));
    }
    let square = lanes.iter().sum::<f64>() + rest;
    let scale = f64::from(max_norm) / (square.sqrt() + 1e-6);
    if scale < 1.0 {
        gradient.iter_mut().for_each(|g| *g = (f64::from(*g) * scale) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::on_policy::{
            PpoOptions,
            ppo::{Taken, policy_loss},
            values::value_loss,
        },
        rng::{Purpose, Streams},
    };

    /// The gradient by hand and by central differences, over more rows than one share takes.
    fn check(n_outputs: usize, loss: impl Fn(usize, &[f32], &mut [f32]) -> [f32; 2] + Sync) {
        let mut rng = Streams::new(6).rng(Purpose::Problem, 0);
        let shape = Shape::new(&[3, 5, n_outputs], n_outputs == 1);
        let mut net = Approximator::new(shape, 1.0, AdamOptions::default(), &mut rng);
        let rows: Vec<f32> = (0..300 * 3).map(|_| rng.normal() as f32).collect();
        net.differentiate(&rows, &loss);
        let gradient = net.shares[0].gradient.values().to_vec();
        for (i, expected) in gradient.into_iter().enumerate() {
            let kept = net.parameters[i];
            net.parameters[i] = kept + 2e-3;
            let up = net.differentiate(&rows, &loss)[0];
            net.parameters[i] = kept - 2e-3;
            let down = net.differentiate(&rows, &loss)[0];
            net.parameters[i] = kept;
            let numeric = (up - down) / 4e-3;
            assert!((numeric - expected).abs() < 4e-3, "{i}: {numeric} {expected}");
        }
    }

    #[test]
    fn the_policy_loss_reaches_every_weight_as_finite_differences_say() {
        check(4, |row, logits, d_logits| {
            let advantage = (row % 7) as f32 / 3.0 - 1.0;
            let taken = Taken { action: row % 4, log_probability: -1.3, advantage, allowed: None };
            policy_loss(logits, taken, 0.2, 0.1, d_logits).into()
        });
    }

    #[test]
    fn the_value_loss_reaches_every_weight_as_finite_differences_say() {
        let options = PpoOptions { huber: 1.0, value_clip: 0.3, ..PpoOptions::default() };
        check(1, |row, value, d_value| {
            let (before, target) = ((row % 3) as f32 / 3.0, (row % 5) as f32 - 2.0);
            let (d, loss) = value_loss(value[0], before, target, &options);
            d_value[0] = d;
            [loss, 0.0]
        });
    }

    #[test]
    fn a_normalised_row_has_mean_zero_and_spread_one() {
        let mut row = [1.0, 3.0, 5.0, 7.0];
        layer_normalise(&mut row);
        let scale = (5.0_f32 + 1e-5).sqrt();
        let expected = [-3.0, -1.0, 1.0, 3.0].map(|x| x / scale);
        assert!(row.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{row:?}");
        let (shape, mut own) = (Shape::new(&[4, 1], false), Vec::new());
        assert_eq!(shape.inputs(&[1.0, 3.0, 5.0, 7.0], &mut own), [1.0, 3.0, 5.0, 7.0]);
    }

    #[test]
    fn long_gradients_are_clipped() {
        let mut gradient = [3.0, 4.0];
        clip_gradient(&mut gradient, 10.0);
        assert_eq!(gradient, [3.0, 4.0]);
        clip_gradient(&mut gradient, 1.0);
        assert!((gradient[0] - 0.6).abs() < 1e-5 && (gradient[1] - 0.8).abs() < 1e-5);
    }
}
