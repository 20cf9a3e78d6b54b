//! Dominance, Pareto-optimal points and the hypervolume of a front with one gain and one cost.

/// What a policy brings and what it costs: more `gain` is better, less `cost` is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TradeOff {
    /// Coverage, say.
    pub gain: f64,
    /// Collisions per step, say.
    pub cost: f64,
}

impl TradeOff {
    /// Whether this is at least as good in both and better in one.
    pub fn dominates(&self, other: &Self) -> bool {
        self.gain >= other.gain
            && self.cost <= other.cost
            && (self.gain > other.gain || self.cost < other.cost)
    }
}

/// For each point, whether no other dominates it; equal points share their fate.
pub fn pareto_optimal(points: &[TradeOff]) -> Vec<bool> {
    points.iter().map(|point| !points.iter().any(|other| other.dominates(point))).collect()
}

/// The area between a front and a reference that every useful point dominates.
///
/// ```
/// use cgcmarl::evaluation::pareto::{TradeOff, hypervolume};
/// let reference = TradeOff { gain: 0.0, cost: 1.0 };
/// let front = [TradeOff { gain: 0.5, cost: 0.2 }, TradeOff { gain: 1.0, cost: 0.6 }];
/// assert!((hypervolume(&front, reference) - (0.5 * 0.8 + 0.5 * 0.4)).abs() < 1e-12);
/// ```
///
/// Complexity: O(n log n).
pub fn hypervolume(points: &[TradeOff], reference: TradeOff) -> f64 {
    let mut useful: Vec<TradeOff> = points
        .iter()
        .copied()
        .filter(|point| point.gain > reference.gain && point.cost < reference.cost)
        .collect();
    useful.sort_by(|left, right| left.cost.total_cmp(&right.cost));
    let mut reached = reference.gain;
    let mut area = 0.0;
    for point in useful {
        area += (point.gain - reached).max(0.0) * (reference.cost - point.cost);
        reached = reached.max(point.gain);
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(gain: f64, cost: f64) -> TradeOff {
        TradeOff { gain, cost }
    }

    #[test]
    fn optimal_points_are_those_nobody_dominates() {
        let points = [at(0.9, 0.5), at(0.8, 0.5), at(0.5, 0.1), at(0.4, 0.2), at(0.5, 0.1)];
        assert_eq!(pareto_optimal(&points), [true, false, true, false, true]);
        assert!(!points[2].dominates(&points[4]));
    }

    #[test]
    fn points_beyond_the_reference_add_no_volume() {
        let reference = at(0.0, 0.3);
        assert_eq!(hypervolume(&[at(1.0, 0.3), at(0.0, 0.1)], reference), 0.0);
        assert!((hypervolume(&[at(1.0, 0.1), at(0.9, 0.2)], reference) - 0.2).abs() < 1e-12);
    }

    fn points() -> impl Strategy<Value = Vec<TradeOff>> {
        prop::collection::vec((0.0..1.0f64, 0.0..1.0f64).prop_map(|(g, c)| at(g, c)), 1..20)
    }

    proptest! {
        #[test]
        fn a_front_is_never_empty_and_dominates_the_rest(points in points()) {
            let optimal = pareto_optimal(&points);
            prop_assert!(optimal.contains(&true));
            for (point, is_optimal) in points.iter().zip(&optimal) {
                let beaten = points.iter().zip(&optimal).any(|(p, o)| *o && p.dominates(point));
                prop_assert_eq!(*is_optimal, !beaten);
            }
        }

        #[test]
        fn only_the_front_makes_volume_and_more_points_never_shrink_it(points in points()) {
            let reference = at(0.0, 1.0);
            let optimal = pareto_optimal(&points);
            let front: Vec<_> =
                points.iter().zip(&optimal).filter(|(_, o)| **o).map(|(p, _)| *p).collect();
            let (all, only) = (hypervolume(&points, reference), hypervolume(&front, reference));
            prop_assert!((all - only).abs() < 1e-12);
            prop_assert!(hypervolume(&points[1..], reference) <= all + 1e-12);
            prop_assert!((0.0..=1.0).contains(&all));
        }
    }
}
