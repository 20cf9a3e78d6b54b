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
}
