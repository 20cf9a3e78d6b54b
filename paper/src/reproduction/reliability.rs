//! Each method over all team sizes and layouts in a few numbers with their intervals, as rliable has them.
//!
//! A run's score on a task (a team size and a layout) is the hypervolume of its points: of all trained
//! prices of one seed, or of the sweep of one model.

use super::{
    arm::Arm,
    bootstrap::{drawn_weights, weighted},
    plan::{all_layouts, layout_name},
    results::{MethodReliability, THRESHOLDS},
    row::{OUR_ALGORITHM, ROWS},
    row_file::RowResult,
    rows::Rows,
};
use crate::tables::TradeOff;
use cgcmarl::{
    evaluation::{
        Estimate,
        aggregate::{
            TaskScores, interquartile_mean_of_runs, interval, performance_profile,
            probability_of_improvement, resampled,
        },
        front::RANDOM,
        pareto::hypervolume,
    },
    rng::{Purpose, Streams},
};
use std::collections::BTreeMap;

/// Resamples behind every interval.
const N_RESAMPLES: usize = 400;

/// The episodes of each point of one seed.
type SeedPoints = Vec<Vec<TradeOff>>;

/// One method on one task.
type TaskRuns = Vec<SeedPoints>;

/// A team size and a layout.
struct Task {
    random_collisions: f64,
    n_episodes: usize,
    /// The runs of each method, in the order of the methods.
    methods: Vec<TaskRuns>,
}

/// Every method of an arm that was measured; nothing where ours was not.
pub(super) fn reliability(rows: &Rows, arm: Arm) -> Vec<MethodReliability> {
    let methods = methods(rows, arm);
    if !matches!(arm, Arm::Raw | Arm::Shared) || methods.first() != Some(&OUR_ALGORITHM) {
        return vec![];
    }
    let tasks = tasks(rows, arm, &methods);
    let means = scores(&tasks, methods.len(), |task| vec![1.0; task.n_episodes]);
    let mut rng = Streams::new(0).rng(Purpose::Bootstrap, 1);
    let resamples: Vec<Vec<TaskScores>> = (0..N_RESAMPLES)
        .map(|_| {
            let drawn =
                scores(&tasks, methods.len(), |task| drawn_weights(task.n_episodes, &mut rng));
            drawn.iter().map(|tasks| resampled(tasks, &mut rng)).collect()
        })
        .collect();
    let of = |index: usize| method(methods[index], index, &means, &resamples);
    (0..methods.len()).map(of).collect()
}

fn method(
    algorithm: &str,
    index: usize,
    means: &[TaskScores],
    resamples: &[Vec<TaskScores>],
) -> MethodReliability {
    let estimate = |statistic: &dyn Fn(&[TaskScores]) -> f64| {
        interval(statistic(means), resamples.iter().map(|drawn| statistic(drawn)).collect())
    };
    let profiles: Vec<Vec<f64>> =
        resamples.iter().map(|drawn| performance_profile(&drawn[index], &THRESHOLDS)).collect();
    let profile = performance_profile(&means[index], &THRESHOLDS);
    let bands: Vec<Estimate> = (0..THRESHOLDS.len())
        .map(|at| interval(profile[at], profiles.iter().map(|profile| profile[at]).collect()))
        .collect();
    MethodReliability {
        algorithm: algorithm.into(),
        tasks: means[index].iter().filter(|runs| !runs.is_empty()).count(),
        iqm: estimate(&|scores| interquartile_mean_of_runs(&scores[index])),
        ours_better: estimate(&|scores| probability_of_improvement(&scores[0], &scores[index])),
        profile,
        profile_low: bands.iter().map(|band| band.low).collect(),
        profile_high: bands.iter().map(|band| band.high).collect(),
    }
}

/// Methods with rows, ours first.
fn methods(rows: &Rows, arm: Arm) -> Vec<&'static str> {
    let mut methods: Vec<&'static str> = vec![];
    for row in ROWS.iter().filter(|row| row.arm.belongs_to(arm)) {
        let is_trained = |known: &RowResult| known.arm == row.arm && known.row == row.name;
        if !methods.contains(&row.algorithm) && rows.trained.iter().any(is_trained) {
            methods.push(row.algorithm);
        }
    }
    methods
}

fn tasks(rows: &Rows, arm: Arm, methods: &[&str]) -> Vec<Task> {
    let mut tasks = vec![];
    for n_agents in rows.team_sizes(arm) {
        for layout in all_layouts().map(layout_name) {
            let reference = rows.reference(arm, n_agents).and_then(|row| row.layout(&layout));
            let random = reference
                .and_then(|played| played.points.iter().find(|point| point.parameter == RANDOM));
            let Some(random) = random else { continue };
            let runs = |algorithm: &&str| runs(rows, arm, algorithm, n_agents, &layout);
            let methods: Vec<TaskRuns> = methods.iter().map(runs).collect();
            let episodes = methods.iter().flatten().flatten().map(Vec::len);
            let Some(n_episodes) = episodes.min() else { continue };
            let random_collisions = random.trade_off().collisions;
            tasks.push(Task { random_collisions, n_episodes, methods });
        }
    }
    tasks
}

/// The seeds of a method that have as many points as any of its seeds has.
fn runs(rows: &Rows, arm: Arm, algorithm: &str, n_agents: usize, layout: &str) -> TaskRuns {
    let mut seeds: BTreeMap<u64, SeedPoints> = BTreeMap::new();
    for row in ROWS.iter().filter(|row| row.arm.belongs_to(arm) && row.algorithm == algorithm) {
        for result in rows.seeds(n_agents, row) {
            let points = result.layout(layout).into_iter().flat_map(|played| &played.points);
            let episodes = points.map(|point| point.trade_offs(result.agents, result.horizon));
            seeds.entry(result.seed).or_default().extend(episodes);
        }
    }
    let most = seeds.values().map(Vec::len).max().unwrap_or(0);
    seeds.into_values().filter(|points| !points.is_empty() && points.len() == most).collect()
}

/// The score of every run, when start states count as often as the weights say.
fn scores(
    tasks: &[Task],
    n_methods: usize,
    mut weights: impl FnMut(&Task) -> Vec<f64>,
) -> Vec<TaskScores> {
    let mut all = vec![TaskScores::new(); n_methods];
    for task in tasks {
        let weights = weights(task);
        for (scores, runs) in all.iter_mut().zip(&task.methods) {
            scores.push(runs.iter().map(|points| score(task, points, &weights)).collect());
        }
    }
    all
}

/// Coverage times collisions spared, as a share of all of both.
fn score(task: &Task, points: &SeedPoints, weights: &[f64]) -> f64 {
    let corner = TradeOff { coverage: 0.0, collisions: task.random_collisions };
    let means: Vec<Vec<f64>> =
        points.iter().map(|episodes| weighted(episodes, weights).point()).collect();
    hypervolume(&means, &corner.point()) / task.random_collisions.max(1e-9)
}
