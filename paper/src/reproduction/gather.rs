//! From rows to results: every team size and layout that was played.

use super::{
    bootstrap::Entry,
    measure::measure,
    plan::{ROWS, Row, all_layouts, layout_name},
    results::{COVERAGES, Learning, RESULTS_FILE, Results, Team},
    row_file::{PlayedPoint, RowResult},
    rows::Rows,
};
use crate::tables::TradeOff;
use cgcmarl::{
    error::{Error, Result},
    evaluation::{front::RANDOM, statistics::mean},
};
use std::{fs, path::Path};

/// The layout of the paper's tables.
pub(super) const TABLES_LAYOUT: &str = "random";

/// One row on one layout.
pub(super) struct Finished {
    pub(super) row: &'static Row,
    pub(super) steps: u64,
    pub(super) points: Vec<(PlayedPoint, Entry)>,
}

/// What the rows below the folder of a reproduction say.
pub fn gather(folder: &Path) -> Results {
    results(&Rows::read(folder))
}

/// What a reproduction found: gathered from its rows, or as its `results.json` tells where it has
/// none; nothing where the folder is no reproduction.
pub fn open(folder: &Path) -> Result<Option<Results>> {
    let rows = Rows::read(folder);
    let file = folder.join(RESULTS_FILE);
    if !rows.is_empty() || !file.exists() {
        return Ok((!rows.is_empty()).then(|| results(&rows)));
    }
    let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
    Results::parse(&file, &text).map(Some)
}

/// The results of some rows.
pub fn results(rows: &Rows) -> Results {
    let mut results = Results {
        program: "cgcmarl".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        left_out: rows.left_out.clone(),
        teams: vec![],
    };
    for n_agents in rows.team_sizes() {
        let layouts = all_layouts().map(layout_name);
        results.teams.extend(layouts.filter_map(|layout| team(rows, n_agents, &layout)));
    }
    results
}

fn team(rows: &Rows, n_agents: usize, layout: &str) -> Option<Team> {
    let models: Vec<Finished> =
        ROWS.iter().filter_map(|row| finished(row, &rows.seeds(n_agents, row), layout)).collect();
    if models.is_empty() {
        return None;
    }
    let reference = rows.reference(n_agents);
    let of = |name: &str| {
        let played = reference?.layout(layout)?;
        let point = played.points.iter().find(|point| point.parameter == name)?;
        Some(entry("", &[(reference?, point)]).mean())
    };
    let entries = || models.iter().flat_map(|model| &model.points).map(|(_, entry)| entry);
    let mut team = Team {
        n_agents,
        layout: layout.into(),
        episodes: entries().map(Entry::n_episodes).min().unwrap_or(0),
        random: of(RANDOM),
        oracle: of("oracle"),
        ..Team::default()
    };
    measure(&mut team, models);
    if layout == TABLES_LAYOUT {
        let learned = ROWS.iter().map(|row| (row, rows.seeds(n_agents, row)));
        team.learning = learned.filter_map(|(row, seeds)| learning(row, &seeds)).collect();
    }
    Some(team)
}

fn entry(row: &'static str, seeds: &[(&RowResult, &PlayedPoint)]) -> Entry {
    let episodes = |(row, point): &(&RowResult, &PlayedPoint)| -> Vec<TradeOff> {
        point.trade_offs(row.agents, row.horizon)
    };
    Entry { row, seeds: seeds.iter().map(episodes).collect() }
}

fn finished(row: &'static Row, seeds: &[&RowResult], layout: &str) -> Option<Finished> {
    let played = |seed: &&RowResult| seed.layout(layout).is_some();
    let seeds: Vec<&RowResult> = seeds.iter().copied().filter(played).collect();
    let first = seeds.first()?;
    let point = |head: &PlayedPoint| {
        let seeds: Vec<_> =
            seeds.iter().filter_map(|seed| same_point(seed, layout, &head.parameter)).collect();
        (head.clone(), entry(row.name, &seeds))
    };
    let points = first.layout(layout)?.points.iter().map(point).collect();
    Some(Finished { row, steps: first.steps, points })
}

fn same_point<'a>(
    row: &'a RowResult,
    layout: &str,
    parameter: &str,
) -> Option<(&'a RowResult, &'a PlayedPoint)> {
    let mut points = row.layout(layout)?.points.iter();
    points.find(|point| point.parameter == parameter).map(|point| (row, point))
}

/// Steps until each coverage was first reached in training by the team itself.
fn learning(row: &Row, seeds: &[&RowResult]) -> Option<Learning> {
    let curves: Vec<_> =
        seeds.iter().map(|seed| &seed.curve).filter(|curve| !curve.is_empty()).collect();
    let reached = |coverage: f64| {
        let first = curves.iter().map(|curve| curve.first_reaching(coverage));
        let steps = first.collect::<Option<Vec<u64>>>()?;
        Some(mean(&steps.into_iter().map(|step| step as f64).collect::<Vec<_>>()))
    };
    let steps_to = COVERAGES.map(reached).to_vec();
    (!curves.is_empty()).then(|| Learning { row: row.name.into(), steps_to })
}
