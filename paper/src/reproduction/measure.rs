//! Points with their intervals, fronts with their hypervolumes, and who dominates whom.

use super::{
    bootstrap::{Entry, resamples},
    gather::{Finished, TABLES_LAYOUT},
    results::{Dominance, MethodFront, Point, Spread, Team},
};
use crate::tables::{self, TradeOff};
use cgcmarl::{
    evaluation::{
        pareto::{self, pareto_optimal},
        statistics::{mean, quantile, sample_deviation},
    },
    rng::{Purpose, Streams},
};

/// Resamples behind every interval and probability.
const N_RESAMPLES: usize = 1000;

/// Points, fronts and dominance, with their bootstrap.
pub(super) fn measure(team: &mut Team, models: Vec<Finished>) {
    let mut entries = vec![];
    for Finished { row, steps, converged, points } in models {
        for (head, entry) in points {
            team.points.push(Point {
                algorithm: row.algorithm.into(),
                multiplier: head.multiplier(),
                parameter: head.parameter,
                row: row.name.clone(),
                steps,
                converged,
                seeds: entry.seeds.len(),
                floor: mean(&entry.kept(0)),
                team_return: (mean(&entry.kept(1)), sample_deviation(&entry.kept(1))),
                per_seed: entry.per_seed(),
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
    team.worst = worst(means.iter());
    team.nadir =
        worst(means.iter().zip(&team.points).filter(|(_, p)| p.pareto_overall).map(|(m, _)| m));
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

/// The worst of every measure among some points.
fn worst<'a>(points: impl Iterator<Item = &'a TradeOff>) -> TradeOff {
    points
        .copied()
        .reduce(|a, b| TradeOff {
            coverage: a.coverage.min(b.coverage),
            collisions: a.collisions.max(b.collisions),
        })
        .unwrap_or_default()
}

fn fronts(team: &Team, means: &[TradeOff], resamples: &[Vec<TradeOff>]) -> Vec<MethodFront> {
    let Some(random) = team.random else { return vec![] };
    let corner = TradeOff { coverage: 0.0, collisions: random.collisions };
    let printed = |algorithm: &str| {
        let points: Vec<TradeOff> = tables::cg_cmarl(team.n_agents)
            .chain(tables::baselines(team.n_agents))
            .filter(|point| tables::paper_name(algorithm) == Some(point.algorithm))
            .map(|point| point.trade_off())
            .collect();
        (team.layout == TABLES_LAYOUT && !points.is_empty()).then(|| hypervolume(&points, corner))
    };
    let ours = printed("cg_cmarl");
    let front = |algorithm: String| {
        let own = indices(&team.points, &algorithm);
        let from = |corner: TradeOff| {
            let volume = |all: &[TradeOff]| hypervolume(&picked(all, &own), corner);
            let resampled = resamples.iter().map(|resample| volume(resample)).collect();
            spread(volume(means), 0.0, resampled)
        };
        let hypervolume = from(corner);
        MethodFront {
            hypervolume,
            from_worst: from(team.worst),
            from_nadir: from(team.nadir),
            printed_hypervolume: printed(&algorithm),
            ratio_to_printed_cg_cmarl: ours.map(|printed| hypervolume.mean / printed),
            algorithm,
        }
    };
    methods(&team.points).into_iter().map(front).collect()
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
                converged: point.converged,
                dominated: beaten(means, index),
                probability: n_beaten as f64 / resamples.len().max(1) as f64,
            });
        }
    }
    found
}
