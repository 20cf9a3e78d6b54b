//! A linear layer of which each row of a batch uses a few outputs only: nothing else is touched.
//!
//! v = Σ_{o selected} (w_o · h + b_o); backwards d_w += d h, d_b += d, d_h = Σ d w.

use pulp::{Arch, Simd, WithSimd};

/// Vectors that are worked on together.
const V: usize = 4;

/// Which outputs each value of each row adds up.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// `n_outputs` outputs for each value, value by value, row by row.
    pub outputs: &'a [usize],
    /// Outputs that one value adds up.
    pub n_outputs: usize,
    /// Values of one row.
    pub n_values: usize,
}

impl Selection<'_> {
    /// Fills up the list of a value that adds up fewer outputs than others.
    pub const NONE: usize = usize::MAX;
}

/// The outputs that are there.
#[inline(always)]
fn present(outputs: &[usize]) -> impl Iterator<Item = &usize> {
    outputs.iter().take_while(|output| **output != Selection::NONE)
}

/// Writes the values of every row, given its features.
pub fn selected_values(
    (weight, bias): (&[f32], &[f32]),
    features: &[f32],
    selection: Selection<'_>,
    values: &mut [f32],
) {
    let width = weight.len() / bias.len();
    Arch::new().dispatch(Values { weight, bias, width, features, selection, values });
}

/// Adds the gradients of weight and bias, and writes those of the features.
pub fn selected_backward(
    weight: &[f32],
    (d_weight, d_bias): (&mut [f32], &mut [f32]),
    (features, d_features): (&[f32], &mut [f32]),
    selection: Selection<'_>,
    d_values: &[f32],
) {
    let width = weight.len() / d_bias.len();
    let task =
        Backward { weight, width, d_weight, d_bias, features, d_features, selection, d_values };
    Arch::new().dispatch(task);
}

struct Values<'a> {
    weight: &'a [f32],
    bias: &'a [f32],
    width: usize,
    features: &'a [f32],
    selection: Selection<'a>,
    values: &'a mut [f32],
}

impl WithSimd for Values<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Selection { outputs, n_outputs, n_values } = self.selection;
        let rows = self.features.chunks_exact(self.width);
        let outputs = outputs.chunks_exact(n_values * n_outputs);
        for ((h, outputs), values) in rows.zip(outputs).zip(self.values.chunks_exact_mut(n_values))
        {
            for (value, outputs) in values.iter_mut().zip(outputs.chunks_exact(n_outputs)) {
                let mut sums = [simd.splat_f32s(0.0); V];
                let mut alone = 0.0;
                for &output in present(outputs) {
                    let weight = &self.weight[output * self.width..][..self.width];
                    alone += self.bias[output] + add_dot(simd, &mut sums, weight, h);
                }
                let sum =
                    simd.add_f32s(simd.add_f32s(sums[0], sums[1]), simd.add_f32s(sums[2], sums[3]));
                *value = alone + simd.reduce_sum_f32s(sum);
            }
        }
    }
}

/// Adds x · y lane by lane; returns what did not fill a vector.
#[inline(always)]
fn add_dot<S: Simd>(simd: S, sums: &mut [S::f32s; V], x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let (x_parts, y_parts) = (x.chunks_exact(V), y.chunks_exact(V));
    for (x, y) in x_parts.remainder().iter().zip(y_parts.remainder()) {
        sums[0] = simd.mul_add_e_f32s(*x, *y, sums[0]);
    }
    for (x, y) in x_parts.zip(y_parts) {
        for v in 0..V {
            sums[v] = simd.mul_add_e_f32s(x[v], y[v], sums[v]);
        }
    }
    x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum()
}

struct Backward<'a> {
    weight: &'a [f32],
    width: usize,
    d_weight: &'a mut [f32],
    d_bias: &'a mut [f32],
    features: &'a [f32],
    d_features: &'a mut [f32],
    selection: Selection<'a>,
    d_values: &'a [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Selection { outputs, n_outputs, n_values } = self.selection;
        let rows = self.d_values.chunks_exact(n_values);
        let rows = rows.zip(outputs.chunks_exact(n_values * n_outputs)).enumerate();
        for (row, (d_values, outputs)) in rows {
            for (&d, outputs) in d_values.iter().zip(outputs.chunks_exact(n_outputs)) {
                present(outputs).for_each(|&output| self.d_bias[output] += d);
            }
            let (many, one) = (V * S::F32_LANES, S::F32_LANES);
            let mut column = 0;
            while column + many <= self.width {
                self.columns::<S, V>(simd, row, column, (outputs, d_values));
                column += many;
            }
            while column + one <= self.width {
                self.columns::<S, 1>(simd, row, column, (outputs, d_values));
                column += one;
            }
            for column in column..self.width {
                self.column(row, column, (outputs, d_values));
            }
        }
    }
}

impl Backward<'_> {
    #[inline(always)]
    fn columns<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
        (outputs, d_values): (&[usize], &[f32]),
    ) {
        let (width, len, at) = (self.width, V * S::F32_LANES, row * self.width + column);
        let mut h = [simd.splat_f32s(0.0); V];
        h.copy_from_slice(S::as_simd_f32s(&self.features[at..][..len]).0);
        let mut sums = [simd.splat_f32s(0.0); V];
        for (&d, outputs) in d_values.iter().zip(outputs.chunks_exact(self.selection.n_outputs)) {
            let d = simd.splat_f32s(d);
            for &output in present(outputs) {
                let at = output * width + column;
                let weight = S::as_simd_f32s(&self.weight[at..][..len]).0;
                let d_weight = S::as_mut_simd_f32s(&mut self.d_weight[at..][..len]).0;
                for v in 0..V {
                    sums[v] = simd.mul_add_e_f32s(d, weight[v], sums[v]);
                    d_weight[v] = simd.mul_add_e_f32s(d, h[v], d_weight[v]);
                }
            }
        }
        S::as_mut_simd_f32s(&mut self.d_features[at..][..len]).0.copy_from_slice(&sums);
    }

    #[inline(always)]
    fn column(&mut self, row: usize, column: usize, (outputs, d_values): (&[usize], &[f32])) {
        let at = row * self.width + column;
        let mut sum = 0.0;
        for (&d, outputs) in d_values.iter().zip(outputs.chunks_exact(self.selection.n_outputs)) {
            for &output in present(outputs) {
                sum += d * self.weight[output * self.width + column];
                self.d_weight[output * self.width + column] += d * self.features[at];
            }
        }
        self.d_features[at] = sum;
    }
}
