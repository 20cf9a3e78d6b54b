//! Trade-offs chosen on one set of start states and measured on another, so that nobody profits from
//! luck in the choice.

use super::{
    arm::Arm,
    gather::TABLES_LAYOUT,
    results::Chosen,
    row::ROWS,
    row_file::{FLOOR, PlayedPoint, RowResult},
    rows::Rows,
};
use cgcmarl::evaluation::statistics::{mean, sample_deviation};
use std::{cmp::Ordering, collections::BTreeMap};

/// Limits on collisions, in units of those that no action avoids.
pub const LIMITS: [f64; 4] = [1.1, 1.5, 3.0, 10.0];

/// One point of one seed: as it was on the start states of the choice, and on those of the report.
type Candidate<'a> = (&'a PlayedPoint, &'a PlayedPoint);

/// What every method of an arm achieves within each limit.
pub(super) fn chosen(rows: &Rows, arm: Arm, n_agents: usize) -> Vec<Chosen> {
    let mut methods: Vec<&str> = vec![];
    for row in ROWS.iter().filter(|row| row.arm.belongs_to(arm)) {
        if !methods.contains(&row.algorithm) {
            methods.push(row.algorithm);
        }
    }
    let mut all = vec![];
    for algorithm in methods {
        let seeds = candidates(rows, arm, n_agents, algorithm);
        if !seeds.is_empty() {
            all.extend(LIMITS.map(|limit| within(algorithm, limit, &seeds)));
        }
    }
    all
}

/// The points of each seed of a method, over all its rows.
fn candidates<'a>(
    rows: &'a Rows,
    arm: Arm,
    n_agents: usize,
    algorithm: &str,
) -> BTreeMap<u64, Vec<Candidate<'a>>> {
    let mut seeds: BTreeMap<u64, Vec<Candidate<'a>>> = BTreeMap::new();
    for row in ROWS.iter().filter(|row| row.arm.belongs_to(arm) && row.algorithm == algorithm) {
        for result in rows.seeds(n_agents, row) {
            let pairs = pairs(result);
            if !pairs.is_empty() {
                seeds.entry(result.seed).or_default().extend(pairs);
            }
        }
    }
    seeds
}

fn pairs(row: &RowResult) -> Vec<Candidate<'_>> {
    let (Some(selection), Some(report)) = (&row.selection, row.layout(TABLES_LAYOUT)) else {
        return vec![];
    };
    let same = |point: &&PlayedPoint, other: &PlayedPoint| point.parameter == other.parameter;
    let pair = |point| Some((point, report.points.iter().find(|other| same(other, point))?));
    selection.points.iter().filter_map(pair).collect()
}

fn over_floor(point: &PlayedPoint) -> f64 {
    // Where nothing is unavoidable, collisions count as they are.
    point.trade_off().collisions / Some(point.mean(FLOOR)).filter(|f| *f > 0.0).unwrap_or(1e-4)
}

/// More coverage, and of as much fewer collisions.
fn better(a: &PlayedPoint, b: &PlayedPoint) -> Ordering {
    let (a, b) = (a.trade_off(), b.trade_off());
    a.coverage.total_cmp(&b.coverage).then(b.collisions.total_cmp(&a.collisions))
}

fn within(algorithm: &str, limit: f64, seeds: &BTreeMap<u64, Vec<Candidate<'_>>>) -> Chosen {
    let mut chosen =
        Chosen { algorithm: algorithm.into(), times_floor: limit, ..Chosen::default() };
    let (mut coverage, mut collisions) = (vec![], vec![]);
    for points in seeds.values() {
        let safe = points.iter().filter(|(selection, _)| over_floor(selection) <= limit);
        let best = safe.max_by(|a, b| better(a.0, b.0));
        chosen.found += usize::from(best.is_some());
        let safest = || points.iter().min_by(|a, b| over_floor(a.0).total_cmp(&over_floor(b.0)));
        let Some((_, report)) = best.or_else(safest) else { continue };
        chosen.parameters.push(report.parameter.clone());
        coverage.push(report.trade_off().coverage);
        collisions.push(over_floor(report));
    }
    chosen.seeds = coverage.len();
    chosen.coverage = (mean(&coverage), sample_deviation(&coverage));
    chosen.collisions_over_floor = mean(&collisions);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(parameter: &str, coverage: f64, collisions: f64) -> PlayedPoint {
        let metrics = [("coverage", coverage), ("collisions_per_step", collisions), (FLOOR, 0.01)];
        PlayedPoint {
            parameter: parameter.into(),
            metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            ..PlayedPoint::default()
        }
    }

    #[test]
    fn a_lucky_point_is_reported_as_it_is_elsewhere() {
        let seen = [point("λ=0", 0.99, 0.02), point("λ=1", 0.9, 0.012), point("λ=2", 0.8, 0.011)];
        let told = [point("λ=0", 0.98, 0.02), point("λ=1", 0.7, 0.016), point("λ=2", 0.8, 0.011)];
        let candidates: Vec<Candidate<'_>> = seen.iter().zip(&told).collect();
        let seeds = BTreeMap::from([(1, candidates)]);
        let chosen = within("it", 1.5, &seeds);
        assert_eq!((chosen.found, chosen.parameters[0].as_str()), (1, "λ=1"));
        assert_eq!(chosen.coverage.0, 0.7);
        assert!((chosen.collisions_over_floor - 1.6).abs() < 1e-12);
        // Of points that cover as much the one with fewer collisions.
        let even = [point("λ=1", 0.9, 0.011), point("λ=0", 0.9, 0.012)];
        for order in [[0, 1], [1, 0]] {
            let candidates = order.map(|index| (&even[index], &even[index])).to_vec();
            let chosen = within("it", 1.5, &BTreeMap::from([(1, candidates)]));
            assert_eq!(chosen.parameters, ["λ=1"]);
        }
        // Where nothing keeps the limit, the safest is shown and not counted.
        let strict = within("it", 1.05, &seeds);
        assert_eq!((strict.found, strict.parameters[0].as_str()), (0, "λ=2"));
    }
}
