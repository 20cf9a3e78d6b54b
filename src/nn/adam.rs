//! Adam (Kingma & Ba): m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², θ ← θ − α m̂ / (√v̂ + ε).

use super::{Gradient, vectorised};
use crate::error::{Error, Result, positive};
use serde::{Deserialize, Serialize};

/// The constants of Adam apart from its learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamOptions {
    /// Decay of the mean.
    pub beta_1: f32,
    /// Decay of the square.
    pub beta_2: f32,
    /// Keeps the division finite.
    pub epsilon: f32,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8 }
    }
}

impl AdamOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        for (key, decay) in [("beta_1", self.beta_1), ("beta_2", self.beta_2)] {
            if !(0.0..1.0).contains(&decay) {
                return Err(Error::setting(key, decay, "must be at least 0, and below 1"));
            }
        }
        positive("epsilon", self.epsilon, 1.0)
    }
}

/// Running moments of one flat parameter buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    options: AdamOptions,
    /// Running mean of the gradient.
    pub mean: Vec<f32>,
    /// Running mean of its square.
    pub square: Vec<f32>,
    /// Steps taken.
    pub steps: u64,
}

impl Adam {
    /// Fresh moments for `len` parameters.
    pub fn new(options: AdamOptions, len: usize) -> Self {
        Self { options, mean: vec![0.0; len], square: vec![0.0; len], steps: 0 }
    }

    /// One step of size `lr` against the gradient.
    pub fn step(&mut self, lr: f32, gradient: &Gradient, parameters: &mut [f32]) {
        assert_eq!(parameters.len(), self.mean.len(), "one moment per parameter");
        self.steps += 1;
        let AdamOptions { beta_1, beta_2, epsilon } = self.options;
        let power = self.steps.min(1 << 30) as i32;
        let step = Step {
            beta_1,
            beta_2,
            epsilon,
            rate: (f64::from(lr) / (1.0 - f64::from(beta_1).powi(power))) as f32,
            scale: (1.0 - f64::from(beta_2).powi(power)).sqrt().recip() as f32,
        };
        let (mean, square) = (&mut self.mean, &mut self.square);
        vectorised(
            #[inline(always)]
            || {
                let mut start = 0;
                while let Some((range, written)) = gradient.run(start) {
                    start = range.end;
                    let moments = (&mut mean[range.clone()], &mut square[range.clone()]);
                    let parameters = &mut parameters[range.clone()];
                    if written {
                        step.apply(&gradient.values()[range], moments, parameters);
                    } else {
                        step.coast(moments, parameters);
                    }
                }
            },
        );
    }
}

/// A moment that fades away would end as a subnormal number, which processors multiply slowly; what
/// is this small moves no weight.
#[inline(always)]
fn flushed(moment: f32) -> f32 {
    if moment.abs() < 1e-30 { 0.0 } else { moment }
}

/// The constants of one step.
#[derive(Clone, Copy)]
struct Step {
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    rate: f32,
    scale: f32,
}

impl Step {
    #[inline(always)]
    fn apply(self, gradient: &[f32], moments: (&mut [f32], &mut [f32]), parameters: &mut [f32]) {
        let moments = moments.0.iter_mut().zip(moments.1);
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = flushed(self.beta_1 * *m + (1.0 - self.beta_1) * g);
            *v = flushed(self.beta_2 * *v + (1.0 - self.beta_2) * g * g);
            *p -= self.rate * *m / (v.sqrt() * self.scale + self.epsilon);
        }
    }

    /// The same with a gradient of zero, which need not be read.
    #[inline(always)]
    fn coast(self, moments: (&mut [f32], &mut [f32]), parameters: &mut [f32]) {
        for (p, (m, v)) in parameters.iter_mut().zip(moments.0.iter_mut().zip(moments.1)) {
            *m = flushed(self.beta_1 * *m);
            *v = flushed(self.beta_2 * *v);
            *p -= self.rate * *m / (v.sqrt() * self.scale + self.epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_moves_by_the_learning_rate() {
        let mut adam = Adam::new(AdamOptions::default(), 2);
        let mut parameters = [1.0, -1.0];
        adam.step(0.1, &Gradient::dense(vec![3.0, -0.5]), &mut parameters);
        assert!((parameters[0] - 0.9).abs() < 1e-6 && (parameters[1] + 0.9).abs() < 1e-6);
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut adam = Adam::new(AdamOptions::default(), 1);
        let mut x = [5.0];
        for _ in 0..2000 {
            let gradient = Gradient::dense(vec![2.0 * (x[0] - 1.5)]);
            adam.step(0.02, &gradient, &mut x);
        }
        assert!((x[0] - 1.5).abs() < 1e-2, "{}", x[0]);
    }
}
