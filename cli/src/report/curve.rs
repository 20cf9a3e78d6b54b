//! Metrics thinned as they come: a bounded number of points, however long the run.

use serde_json::Value;

/// Most points of a curve.
const MOST_POINTS: usize = 400;
/// Most curves; a run logs about twenty numbers.
const MOST_CURVES: usize = 100;

/// Neighbouring points as one.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    n: usize,
    step: f64,
    value: f64,
}

/// The values of one metric at their steps: means of stretches of equal numbers of points.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    name: String,
    stretches: Vec<Stretch>,
    n_each: usize,
}

impl Curve {
    fn new(name: String) -> Self {
        Self { name, stretches: vec![], n_each: 1 }
    }

    /// The name of the metric.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Steps and values.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.stretches.iter().map(|s| (s.step / s.n as f64, s.value / s.n as f64))
    }

    fn push(&mut self, step: f64, value: f64) {
        if self.stretches.last().is_none_or(|last| last.n == self.n_each) {
            if self.stretches.len() == MOST_POINTS {
                self.halve();
            }
            self.stretches.push(Stretch::default());
        }
        let Some(last) = self.stretches.last_mut() else { return };
        *last = Stretch { n: last.n + 1, step: last.step + step, value: last.value + value };
    }

    fn halve(&mut self) {
        let join = |pair: &[Stretch]| {
            pair.iter().fold(Stretch::default(), |sum, s| Stretch {
                n: sum.n + s.n,
                step: sum.step + s.step,
                value: sum.value + s.value,
            })
        };
        self.stretches = self.stretches.chunks(2).map(join).collect();
        self.n_each *= 2;
    }
}

/// Every number a run logs, in the order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves(Vec<Curve>);

impl Curves {
    /// Adds a line of metrics; a lone `null` (a number that was not finite) is a gap.
    pub(crate) fn add(&mut self, line: &Value) {
        let Some(step) = line["step"].as_f64() else { return };
        for (name, value) in cgcmarl::run_dir::numbers(line) {
            let index = self.0.iter().position(|curve| curve.name == name);
            let index = index.unwrap_or(self.0.len());
            if index == self.0.len() && index < MOST_CURVES {
                self.0.push(Curve::new(name));
            }
            if let Some(curve) = self.0.get_mut(index) {
                curve.push(step, value);
            }
        }
    }

    /// The one of a name.
    pub(crate) fn named(&self, name: &str) -> Option<&Curve> {
        self.0.iter().find(|curve| curve.name == name)
    }

    /// Those whose name begins like this.
    pub(crate) fn beginning(&self, prefix: &str) -> impl Iterator<Item = &Curve> {
        self.0.iter().filter(move |curve| curve.name.starts_with(prefix))
    }
}

impl<'a> FromIterator<&'a Value> for Curves {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(lines: I) -> Self {
        let mut curves = Self::default();
        lines.into_iter().for_each(|line| curves.add(line));
        curves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn thinned(n: usize) -> Vec<(f64, f64)> {
        let lines: Vec<_> = (0..n).map(|i| json!({"step": i, "loss": i % 2})).collect();
        let curves: Curves = lines.iter().collect();
        curves.beginning("loss").flat_map(Curve::points).collect()
    }

    #[test]
    fn long_runs_are_thinned_by_means_and_short_ones_kept() {
        assert_eq!(thinned(3), [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]);
        assert_eq!(thinned(MOST_POINTS).len(), MOST_POINTS);
        let thin = thinned(2 * MOST_POINTS);
        assert_eq!((thin.len(), thin[0]), (MOST_POINTS, (0.5, 0.5)));
        for n in [MOST_POINTS + 1, 5 * MOST_POINTS, 7 * MOST_POINTS + 3] {
            let thin = thinned(n);
            assert!((MOST_POINTS / 2..=MOST_POINTS).contains(&thin.len()), "{n}: {}", thin.len());
            assert!(thin.last().unwrap().0 > 0.98 * n as f64, "{n}: {:?}", thin.last());
        }
    }

    #[test]
    fn a_file_of_names_does_not_fill_the_memory() {
        let lines: Vec<_> = (0..1000).map(|i| json!({"step": i, (i.to_string()): 1})).collect();
        let curves: Curves = lines.iter().collect();
        assert_eq!(curves.beginning("").count(), MOST_CURVES);
    }
}
