//! Dominance, Pareto-optimal points and the hypervolume of a front with any number of axes.
//!
//! A point lists what a policy achieves on each axis, turned so that more is better on all of them.

use crate::environment::{Better, Metric};

/// What a policy achieves: one number per axis, more is better.
pub type Point = Vec<f64>;

/// A metric's value turned so that more is better.
pub fn oriented(metric: &Metric, value: f64) -> f64 {
    match metric.better {
        Better::Higher => value,
        Better::Lower => -value,
    }
}

/// Whether a point is at least as good on every axis and better on one.
pub fn dominates(point: &[f64], other: &[f64]) -> bool {
    let pairs = || point.iter().zip(other);
    pairs().all(|(a, b)| a >= b) && pairs().any(|(a, b)| a > b)
}

/// For each point, whether no other dominates it; equal points share their fate.
pub fn pareto_optimal(points: &[Point]) -> Vec<bool> {
    points.iter().map(|point| !points.iter().any(|other| dominates(other, point))).collect()
}

/// The volume between a front and a reference that every useful point exceeds on all axes.
///
/// ```
/// use cgcmarl::evaluation::pareto::hypervolume;
/// let front = [vec![0.5, -0.2], vec![1.0, -0.6]];
/// assert!((hypervolume(&front, &[0.0, -1.0]) - (0.5 * 0.8 + 0.5 * 0.4)).abs() < 1e-12);
/// ```
///
/// Complexity: O(n log n) for two axes, O(n^(d−1) log n) for d, by slices along the last axis.
pub fn hypervolume(points: &[Point], reference: &[f64]) -> f64 {
    let useful: Vec<&[f64]> = points
        .iter()
        .map(Vec::as_slice)
        .filter(|point| point.iter().zip(reference).all(|(value, corner)| value > corner))
        .collect();
    volume(useful, reference)
}

fn volume(mut points: Vec<&[f64]>, reference: &[f64]) -> f64 {
    let last = reference.len() - 1;
    if last == 0 {
        let best = points.iter().map(|point| point[0]).fold(reference[0], f64::max);
        return best - reference[0];
    }
    points.sort_by(|left, right| right[last].total_cmp(&left[last]));
    let mut total = 0.0;
    for n in 1..=points.len() {
        let floor = points.get(n).map_or(reference[last], |point| point[last]);
        let height = points[n - 1][last] - floor;
        if height > 0.0 {
            total += height * volume(points[..n].to_vec(), &reference[..last]);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn optimal_points_are_those_nobody_dominates() {
        let points =
            [[0.9, -0.5], [0.8, -0.5], [0.5, -0.1], [0.4, -0.2], [0.5, -0.1]].map(Vec::from);
        assert_eq!(pareto_optimal(&points), [true, false, true, false, true]);
        assert!(!dominates(&points[2], &points[4]));
    }

    #[test]
    fn points_beyond_the_reference_add_no_volume() {
        let reference = [0.0, -0.3];
        assert_eq!(hypervolume(&[vec![1.0, -0.3], vec![0.0, -0.1]], &reference), 0.0);
        let found = hypervolume(&[vec![1.0, -0.1], vec![0.9, -0.2]], &reference);
        assert!((found - 0.2).abs() < 1e-12);
    }

    #[test]
    fn three_axes_by_hand() {
        // Two boxes 2×1×1 and 1×2×1 over the origin, and one 1×1×3: union 2 + 2 − 1 + 2.
        let points = [vec![2.0, 1.0, 1.0], vec![1.0, 2.0, 1.0], vec![1.0, 1.0, 3.0]];
        assert!((hypervolume(&points, &[0.0; 3]) - 5.0).abs() < 1e-12);
    }

    fn points(axes: usize) -> impl Strategy<Value = Vec<Point>> {
        prop::collection::vec(prop::collection::vec(0.0..1.0f64, axes), 1..12)
    }

    proptest! {
        #[test]
        fn a_front_is_never_empty_and_dominates_the_rest(points in points(3)) {
            let optimal = pareto_optimal(&points);
            prop_assert!(optimal.contains(&true));
            for (point, is_optimal) in points.iter().zip(&optimal) {
                let beaten = points.iter().zip(&optimal).any(|(p, o)| *o && dominates(p, point));
                prop_assert_eq!(*is_optimal, !beaten);
            }
        }

        #[test]
        fn only_the_front_makes_volume_and_more_points_never_take_from_it(
            (axes, points) in (2..4usize).prop_flat_map(|axes| (Just(axes), points(axes)))
        ) {
            let reference = vec![0.0; axes];
            let optimal = pareto_optimal(&points);
            let front: Vec<_> =
                points.iter().zip(&optimal).filter(|(_, o)| **o).map(|(p, _)| p.clone()).collect();
            let (all, only) = (hypervolume(&points, &reference), hypervolume(&front, &reference));
            prop_assert!((all - only).abs() < 1e-12);
            prop_assert!(hypervolume(&points[1..], &reference) <= all + 1e-12);
            prop_assert!((0.0..=1.0).contains(&all));
        }
    }
}
