//! From run directories to results: everything that is finished below a folder.

use super::{
    bootstrap::{Entry, resamples},
    job::{layout_name, played_file, read_played},
    plan::{LAYOUTS, ROWS, Row, team_folder},
    record::PlayedPoint,
    results::{COVERAGES, Dominance, Learning, MethodFront, Point, Results, Spread, Team},
};
use crate::tables::{self, TASK, TradeOff};
use cgcmarl::{
    environment::simple_spread::layout::Layout,
    evaluation::{
        pareto::{self, pareto_optimal},
        statistics::{mean, quantile, sample_deviation},
    },
    rng::{Purpose, Streams},
    run::Config,
    run_dir::RunDir,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Resamples behind every interval and probability.
const N_RESAMPLES: usize = 1000;

/// One finished model on one layout.
struct Finished {
    row: &'static Row,
    steps: u64,
    entries: Vec<Entry>,
}

/// Reads every finished run below the folder of a reproduction.
pub fn gather(folder: &Path) -> Results {
    let mut results = Results {
        program: "cgcmarl".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        left_out: left_out(folder),
        teams: vec![],
    };
    for layout in [Layout::Random].into_iter().chain(LAYOUTS) {
        results
            .teams
            .extend(team_sizes(folder).into_iter().filter_map(|n| team(folder, n, layout)));
    }
    results.teams.sort_by_key(|team| team.n_agents);
    results
}

fn team_sizes(folder: &Path) -> Vec<usize> {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return vec![] };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut sizes: Vec<usize> =
        names.filter_map(|name| name.strip_prefix(&format!("{TASK}_"))?.parse().ok()).collect();
    sizes.sort_unstable();
    sizes
}

/// The files of trained runs that cannot be read, and so cannot be told of.
fn left_out(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    for place in team_sizes(folder).into_iter().map(|n| team_folder(folder, n)) {
        for run in ROWS.iter().flat_map(|row| trained(&place, row)) {
            if steps(&run).is_none() {
                files.push(run.join("config.toml"));
            }
            let layouts = [Layout::Random].into_iter().chain(LAYOUTS);
            let played = layouts.map(|layout| played_file(&run, layout));
            files.extend(played.filter(|file| file.exists() && read_played(file).is_none()));
        }
    }
    files
}

/// How long a run was trained, where its configuration can be read.
fn steps(run: &Path) -> Option<u64> {
    let config = Config::parse(&RunDir::open(run).ok()?.config().ok()?).ok()?;
    Some(config.training.total_steps)
}

fn team(folder: &Path, n_agents: usize, layout: Layout) -> Option<Team> {
    let place = team_folder(folder, n_agents);
    let models: Vec<Finished> =
        ROWS.iter().filter_map(|row| finished(&place, row, layout)).collect();
    if models.is_empty() {
        return None;
    }
    let reference = read_played(&played_file(&place.join("reference"), layout));
    let of = |name: &str| {
        let point = reference.as_ref()?.points.iter().find(|point| point.parameter == name)?;
        Some(point.weighted(&vec![1.0; point.n_episodes()]))
    };
    let entries = || models.iter().flat_map(|model| &model.entries);
    let mut team = Team {
        n_agents,
        layout: layout_name(layout),
        episodes: entries().map(Entry::n_episodes).min().unwrap_or(0),
        random: of("random"),
        oracle: of("oracle"),
        ..Team::default()
    };
    measure(&mut team, models);
    if layout == Layout::Random {
        team.learning = ROWS.iter().filter_map(|row| learning(&place, row)).collect();
    }
    Some(team)
}

/// The trained seeds of a row, lowest first.
fn trained(place: &Path, row: &Row) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place.join(row.name)) else { return vec![] };
    let mut found: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let seed = entry.file_name().to_str()?.strip_prefix("seed_")?.parse().ok()?;
            Some((seed, entry.path()))
        })
        .filter(|(_, path)| path.join("model.safetensors").exists())
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn finished(place: &Path, row: &'static Row, layout: Layout) -> Option<Finished> {
    let (mut steps_of_all, mut played) = (vec![], vec![]);
    for run in trained(place, row) {
        if let (Some(steps), Some(seed)) = (steps(&run), read_played(&played_file(&run, layout))) {
            steps_of_all.push(steps);
            played.push(seed);
        }
    }
    let (first, steps) = (played.first()?, *steps_of_all.first()?);
    let entry = |point: &PlayedPoint| {
        let same = |other: &&PlayedPoint| other.parameter == point.parameter;
        let seeds = played.iter().filter_map(|seed| seed.points.iter().find(same)).cloned();
        Entry { row: row.name, seeds: seeds.collect() }
    };
    let entries = first.points.iter().map(entry).collect();
    Some(Finished { row, steps, entries })
}

/// Points, fronts and dominance, with their bootstrap.
fn measure(team: &mut Team, models: Vec<Finished>) {
    let mut entries = vec![];
    for model in models {
        for entry in model.entries {
            let head = &entry.seeds[0];
            team.points.push(Point {
                algorithm: model.row.algorithm.into(),
                parameter: head.parameter.clone(),
                multiplier: head.multiplier,
                row: model.row.name.into(),
                steps: model.steps,
                seeds: entry.seeds.len(),
                ..Point::default()
            });
            entries.push(entry);
        }
    }
    let mut rng = Streams::new(team.n_agents as u64).rng(Purpose::Bootstrap, 0);
    let resamples = resamples(&entries, N_RESAMPLES, &mut rng);
    let means: Vec<TradeOff> = entries.iter().map(Entry::mean).collect();
    let n_pairs = (team.n_agents * team.n_agents.saturating_sub(1) / 2).max(1) as f64;
    for (index, (point, entry)) in team.points.iter_mut().zip(&entries).enumerate() {
        let spread = |pick: &dyn Fn(&TradeOff) -> f64| {
            let per_seed: Vec<f64> = entry.per_seed().iter().map(pick).collect();
            let resampled = resamples.iter().map(|resample| pick(&resample[index])).collect();
            spread(pick(&means[index]), sample_deviation(&per_seed), resampled)
        };
        point.coverage = spread(&|at| at.coverage);
        point.collisions = spread(&|at| at.collisions);
        point.per_pair_rate = spread(&|at| at.collisions / n_pairs);
    }
    mark_pareto(&mut team.points, &means);
    team.fronts = fronts(team, &means, &resamples);
    team.dominance = dominance(&team.points, &means, &resamples);
}

fn spread(center: f64, deviation: f64, mut resampled: Vec<f64>) -> Spread {
    resampled.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&resampled, 0.025), quantile(&resampled, 0.975));
    Spread { mean: center, deviation, low, high }
}

/// Methods in the order of the tables.
fn methods(points: &[Point]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for point in points {
        if !names.contains(&point.algorithm) {
            names.push(point.algorithm.clone());
        }
    }
    names
}

/// The points of one method among all.
fn indices(points: &[Point], algorithm: &str) -> Vec<usize> {
    (0..points.len()).filter(|index| points[*index].algorithm == algorithm).collect()
}

fn picked(all: &[TradeOff], indices: &[usize]) -> Vec<TradeOff> {
    indices.iter().map(|index| all[*index]).collect()
}

/// For each point, whether no other dominates it.
fn optimal(points: &[TradeOff]) -> Vec<bool> {
    pareto_optimal(&points.iter().map(TradeOff::point).collect::<Vec<_>>())
}

fn hypervolume(points: &[TradeOff], corner: TradeOff) -> f64 {
    let points: Vec<_> = points.iter().map(TradeOff::point).collect();
    pareto::hypervolume(&points, &corner.point())
}

fn mark_pareto(points: &mut [Point], means: &[TradeOff]) {
    for (point, optimal) in points.iter_mut().zip(optimal(means)) {
        point.pareto_overall = optimal;
    }
    for algorithm in methods(points) {
        let own = indices(points, &algorithm);
        for (index, optimal) in own.iter().zip(optimal(&picked(means, &own))) {
            points[*index].pareto = optimal;
        }
    }
}

fn fronts(team: &Team, means: &[TradeOff], resamples: &[Vec<TradeOff>]) -> Vec<MethodFront> {
    let Some(random) = team.random else { return vec![] };
    let corner = TradeOff { coverage: 0.0, collisions: random.collisions };
    let printed = |algorithm: &str| {
        let points: Vec<TradeOff> = tables::cg_cmarl(team.n_agents)
            .chain(tables::baselines(team.n_agents))
            .filter(|point| paper_name(algorithm) == Some(point.algorithm))
            .map(|point| point.trade_off())
            .collect();
        (team.layout == "random" && !points.is_empty()).then(|| hypervolume(&points, corner))
    };
    let ours = printed("cg_cmarl");
    let front = |algorithm: String| {
        let own = indices(&team.points, &algorithm);
        let volume = |all: &[TradeOff]| hypervolume(&picked(all, &own), corner);
        let resampled = resamples.iter().map(|resample| volume(resample)).collect();
        let hypervolume = spread(volume(means), 0.0, resampled);
        MethodFront {
            hypervolume,
            printed_hypervolume: printed(&algorithm),
            ratio_to_printed_cg_cmarl: ours.map(|printed| hypervolume.mean / printed),
            algorithm,
        }
    };
    methods(&team.points).into_iter().map(front).collect()
}

/// The name under which the paper prints a method.
pub(super) fn paper_name(algorithm: &str) -> Option<&'static str> {
    Some(match algorithm {
        "cg_cmarl" => "CG-CMARL",
        "iql" => "IQL",
        "qmix" => "QMIX",
        "dcg" => "DCG",
        "mappo" => "MAPPO",
        "mappo_lag" => "MAPPO-Lag",
        _ => return None,
    })
}

fn dominance(points: &[Point], means: &[TradeOff], resamples: &[Vec<TradeOff>]) -> Vec<Dominance> {
    let mut found = vec![];
    for by in methods(points) {
        let front = indices(points, &by);
        let beaten = |all: &[TradeOff], index: usize| {
            front.iter().any(|other| all[*other].dominates(&all[index]))
        };
        for (index, point) in points.iter().enumerate().filter(|(_, p)| p.algorithm != by) {
            let n_beaten = resamples.iter().filter(|resample| beaten(resample, index)).count();
            found.push(Dominance {
                algorithm: point.algorithm.clone(),
                parameter: point.parameter.clone(),
                by: by.clone(),
                dominated: beaten(means, index),
                probability: n_beaten as f64 / resamples.len().max(1) as f64,
            });
        }
    }
    found
}

/// Steps until each coverage was first reached in training.
fn learning(place: &Path, row: &'static Row) -> Option<Learning> {
    let curves: Vec<Vec<(f64, f64)>> = trained(place, row)
        .iter()
        .filter_map(|seed| RunDir::open(seed).ok()?.metrics().ok())
        .map(|lines| {
            let pair = |line: &serde_json::Value| {
                Some((line["step"].as_f64()?, line["coverage"].as_f64()?))
            };
            lines.iter().filter_map(pair).collect()
        })
        .collect();
    let reached = |coverage: f64| {
        let first = |curve: &Vec<(f64, f64)>| {
            curve.iter().find(|(_, reached)| *reached >= coverage).map(|(step, _)| *step)
        };
        curves.iter().map(first).collect::<Option<Vec<f64>>>().map(|steps| mean(&steps))
    };
    let steps_to = COVERAGES.map(reached).to_vec();
    (!curves.is_empty()).then(|| Learning { row: row.name.into(), steps_to })
}
