//! Adam (Kingma & Ba): m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², θ ← θ − α m̂ / (√v̂ + ε).

use super::{
    Follower, Gradient, Numbers,
    sweep::{Fade, Fading, Step, Sweep, flushed},
};
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

/// A mean that has faded to this share moves no weight any more: all that is left of its way lies
/// below the rounding of a weight.
const FADED: f64 = 1e-8;

/// Ages up to which fades are looked up rather than computed.
const KNOWN_AGES: usize = 256;

/// Numbers from which on a step is made in two halves, on two threads where there are two: of a sum of
/// gradients only, as what one thread has measured alone is near that one.
const HALVED: usize = 1 << 15;

/// Running moments of one flat parameter buffer.
///
/// A row of the gradient that nobody wrote has no part in the moments but to fade them: they are
/// left as they are, and the row's age says by how much they have faded since.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    options: AdamOptions,
    /// Running mean of the gradient, when it was last written.
    pub mean: Numbers,
    /// Root of the running mean of its square, when it was last written.
    pub root: Numbers,
    /// For each row of the gradient that may be left out: steps since it was last written;
    /// [`u32::MAX`] if it never was.
    pub ages: Vec<u32>,
    /// Steps taken.
    pub steps: u64,
    /// By age, up to [`KNOWN_AGES`].
    fades: Vec<Fade>,
    /// From this age on a row rests.
    rest: u32,
}

impl Adam {
    /// Fresh moments for `len` parameters.
    pub fn new(options: AdamOptions, len: usize) -> Self {
        Self::with_rows(options, len, 0)
    }

    /// Fresh moments where a gradient has `n_rows` rows that may be left out.
    pub fn with_rows(options: AdamOptions, len: usize, n_rows: usize) -> Self {
        let rest = (FADED.ln() / f64::from(options.beta_1).ln()).ceil();
        Self {
            options,
            mean: Numbers::zeros(len),
            root: Numbers::zeros(len),
            ages: vec![u32::MAX; n_rows],
            steps: 0,
            fades: (0..KNOWN_AGES as u32).map(|age| options.fade(age)).collect(),
            rest: rest as u32,
        }
    }

    /// One step of size `lr` against the gradient.
    pub fn step(&mut self, lr: f32, gradient: &Gradient, parameters: &mut [f32]) {
        self.step_followed(lr, &[gradient], parameters, [Follower::nobody(), Follower::nobody()]);
    }

    /// One step of size `lr` against the sum of some gradients of one shape; who follows does so while
    /// the parameters are near.
    pub fn step_followed(
        &mut self,
        lr: f32,
        gradients: &[&Gradient],
        parameters: &mut [f32],
        followers: [Follower<'_>; 2],
    ) {
        assert_eq!(parameters.len(), self.mean.len(), "one moment per parameter");
        self.ages.resize(gradients[0].n_rows(), u32::MAX);
        self.steps += 1;
        let step = self.options.at(lr, self.steps);
        let Self { options, mean, root, ages, fades, rest, .. } = self;
        let fading = Fading { options: *options, fades, rest: *rest };
        let sweep = Sweep { start: 0, parameters, mean, root, ages, followers };
        if sweep.parameters.len() < HALVED || gradients.len() == 1 {
            return sweep.run(step, fading, gradients);
        }
        let (first, second) = sweep.split(gradients[0]);
        rayon::join(|| first.run(step, fading, gradients), || second.run(step, fading, gradients));
    }
}

impl AdamOptions {
    /// What is left of the moments after so many steps without a gradient.
    pub(super) fn fade(&self, age: u32) -> Fade {
        let age = age.min(1 << 30) as i32;
        Fade {
            mean: flushed(f64::from(self.beta_1).powi(age) as f32),
            root: flushed(f64::from(self.beta_2).sqrt().powi(age) as f32),
        }
    }

    /// The constants of one step.
    fn at(&self, lr: f32, steps: u64) -> Step {
        let Self { beta_1, beta_2, epsilon } = *self;
        let power = steps.min(1 << 30) as i32;
        Step {
            mean_share: 1.0 - beta_1,
            square_share: 1.0 - beta_2,
            epsilon,
            rate: (f64::from(lr) / (1.0 - f64::from(beta_1).powi(power))) as f32,
            scale: (1.0 - f64::from(beta_2).powi(power)).sqrt().recip() as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Layout, follow};

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

    /// A row that is left out for some steps moves as if its gradient had been zero.
    #[test]
    fn a_row_that_is_left_out_coasts_like_one_of_zeros() {
        let mut layout = Layout::default();
        let rows = layout.add("rows", &[2, 3]);
        layout.add("bias", &[2]);
        let mut sparse = Gradient::new(layout.len(), rows, 3);
        let [mut ours, mut theirs] = [(); 2].map(|()| vec![0.5; 8]);
        let mut adam = Adam::with_rows(AdamOptions::default(), 8, 2);
        let mut dense = Adam::new(AdamOptions::default(), 8);
        for step in 0_i32..600 {
            sparse.clear();
            if step % 300 == 0 || (step < 40 && step % 7 < 2) {
                sparse.touch(1);
                sparse.values_mut()[3..6].copy_from_slice(&[1.0, -1e-4, 1e-7 * step as f32]);
            }
            sparse.values_mut()[6] = (step as f32).sin();
            adam.step(1e-3, &sparse, &mut ours);
            dense.step(1e-3, &Gradient::dense(sparse.values().to_vec()), &mut theirs);
            let near = ours.iter().zip(&theirs).all(|(x, y)| (x - y).abs() < 2e-6);
            assert!(near, "step {step}: {ours:?} {theirs:?}");
        }
        assert_eq!(ours[..3], [0.5; 3], "a row that was never written stays");
        assert_eq!(adam.ages, [u32::MAX, 299]);
    }

    /// Halves, stretches and rows are cut differently; every parameter takes the same step.
    #[test]
    fn a_step_in_halves_is_followed_everywhere() {
        let mut layout = Layout::default();
        layout.add("before", &[5000]);
        let rows = layout.add("rows", &[300, 128]);
        layout.add("after", &[7]);
        let len = layout.len();
        assert!(len > HALVED);
        let [mut sparse, mut share, mut other] = [(); 3].map(|()| Gradient::new(len, rows, 128));
        let mut adam = Adam::with_rows(AdamOptions::default(), len, 300);
        let mut dense = Adam::new(AdamOptions::default(), len);
        let (mut ours, mut near, mut far) = (vec![1.0; len], vec![0.0; len], vec![2.0; len]);
        let (mut theirs, mut followed) = (ours.clone(), near.clone());
        for step in 0..5 {
            [&mut sparse, &mut share, &mut other].into_iter().for_each(Gradient::clear);
            for row in (step..300).step_by(3) {
                // Some rows are written by one of the shares, some by both.
                for gradient in [&mut share, &mut other].into_iter().skip(row % 2) {
                    gradient.touch(row);
                    gradient.values_mut()[5000 + row * 128..][..128].fill(row as f32 - 150.0);
                }
            }
            share.values_mut()[..5000].fill(0.07);
            other.values_mut()[..5000].fill(0.03);
            sparse.add(&share);
            sparse.add(&other);
            let followers = [
                Follower { numbers: &mut near, rate: 0.5 },
                Follower { numbers: &mut far, rate: 0.1 },
            ];
            adam.step_followed(0.01, &[&share, &other], &mut ours, followers);
            dense.step(0.01, &Gradient::dense(sparse.values().to_vec()), &mut theirs);
            follow(&mut followed, &theirs, 0.5);
        }
        let differ = |x: &[f32], y: &[f32]| x.iter().zip(y).any(|(x, y)| (x - y).abs() > 1e-5);
        assert!(!differ(&ours, &theirs) && !differ(&near, &followed));
        assert!(far.iter().all(|x| (1.0..2.0).contains(x)));
    }
}
