//! The ladder from the paper's table to CG-CMARL: what each change gives, and what its absence takes.

use super::reproduction::head;
use crate::report::export_table::{Cell, ExportTable};
use cgcmarl::evaluation::statistics::{mean, sample_deviation};
use cgcmarl_paper::{
    reproduction::{Arm, Change, Point, ROWS, Results, Team},
    theory::{Curve, Figure},
};

/// The multipliers whose points are shown.
const SHOWN: [f64; 3] = [0.0, 0.5, 1.0];
/// The one that is drawn.
const DRAWN: f64 = 0.5;

/// The rows of the ladder in its order, with the change that each stands for.
fn rungs() -> impl Iterator<Item = (&'static str, Change)> {
    let own = ROWS.iter().filter(|row| row.arm == Arm::Ladder);
    own.filter_map(|row| Some((row.name.as_str(), row.change()?)))
}

fn point<'a>(team: &'a Team, row: &str, multiplier: f64) -> Option<&'a Point> {
    team.points.iter().find(|point| point.row == row && point.multiplier == Some(multiplier))
}

/// Coverage and collisions at a few multipliers, rung by rung.
pub(crate) fn table(results: &Results) -> ExportTable {
    let mut rows = vec![];
    for team in results.on_random_layouts() {
        for (name, change) in rungs() {
            let points = SHOWN.map(|multiplier| point(team, name, multiplier));
            let Some(first) = points.iter().flatten().next() else { continue };
            let mut row: Vec<Cell> = vec![team.n_agents.to_string().into(), change.title().into()];
            for point in points {
                row.push(point.map_or("–".into(), coverage));
                row.push(point.map_or("–".into(), over_floor));
            }
            row.push(first.seeds.to_string().into());
            row.push(first.steps.to_string().into());
            rows.push(row);
        }
    }
    let mut names = head(&["N", "Change"]);
    for multiplier in SHOWN {
        names.push(format!("Coverage (%) λ={multiplier}"));
        names.push(format!("÷ floor λ={multiplier}"));
    }
    names.extend(head(&["Seeds", "Steps"]));
    ExportTable {
        name: "ladder",
        caption: "From the paper's table to CG-CMARL: each line with + adds one change to those above it; each with − is CG-CMARL without that one alone. ÷ floor: collisions in units of those that no action avoids.".into(),
        head: names,
        rows,
    }
}

fn coverage(point: &Point) -> Cell {
    let coverage = &point.coverage;
    Cell::over_seeds(point.seeds, 100.0 * coverage.mean, 100.0 * coverage.deviation, 1)
}

fn over_floor(point: &Point) -> Cell {
    point.over_floor().map_or("–".into(), |times| format!("{times:.2}").into())
}

/// Coverage as the ladder is climbed, one line for each team.
pub(crate) fn figure(results: &Results) -> Option<Figure> {
    let mut curves = vec![];
    for team in results.on_random_layouts() {
        let up = rungs().filter(|(_, change)| change.is_up()).enumerate();
        let found: Vec<(f64, &Point)> =
            up.filter_map(|(at, (name, _))| Some((at as f64, point(team, name, DRAWN)?))).collect();
        let percent = |point: &Point| -> Vec<f64> {
            point.per_seed.iter().map(|seed| 100.0 * seed.coverage).collect()
        };
        let around = |point: &Point| {
            let seeds = percent(point);
            (mean(&seeds) - sample_deviation(&seeds), mean(&seeds) + sample_deviation(&seeds))
        };
        let points = found.iter().map(|(at, p)| (*at, 100.0 * p.coverage.mean)).collect();
        let name = format!("N = {}", team.n_agents);
        let band = found.iter().map(|(_, point)| around(point)).collect();
        if !found.is_empty() {
            curves.push(Curve { band, ..Curve::new(name, points) });
        }
    }
    (!curves.is_empty()).then(|| Figure {
        name: "ladder",
        title: format!("From the paper's table (0) to CG-CMARL: coverage at λ = {DRAWN}"),
        horizontal: ("changes, in the order of the table", false),
        vertical: ("coverage (%)", false),
        curves,
    })
}
