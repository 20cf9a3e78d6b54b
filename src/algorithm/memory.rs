//! What a configuration will ask for: bytes by the setting that causes them, estimated before any
//! of them is taken.

use crate::environment::Spec;

/// Bytes of a number.
const NUMBER: f64 = 4.0;
/// Copies of the parameters while learning: online, target, averaged, two moments, gradients.
const COPIES: f64 = 8.0;

/// Memory that one setting asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// The setting that causes it.
    pub key: &'static str,
    /// How much.
    pub bytes: f64,
}

impl Need {
    /// So many numbers because of a setting.
    pub(super) fn numbers(key: &'static str, count: f64) -> Self {
        Self { key, bytes: NUMBER * count }
    }

    /// Everything that learning keeps of so many parameters.
    pub(super) fn parameters(key: &'static str, count: f64) -> Self {
        Self::numbers(key, COPIES * count)
    }
}

/// Parameters of a multi-layer perceptron.
pub(super) fn parameters(widths: &[f64]) -> f64 {
    widths.windows(2).map(|pair| (pair[0] + 1.0) * pair[1]).sum()
}

/// Widths of a network from its inputs over its hidden layers to its outputs.
pub(super) fn widths(inputs: f64, hidden: &[usize], outputs: f64) -> Vec<f64> {
    let hidden = hidden.iter().map(|&width| width as f64);
    std::iter::once(inputs).chain(hidden).chain([outputs]).collect()
}

/// Numbers that one row takes on its way through a network: activations and their gradients.
pub(super) fn row(widths: &[f64]) -> f64 {
    2.0 * widths.iter().sum::<f64>()
}

/// Numbers of a replay memory with so many rows.
pub(super) fn replay(spec: &Spec, rows: f64, outcome: f64) -> f64 {
    rows * (2.0 * spec.state_width as f64 + spec.n_agents() as f64 + outcome + 1.0)
}
