//! A stack of layers for many rows, which lie one after the other: a rectified layer hands on many
//! zeros, and the next skips them. Gives the bits of [`Mlp::forward`] and [`Mlp::backward`].

use super::{
    Linear, Matrix, Mlp, Numbers, Start,
    linear::lane_sum,
    mlp::rectify_gradient,
    product,
    sparse::{SparseRows, Tiles, sparse_product},
    transpose::transpose,
    vectorised,
};

/// Rows from which on it pays to cut a weight into tiles.
const MANY: usize = 32;

/// From this share of numbers other than zero on, skipping zeros does not make up for the tiles.
const DENSE_PERCENT: u64 = 45;

/// Rows of a batch whose activations stay in the nearest cache.
const NEAR_ROWS: usize = 128;

/// Numbers that start a line of memory together.
const LINE: usize = 16;

/// Whether a batch is large enough to be worked on row by row.
pub fn are_many(n_rows: usize) -> bool {
    n_rows >= MANY
}

/// Whether so many numbers are zero that it pays to skip them.
pub fn is_sparse<'a>(parts: impl Iterator<Item = &'a [f32]>) -> bool {
    let (mut count, mut len) = (0, 0);
    vectorised(
        #[inline(always)]
        || {
            for part in parts {
                len += part.len() as u64;
                count += u64::from(part.iter().map(|x| u32::from(*x != 0.0)).sum::<u32>());
            }
        },
    );
    100 * count < DENSE_PERCENT * len
}

/// Products of one layer with rows full of zeros.
#[derive(Clone, Debug, Default)]
pub struct SparseLayer {
    rows: SparseRows,
    tiles: Tiles,
}

impl SparseLayer {
    /// Writes the outputs of every row, as max(·, 0) where `rectify`; the weight has a row for each
    /// output.
    pub fn forward(
        &mut self,
        (weight, bias): (&[f32], &[f32]),
        input: Matrix<'_>,
        rectify: bool,
        output: &mut [f32],
    ) {
        let weight = Matrix::new(weight, bias.len(), input.n_columns());
        self.rows.read(input);
        self.tiles.read(weight.transposed());
        sparse_product(output, Start::Row(bias), &self.rows, &self.tiles, rectify);
    }

    /// Adds the weight's gradient; the output's has a row for each output here, `stride` apart.
    fn backward(&mut self, d_weight: &mut [f32], (turned, stride): (&[f32], usize), input: Matrix) {
        let (n_rows, n_outputs) = (input.n_rows(), d_weight.len() / input.n_columns());
        for start in (0..n_rows).step_by(NEAR_ROWS) {
            let rows = start..n_rows.min(start + NEAR_ROWS);
            let near = Matrix::strided(&turned[start..], n_outputs, rows.len(), stride);
            self.rows.read(near);
            self.tiles.read(input.rows(rows));
            sparse_product(d_weight, Start::Destination, &self.rows, &self.tiles, false);
        }
    }

    /// Writes the gradient of the rows that came in.
    fn backward_input(&mut self, weight: Matrix<'_>, d_output: Matrix<'_>, d_input: &mut [f32]) {
        self.rows.read(d_output);
        self.tiles.read(weight);
        sparse_product(d_input, Start::Zero, &self.rows, &self.tiles, false);
    }
}

/// Activations and gradients of one batch; grows to the largest batch seen and stays.
#[derive(Clone, Debug, Default)]
pub struct RowWorkspace {
    activations: Vec<Numbers>,
    d_activations: Vec<Numbers>,
    layer: SparseLayer,
    turned: Numbers,
}

impl Mlp {
    /// Runs `n_rows` rows and returns the last layer's activations, row by row.
    pub fn forward_rows<'w>(
        &self,
        parameters: &[f32],
        rows: &[f32],
        n_rows: usize,
        workspace: &'w mut RowWorkspace,
    ) -> &'w [f32] {
        self.forward_batches(parameters, &[(rows, n_rows)], workspace)
    }

    /// [`Self::forward_rows`] of several batches in one pass, the rows of each behind those before.
    pub fn forward_batches<'w>(
        &self,
        parameters: &[f32],
        batches: &[(&[f32], usize)],
        workspace: &'w mut RowWorkspace,
    ) -> &'w [f32] {
        let n_rows = batches.iter().map(|batch| batch.1).sum();
        let RowWorkspace { activations, layer: sparse, turned, .. } = workspace;
        activations.resize_with(self.layers.len(), Numbers::default);
        for (l, layer) in self.layers.iter().enumerate() {
            let (n_inputs, n_outputs) = (layer.n_inputs, layer.n_outputs);
            let (weight, bias) = layer.parts(parameters);
            let (before, after) = activations.split_at_mut(l);
            after[0].fit(n_rows * n_outputs);
            let output = &mut after[0][..n_rows * n_outputs];
            if let Some(input) = before.last() {
                let input = Matrix::new(input, n_rows, n_inputs);
                sparse.forward((weight, bias), input, self.rectified(l), output);
            } else {
                turned.fit(weight.len());
                transpose(Matrix::new(weight, n_outputs, n_inputs), turned, n_outputs);
                let mut start = 0;
                let right = Matrix::new(turned, n_inputs, n_outputs);
                for &(rows, n_rows) in batches {
                    let left = Matrix::new(rows, n_rows, n_inputs);
                    let output = &mut output[start..][..n_rows * n_outputs];
                    product(output, Start::Row(bias), left, right, self.rectified(l));
                    start += n_rows * n_outputs;
                }
            }
        }
        &workspace.activations[self.layers.len() - 1][..n_rows * self.n_outputs()]
    }

    /// The last layer's activations of the last pass, of all its rows and perhaps more.
    pub fn last_rows<'w>(&self, workspace: &'w RowWorkspace) -> &'w [f32] {
        &workspace.activations[self.layers.len() - 1]
    }

    /// The last layer's activations of the first rows of the last pass, and where their gradient is
    /// to be written before [`Self::backward_rows`].
    pub fn output_rows<'w>(
        &self,
        n_rows: usize,
        workspace: &'w mut RowWorkspace,
    ) -> (&'w [f32], &'w mut [f32]) {
        let (last, len) = (self.layers.len() - 1, n_rows * self.n_outputs());
        workspace.d_activations.resize_with(last + 1, Numbers::default);
        let d_output = &mut workspace.d_activations[last];
        d_output.fit(len);
        (&workspace.activations[last][..len], &mut d_output[..len])
    }

    /// Adds the gradients of all layers, from the output's gradient left in [`Self::output_rows`], of the
    /// first rows of the last pass; writes that of the rows where it is wanted.
    pub fn backward_rows(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        (rows, n_rows): (&[f32], usize),
        workspace: &mut RowWorkspace,
        d_rows: Option<&mut [f32]>,
    ) {
        let RowWorkspace { activations, d_activations, layer: sparse, turned } = workspace;
        // An odd number of lines keeps neighbouring rows out of the same cache set.
        let stride = LINE * (n_rows.div_ceil(LINE) | 1);
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let (n_inputs, n_outputs) = (layer.n_inputs, layer.n_outputs);
            let (before, after) = d_activations.split_at_mut(l);
            let d_output = &mut after[0][..n_rows * n_outputs];
            if self.rectified(l) {
                rectify_gradient(d_output, &activations[l]);
            }
            let d_output = Matrix::new(d_output, n_rows, n_outputs);
            turned.fit(n_outputs * stride);
            transpose(d_output, turned, stride);
            let (d_weight, d_bias) = layer.parts_mut(gradient);
            vectorised(
                #[inline(always)]
                || {
                    for (sum, numbers) in d_bias.iter_mut().zip(turned.chunks_exact(stride)) {
                        *sum += lane_sum(&numbers[..n_rows]);
                    }
                },
            );
            if l > 0 {
                let input = Matrix::new(&activations[l - 1], n_rows, n_inputs);
                sparse.backward(d_weight, (turned, stride), input);
                let weight = Matrix::new(layer.parts(parameters).0, n_outputs, n_inputs);
                before[l - 1].fit(n_rows * n_inputs);
                sparse.backward_input(weight, d_output, &mut before[l - 1]);
            } else {
                let left = Matrix::strided(turned, n_outputs, n_rows, stride);
                let right = Matrix::new(rows, n_rows, n_inputs);
                product(d_weight, Start::Destination, left, right, false);
            }
        }
        if let Some(d_rows) = d_rows {
            let Linear { n_inputs, n_outputs, .. } = self.layers[0];
            let weight = Matrix::new(self.layers[0].parts(parameters).0, n_outputs, n_inputs);
            let d_output = Matrix::new(&d_activations[0], n_rows, n_outputs);
            product(d_rows, Start::Zero, d_output, weight, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        nn::{Columns, Layout, MlpWorkspace},
        rng::{Purpose, Streams},
    };

    /// Row by row and feature by feature give the same bits, forwards and backwards.
    #[test]
    fn rows_and_columns_agree_bit_for_bit() {
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let mut layout = Layout::default();
        let mlp = Mlp::new(&mut layout, "net", &[19, 40, 35, 21], true);
        let parameters = layout.initialise(&mut rng);
        let (mut columns, mut by_rows) = (MlpWorkspace::default(), RowWorkspace::default());
        for n_rows in [33, 300, 64] {
            let mut random =
                |len: usize| -> Vec<f32> { (0..len).map(|_| rng.normal() as f32).collect() };
            let (rows, d_output) = (random(n_rows * 19), random(n_rows * 21));
            let [mut ours, mut theirs] = [(); 2].map(|()| vec![0.0; layout.len()]);
            let mut expected = Vec::new();
            mlp.forward(&parameters, &rows, n_rows, &mut columns).write_rows(&mut expected);
            mlp.d_output(&mut columns).read_rows(&d_output, 21, n_rows);
            let mut d_input = Columns::default();
            mlp.backward(&parameters, &mut theirs, &rows, &mut columns, Some(&mut d_input));

            mlp.forward_rows(&parameters, &rows, n_rows, &mut by_rows);
            let (found, d_found) = mlp.output_rows(n_rows, &mut by_rows);
            assert_eq!(found, &expected[..n_rows * 21], "{n_rows} rows");
            d_found.copy_from_slice(&d_output);
            let mut d_rows = vec![0.0; rows.len()];
            let seen = (&rows[..], n_rows);
            mlp.backward_rows(&parameters, &mut ours, seen, &mut by_rows, Some(&mut d_rows));
            assert_eq!(ours, theirs, "{n_rows} rows");
            assert_eq!(d_rows, d_input.write_rows(&mut expected)[..rows.len()], "{n_rows} rows");
        }
    }
}
