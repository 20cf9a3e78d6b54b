//! Means and shares with their 95 % intervals, interquartile means and the bootstrap.

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// The 97.5 % point of the standard normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// The 97.5 % points of Student's t for 1 to 10 degrees of freedom, where the expansion is too coarse.
const STUDENT_QUANTILES: [f64; 10] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
    2.262_157, 2.228_139,
];

/// A number and the 95 % interval around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number itself.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// A number known without error.
    pub const fn exact(value: f64) -> Self {
        Self { mean: value, low: value, high: value }
    }

    /// The same estimate with its interval inside the values that are possible at all.
    #[must_use]
    pub fn within(self, least: f64, most: f64) -> Self {
        Self { low: self.low.max(least), high: self.high.min(most), ..self }
    }

    /// Both ends of the interval.
    pub const fn interval(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// The larger distance from the number to an end: what stands behind a `±`.
    pub fn half_width(&self) -> f64 {
        (self.mean - self.low).max(self.high - self.mean)
    }
}

/// The arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The sample standard deviation (divisor n - 1); 0 of fewer than two values.
///
/// ```
/// assert_eq!(cgcmarl::evaluation::statistics::sample_deviation(&[1.0, 3.0, 5.0]), 2.0);
/// ```
pub fn sample_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The mean of independent values with its Student interval `mean ± t·s/√n`; one value has no width.
pub fn mean_estimate(values: &[f64]) -> Estimate {
    let center = mean(values);
    if values.len() < 2 {
        return Estimate::exact(center);
    }
    let error = sample_deviation(values) / (values.len() as f64).sqrt();
    let half = student_quantile(values.len() - 1) * error;
    Estimate { mean: center, low: center - half, high: center + half }
}

/// The share of successes with its Wilson interval; the whole of [0, 1] where nothing was tried.
pub fn share_estimate(n_successes: usize, n_trials: usize) -> Estimate {
    if n_trials == 0 {
        return Estimate { mean: 0.0, low: 0.0, high: 1.0 };
    }
    let (n, share, z) = (n_trials as f64, n_successes as f64 / n_trials as f64, NORMAL_QUANTILE);
    let center = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    // Rounding must not push an end past the share itself when it is 0 or 1.
    Estimate {
        mean: share,
        low: (center - half).clamp(0.0, share),
        high: (center + half).clamp(share, 1.0),
    }
}

/// The 97.5 % point of Student's t: tabulated below 11 degrees of freedom, Cornish-Fisher above.
pub fn student_quantile(degrees: usize) -> f64 {
    assert!(degrees > 0, "Student's t needs at least one degree of freedom");
    if let Some(quantile) = STUDENT_QUANTILES.get(degrees - 1) {
        return *quantile;
    }
    let (z, v) = (NORMAL_QUANTILE, degrees as f64);
    let first = (z.powi(3) + z) / (4.0 * v);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v * v);
    let third =
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3));
    z + first + second + third
}

/// The mean of the middle half: values between the quartiles, those on the border in part.
pub fn interquartile_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let weight = |index: usize| {
        let (start, end) = (index as f64, index as f64 + 1.0);
        (end.min(0.75 * n) - start.max(0.25 * n)).max(0.0)
    };
    let total: f64 = sorted.iter().enumerate().map(|(index, value)| weight(index) * value).sum();
    if sorted.is_empty() { 0.0 } else { total / (0.5 * n) }
}

/// The value below which a share of sorted values lies, interpolated between neighbours.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    assert!(!sorted.is_empty(), "a quantile needs at least one value");
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// A statistic with its percentile bootstrap interval over `n_resamples` resamples.
///
/// ```
/// use cgcmarl::{evaluation::statistics::{bootstrap, interquartile_mean}, rng::{Purpose, Streams}};
/// let mut rng = Streams::new(1).rng(Purpose::Bootstrap, 0);
/// let estimate = bootstrap(&[1.0, 2.0, 3.0, 4.0], interquartile_mean, 200, &mut rng);
/// assert_eq!(estimate.mean, 2.5);
/// assert!(estimate.low >= 1.0 && estimate.high <= 4.0);
/// ```
pub fn bootstrap<T: Clone>(
    items: &[T],
    statistic: impl Fn(&[T]) -> f64,
    n_resamples: usize,
    rng: &mut Rng,
) -> Estimate {
    let center = statistic(items);
    if items.is_empty() || n_resamples == 0 {
        return Estimate::exact(center);
    }
    let mut resample = items.to_vec();
    let mut statistics: Vec<f64> = (0..n_resamples)
        .map(|_| {
            for slot in &mut resample {
                slot.clone_from(&items[rng.below(items.len())]);
            }
            statistic(&resample)
        })
        .collect();
    statistics.sort_by(f64::total_cmp);
    Estimate { mean: center, low: quantile(&statistics, 0.025), high: quantile(&statistics, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};
    use proptest::prelude::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-5
    }

    #[test]
    fn a_mean_has_the_interval_of_the_textbook() {
        // s = 2, t(2) = 4.302653, 4.302653 * 2 / sqrt(3) = 4.968275
        let estimate = mean_estimate(&[1.0, 3.0, 5.0]);
        assert!(close(estimate.mean, 3.0) && close(estimate.half_width(), 4.968_275));
        assert_eq!(mean_estimate(&[7.0]), Estimate::exact(7.0));
    }

    #[test]
    fn student_agrees_with_the_tables() {
        for (degrees, expected) in
            [(1, 12.7062), (11, 2.20099), (20, 2.08596), (60, 2.00030), (1000, 1.96234)]
        {
            let found = student_quantile(degrees);
            assert!((found - expected).abs() < 2e-4, "t({degrees}) = {found}");
        }
    }

    #[test]
    fn a_share_has_the_interval_of_wilson() {
        // 8 of 10: center (0.8 + 0.192073) / 1.384146, known interval [0.4902, 0.9433]
        let estimate = share_estimate(8, 10);
        assert!((estimate.low - 0.490_16).abs() < 1e-4 && (estimate.high - 0.943_32).abs() < 1e-4);
        assert_eq!(share_estimate(0, 10).low, 0.0);
        assert_eq!(share_estimate(10, 10).high, 1.0);
        assert_eq!(share_estimate(0, 0).interval(), [0.0, 1.0]);
    }

    #[test]
    fn the_interquartile_mean_drops_the_tails() {
        assert_eq!(interquartile_mean(&[0.0, 1.0, 3.0, 100.0]), 2.0);
        // n = 3: weights 0.25, 1, 0.25 over 1.5
        assert!(close(interquartile_mean(&[9.0, 0.0, 3.0]), (0.25 * 0.0 + 3.0 + 0.25 * 9.0) / 1.5));
        assert_eq!(interquartile_mean(&[4.0]), 4.0);
    }

    #[test]
    fn the_bootstrap_agrees_with_the_normal_interval_on_many_values() {
        let mut rng = Streams::new(2).rng(Purpose::Problem, 0);
        let values: Vec<f64> = (0..400).map(|_| rng.normal()).collect();
        let normal = mean_estimate(&values);
        let bootstrapped = bootstrap(&values, mean, 2000, &mut rng);
        assert!((normal.low - bootstrapped.low).abs() < 0.02, "{normal:?} {bootstrapped:?}");
        assert!((normal.high - bootstrapped.high).abs() < 0.02, "{normal:?} {bootstrapped:?}");
    }

    proptest! {
        #[test]
        fn intervals_hold_their_number(values in prop::collection::vec(-1e3..1e3f64, 1..40)) {
            let estimate = mean_estimate(&values);
            prop_assert!(estimate.low <= estimate.mean && estimate.mean <= estimate.high);
            let sorted_ends = (
                values.iter().copied().fold(f64::INFINITY, f64::min) - 1e-9,
                values.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1e-9,
            );
            let middle = interquartile_mean(&values);
            prop_assert!(sorted_ends.0 <= middle && middle <= sorted_ends.1);
        }

        #[test]
        fn shares_stay_shares(n_trials in 1usize..500, part in 0.0..=1.0f64) {
            let n_successes = (part * n_trials as f64) as usize;
            let estimate = share_estimate(n_successes, n_trials);
            prop_assert!(0.0 <= estimate.low && estimate.low <= estimate.mean);
            prop_assert!(estimate.mean <= estimate.high && estimate.high <= 1.0);
        }
    }
}
