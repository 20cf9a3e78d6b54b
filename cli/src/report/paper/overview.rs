//! The comparison on one page: what each method covers within limits, at the most, and how soon.

use super::reproduction::{display_name, head};
use crate::report::export_table::{Cell, ExportTable};
use cgcmarl_paper::reproduction::{Arm, COVERAGES, Chosen, LIMITS, Point, Results, Team};

/// What the baselines of the arm `shared` lack of what their names or its name promise.
const SHARED: &str = " DCG and CASEC see the world's frame, since their payoffs join what two agents see. With six and ten agents the critics of MAPPO and its kin see what the agent sees (`global_state=false`), since teams of several sizes learn.";

/// Each method of each team size on random layouts.
pub(crate) fn table(results: &Results) -> ExportTable {
    let rows = results.on_random_layouts().flat_map(|team| {
        team.methods().into_iter().map(move |method| {
            let own: Vec<&Point> =
                team.points.iter().filter(|point| point.algorithm == method).collect();
            let mut row: Vec<Cell> = vec![
                team.n_agents.to_string().into(),
                display_name(method).into(),
                format!("{} ({})", own.len(), seeds(&own)).into(),
            ];
            row.extend(LIMITS.map(|limit| within(team, method, limit).into()));
            row.push(most(&own).into());
            row.push(seconds(team, &own).into());
            row
        })
    });
    let soon = COVERAGES[COVERAGES.len() - 1];
    let mut names = head(&["N", "Method", "Points (seeds)"]);
    names.extend(LIMITS.map(|limit| format!("Within {limit} × floor")));
    names.extend(["Most coverage".into(), format!("Seconds to {:.0} %", 100.0 * soon)]);
    let note = if results.arm == Arm::Shared { SHARED } else { "" };
    ExportTable {
        name: "overview",
        caption: "Coverage in % at collisions ÷ those that no action avoids (the floor), random layouts. Within: each seed's λ, price or limit with the most coverage within so many collisions, chosen on other start states, so that it may lie a little beyond on these; the mean is over all seeds, the safest point standing for a seed that has none, and – where no seed has one. Seconds of one processor until the greedy team first covered so much (mean over the seeds, at the pace of the method's least disturbed training, on the same kind of processor for all of a team): of its fastest price.".to_owned() + note,
        head: names,
        rows: rows.collect(),
    }
}

/// The fewest and the most of any point.
fn seeds(own: &[&Point]) -> String {
    let counts = || own.iter().map(|point| point.seeds);
    match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least}–{most}"),
    }
}

fn within(team: &Team, method: &str, limit: f64) -> String {
    let is_it = |chosen: &&Chosen| chosen.algorithm == method && chosen.times_floor == limit;
    let Some(chosen) = team.chosen.iter().find(is_it).filter(|chosen| chosen.found > 0) else {
        return "–".into();
    };
    let (coverage, collisions) = (100.0 * chosen.coverage.0, chosen.collisions_over_floor);
    let shown = format!("{coverage:.1} at {collisions:.2}");
    if chosen.found == chosen.seeds {
        return shown;
    }
    format!("{shown} ({} of {} seeds)", chosen.found, chosen.seeds)
}

fn most(own: &[&Point]) -> String {
    let by_coverage = |a: &&&Point, b: &&&Point| a.coverage.mean.total_cmp(&b.coverage.mean);
    own.iter().max_by(by_coverage).map_or("–".into(), |best| {
        let over_floor = best.over_floor().map_or("–".into(), |times| format!("{times:.1}"));
        format!("{:.1} at {over_floor} ({})", 100.0 * best.coverage.mean, best.parameter)
    })
}

fn seconds(team: &Team, own: &[&Point]) -> String {
    let is_own = |row: &str| own.iter().any(|point| point.row == row);
    let learned = team.learning.iter().filter(|entry| is_own(&entry.row));
    let soonest = learned.filter_map(|entry| entry.cpu_seconds_to.last().copied().flatten());
    soonest.min_by(f64::total_cmp).map_or("–".into(), |seconds| format!("{seconds:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl_paper::reproduction::{Learning, Spread};

    fn point(row: &str, coverage: f64, collisions: f64, seeds: usize) -> Point {
        let mean = |mean| Spread { mean, ..Spread::default() };
        Point {
            algorithm: "iql".into(),
            parameter: row.into(),
            row: row.into(),
            seeds,
            collisions: mean(collisions),
            coverage: mean(coverage),
            floor: 0.002,
            ..Point::default()
        }
    }

    #[test]
    fn a_method_is_told_in_one_line() {
        let chosen = |times_floor, found| Chosen {
            algorithm: "iql".into(),
            times_floor,
            found,
            seeds: 3,
            coverage: (0.987, 0.0),
            collisions_over_floor: 1.25,
            ..Chosen::default()
        };
        let learned = |row: &str, seconds| Learning {
            row: row.into(),
            cpu_seconds_to: vec![Some(1.0), None, None, seconds],
            ..Learning::default()
        };
        let team = Team {
            n_agents: 3,
            layout: "random".into(),
            points: vec![point("a", 0.99, 0.004, 3), point("b", 0.98, 0.002, 1)],
            chosen: vec![chosen(1.1, 0), chosen(1.5, 2), chosen(3.0, 3)],
            learning: vec![learned("a", Some(12.0)), learned("b", None), learned("c", Some(1.0))],
            ..Team::default()
        };
        let shown = table(&Results { teams: vec![team], ..Results::default() }).to_markdown();
        let line = "| 3 | IQL | 2 (1–3) | – | 98.7 at 1.25 (2 of 3 seeds) | 98.7 at 1.25 | – | 99.0 at 2.0 (a) | 12 |";
        assert_eq!(shown.lines().last(), Some(line));
        let nothing_unavoidable = Point { floor: 0.0, ..point("a", 0.99, 0.004, 3) };
        assert_eq!(most(&[&nothing_unavoidable]), "99.0 at – (a)");
    }
}
