//! From rows to results: every team size and layout that was played.

use super::{
    arm::Arm,
    bootstrap::Entry,
    choice::chosen,
    measure::measure,
    plan::{all_layouts, layout_name},
    reliability::reliability,
    results::{COVERAGES, Learning, RESULTS_FILE, Results, Team},
    row::{ROWS, Row},
    row_file::{FLOOR, PlayedPoint, RowResult},
    rows::Rows,
};
use crate::tables::TradeOff;
use cgcmarl::{
    environment::TEAM_RETURN,
    error::{Error, Result},
    evaluation::{front::RANDOM, statistics::mean},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The layout of the paper's tables.
pub(super) const TABLES_LAYOUT: &str = "random";

/// One row on one layout.
pub(super) struct Finished {
    pub(super) row: &'static Row,
    pub(super) steps: u64,
    /// Whether every seed learned and learns no more.
    pub(super) converged: bool,
    pub(super) points: Vec<(PlayedPoint, Entry)>,
}

/// What the rows of an arm below the folder of a reproduction say.
pub fn gather(folder: &Path, arm: Arm) -> Results {
    results(&Rows::read(folder), arm)
}

/// What a reproduction found: gathered from its rows, or as its `results.json` tells where it has
/// none; nothing where the folder is no reproduction.
pub fn open(folder: &Path, arm: Arm) -> Result<Option<Results>> {
    let rows = Rows::read(folder);
    if !rows.is_empty(arm) {
        return Ok(Some(results(&rows, arm)));
    }
    let files = [folder.join(RESULTS_FILE), folder.join(arm.name()).join(RESULTS_FILE)];
    let Some(file) = files.into_iter().find(|file| file.exists()) else { return Ok(None) };
    let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
    Results::parse(&file, &text).map(Some)
}

/// The results of the rows of an arm.
pub fn results(rows: &Rows, arm: Arm) -> Results {
    let mut results = Results {
        program: "cgcmarl".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        arm,
        left_out: rows.left_out.clone(),
        teams: vec![],
        reliability: reliability(rows, arm),
    };
    for n_agents in rows.team_sizes(arm) {
        let layouts = all_layouts().map(layout_name);
        results.teams.extend(layouts.filter_map(|layout| team(rows, arm, n_agents, &layout)));
    }
    results
}

fn team(rows: &Rows, arm: Arm, n_agents: usize, layout: &str) -> Option<Team> {
    let own = || ROWS.iter().filter(|row| row.arm.belongs_to(arm));
    let models: Vec<Finished> =
        own().filter_map(|row| finished(row, &rows.seeds(n_agents, row), layout)).collect();
    if models.is_empty() {
        return None;
    }
    let reference = rows.reference(arm, n_agents);
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
        let learned: Vec<_> = own().map(|row| (row, rows.seeds(n_agents, row))).collect();
        let processor = common_processor(&learned);
        let pace = |row: &Row| {
            let same = learned.iter().filter(|(other, _)| row.trains_like(other));
            let timed = same.flat_map(|(_, seeds)| seeds);
            let here = timed.filter(|seed| Some(seed.timing.processor.as_str()) == processor);
            here.filter_map(|seed| seed.pace()).reduce(f64::min)
        };
        let of = |(row, seeds): &(&Row, Vec<&RowResult>)| learning(row, seeds, pace(row));
        team.learning = learned.iter().filter_map(of).collect();
        team.chosen = chosen(rows, arm, n_agents);
    }
    Some(team)
}

fn entry(row: &'static str, seeds: &[(&RowResult, &PlayedPoint)]) -> Entry {
    let episodes = |(row, point): &(&RowResult, &PlayedPoint)| -> Vec<TradeOff> {
        point.trade_offs(row.agents, row.horizon)
    };
    let kept =
        |(_, point): &(&RowResult, &PlayedPoint)| [FLOOR, TEAM_RETURN].map(|name| point.mean(name));
    Entry {
        row,
        seeds: seeds.iter().map(episodes).collect(),
        floors_and_returns: seeds.iter().map(kept).collect(),
    }
}

fn finished(row: &'static Row, seeds: &[&RowResult], layout: &str) -> Option<Finished> {
    let played = |seed: &&RowResult| seed.layout(layout).is_some();
    let seeds: Vec<&RowResult> = seeds.iter().copied().filter(played).collect();
    let first = seeds.first()?;
    let point = |head: &PlayedPoint| {
        let seeds: Vec<_> =
            seeds.iter().filter_map(|seed| same_point(seed, layout, &head.parameter)).collect();
        (head.clone(), entry(&row.name, &seeds))
    };
    let points = first.layout(layout)?.points.iter().map(point).collect();
    let trained = mean(&seeds.iter().map(|seed| seed.trained as f64).collect::<Vec<_>>());
    let converged = seeds.iter().all(|seed| seed.greedy.has_converged());
    Some(Finished { row, steps: trained as u64, converged, points })
}

fn same_point<'a>(
    row: &'a RowResult,
    layout: &str,
    parameter: &str,
) -> Option<(&'a RowResult, &'a PlayedPoint)> {
    let mut points = row.layout(layout)?.points.iter();
    points.find(|point| point.parameter == parameter).map(|point| (row, point))
}

/// The processor on which seconds are compared: of those that timed CG-CMARL, where one did, the one that timed
/// the most rows, or others that train like them, each with any of its seeds; of several the first by name.
fn common_processor<'r>(learned: &[(&Row, Vec<&'r RowResult>)]) -> Option<&'r str> {
    let timed_by = |row: &Row| -> BTreeSet<&'r str> {
        let alike = learned.iter().filter(|(other, _)| row.trains_like(other));
        let seeds = alike.flat_map(|(_, seeds)| seeds).filter(|seed| seed.pace().is_some());
        seeds.map(|seed| &seed.timing.processor[..]).collect()
    };
    let ours = learned.iter().find(|(row, _)| row.name == "cg_cmarl");
    let ours = ours.map(|(row, _)| timed_by(row)).unwrap_or_default();
    let mut timed = BTreeMap::<&str, usize>::new();
    for (row, _) in learned.iter().filter(|(_, seeds)| !seeds.is_empty()) {
        timed_by(row).into_iter().for_each(|processor| *timed.entry(processor).or_default() += 1);
    }
    timed.retain(|processor, _| ours.is_empty() || ours.contains(processor));
    timed.into_iter().rev().max_by_key(|(_, rows)| *rows).map(|(processor, _)| processor)
}

/// Steps and processor seconds until each coverage was first reached without exploration; seconds at
/// the `pace` (seconds per step) of the method's least disturbed training, as other work on the machine
/// slows some down.
fn learning(row: &Row, seeds: &[&RowResult], pace: Option<f64>) -> Option<Learning> {
    let looked: Vec<&RowResult> =
        seeds.iter().copied().filter(|seed| !seed.greedy.is_empty()).collect();
    let reached = |coverage: f64, value: &dyn Fn(&RowResult, usize) -> Option<f64>| {
        let first = looked.iter().map(|seed| value(seed, seed.greedy.first_reaching(coverage)?));
        Some(mean(&first.collect::<Option<Vec<f64>>>()?))
    };
    let steps = |seed: &RowResult, look: usize| Some(*seed.greedy.step.get(look)? as f64);
    let seconds =
        |seed: &RowResult, look: usize| Some(seed.cpu_seconds(look)? * pace? / seed.pace()?);
    let last = |seed: &&RowResult| seconds(seed, seed.greedy.len() - 1);
    let totals: Option<Vec<f64>> = looked.iter().map(last).collect();
    (!looked.is_empty()).then(|| Learning {
        row: row.name.clone(),
        steps_to: COVERAGES.map(|coverage| reached(coverage, &steps)).to_vec(),
        cpu_seconds_to: COVERAGES.map(|coverage| reached(coverage, &seconds)).to_vec(),
        trained: mean(&looked.iter().map(|seed| seed.trained as f64).collect::<Vec<_>>()),
        cpu_seconds: totals.map(|totals| mean(&totals)),
        converged: looked.iter().filter(|seed| seed.greedy.has_converged()).count(),
        seeds: looked.len(),
    })
}
