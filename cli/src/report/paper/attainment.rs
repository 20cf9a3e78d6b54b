//! Attained fronts with bands over the seeds, and performance profiles.

use super::reproduction::display_name;
use cgcmarl::evaluation::statistics::quantile;
use cgcmarl_paper::{
    reproduction::{MethodReliability, Results, THRESHOLDS, Team},
    tables::TradeOff,
    theory::{Curve, Figure},
};

/// Places on the axis of collisions.
const N_PLACES: usize = 60;

/// For each team on random layouts: how much each method covers within so many collisions, the median
/// seed with the band from the worst to the best.
pub(crate) fn figures(results: &Results) -> Vec<(String, Figure)> {
    let random = results.on_random_layouts();
    random
        .filter_map(|team| Some((format!("attainment_{}", team.n_agents), figure(team)?)))
        .collect()
}

fn figure(team: &Team) -> Option<Figure> {
    let all = || team.points.iter().flat_map(|point| &point.per_seed).map(|seed| seed.collisions);
    let least = all().filter(|c| *c > 0.0).fold(f64::INFINITY, f64::min);
    let most = all().fold(0.0, f64::max);
    if least >= most {
        return None;
    }
    let step = (most / least).powf(1.0 / (N_PLACES - 1) as f64);
    let places: Vec<f64> = (0..N_PLACES).map(|at| least * step.powi(at as i32)).collect();
    let curves = team.methods().into_iter().filter_map(|name| curve(team, name, &places));
    Some(Figure {
        name: "attainment",
        title: format!("N = {}: coverage attained within so many collisions", team.n_agents),
        horizontal: ("collisions per step, at the most", true),
        vertical: ("coverage (%)", false),
        curves: curves.collect(),
    })
}

/// The attainment surface of a method: what the median seed attains, between what all and what any do.
fn curve(team: &Team, algorithm: &str, places: &[f64]) -> Option<Curve> {
    let own: Vec<_> = team.points.iter().filter(|point| point.algorithm == algorithm).collect();
    let n_seeds = own.iter().map(|point| point.per_seed.len()).min()?;
    let (mut points, mut band) = (vec![], vec![]);
    for &place in places {
        let mut attained: Vec<f64> = (0..n_seeds)
            .map(|seed| attained(own.iter().map(|point| &point.per_seed[seed]), place))
            .collect();
        attained.sort_by(f64::total_cmp);
        let (Some(&worst), Some(&best)) = (attained.first(), attained.last()) else { continue };
        if worst > 0.0 {
            points.push((place, 100.0 * quantile(&attained, 0.5)));
            band.push((100.0 * worst, 100.0 * best));
        }
    }
    let curve = Curve { band, ..Curve::new(display_name(algorithm), points) };
    (!curve.points.is_empty()).then_some(curve)
}

/// The most that some points cover within so many collisions.
fn attained<'a>(points: impl Iterator<Item = &'a TradeOff>, collisions: f64) -> f64 {
    // The places are powers, so that the least itself may come out a little below.
    let within = points.filter(|point| point.collisions <= collisions * (1.0 + 1e-9));
    within.map(|point| point.coverage).fold(0.0, f64::max)
}

/// The share of seeds and tasks whose hypervolume exceeds each threshold.
pub(crate) fn profiles(results: &Results) -> Option<Figure> {
    let curve = |method: &MethodReliability| {
        let points = THRESHOLDS.iter().copied().zip(method.profile.iter().copied()).collect();
        let band = method.profile_low.iter().copied().zip(method.profile_high.iter().copied());
        Curve { band: band.collect(), ..Curve::new(display_name(&method.algorithm), points) }
    };
    (!results.reliability.is_empty()).then(|| Figure {
        name: "profiles",
        title: "Performance profiles over seeds, team sizes and layouts".into(),
        horizontal: ("hypervolume as a share of the largest possible (τ)", false),
        vertical: ("share of runs above τ", false),
        curves: results.reliability.iter().map(curve).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl_paper::reproduction::Point;

    #[test]
    fn a_surface_is_a_staircase_between_its_worst_and_best_seed() {
        let at = |coverage, collisions| TradeOff { coverage, collisions };
        let point = |seeds: &[TradeOff]| Point {
            algorithm: "vdn".into(),
            per_seed: seeds.to_vec(),
            ..Point::default()
        };
        let points = vec![
            point(&[at(0.5, 0.01), at(0.4, 0.01), at(0.6, 0.01)]),
            point(&[at(0.9, 0.1), at(0.8, 0.1), at(0.2, 0.1)]),
        ];
        let team = Team { n_agents: 3, points, ..Team::default() };
        let figure = figure(&team).unwrap();
        let curve = &figure.curves[0];
        assert_eq!(curve.points.first().unwrap().1, 50.0);
        assert_eq!(curve.band.first(), Some(&(40.0, 60.0)));
        // The third seed is best where it is safe.
        assert_eq!(
            (curve.points.last().unwrap().1, *curve.band.last().unwrap()),
            (80.0, (60.0, 90.0))
        );
        assert!(curve.points.is_sorted_by(|a, b| a.1 <= b.1));
        // Between the two middle ones of an even number of seeds.
        let points = vec![point(&[at(0.4, 0.01), at(0.8, 0.02)]), point(&[at(0.4, 0.1); 2])];
        let even = super::figure(&Team { n_agents: 3, points, ..Team::default() }).unwrap();
        assert!((even.curves[0].points.last().unwrap().1 - 60.0).abs() < 1e-9);
    }
}
