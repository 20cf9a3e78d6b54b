//! How values are learned: the loss of a critic with its gradient, and the scale of the returns.

use super::{PpoOptions, ppo::moments};
use serde::{Deserialize, Serialize};

/// Half a square up to `bound`, straight beyond it; its gradient and the loss.
fn huber(error: f32, bound: f32) -> (f32, f32) {
    if bound == 0.0 || error.abs() <= bound {
        return (error, 0.5 * error * error);
    }
    (bound * error.signum(), bound * (error.abs() - 0.5 * bound))
}

/// The loss of a value that was `before` when its round began, max(L(v), L(v₀ + clip(v − v₀, ±ε))):
/// its gradient and the loss.
pub(super) fn value_loss(value: f32, before: f32, target: f32, options: &PpoOptions) -> (f32, f32) {
    let free = huber(value - target, options.huber);
    let clip = options.value_clip;
    if clip == 0.0 {
        return free;
    }
    let clipped = before + (value - before).clamp(-clip, clip);
    let bound = huber(clipped - target, options.huber);
    // Where the bound is larger, the value has left it and moves nothing.
    if bound.1 > free.1 { (0.0, bound.1) } else { free }
}

/// Running mean and standard deviation of the returns, so that critics learn numbers of the order of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ValueScale {
    mean: f64,
    square: f64,
    weight: f64,
}

impl ValueScale {
    /// Takes the returns of a round into account, which stand at some places.
    pub(super) fn follow(&mut self, returns: &[f32], places: &[usize], rate: f32) {
        let (mean, deviation) = moments(|| places.iter().map(|&place| f64::from(returns[place])));
        let rate = f64::from(rate);
        self.mean += rate * (mean - self.mean);
        self.square += rate * (deviation * deviation + mean * mean - self.square);
        self.weight += rate * (1.0 - self.weight);
    }

    /// Mean and standard deviation; 0 and 1 before the first round.
    pub(super) fn moments(&self) -> (f64, f64) {
        if self.weight == 0.0 {
            return (0.0, 1.0);
        }
        // Dividing by the weight takes the start at zero out of the averages.
        let (mean, square) = (self.mean / self.weight, self.square / self.weight);
        (mean, (square - mean * mean).max(1e-4).sqrt())
    }

    /// A return as the critic learns it.
    pub(super) fn standardise(&self, value: f32) -> f32 {
        let (mean, deviation) = self.moments();
        ((f64::from(value) - mean) / deviation) as f32
    }

    /// What the critic says, as a return.
    pub(super) fn restore(&self, value: f32) -> f32 {
        let (mean, deviation) = self.moments();
        (mean + deviation * f64::from(value)) as f32
    }

    /// PopArt: changes a last layer so that its outputs mean under `self` what they meant `before`.
    pub(super) fn preserve(&self, before: &Self, weight: &mut [f32], bias: &mut [f32]) {
        let ((old_mean, old_deviation), (mean, deviation)) = (before.moments(), self.moments());
        let ratio = old_deviation / deviation;
        weight.iter_mut().for_each(|w| *w = (f64::from(*w) * ratio) as f32);
        let moved = |b: f32| (f64::from(b) * old_deviation + old_mean - mean) / deviation;
        bias.iter_mut().for_each(|b| *b = moved(*b) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_loss_has_the_gradient_of_its_finite_differences() {
        let plain = PpoOptions::default();
        assert_eq!(value_loss(1.5, 0.0, -0.5, &plain), (2.0, 2.0));
        let bent = PpoOptions { huber: 0.5, ..PpoOptions::default() };
        assert_eq!(value_loss(1.5, 0.0, -0.5, &bent), (0.5, 0.5 * (2.0 - 0.25)));
        let clipped = PpoOptions { value_clip: 0.2, ..PpoOptions::default() };
        // A value that ran 0.5 ahead of the round's counts as one that went 0.2, and stays.
        assert_eq!(value_loss(0.5, 0.0, 1.0, &clipped).0, 0.0);
        assert!((value_loss(0.5, 0.0, 1.0, &clipped).1 - 0.32).abs() < 1e-6);
        let both = PpoOptions { huber: 0.7, value_clip: 0.2, ..PpoOptions::default() };
        for options in [plain, bent, clipped, both] {
            for (value, before, target) in
                [(1.5, 1.4, -0.5), (0.55, 0.0, 1.0), (-0.3, 0.3, 0.1), (0.1, 0.15, 0.3)]
            {
                let (gradient, _) = value_loss(value, before, target, &options);
                let loss = |value| f64::from(value_loss(value, before, target, &options).1);
                let numeric = (loss(value + 1e-2) - loss(value - 1e-2)) / 2e-2;
                assert!((numeric - f64::from(gradient)).abs() < 1e-4, "{numeric} {gradient}");
            }
        }
    }

    #[test]
    fn a_scale_is_unbiased_from_the_first_round_and_popart_preserves_values() {
        let mut scale = ValueScale::default();
        scale.follow(&[8.0, 99.0, 12.0], &[0, 2], 0.02);
        let (mean, deviation) = scale.moments();
        assert!((mean - 10.0).abs() < 1e-9 && (deviation - 2.0).abs() < 1e-9, "{mean} {deviation}");
        let before = scale;
        scale.follow(&[-30.0, 50.0, 7.0], &[0, 1, 2], 0.5);
        let (mut weight, mut bias) = ([0.7], [-0.3]);
        let value = |w: f32, b: f32, scale: &ValueScale| scale.restore(w * 1.3 + b);
        let expected = value(weight[0], bias[0], &before);
        scale.preserve(&before, &mut weight, &mut bias);
        assert!((value(weight[0], bias[0], &scale) - expected).abs() < 1e-4);
        assert!((scale.restore(scale.standardise(3.0)) - 3.0).abs() < 1e-5);
    }
}
