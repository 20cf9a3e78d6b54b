//! An upper bound on the mean of bounded values that holds for every sample size and every distribution.
//!
//! A gambler bets against "the mean is `m`": after values `x` in [0, 1] the capital of the constant
//! bet `b` is `Π (1 − b (x − m))`. Where the mean is `m` or more, no mixture of such capitals grows
//! on average, so by Ville's inequality it ever reaches `1/α` with probability `α` at most
//! (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting").
//! The guarantee holds at all times at once, so that one may stop as soon as it suffices. Bounds of
//! Hoeffding's or Bernstein's kind need many times the episodes when costs are rare.

/// Constant bets, and how much of the capital each gets: rare costs call for the largest bet.
const BETS: [(f64, f64); 5] =
    [(1.0, 0.75), (0.5, 0.1), (0.25, 0.05), (0.125, 0.05), (0.0625, 0.05)];

/// Logarithm of the capital won by betting that the mean of values in [0, 1] is below `mean`.
pub fn log_capital(values: &[f64], mean: f64) -> f64 {
    let grown = BETS.map(|(bet, share)| {
        // A few factors at a time, so that there are few logarithms and nothing underflows.
        let factor = |value: &f64| 1.0 - bet * (value - mean);
        let growth: f64 =
            values.chunks(16).map(|chunk| chunk.iter().map(factor).product::<f64>().ln()).sum();
        growth + f64::ln(share)
    });
    let most = grown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + grown.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

/// An upper bound on the mean of independent values in [0, `most`], right with this confidence.
///
/// ```
/// let quiet = vec![0.0; 3000];
/// let bound = cgcmarl::evaluation::certificate::upper_bound(&quiet, 3.0, 0.95);
/// assert!(bound > 0.003 && bound < 0.004);
/// ```
pub fn upper_bound(values: &[f64], most: f64, confidence: f64) -> f64 {
    let scaled: Vec<f64> = values.iter().map(|value| value / most).collect();
    let wanted = -(1.0 - confidence).ln();
    let (mut low, mut high) = (0.0, 1.0);
    if log_capital(&scaled, high) < wanted {
        return most;
    }
    // The capital grows with the mean it is bet against, so the bound is where it passes 1/α.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if log_capital(&scaled, middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high * most
}

/// Values needed to show that the mean is below `limit` if it goes on like this; `None` if never.
pub fn values_needed(values: &[f64], most: f64, limit: f64, confidence: f64) -> Option<usize> {
    let growth = values.iter().map(|value| (1.0 - (value - limit) / most).ln()).sum::<f64>();
    let wanted = -(1.0 - confidence).ln() - f64::ln(BETS[0].1);
    (growth > 0.0).then(|| (wanted / growth * values.len() as f64).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng, Streams};

    const MOST: f64 = 3.0;

    /// A rare and heavy cost with the mean `mean`: mostly 0, seldom up to the most possible.
    fn rare(rng: &mut Rng, mean: f64, hit: f64) -> f64 {
        if rng.uniform() < mean / hit { hit } else { 0.0 }
    }

    /// How often the bound of a sample lies below the true mean.
    fn violations(n_values: usize, draw: impl Fn(&mut Rng) -> f64, mean: f64) -> f64 {
        let n_trials = 600;
        let wrong = (0..n_trials).filter(|trial| {
            let mut rng = Streams::new(9).rng(Purpose::Problem, *trial);
            let values: Vec<f64> = (0..n_values).map(|_| draw(&mut rng)).collect();
            upper_bound(&values, MOST, 0.9) < mean
        });
        wrong.count() as f64 / n_trials as f64
    }

    #[test]
    fn the_bound_is_wrong_no_more_often_than_it_says() {
        for (mean, hit) in [(0.005, 3.0), (0.005, 0.08), (0.05, 0.4), (1.5, 3.0)] {
            let share = violations(300, |rng| rare(rng, mean, hit), mean);
            assert!(share <= 0.1, "mean {mean}, hit {hit}: wrong in {share} of the trials");
        }
        let share = violations(300, |rng| MOST * rng.uniform(), 1.5);
        assert!(share <= 0.1, "uniform values: wrong in {share} of the trials");
    }

    #[test]
    fn looking_after_every_value_is_no_more_often_wrong() {
        let (mean, n_trials) = (0.3, 1000);
        let fooled = (0..n_trials).filter(|trial| {
            let mut rng = Streams::new(10).rng(Purpose::Problem, *trial);
            let values: Vec<f64> = (0..200).map(|_| rare(&mut rng, mean, 0.6)).collect();
            (1..=values.len()).any(|n| log_capital(&values[..n], mean) >= f64::ln(10.0))
        });
        let share = fooled.count() as f64 / n_trials as f64;
        assert!(share <= 0.1, "fooled in {share} of the trials");
    }

    #[test]
    fn the_bound_tightens_towards_the_mean() {
        let values = |n: usize| -> Vec<f64> {
            let mut rng = Streams::new(11).rng(Purpose::Problem, 0);
            (0..n).map(|_| rare(&mut rng, 0.05, 0.1)).collect()
        };
        let bounds = [200, 2000, 20_000].map(|n| upper_bound(&values(n), MOST, 0.95));
        assert!(bounds[0] > bounds[1] && bounds[1] > bounds[2] && bounds[2] < 0.056, "{bounds:?}");
        assert_eq!(upper_bound(&[], MOST, 0.95), MOST);
        assert_eq!(upper_bound(&[MOST; 50], MOST, 0.95), MOST);
    }

    #[test]
    fn the_forecast_of_episodes_is_about_right() {
        let values = vec![0.001; 500];
        let needed = values_needed(&values, MOST, 0.005, 0.95).unwrap();
        let bound = |n: usize| upper_bound(&vec![0.001; n], MOST, 0.95);
        assert!(bound(needed + 10) <= 0.005 && bound(needed * 9 / 10) > 0.005, "{needed}");
        assert_eq!(values_needed(&[0.01; 9], MOST, 0.005, 0.95), None);
    }
}
