//! How the numbers of a metric are shown: in percent where people read them so, with fitting digits.

use cgcmarl::{environment::Metric, evaluation::Estimate};

/// Name of a metric over a column, such as `gain %`.
pub(crate) fn title(metric: &Metric) -> String {
    if metric.percent { format!("{} %", metric.name) } else { metric.name.clone() }
}

/// Name of a metric beside an axis, such as `some gain (%)`.
pub(crate) fn axis_title(metric: &Metric) -> String {
    let name = metric.name.replace('_', " ");
    if metric.percent { format!("{name} (%)") } else { name }
}

/// What a number is multiplied by before it is shown.
pub(crate) fn scale(metric: &Metric) -> f64 {
    if metric.percent { 100.0 } else { 1.0 }
}

/// An estimate in the unit in which it is shown.
pub(crate) fn shown(metric: &Metric, estimate: &Estimate) -> Estimate {
    let scale = scale(metric);
    Estimate { mean: scale * estimate.mean, low: scale * estimate.low, high: scale * estimate.high }
}

/// One number with three digits that count, such as `93.4 %` or `0.00312`.
pub(crate) fn value(metric: &Metric, number: f64) -> String {
    let shown = scale(metric) * number;
    if metric.percent {
        return format!("{shown:.1} %");
    }
    format!("{shown:.*}", digits_for(shown, 3.0))
}

/// Digits behind the point for a column: two of its middle number count, the lower one of two.
pub(crate) fn column_digits(metric: &Metric, shown: impl IntoIterator<Item = f64>) -> usize {
    if metric.percent {
        return 1;
    }
    let sizes = shown.into_iter().map(f64::abs);
    let mut sizes: Vec<f64> = sizes.filter(|size| size.is_finite() && *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    digits_for(sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0), 2.0)
}

/// Digits behind the point so that so many of a number count.
fn digits_for(number: f64, n_counting: f64) -> usize {
    if number == 0.0 || !number.is_finite() {
        return 4;
    }
    (n_counting - 1.0 - number.abs().log10().floor()).clamp(1.0, 6.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::environment::{Better, Reduce};

    #[test]
    fn numbers_have_the_digits_that_count() {
        let rate = Metric::new("rate", "", Reduce::Mean, Better::Lower, [0.0, 3.0]);
        for (number, text) in [
            (0.003_123, "0.00312"),
            (0.0456, "0.0456"),
            (-123.456, "-123.5"),
            (0.0, "0.0000"),
            (1e308, "1"),
            (f64::NAN, "NaN"),
        ] {
            assert!(value(&rate, number).starts_with(text), "{number}: {}", value(&rate, number));
        }
        assert_eq!(column_digits(&rate, [0.98, 0.29, 0.07, 0.04, 0.0, f64::NAN]), 3);
        assert_eq!(column_digits(&rate, []), 4);
        let share = rate.percent();
        assert_eq!((value(&share, 0.934), title(&share)), ("93.4 %".into(), "rate %".into()));
    }
}
