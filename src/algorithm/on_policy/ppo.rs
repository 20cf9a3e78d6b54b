//! The formulas of proximal policy optimisation: advantages, and the policy's loss with its gradient.

use super::PpoOptions;
use crate::{error::Error, nn::exponentiate, rng::Rng};

/// Logits whose powers are taken together.
const TOGETHER: usize = 32;

/// Generalised advantages of one trajectory: δ = r + γV′ − V, A = δ + γλA′.
///
/// `last_value` is what the state after the last step is worth: zero at a true end.
pub(super) fn gae(
    rewards: &[f32],
    values: &[f32],
    last_value: f32,
    gamma: f32,
    lambda: f32,
    advantages: &mut [f32],
) {
    let (mut next_value, mut next_advantage) = (last_value, 0.0);
    for time in (0..rewards.len()).rev() {
        let error = rewards[time] + gamma * next_value - values[time];
        next_advantage = error + gamma * lambda * next_advantage;
        next_value = values[time];
        advantages[time] = next_advantage;
    }
}

/// Brings the numbers at some places to mean zero and standard deviation one.
pub(super) fn normalise(values: &mut [f32], places: &[usize]) {
    let kept = || places.iter().map(|&place| f64::from(values[place]));
    let (mean, deviation) = moments(kept);
    let scale = 1.0 / (deviation + 1e-8);
    for &place in places {
        values[place] = ((f64::from(values[place]) - mean) * scale) as f32;
    }
}

/// Mean and standard deviation.
pub(super) fn moments<I: ExactSizeIterator<Item = f64>>(values: impl Fn() -> I) -> (f64, f64) {
    let n = values().len().max(1) as f64;
    let mean = values().sum::<f64>() / n;
    let square = values().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    (mean, square.sqrt())
}

/// Brings places into a random order (Fisher-Yates).
pub(super) fn shuffle(places: &mut [usize], rng: &mut Rng) {
    for last in (1..places.len()).rev() {
        places.swap(last, rng.below(last + 1));
    }
}

/// Goes over the places of a round in mini-batches, in a new order in every epoch; each is told with
/// how many there are in all epochs.
pub(super) fn each_minibatch(
    options: &PpoOptions,
    places: &mut [usize],
    rng: &mut Rng,
    mut learn: impl FnMut(&[usize], f32),
) {
    let size = places.len().div_ceil(options.minibatches);
    let n = (options.epochs * places.len().div_ceil(size)) as f32;
    for _ in 0..options.epochs {
        shuffle(places, rng);
        places.chunks(size).for_each(|batch| learn(batch, n));
    }
}

/// The error that stops a training whose report holds a number that is not finite.
pub(super) fn diverged(step: u64, report: &[(String, f32)]) -> Option<Error> {
    let (what, value) = report.iter().find(|(_, value)| !value.is_finite())?;
    Some(Error::Diverged { step, what: what.clone(), value: *value })
}

/// Replaces logits by log-probabilities.
pub(super) fn log_softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (mut sum, mut powers) = (0.0_f32, [0.0; TOGETHER]);
    for logits in logits.chunks(TOGETHER) {
        let powers = &mut powers[..logits.len()];
        powers.iter_mut().zip(logits).for_each(|(power, logit)| *power = logit - largest);
        exponentiate(powers);
        powers.iter().for_each(|power| sum += power);
    }
    let normaliser = largest + sum.ln();
    logits.iter_mut().for_each(|logit| *logit -= normaliser);
}

/// Draws an action by its log-probability; never one whose probability is zero.
pub(super) fn draw(log_probabilities: &[f32], rng: &mut Rng) -> usize {
    let mut left = rng.uniform() as f32;
    let mut last = 0;
    for (action, log_probability) in log_probabilities.iter().enumerate() {
        left -= log_probability.exp();
        if left < 0.0 {
            return action;
        }
        if *log_probability > f32::NEG_INFINITY {
            last = action;
        }
    }
    // Rounding left a little more than all probabilities together.
    last
}

/// Gives actions that may not be taken no probability.
pub(super) fn forbid(logits: &mut [f32], allowed: Option<&[bool]>) {
    for (logit, allowed) in logits.iter_mut().zip(allowed.into_iter().flatten()) {
        if !allowed {
            *logit = f32::NEG_INFINITY;
        }
    }
}

/// What one row of the policy's loss looks back on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken<'a> {
    /// What was done.
    pub(super) action: usize,
    /// Its log-probability when it was done.
    pub(super) log_probability: f32,
    /// How much better than expected it went.
    pub(super) advantage: f32,
    /// What could have been done, where not everything could.
    pub(super) allowed: Option<&'a [bool]>,
}

/// Clipped surrogate with entropy: −min(ρA, clip(ρ, 1−ε, 1+ε)A) − βH of the action probabilities
/// given by `logits`; writes the gradient and returns the loss and the entropy.
pub(super) fn policy_loss(
    logits: &[f32],
    taken: Taken<'_>,
    clip: f32,
    entropy_weight: f32,
    d_logits: &mut [f32],
) -> (f32, f32) {
    // The gradient's place holds the log-probabilities until each is needed for the last time.
    d_logits.copy_from_slice(logits);
    forbid(d_logits, taken.allowed);
    log_softmax(d_logits);
    let possible = d_logits.iter().filter(|log_p| **log_p > f32::NEG_INFINITY);
    let entropy: f32 = -possible.map(|log_p| log_p.exp() * log_p).sum::<f32>();
    let ratio = (d_logits[taken.action] - taken.log_probability).exp();
    let clipped = ratio.clamp(1.0 - clip, 1.0 + clip);
    let (free, bound) = (ratio * taken.advantage, clipped * taken.advantage);
    let d_log_probability = if free <= bound { -free } else { 0.0 };
    for (action, cell) in d_logits.iter_mut().enumerate() {
        let (log_p, p) = (*cell, cell.exp());
        if log_p == f32::NEG_INFINITY {
            *cell = 0.0;
            continue;
        }
        let chosen = if action == taken.action { 1.0 } else { 0.0 };
        *cell = d_log_probability * (chosen - p) + entropy_weight * p * (log_p + entropy);
    }
    (-free.min(bound) - entropy_weight * entropy, entropy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn advantages_agree_with_the_hand_computed_ones() {
        let mut advantages = [0.0; 3];
        gae(&[1.0, 0.0, 2.0], &[0.5, 1.0, -1.0], 4.0, 0.5, 0.5, &mut advantages);
        // δ₂ = 2 + 0.5·4 + 1 = 5; δ₁ = 0 − 0.5 − 1 = −1.5; δ₀ = 1 + 0.5 − 0.5 = 1.
        assert_eq!(advantages, [1.0 + 0.25 * -0.25, -1.5 + 0.25 * 5.0, 5.0]);
        gae(&[1.0, 0.0, 2.0], &[0.0; 3], 0.0, 0.5, 1.0, &mut advantages);
        assert_eq!(advantages, [1.5, 1.0, 2.0], "λ = 1 without a critic is the discounted return");
    }

    /// More logits than are taken together, one of them forbidden.
    #[test]
    fn log_probabilities_are_logits_less_the_logarithm_of_their_powers() {
        let mut logits: Vec<f32> = (0..70).map(|i| (i as f32 * 0.7).sin() * 5.0).collect();
        logits[40] = f32::NEG_INFINITY;
        let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        let expected: Vec<f64> = logits.iter().map(|logit| f64::from(*logit) - sum.ln()).collect();
        log_softmax(&mut logits);
        assert_eq!(logits[40], f32::NEG_INFINITY);
        for (found, expected) in logits.iter().zip(&expected).filter(|(found, _)| found.is_finite())
        {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} instead of {expected}");
        }
    }

    #[test]
    fn the_policy_loss_has_the_gradient_of_its_finite_differences() {
        let mut rng = Streams::new(2).rng(Purpose::Problem, 0);
        let mut clipped = 0;
        for case in 0..40 {
            let logits: Vec<f32> = (0..5).map(|_| rng.normal() as f32).collect();
            let mut log_p = logits.clone();
            // In every second case one of the actions that are not taken is forbidden.
            let mask: [bool; 5] = std::array::from_fn(|action| action != (case + 2) % 5);
            let allowed = (case % 2 == 1).then_some(&mask[..]);
            forbid(&mut log_p, allowed);
            log_softmax(&mut log_p);
            let taken = Taken {
                action: case % 5,
                log_probability: log_p[case % 5] + rng.range(-0.4, 0.4) as f32,
                advantage: rng.normal() as f32,
                allowed,
            };
            let mut gradient = [0.0; 5];
            policy_loss(&logits, taken, 0.2, 0.3, &mut gradient);
            let loss = |logits: &[f32]| policy_loss(logits, taken, 0.2, 0.3, &mut [0.0; 5]).0;
            for i in 0..5 {
                let mut moved = logits.clone();
                moved[i] += 1e-2;
                let up = loss(&moved);
                moved[i] -= 2e-2;
                let numeric = (up - loss(&moved)) / 2e-2;
                assert!((numeric - gradient[i]).abs() < 5e-3, "{case}: {numeric} {gradient:?}");
            }
            assert!(case % 2 == 0 || gradient[(case + 2) % 5] == 0.0, "{case}: {gradient:?}");
            let ratio = (log_p[taken.action] - taken.log_probability).exp();
            clipped += u32::from((ratio - 1.0) * taken.advantage.signum() > 0.2);
        }
        assert!((5..35).contains(&clipped), "{clipped} of 40 cases were clipped");
    }

    #[test]
    fn actions_are_drawn_as_often_as_they_should() {
        let mut rng = Streams::new(4).rng(Purpose::Problem, 0);
        let mut log_p = [0.0, 1.0, -1.0];
        log_softmax(&mut log_p);
        let mut counts = [0.0; 3];
        (0..20_000).for_each(|_| counts[draw(&log_p, &mut rng)] += 1.0 / 20_000.0);
        for (count, log_p) in counts.iter().zip(log_p) {
            assert!((count - log_p.exp()).abs() < 0.02, "{counts:?}");
        }
    }

    #[test]
    fn a_forbidden_action_is_never_drawn() {
        let mut rng = Streams::new(4).rng(Purpose::Problem, 0);
        let mut log_p = [0.3, 9.0, -1.0, 50.0];
        forbid(&mut log_p, Some(&[true, false, true, false]));
        log_softmax(&mut log_p);
        assert!((log_p[0].exp() + log_p[2].exp() - 1.0).abs() < 1e-6, "{log_p:?}");
        assert!((0..5000).all(|_| [0, 2].contains(&draw(&log_p, &mut rng))));
    }
}
