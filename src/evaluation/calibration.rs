//! Whether what a value predicts at the start of an episode comes true: predicted beside realised
//! discounted sums, episode by episode.

use super::statistics::{Estimate, mean_estimate};
use serde::{Deserialize, Serialize};

/// How well one signal is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// What is predicted: `reward`, a constraint's cost by its name, or `augmented` for the reward at
    /// the price of the costs.
    pub signal: String,
    /// Episodes behind every number.
    pub episodes: usize,
    /// Mean prediction.
    pub predicted: Estimate,
    /// Mean of what came true.
    pub realised: Estimate,
    /// Mean of predicted − realised, its interval over episodes.
    pub difference: Estimate,
    /// Root mean square of predicted − realised.
    pub error: f64,
    /// Correlation of both over episodes; none where one of them never changes.
    pub correlation: Option<f64>,
    /// What one more predicted brings on average; 1 where predictions are calibrated.
    pub slope: Option<f64>,
}

impl Calibration {
    /// Compares what was predicted of some episodes with what came true, one pair for each.
    ///
    /// ```
    /// use cgcmarl::evaluation::Calibration;
    /// let twice: Vec<_> = (0..10).map(|i| (2.0 * f64::from(i), f64::from(i) + 1.0)).collect();
    /// let found = Calibration::of("reward", &twice);
    /// assert_eq!((found.predicted.mean, found.realised.mean, found.difference.mean), (9.0, 5.5, 3.5));
    /// assert!((found.slope.unwrap() - 0.5).abs() < 1e-12 && (found.correlation.unwrap() - 1.0).abs() < 1e-12);
    /// ```
    pub fn of(signal: &str, pairs: &[(f64, f64)]) -> Self {
        let estimate = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            mean_estimate(&pairs.iter().map(pick).collect::<Vec<_>>())
        };
        let (predicted, realised) = (estimate(&|pair| pair.0), estimate(&|pair| pair.1));
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            pairs.iter().map(|(p, r)| term(p - predicted.mean, r - realised.mean)).sum()
        };
        let (xx, yy, xy) = (sum(&|p, _| p * p), sum(&|_, r| r * r), sum(&|p, r| p * r));
        let squares: f64 = pairs.iter().map(|(p, r)| (p - r).powi(2)).sum();
        Self {
            signal: signal.into(),
            episodes: pairs.len(),
            difference: estimate(&|pair| pair.0 - pair.1),
            error: (squares / pairs.len().max(1) as f64).sqrt(),
            correlation: (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt()),
            slope: (xx > 0.0).then(|| xy / xx),
            predicted,
            realised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_changes_has_no_slope() {
        let flat = Calibration::of("cost", &[(1.0, 0.0), (1.0, 4.0)]);
        assert_eq!((flat.slope, flat.correlation), (None, None));
        assert_eq!((flat.difference.mean, flat.error), (-1.0, 5.0f64.sqrt()));
        let json = serde_json::to_value(&flat).unwrap();
        assert_eq!(serde_json::from_value::<Calibration>(json).unwrap(), flat);
    }
}
