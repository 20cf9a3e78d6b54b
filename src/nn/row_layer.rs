//! One layer for rows that lie one after the other, which skips what is zero in them where that pays.

use super::{Matrix, Numbers, SparseLayer, Start, are_many, is_sparse, product, transpose};

/// The layer's way through: the same bits as [`super::Linear::forward`].
#[derive(Clone, Debug, Default)]
pub struct RowLayer {
    sparse: SparseLayer,
    turned: Numbers,
}

impl RowLayer {
    /// Writes the outputs of every row; the weight has a row for each output.
    pub fn forward(
        &mut self,
        (weight, bias): (&[f32], &[f32]),
        rows: Matrix<'_>,
        output: &mut [f32],
    ) {
        let n_rows = rows.n_rows();
        if are_many(n_rows) && is_sparse((0..n_rows).map(|row| rows.row(row))) {
            return self.sparse.forward((weight, bias), rows, false, output);
        }
        let (n_inputs, n_outputs) = (rows.n_columns(), bias.len());
        self.turned.fit(weight.len());
        transpose(Matrix::new(weight, n_outputs, n_inputs), &mut self.turned, n_outputs);
        let turned = Matrix::new(&self.turned, n_inputs, n_outputs);
        product(output, Start::Row(bias), rows, turned, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        nn::{Columns, Layout, Linear},
        rng::{Purpose, Streams},
    };

    /// Few rows and many, full of zeros and not: always the bits of the layer itself.
    #[test]
    fn rows_and_columns_agree_bit_for_bit() {
        let mut rng = Streams::new(6).rng(Purpose::Problem, 0);
        let mut layout = Layout::default();
        let layer = Linear::new(&mut layout, "layer", 37, 50);
        let parameters = layout.initialise(&mut rng);
        let mut by_rows = RowLayer::default();
        for (n_rows, is_rectified) in [(5, true), (40, true), (40, false), (300, true)] {
            let numbers = (0..n_rows * 37).map(|_| rng.normal() as f32 - 0.5);
            let rows: Vec<f32> =
                numbers.map(|x| if is_rectified { x.max(0.0) } else { x }).collect();
            let (mut input, mut output) = (Columns::default(), Columns::default());
            input.read_rows(&rows, 37, n_rows);
            layer.forward(&parameters, &input, 50, false, &mut output);
            let (mut expected, mut found) = (Vec::new(), vec![0.0; n_rows * 50]);
            output.write_rows(&mut expected);
            let matrix = Matrix::new(&rows, n_rows, 37);
            by_rows.forward(layer.parts(&parameters), matrix, &mut found);
            assert_eq!(found, expected[..n_rows * 50], "{n_rows} rows");
        }
    }
}
