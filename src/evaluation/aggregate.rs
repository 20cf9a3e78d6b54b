//! Scores of several runs on several tasks in one number, as rliable defines them (Agarwal et al. 2021:
//! Deep reinforcement learning at the edge of the statistical precipice).
//!
//! Scores are a list of runs for each task; tasks count alike, however many runs they have (rliable has as
//! many of each). Intervals come from the stratified bootstrap: runs are drawn anew within each task, tasks
//! stay.

use super::statistics::{Estimate, mean, quantile};
use crate::rng::Rng;

/// The runs of each task.
pub type TaskScores = Vec<Vec<f64>>;

/// The interquartile mean over all runs of all tasks: a quarter of the scores, rounded down, is left out
/// at either end, and the rest averaged. Runs of a task that has fewer are repeated, so that tasks count
/// alike.
///
/// ```
/// use cgcmarl::evaluation::aggregate::interquartile_mean_of_runs;
/// assert_eq!(interquartile_mean_of_runs(&[vec![0.0, 1.0], vec![3.0, 100.0]]), 2.0);
/// // As [3, 3] and [0, 4].
/// assert_eq!(interquartile_mean_of_runs(&[vec![3.0], vec![0.0, 4.0]]), 3.0);
/// ```
pub fn interquartile_mean_of_runs(tasks: &[Vec<f64>]) -> f64 {
    let counts = || tasks.iter().map(Vec::len).filter(|n| *n > 0);
    let common = counts().fold(1, least_common_multiple);
    let repeated = tasks.iter().flat_map(|runs| runs.iter().map(|run| (*run, common / runs.len())));
    let mut sorted: Vec<f64> =
        repeated.flat_map(|(run, times)| std::iter::repeat_n(run, times)).collect();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

/// The probability that a run of one method beats a run of another on a task drawn at random; ties
/// count half. Tasks stand in the same order, and those that either lacks are left out.
pub fn probability_of_improvement(tasks: &[Vec<f64>], of_other: &[Vec<f64>]) -> f64 {
    let both =
        tasks.iter().zip(of_other).filter(|(own, other)| !own.is_empty() && !other.is_empty());
    let shares: Vec<f64> = both.map(|(own, other)| share_of_wins(own, other)).collect();
    mean(&shares)
}

/// Scores that differ by no more are equal: sums that are, differ in their last digits by the order of adding.
const TIE: f64 = 1e-9;

/// The Mann-Whitney statistic as a share of all pairs.
fn share_of_wins(own: &[f64], other: &[f64]) -> f64 {
    let won = |left: f64, right: f64| match left - right {
        more if more > TIE => 1.0,
        less if less < -TIE => 0.0,
        _ => 0.5,
    };
    let pairs = own.iter().flat_map(|left| other.iter().map(move |right| won(*left, *right)));
    pairs.sum::<f64>() / (own.len() * other.len()) as f64
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}

/// The performance profile: for each threshold, the share of a task's runs that score above it, on average
/// over the tasks.
pub fn performance_profile(tasks: &[Vec<f64>], thresholds: &[f64]) -> Vec<f64> {
    let tried: Vec<&Vec<f64>> = tasks.iter().filter(|runs| !runs.is_empty()).collect();
    let above = |runs: &[f64], threshold: f64| {
        runs.iter().filter(|score| **score > threshold).count() as f64 / runs.len() as f64
    };
    let share = |threshold: &f64| tried.iter().map(|runs| above(runs, *threshold)).sum::<f64>();
    thresholds.iter().map(|threshold| share(threshold) / tried.len().max(1) as f64).collect()
}

/// Runs drawn anew within each task.
pub fn resampled(tasks: &[Vec<f64>], rng: &mut Rng) -> TaskScores {
    let drawn = |runs: &Vec<f64>, rng: &mut Rng| -> Vec<f64> {
        (0..runs.len()).map(|_| runs[rng.below(runs.len())]).collect()
    };
    tasks.iter().map(|runs| drawn(runs, rng)).collect()
}

/// A statistic of several methods with its 95 % interval over `n_resamples` resamples, drawn within
/// each task of each method.
pub fn stratified_bootstrap(
    methods: &[TaskScores],
    statistic: impl Fn(&[TaskScores]) -> f64,
    n_resamples: usize,
    rng: &mut Rng,
) -> Estimate {
    let draw = |_| {
        let drawn: Vec<TaskScores> = methods.iter().map(|tasks| resampled(tasks, rng)).collect();
        statistic(&drawn)
    };
    interval(statistic(methods), (0..n_resamples).map(draw).collect())
}

/// A number with the 95 % interval of its resamples.
pub fn interval(center: f64, mut resamples: Vec<f64>) -> Estimate {
    if resamples.is_empty() {
        return Estimate::exact(center);
    }
    resamples.sort_by(f64::total_cmp);
    Estimate { mean: center, low: quantile(&resamples, 0.025), high: quantile(&resamples, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};
    use proptest::prelude::*;
    use serde_json::Value;

    /// What rliable says of one table: `benches/peers/rliable_fixture.py` made it.
    fn fixture() -> Value {
        serde_json::from_str(include_str!("../../tests/data/rliable.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    /// rliable lists the tasks of each run, we the runs of each task.
    fn tasks(value: &Value) -> TaskScores {
        let runs: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
        (0..runs[0].len()).map(|task| runs.iter().map(|run| run[task]).collect()).collect()
    }

    #[test]
    fn a_score_ties_with_itself_in_whatever_order_it_was_added_up() {
        let (one, other) = ([vec![0.1 + 0.2]], [vec![0.3]]);
        assert_ne!(one, other);
        assert_eq!(probability_of_improvement(&one, &other), 0.5);
    }

    #[test]
    fn numbers_are_those_of_rliable() {
        let fixture = fixture();
        for case in fixture["cases"].as_array().unwrap() {
            let [own, other] = ["own", "other"].map(|name| tasks(&case[name]));
            let expected = |name: &str| case[name].as_f64().unwrap();
            let close = |name: &str, found: f64| {
                assert!((found - expected(name)).abs() < 1e-12, "{name}: {found}");
            };
            close("iqm", interquartile_mean_of_runs(&own));
            close("improvement", probability_of_improvement(&own, &other));
            let profile = performance_profile(&own, &numbers(&case["thresholds"]));
            for (found, expected) in profile.iter().zip(numbers(&case["profile"])) {
                assert!((found - expected).abs() < 1e-12, "profile: {found} {expected}");
            }
            let mut rng = Streams::new(1).rng(Purpose::Bootstrap, 0);
            let iqm = |methods: &[TaskScores]| interquartile_mean_of_runs(&methods[0]);
            let found = stratified_bootstrap(std::slice::from_ref(&own), iqm, 4000, &mut rng);
            let better =
                |methods: &[TaskScores]| probability_of_improvement(&methods[0], &methods[1]);
            let improved = stratified_bootstrap(&[own, other], better, 4000, &mut rng);
            // Both are resamples: they agree to a twentieth of the interval's width.
            for (name, found) in [("iqm_interval", found), ("improvement_interval", improved)] {
                let expected = numbers(&case[name]);
                let slack = 0.06 * (expected[1] - expected[0]) + 1e-12;
                assert!((found.low - expected[0]).abs() < slack, "{name}: {found:?} {expected:?}");
                assert!((found.high - expected[1]).abs() < slack, "{name}: {found:?} {expected:?}");
            }
        }
    }

    fn scores() -> impl Strategy<Value = TaskScores> {
        prop::collection::vec(prop::collection::vec(0.0..1.0f64, 1..8), 1..6)
    }

    proptest! {
        #[test]
        fn an_interquartile_mean_lies_between_the_quartiles_and_moves_with_its_scores(
            scores in scores(),
            n_runs in 1..8usize,
        ) {
            let cycled = |runs: Vec<f64>| runs.into_iter().cycle().take(n_runs).collect();
            let tasks: TaskScores = scores.into_iter().map(cycled).collect();
            let mut all: Vec<f64> = tasks.iter().flatten().copied().collect();
            all.sort_by(f64::total_cmp);
            let middle = interquartile_mean_of_runs(&tasks);
            let cut = all.len() / 4;
            prop_assert!(all[cut] - 1e-12 <= middle && middle <= all[all.len() - 1 - cut] + 1e-12);
            let shifted: TaskScores =
                tasks.iter().map(|runs| runs.iter().map(|score| 2.0 * score + 1.0).collect()).collect();
            prop_assert!((interquartile_mean_of_runs(&shifted) - (2.0 * middle + 1.0)).abs() < 1e-9);
        }

        #[test]
        fn improvements_of_either_add_up_to_one(tasks in scores(), others in scores()) {
            let n = tasks.len().min(others.len());
            let (own, other) = (&tasks[..n], &others[..n]);
            let sum = probability_of_improvement(own, other) + probability_of_improvement(other, own);
            prop_assert!((sum - 1.0).abs() < 1e-12);
            prop_assert_eq!(probability_of_improvement(own, own), 0.5);
        }

        #[test]
        fn a_profile_falls_and_its_area_is_the_mean(tasks in scores()) {
            let thresholds: Vec<f64> = (0..=1000).map(|step| f64::from(step) / 1000.0).collect();
            let profile = performance_profile(&tasks, &thresholds);
            prop_assert!(profile.is_sorted_by(|left, right| left >= right));
            let area = mean(&profile[..1000]);
            let means: Vec<f64> = tasks.iter().map(|runs| mean(runs)).collect();
            prop_assert!((area - mean(&means)).abs() < 1e-3, "{area}");
        }

        /// Of every task's scores one has four times as many runs.
        #[test]
        fn tasks_count_alike_however_many_runs_they_have(tasks in scores(), other in scores()) {
            let even = |tasks: &TaskScores| -> TaskScores {
                tasks.iter().map(|runs| vec![mean(runs); 4]).collect()
            };
            let (mut few, many) = (even(&tasks), even(&tasks));
            few[0].truncate(1);
            let difference = interquartile_mean_of_runs(&few) - interquartile_mean_of_runs(&many);
            prop_assert!(difference.abs() < 1e-12);
            let thresholds = [0.25, 0.5, 0.75];
            let doubled: TaskScores = other.iter().map(|runs| runs.repeat(2)).collect();
            let mixed: TaskScores = [&other[..1], &doubled[1..]].concat();
            let (found, expected) =
                (performance_profile(&mixed, &thresholds), performance_profile(&other, &thresholds));
            prop_assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
        }

        #[test]
        fn resamples_keep_to_their_task(tasks in scores(), seed in 0..1000u64) {
            let mut rng = Streams::new(seed).rng(Purpose::Bootstrap, 0);
            let drawn = resampled(&tasks, &mut rng);
            for (drawn, runs) in drawn.iter().zip(&tasks) {
                prop_assert_eq!(drawn.len(), runs.len());
                prop_assert!(drawn.iter().all(|score| runs.contains(score)));
            }
        }
    }
}
