//! Named tensors inside one flat buffer, so that weights explain themselves in a checkpoint.

use crate::rng::Rng;

/// A stretch of a flat parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: usize,
    len: usize,
}

impl Span {
    /// These numbers of a buffer.
    pub fn of(self, buffer: &[f32]) -> &[f32] {
        &buffer[self.start..self.start + self.len]
    }

    /// These numbers of a buffer, to change.
    pub fn of_mut(self, buffer: &mut [f32]) -> &mut [f32] {
        &mut buffer[self.start..self.start + self.len]
    }

    /// Where it lies.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }

    /// Two neighbouring stretches of a buffer, to change both.
    pub fn pair_mut(self, next: Self, buffer: &mut [f32]) -> (&mut [f32], &mut [f32]) {
        assert_eq!(self.start + self.len, next.start, "spans must be neighbours");
        buffer[self.start..next.start + next.len].split_at_mut(self.len)
    }
}

/// One named tensor of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Name, such as `trunk.0.weight`.
    pub name: String,
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Where its numbers are.
    pub span: Span,
}

/// Which tensor lives where in the flat buffer of one network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    tensors: Vec<Tensor>,
    len: usize,
}

impl Layout {
    /// Reserves a tensor at the end of the buffer.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize]) -> Span {
        let span = Span { start: self.len, len: shape.iter().product() };
        self.len += span.len;
        self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), span });
        span
    }

    /// Numbers in the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was reserved.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All tensors, in buffer order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Fresh parameters: uniform in ±1/√inputs, as `PyTorch`'s linear layers start.
    pub fn initialise(&self, rng: &mut Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.len];
        let mut inputs = 1;
        for tensor in &self.tensors {
            // A bias follows its weight and starts in the same range.
            inputs = if tensor.shape.len() > 1 { tensor.shape[1] } else { inputs };
            let limit = 1.0 / (inputs as f64).sqrt();
            for value in tensor.span.of_mut(&mut parameters) {
                *value = rng.range(-limit, limit) as f32;
            }
        }
        parameters
    }

    /// Fresh parameters as on-policy learners like them: orthogonal weights of gain √2, and of
    /// `last_gain` in the last one; biases zero.
    pub fn initialise_orthogonal(&self, last_gain: f64, rng: &mut Rng) -> Vec<f32> {
        let mut parameters = vec![0.0; self.len];
        let weights = || self.tensors.iter().filter(|tensor| tensor.shape.len() == 2);
        let n_weights = weights().count();
        for (index, tensor) in weights().enumerate() {
            let gain = if index + 1 == n_weights { last_gain } else { std::f64::consts::SQRT_2 };
            let (n_rows, n_columns) = (tensor.shape[0], tensor.shape[1]);
            let vectors = orthonormal(n_rows.min(n_columns), n_rows.max(n_columns), rng);
            let numbers = tensor.span.of_mut(&mut parameters);
            for (row, cells) in numbers.chunks_exact_mut(n_columns).enumerate() {
                for (column, cell) in cells.iter_mut().enumerate() {
                    let (few, many) =
                        if n_rows <= n_columns { (row, column) } else { (column, row) };
                    *cell = (gain * vectors[few][many]) as f32;
                }
            }
        }
        parameters
    }
}

/// Random vectors of length one, each at right angles to the others (Gram-Schmidt).
fn orthonormal(n_vectors: usize, width: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(n_vectors);
    for _ in 0..n_vectors {
        let mut fresh: Vec<f64> = (0..width).map(|_| rng.normal()).collect();
        for earlier in &vectors {
            let share = dot(&fresh, earlier);
            fresh.iter_mut().zip(earlier).for_each(|(cell, e)| *cell -= share * e);
        }
        let length = dot(&fresh, &fresh).sqrt().max(f64::MIN_POSITIVE);
        fresh.iter_mut().for_each(|cell| *cell /= length);
        vectors.push(fresh);
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn orthogonal_weights_have_their_gain_and_biases_are_zero() {
        let mut layout = Layout::default();
        let tall = layout.add("tall.weight", &[5, 3]);
        let bias = layout.add("tall.bias", &[5]);
        let flat = layout.add("flat.weight", &[2, 5]);
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        let parameters = layout.initialise_orthogonal(0.01, &mut rng);
        assert!(bias.of(&parameters).iter().all(|b| *b == 0.0));
        let column = |i: usize| tall.of(&parameters).iter().skip(i).step_by(3);
        for (i, j, expected) in [(0, 0, 2.0), (1, 1, 2.0), (0, 1, 0.0), (1, 2, 0.0)] {
            let product: f32 = column(i).zip(column(j)).map(|(a, b)| a * b).sum();
            assert!((product - expected).abs() < 1e-5, "{i} {j}: {product}");
        }
        let length: f32 = flat.of(&parameters)[..5].iter().map(|x| x * x).sum();
        assert!((length - 1e-4).abs() < 1e-8, "{length}");
    }
}
