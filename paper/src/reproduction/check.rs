//! Every number and claim of the paper's comparison beside ours: confirmed, exceeded or not confirmed.

use super::{
    claims,
    results::{Point, Results, Spread},
};
use crate::tables::{self, PaperPoint, paper_name};
use serde::Serialize;

/// The team sizes that the paper prints.
pub const TEAMS: [usize; 4] = [3, 4, 6, 10];
/// A difference of less than this share of the printed number is none.
const SHARE: f64 = 0.05;

/// What became of a printed number or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Ours is the same within the tolerance.
    Confirmed,
    /// Ours is better by more than the tolerance.
    Exceeded,
    /// Ours is worse by more than the tolerance.
    NotConfirmed,
    /// The reproduction holds nothing to compare with.
    NotMeasured,
}

impl CheckOutcome {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Exceeded => "exceeded",
            Self::NotConfirmed => "not confirmed",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One printed number or claim beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Which table, or `claims`.
    pub part: &'static str,
    /// Whose, such as `N=3 IQL lr=0.3`.
    pub subject: String,
    /// What, such as `coverage %`.
    pub quantity: String,
    /// As the paper prints it.
    pub paper: String,
    /// As we measured it.
    pub ours: String,
    /// From which difference on they differ.
    pub tolerance: String,
    /// What became of it.
    pub verdict: CheckOutcome,
}

/// Which direction is better.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
}

/// The verdict on a number: better or worse counts only beyond the tolerance.
pub(super) fn compare(paper: f64, ours: f64, tolerance: f64, better: Better) -> CheckOutcome {
    let gain = if better == Better::More { ours - paper } else { paper - ours };
    match gain {
        gain if gain > tolerance => CheckOutcome::Exceeded,
        gain if gain < -tolerance => CheckOutcome::NotConfirmed,
        _ => CheckOutcome::Confirmed,
    }
}

/// Everything that the paper prints for these tables and figures.
pub fn check(results: &Results) -> Vec<Line> {
    let mut lines = vec![];
    for n_agents in TEAMS {
        for printed in tables::baselines(n_agents) {
            lines.extend(numbers("baselines", results, &printed));
        }
    }
    for n_agents in TEAMS {
        for printed in tables::cg_cmarl(n_agents) {
            lines.extend(numbers("cgcmarl", results, &printed));
            lines.push(star(results, &printed));
        }
    }
    for n_agents in TEAMS {
        let at_one = tables::cg_cmarl(n_agents).find(|point| point.parameter == "λ=1");
        let mut scaling: Vec<Line> =
            at_one.iter().flat_map(|printed| numbers("scaling", results, printed)).collect();
        scaling.pop();
        lines.extend(scaling);
    }
    lines.extend(claims::all(results));
    lines
}

/// Our point for a printed one.
pub(super) fn ours<'a>(results: &'a Results, printed: &PaperPoint) -> Option<&'a Point> {
    results.team(printed.n_agents, "random")?.points.iter().find(|point| {
        paper_name(&point.algorithm) == Some(printed.algorithm)
            && point.parameter == printed.parameter
    })
}

/// Collisions, per-pair rate and coverage of one printed row.
fn numbers(part: &'static str, results: &Results, printed: &PaperPoint) -> [Line; 3] {
    let found = ours(results, printed);
    let pairs = (printed.n_agents * (printed.n_agents - 1) / 2) as f64;
    let (collisions, coverage) = (printed.collisions, printed.coverage);
    let rate = (collisions.0 / pairs, collisions.1 / pairs);
    let percent = found.map(|point| scaled(&point.coverage, 100.0));
    [
        ("collisions/step", collisions, found.map(|point| point.collisions), 4, Better::Less),
        ("per-pair rate", rate, found.map(|point| point.per_pair_rate), 5, Better::Less),
        ("coverage %", coverage, percent, 2, Better::More),
    ]
    .map(|(quantity, paper, ours, digits, better)| {
        let ours = ours
            .zip(found)
            .map(|(spread, point)| (spread.mean, (point.seeds > 1).then_some(spread.deviation)));
        number(part, &subject(printed), quantity, paper, ours, digits, better)
    })
}

fn scaled(spread: &Spread, factor: f64) -> Spread {
    let Spread { mean, deviation, low, high } = spread;
    Spread {
        mean: mean * factor,
        deviation: deviation * factor,
        low: low * factor,
        high: high * factor,
    }
}

fn subject(printed: &PaperPoint) -> String {
    format!("N={} {} {}", printed.n_agents, printed.algorithm, printed.parameter)
}

fn number(
    part: &'static str,
    subject: &str,
    quantity: &str,
    (paper, deviation): (f64, f64),
    ours: Option<(f64, Option<f64>)>,
    digits: usize,
    better: Better,
) -> Line {
    // One seed says nothing of how seeds differ: as much as the paper's, then.
    let own = ours.and_then(|(_, own)| own).unwrap_or(deviation);
    // Two deviations of the difference of the two means, a twentieth, or the last printed digit.
    let tolerance =
        (2.0 * deviation.hypot(own)).max(SHARE * paper).max(0.5 * 0.1f64.powi(digits as i32));
    let shown = |mean: f64, spread: f64| format!("{mean:.digits$} ±{spread:.digits$}");
    Line {
        part,
        subject: subject.into(),
        quantity: quantity.into(),
        paper: shown(paper, deviation),
        ours: match ours {
            None => "–".into(),
            Some((mean, None)) => format!("{mean:.digits$}"),
            Some((mean, Some(own))) => shown(mean, own),
        },
        tolerance: format!("±{tolerance:.digits$}"),
        verdict: ours
            .map_or(CheckOutcome::NotMeasured, |(mean, _)| compare(paper, mean, tolerance, better)),
    }
}

/// Whether a printed star is a star of ours.
fn star(results: &Results, printed: &PaperPoint) -> Line {
    let shown = |is_starred: bool| if is_starred { "★" } else { "no star" }.to_owned();
    let found = ours(results, printed).map(|point| point.pareto);
    let verdict = match found {
        None => CheckOutcome::NotMeasured,
        Some(pareto) if pareto == printed.starred => CheckOutcome::Confirmed,
        Some(_) => CheckOutcome::NotConfirmed,
    };
    Line {
        part: "cgcmarl",
        subject: subject(printed),
        quantity: "Pareto-optimal".into(),
        paper: shown(printed.starred),
        ours: found.map_or("–".into(), shown),
        tolerance: "none".into(),
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::results::Team;

    fn spread(mean: f64) -> Spread {
        Spread { mean, deviation: 0.0, low: mean, high: mean }
    }

    /// The paper's own table as if we had measured it, changed by a function.
    fn made_up(change: impl Fn(&mut Point)) -> Results {
        let point = |printed: PaperPoint| {
            let pairs = (printed.n_agents * (printed.n_agents - 1) / 2) as f64;
            let mut point = Point {
                algorithm: "cg_cmarl".into(),
                parameter: printed.parameter.into(),
                multiplier: printed.parameter.strip_prefix("λ=").and_then(|m| m.parse().ok()),
                collisions: spread(printed.collisions.0),
                per_pair_rate: spread(printed.collisions.0 / pairs),
                coverage: spread(printed.coverage.0 / 100.0),
                pareto: printed.starred,
                ..Point::default()
            };
            change(&mut point);
            point
        };
        let team = |n_agents| Team {
            n_agents,
            layout: "random".into(),
            points: tables::cg_cmarl(n_agents).map(point).collect(),
            ..Team::default()
        };
        Results { teams: TEAMS.map(team).to_vec(), ..Results::default() }
    }

    fn of_part<'a>(lines: &'a [Line], part: &'a str) -> impl Iterator<Item = &'a Line> {
        lines.iter().filter(move |line| line.part == part)
    }

    #[test]
    fn the_papers_own_numbers_are_confirmed_and_nothing_else_is_measured() {
        let lines = check(&made_up(|_| {}));
        assert_eq!(of_part(&lines, "cgcmarl").count(), 35 * 4);
        assert!(of_part(&lines, "cgcmarl").all(|line| line.verdict == CheckOutcome::Confirmed));
        assert_eq!(of_part(&lines, "baselines").count(), 54 * 3);
        assert!(of_part(&lines, "baselines").all(|line| line.verdict == CheckOutcome::NotMeasured));
        assert_eq!(of_part(&lines, "scaling").count(), 4 * 2);
    }

    /// A little more than two of the printed deviations away: two seeds that agree are told from it, one is
    /// not.
    #[test]
    fn one_seed_is_not_taken_for_a_certainty() {
        let printed = tables::cg_cmarl(3).next().unwrap();
        let (coverage, deviation) = printed.coverage;
        let ours = coverage + 2.0 * deviation + 0.1;
        let line = |seeds| {
            let results = made_up(|point| {
                (point.seeds, point.coverage) = (seeds, spread(ours / 100.0));
            });
            let found = numbers("cgcmarl", &results, &printed)[2].clone();
            (found.ours, found.verdict)
        };
        assert_eq!(line(2), (format!("{ours:.2} ±0.00"), CheckOutcome::Exceeded));
        assert_eq!(line(1), (format!("{ours:.2}"), CheckOutcome::Confirmed));
    }

    #[test]
    fn worse_numbers_are_not_confirmed_and_better_ones_exceed() {
        let worse = check(&made_up(|point| point.coverage = spread(0.0)));
        let told = |lines: &[Line], quantity: &str, verdict| {
            of_part(lines, "cgcmarl")
                .filter(|line| line.quantity == quantity && line.verdict == verdict)
                .count()
        };
        assert!(told(&worse, "coverage %", CheckOutcome::NotConfirmed) > 25);
        assert_eq!(told(&worse, "coverage %", CheckOutcome::Exceeded), 0);
        let better = check(&made_up(|point| point.coverage = spread(0.99)));
        assert_eq!(told(&better, "coverage %", CheckOutcome::Exceeded), 35);
        let nothing = check(&Results::default());
        assert!(nothing.iter().all(|line| line.verdict == CheckOutcome::NotMeasured));
    }
}
