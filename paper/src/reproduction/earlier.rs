//! Reproductions of earlier versions: rows read from run directories and the episodes beside them.

use super::{
    arm::Arm,
    counts::Counts,
    curve::Curve,
    plan::{all_layouts, layout_name},
    row::{ROWS, Row},
    row_file::{PlayedLayout, PlayedPoint, REFERENCE, RowResult},
    rows::LeftOut,
    settings::Settings,
};
use crate::tables::{TASK, TradeOff};
use cgcmarl::{
    environment::{Scenario, TEAM_RETURN},
    error::{Error, Result},
    evaluation::{Named, statistics::mean},
    run::Config,
    run_dir::{RunDir, files},
};
use serde::Deserialize;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The constraint whose multiplier earlier versions swept.
const CONSTRAINT: &str = "collision";

/// What an earlier version kept of the episodes on one layout.
#[derive(Deserialize)]
struct EarlierLayout {
    layout: String,
    start_seed: u64,
    points: Vec<EarlierPoint>,
}

#[derive(Deserialize)]
struct EarlierPoint {
    parameter: String,
    multiplier: Option<f64>,
    coverage: Vec<f32>,
    collisions: Vec<f64>,
    team_return: Vec<f64>,
}

/// Every trained run and every reference below a folder that has its episodes beside it.
pub(super) fn earlier_rows(folder: &Path, left_out: &mut Vec<LeftOut>) -> Vec<RowResult> {
    let mut rows = vec![];
    for n_agents in team_sizes(folder) {
        let team = folder.join("runs").join(format!("{TASK}_{n_agents}"));
        let mut read = |place: &Path, read: &dyn Fn() -> Result<RowResult>| {
            if !has_episodes(place) {
                return;
            }
            match read() {
                Ok(row) => rows.push(row),
                Err(error) => left_out.push(LeftOut::new(place, &error)),
            }
        };
        for row in ROWS.iter().filter(|row| matches!(row.arm, Arm::Ours | Arm::Raw)) {
            for (seed, place) in trained(&team, row) {
                read(&place, &|| trained_row(&place, row, n_agents, seed));
            }
        }
        let place = team.join(REFERENCE);
        read(&place, &|| reference_row(&place, n_agents));
    }
    rows
}

fn team_sizes(folder: &Path) -> Vec<usize> {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return vec![] };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut sizes: Vec<usize> =
        names.filter_map(|name| name.strip_prefix(&format!("{TASK}_"))?.parse().ok()).collect();
    sizes.sort_unstable();
    sizes
}

/// The trained seeds of a row, lowest first.
fn trained(team: &Path, row: &Row) -> Vec<(u64, PathBuf)> {
    let Ok(entries) = fs::read_dir(team.join(&row.name)) else { return vec![] };
    let mut found: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let seed = entry.file_name().to_str()?.strip_prefix("seed_")?.parse().ok()?;
            Some((seed, entry.path()))
        })
        .filter(|(_, path)| path.join(files::MODEL).exists())
        .collect();
    found.sort();
    found
}

fn played_files(place: &Path) -> impl Iterator<Item = PathBuf> {
    let files =
        all_layouts().map(|layout| place.join(format!("played_{}.json", layout_name(layout))));
    files.filter(|file| file.exists())
}

fn has_episodes(place: &Path) -> bool {
    played_files(place).next().is_some()
}

fn trained_row(place: &Path, row: &Row, n_agents: usize, seed: u64) -> Result<RowResult> {
    let run = RunDir::open(place)?;
    let config = Config::parse(&run.config()?)
        .map_err(|message| Error::format(place.join(files::CONFIG), None, message))?;
    let (whose, scenario) = ((row.arm, row.name.as_str()), config.scenario()?);
    let mut result = RowResult::new(whose, (n_agents, seed), &scenario, Settings::new())?;
    result.steps = config.training.total_steps;
    result.trained = result.steps;
    result.curve = Curve::of_lines(&run.metrics()?, n_agents);
    read_layouts(place, &mut result)?;
    Ok(result)
}

/// References were played in the paper's environment.
fn reference_row(place: &Path, n_agents: usize) -> Result<RowResult> {
    let (whose, scenario) = ((Arm::Ours, REFERENCE), Scenario::of(TASK)?);
    let mut result = RowResult::new(whose, (n_agents, 0), &scenario, Settings::new())?;
    read_layouts(place, &mut result)?;
    Ok(result)
}

fn read_layouts(place: &Path, row: &mut RowResult) -> Result<()> {
    for file in played_files(place) {
        let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
        let played: EarlierLayout = serde_json::from_str(&text)
            .map_err(|error| Error::format(&file, Some(error.line()), error.to_string()))?;
        let EarlierLayout { layout, start_seed, points } = played;
        let points = points.into_iter().map(|p| point(p, row.agents, row.horizon)).collect();
        row.put(PlayedLayout { layout, start_seed, points });
    }
    // Earlier versions kept these means, and no others.
    let [coverage, collisions] = TradeOff::METRICS;
    row.check(&[coverage, collisions, TEAM_RETURN])
        .map_err(|message| Error::format(place, None, message))
}

fn point(earlier: EarlierPoint, n_agents: usize, horizon: usize) -> PlayedPoint {
    let EarlierPoint { parameter, multiplier, coverage, collisions, team_return } = earlier;
    let coverage: Vec<f64> = coverage.into_iter().map(f64::from).collect();
    let counts = |values: &[f64], unit: usize| {
        Counts(values.iter().map(|value| (value * unit as f64).round() as u32).collect())
    };
    let (covered, collided) = (counts(&coverage, n_agents), counts(&collisions, horizon));
    let columns = [coverage, collisions, team_return];
    let names = TradeOff::METRICS.into_iter().chain([TEAM_RETURN]).map(str::to_owned);
    PlayedPoint {
        label: parameter.clone(),
        parameter,
        multipliers: multiplier.map(|value| (CONSTRAINT.to_owned(), value)).into_iter().collect(),
        metrics: names.zip(columns.iter().map(|column| mean(column))).collect::<Named<_>>(),
        covered,
        collided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episodes_of_earlier_versions_become_counts() {
        let text = r#"{"parameter": "λ=0.5", "multiplier": 0.5, "coverage": [0.33333334, 1.0],
            "collisions": [0.08, 0.0], "team_return": [-20.0, -10.0]}"#;
        let point = point(serde_json::from_str(text).unwrap(), 3, 25);
        assert_eq!((&point.covered.0[..], &point.collided.0[..]), (&[1, 3][..], &[2, 0][..]));
        assert_eq!(point.multiplier(), Some(0.5));
        assert_eq!(point.mean(TEAM_RETURN), -15.0);
        assert_eq!(point.trade_off().collisions, 0.04);
    }
}
