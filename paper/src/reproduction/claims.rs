//! What the paper says about its tables and figures in words, measured.

use super::{
    check::{Better, CheckOutcome, Line, TEAMS, compare},
    results::{Point, Results, Team},
};
use crate::tables::{PaperPoint, TradeOff, baselines as baselines_of_paper, paper_name};

/// The coverages that the paper names for N = 3.
const MODERATE_COVERAGE: (f64, f64) = (0.70, 0.82);
/// 93 % safety, read as one minus the collisions per step.
const MODERATE_COLLISIONS: f64 = 0.07;

/// Every claim, with its verdict.
pub(super) fn all(results: &Results) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    for n_agents in TEAMS {
        let team = results.team(n_agents, "random");
        lines.push(dominance(n_agents, "random", team));
        lines.push(volume(n_agents, team));
        lines.push(no_penalty(n_agents, team));
        lines.push(high_penalty(n_agents, team));
        lines.push(dominated_points(n_agents, team));
        for layout in ["spread_uniform", "line", "clustered_pair"] {
            lines.push(dominance(n_agents, layout, results.team(n_agents, layout)));
        }
    }
    let three = results.team(3, "random");
    lines.push(moderate(three));
    lines.push(alone(three));
    lines.push(mappo(results.team(10, "random")));
    lines.push(raw_growth(results));
    lines.push(flat_rate(results));
    lines
}

fn claim(
    subject: String,
    quantity: &str,
    paper: &str,
    tolerance: &str,
    ours: Option<(String, CheckOutcome)>,
) -> Line {
    let (ours, verdict) = ours.unwrap_or(("–".into(), CheckOutcome::NotMeasured));
    Line {
        part: "claims",
        subject,
        quantity: quantity.into(),
        paper: paper.into(),
        ours,
        tolerance: tolerance.into(),
        verdict,
    }
}

fn holds(is_true: bool) -> CheckOutcome {
    if is_true { CheckOutcome::Confirmed } else { CheckOutcome::NotConfirmed }
}

/// A claim about all baselines: refuted by one, confirmed only when all that are printed are there.
fn holds_for_all(is_true: bool, team: &Team) -> CheckOutcome {
    let is_there = |printed: PaperPoint| {
        team.points.iter().any(|point| {
            paper_name(&point.algorithm) == Some(printed.algorithm)
                && point.parameter == printed.parameter
        })
    };
    let is_complete = baselines_of_paper(team.n_agents).all(is_there);
    if is_true && !is_complete { CheckOutcome::NotMeasured } else { holds(is_true) }
}

fn at(point: &Point) -> TradeOff {
    TradeOff { coverage: point.coverage.mean, collisions: point.collisions.mean }
}

/// The sweep, where it was measured.
fn sweep(team: &Team) -> Option<Vec<&Point>> {
    let points: Vec<&Point> =
        team.points.iter().filter(|point| point.algorithm == "cg_cmarl").collect();
    (!points.is_empty()).then_some(points)
}

/// The methods the paper compares with, where they were measured.
fn baselines(team: &Team) -> Option<Vec<&Point>> {
    let points: Vec<&Point> =
        team.points.iter().filter(|point| point.algorithm != "cg_cmarl").collect();
    (!points.is_empty()).then_some(points)
}

fn dominance(n_agents: usize, layout: &str, team: Option<&Team>) -> Line {
    let ours = || {
        let team = team?;
        let (front, others) = (sweep(team)?, baselines(team)?);
        let is_reached = |other: &&&Point| {
            let other = at(other);
            front.iter().any(|point| {
                at(point).coverage >= other.coverage && at(point).collisions <= other.collisions
            })
        };
        let n_reached = others.iter().filter(is_reached).count();
        let text = format!("{n_reached} of {} measured points", others.len());
        Some((text, holds_for_all(n_reached == others.len(), team)))
    };
    let subject = format!("N={n_agents}, {layout} layout");
    claim(subject, "front dominates all baselines", "all baseline points", "none", ours())
}

fn volume(n_agents: usize, team: Option<&Team>) -> Line {
    let front = || team?.fronts.iter().find(|front| front.algorithm == "cg_cmarl");
    let printed = front().and_then(|front| front.printed_hypervolume);
    let ours = || {
        let (mean, printed) = (front()?.hypervolume.mean, printed?);
        let verdict = compare(printed, mean, 0.05 * printed, Better::More);
        Some((format!("{mean:.4} ({:.2} times)", mean / printed), verdict))
    };
    let paper = printed.map_or("from its printed points".into(), |volume| format!("{volume:.4}"));
    let subject = format!("N={n_agents} CG-CMARL");
    claim(subject, "hypervolume, our reference", &paper, "±5 %", ours())
}

fn is_optimal(team: &Team, multiplier: f64) -> Option<bool> {
    let points = sweep(team)?;
    points.iter().find(|point| point.multiplier == Some(multiplier)).map(|point| point.pareto)
}

fn no_penalty(n_agents: usize, team: Option<&Team>) -> Line {
    let ours = || {
        let optimal = is_optimal(team?, 0.0)?;
        let text = if optimal { "Pareto-optimal" } else { "dominated" };
        Some((text.into(), holds(!optimal)))
    };
    claim(format!("N={n_agents} CG-CMARL"), "at λ=0 both degrade", "dominated", "none", ours())
}

fn high_penalty(n_agents: usize, team: Option<&Team>) -> Line {
    let ours = || {
        let optimal = [is_optimal(team?, 5.0)?, is_optimal(team?, 10.0)?];
        let n_optimal = optimal.iter().filter(|optimal| **optimal).count();
        Some((format!("{n_optimal} of 2 Pareto-optimal"), holds(n_optimal == 0)))
    };
    claim(format!("N={n_agents} CG-CMARL"), "at λ≥5 off the front", "dominated", "none", ours())
}

fn dominated_points(n_agents: usize, team: Option<&Team>) -> Line {
    let ours = || {
        let team = team?;
        let (front, others) = (sweep(team)?, baselines(team)?);
        let lesser: Vec<_> = front.into_iter().filter(|point| !point.pareto).collect();
        let is_unbeaten =
            |point: &&&Point| !others.iter().any(|other| at(other).dominates(&at(point)));
        let n_unbeaten = lesser.iter().filter(is_unbeaten).count();
        let text = format!("{n_unbeaten} of {} beaten by no baseline", lesser.len());
        Some((text, holds_for_all(2 * n_unbeaten >= lesser.len(), team)))
    };
    let subject = format!("N={n_agents} CG-CMARL");
    claim(subject, "dominated λ still match baselines", "generally", "at least half", ours())
}

fn moderate(team: Option<&Team>) -> Line {
    let ours = || {
        let points = sweep(team?)?;
        let inside = |point: &&&Point| point.multiplier.is_some_and(|m| (0.05..=1.0).contains(&m));
        let inside: Vec<_> = points.iter().filter(inside).collect();
        let coverage = || inside.iter().map(|point| point.coverage.mean);
        let (least, most) = (coverage().fold(1.0, f64::min), coverage().fold(0.0, f64::max));
        let collisions = inside.iter().map(|point| point.collisions.mean).fold(0.0, f64::max);
        let verdict = match least {
            _ if collisions > MODERATE_COLLISIONS => CheckOutcome::NotConfirmed,
            least if least > MODERATE_COVERAGE.1 => CheckOutcome::Exceeded,
            least => holds(least >= MODERATE_COVERAGE.0),
        };
        let text = format!(
            "{:.1}–{:.1} % at {:.1} %",
            100.0 * least,
            100.0 * most,
            100.0 * (1.0 - collisions)
        );
        (!inside.is_empty()).then_some((text, verdict))
    };
    let paper = "70–82 % at 93–99 % safety";
    claim("N=3 CG-CMARL".into(), "coverage for λ from 0.05 to 1", paper, "none", ours())
}

fn alone(team: Option<&Team>) -> Line {
    let ours = || {
        let is_inside = |point: &&&Point| {
            point.coverage.mean >= MODERATE_COVERAGE.0
                && point.collisions.mean <= MODERATE_COLLISIONS
        };
        let others = baselines(team?)?;
        let n_inside = others.iter().filter(is_inside).count();
        let text = format!("{n_inside} of {} measured points", others.len());
        Some((text, holds_for_all(n_inside == 0, team?)))
    };
    let subject = "N=3 baselines".into();
    claim(subject, "at 70 % coverage and 93 % safety", "no baseline", "none", ours())
}

fn mappo(team: Option<&Team>) -> Line {
    let ours = || {
        let team = team?;
        let front = sweep(team)?;
        let best = team
            .points
            .iter()
            .filter(|point| point.algorithm == "mappo")
            .max_by(|a, b| a.coverage.mean.total_cmp(&b.coverage.mean))?;
        let least = front.iter().filter(|point| point.pareto).map(|point| point.coverage.mean);
        let least = least.fold(1.0, f64::min);
        // One seed does not tell how seeds differ.
        let deviation = |point: &Point| (point.seeds > 1).then_some(point.coverage.deviation);
        let (own, typical) =
            (deviation(best), front.iter().filter_map(|point| deviation(point)).reduce(f64::max));
        let verdict = match own.zip(typical) {
            _ if best.coverage.mean < least - 0.02 => CheckOutcome::NotConfirmed,
            None => CheckOutcome::NotMeasured,
            Some((own, typical)) => holds(own > typical),
        };
        let shown = |mean: f64, deviation: Option<f64>| {
            let spread = deviation.map(|own| format!(" ±{:.1}", 100.0 * own)).unwrap_or_default();
            format!("{:.1}{spread} %", 100.0 * mean)
        };
        let text =
            format!("{}, front from {}", shown(best.coverage.mean, own), shown(least, typical));
        Some((text, verdict))
    };
    let paper = "comparable at some λ, higher variance";
    claim("N=10 MAPPO".into(), "coverage beside the front", paper, "2 points", ours())
}

/// Our points at λ = 1 for every team of the paper.
fn at_one(results: &Results) -> Option<Vec<&Point>> {
    let find = |n_agents| {
        sweep(results.team(n_agents, "random")?)?
            .into_iter()
            .find(|point| point.multiplier == Some(1.0))
    };
    TEAMS.into_iter().map(find).collect()
}

fn raw_growth(results: &Results) -> Line {
    let ours = || {
        let points = at_one(results)?;
        let growth = points.last()?.collisions.mean / points.first()?.collisions.mean.max(1e-9);
        Some((format!("{growth:.1} times"), compare(15.0, growth, 3.0, Better::Less)))
    };
    let subject = "CG-CMARL at λ=1".into();
    claim(subject, "collisions from N=3 to N=10", "about 15 times", "±20 %", ours())
}

fn flat_rate(results: &Results) -> Line {
    let ours = || {
        let rates: Vec<f64> =
            at_one(results)?.iter().map(|point| point.per_pair_rate.mean).collect();
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let verdict =
            if most < 0.0011 { CheckOutcome::Exceeded } else { holds(most <= 0.0019 * 1.05) };
        Some((format!("{least:.5} to {most:.5}"), verdict))
    };
    let paper = "0.0011 to 0.0019";
    claim("CG-CMARL at λ=1".into(), "per-pair rate stays flat", paper, "±5 %", ours())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::results::Spread;

    fn point(algorithm: &str, parameter: &str, coverage: f64) -> Point {
        let spread = |mean| Spread { mean, deviation: 0.0, low: mean, high: mean };
        Point {
            algorithm: algorithm.into(),
            parameter: parameter.into(),
            coverage: spread(coverage),
            collisions: spread(0.01),
            ..Point::default()
        }
    }

    fn names() -> Vec<(&'static str, &'static str)> {
        let algorithm = |name: &str| {
            ["iql", "qmix", "dcg", "mappo", "mappo_lag"]
                .into_iter()
                .find(|ours| paper_name(ours) == Some(name))
                .unwrap()
        };
        baselines_of_paper(3).map(|p| (algorithm(p.algorithm), p.parameter)).collect()
    }

    fn told(points: Vec<Point>) -> CheckOutcome {
        let team = Team { n_agents: 3, layout: "random".into(), points, ..Team::default() };
        dominance(3, "random", Some(&team)).verdict
    }

    #[test]
    fn dominance_is_confirmed_by_all_baselines_and_refuted_by_one() {
        let with = |names: &[(&str, &str)], coverage: f64| {
            let mut points = vec![point("cg_cmarl", "λ=1", 0.9)];
            points.extend(names.iter().map(|(name, parameter)| point(name, parameter, coverage)));
            told(points)
        };
        let names = names();
        assert_eq!(with(&names, 0.5), CheckOutcome::Confirmed);
        assert_eq!(with(&names[..3], 0.5), CheckOutcome::NotMeasured);
        assert_eq!(with(&names[..1], 0.95), CheckOutcome::NotConfirmed);
        assert_eq!(with(&[], 0.5), CheckOutcome::NotMeasured);
    }

    /// MAPPO covers as much as the front, or less; its one or two seeds stand beside two of ours.
    #[test]
    fn one_seed_has_no_deviation_and_decides_nothing_that_needs_one() {
        let told = |seeds: [usize; 2], coverage: f64| {
            let with = |name: &str, parameter: &str, coverage, seeds, deviation| {
                let mut point = point(name, parameter, coverage);
                (point.seeds, point.coverage.deviation, point.pareto) = (seeds, deviation, true);
                point
            };
            let points = vec![
                with("cg_cmarl", "λ=1", 0.9, seeds[0], 0.01),
                with("mappo", "lr=0.3", coverage, seeds[1], 0.03),
            ];
            let line = mappo(Some(&Team { n_agents: 10, points, ..Team::default() }));
            (line.ours, line.verdict)
        };
        let text = "90.0 ±3.0 %, front from 90.0 ±1.0 %".to_owned();
        assert_eq!(told([2, 2], 0.9), (text, CheckOutcome::Confirmed));
        let text = "90.0 %, front from 90.0 ±1.0 %".to_owned();
        assert_eq!(told([2, 1], 0.9), (text, CheckOutcome::NotMeasured));
        let text = "90.0 ±3.0 %, front from 90.0 %".to_owned();
        assert_eq!(told([1, 2], 0.9), (text, CheckOutcome::NotMeasured));
        // That it covers less needs no deviation.
        let text = "80.0 %, front from 90.0 %".to_owned();
        assert_eq!(told([1, 1], 0.8), (text, CheckOutcome::NotConfirmed));
    }
}
