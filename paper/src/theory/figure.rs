//! Curves to draw, and the few statistics that turn runs into curves.

use serde::Serialize;

/// A named line through points, with a band around it where it stands for many runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curve {
    /// Text of the legend.
    pub name: String,
    /// Places of the line.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of the band at each point; empty for none.
    pub band: Vec<(f64, f64)>,
    /// Drawn broken: a bound or a reference, not a measurement.
    pub is_reference: bool,
    /// Drawn as dots: the points have no order.
    pub is_scatter: bool,
}

/// Curves that share their axes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    /// Name of its files.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// Title and kind (true for logarithmic) of the horizontal axis.
    pub horizontal: (&'static str, bool),
    /// Title and kind (true for logarithmic) of the vertical axis.
    pub vertical: (&'static str, bool),
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Curve {
    /// A measured line.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }

    /// A bound or a reference.
    pub fn reference(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { is_reference: true, ..Self::new(name, points) }
    }

    /// One dot per case.
    pub fn scatter(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { is_scatter: true, ..Self::new(name, points) }
    }

    /// Median over runs, with the band from the 10th to the 90th percentile; `runs[run][place]`.
    pub fn of_runs(name: impl Into<String>, places: &[f64], runs: &[Vec<f64>]) -> Self {
        let at = |place: usize, share| quantile(runs.iter().map(|run| run[place]), share);
        let points = places.iter().enumerate().map(|(i, &x)| (x, at(i, 0.5))).collect();
        let band = (0..places.len()).map(|i| (at(i, 0.1), at(i, 0.9))).collect();
        Self { band, ..Self::new(name, points) }
    }

    /// The value of the last point.
    pub fn last(&self) -> f64 {
        self.points.last().map_or(f64::NAN, |point| point.1)
    }

    /// Slope of log y against log x over the points from `start` on, by least squares.
    pub fn slope_from(&self, start: f64) -> f64 {
        let logs = self.points.iter().filter(|(x, y)| *x >= start && *y > 0.0);
        slope(logs.map(|(x, y)| (x.ln(), y.ln())))
    }
}

/// Slope of the straight line that fits best.
pub(super) fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<_> = points.collect();
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let covariance: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    covariance / points.iter().map(|p| (p.0 - mean_x).powi(2)).sum::<f64>()
}

/// The quantile of a few numbers, between neighbours where it falls there.
pub(super) fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// The middle of a few numbers.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The largest of a few numbers that are not negative; 0 for none.
pub(super) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Steps spread evenly over the decades up to `n`, from `first` on.
pub(super) fn log_steps(first: f64, n: u64, per_decade: f64) -> Vec<u64> {
    let mut steps: Vec<u64> = (0..u16::MAX)
        .map(|i| (first * 10f64.powf(f64::from(i) / per_decade)).round() as u64)
        .take_while(|&step| step < n)
        .collect();
    steps.push(n);
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        let points = (1..50).map(|i| (f64::from(i), f64::from(i).powf(-0.3))).collect();
        assert!((Curve::new("", points).slope_from(1.0) + 0.3).abs() < 1e-9);
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(median([3.0, 1.0, 2.0, 4.0].into_iter()), 2.5);
        assert_eq!(quantile([1.0].into_iter(), 0.9), 1.0);
        assert_eq!(log_steps(10.0, 1000, 1.0), [10, 100, 1000]);
    }
}
