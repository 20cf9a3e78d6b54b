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

/// One number, such as `93.4 %` or `0.0031`.
pub(crate) fn value(metric: &Metric, number: f64) -> String {
    let shown = scale(metric) * number;
    let digits = digits(metric, [shown]);
    if metric.percent { format!("{shown:.digits$} %") } else { format!("{shown:.digits$}") }
}

/// Digits behind the point that suit numbers which are shown together: about three that count.
pub(crate) fn digits(metric: &Metric, shown: impl IntoIterator<Item = f64>) -> usize {
    if metric.percent {
        return 1;
    }
    let largest = shown.into_iter().map(f64::abs).filter(|n| n.is_finite()).fold(0.0, f64::max);
    if largest == 0.0 { 4 } else { (2.0 - largest.log10().floor()).clamp(1.0, 6.0) as usize }
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
        let share = rate.percent();
        assert_eq!((value(&share, 0.934), title(&share)), ("93.4 %".into(), "rate %".into()));
    }
}
