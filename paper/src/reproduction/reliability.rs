//! Each method over all team sizes and layouts in a few numbers with their intervals, as rliable has them.
//!
//! A run's score on a task (a team size and a layout) is the hypervolume of its points: of all trained
//! prices of one seed, or of the sweep of one model. For intervals seeds and start states are drawn anew, once for
//! all layouts of a team size: the same models play them, from the same starts.

use super::{
    arm::Arm,
    bootstrap::{drawn_weights, weighted},
    plan::{all_layouts, layout_name},
    results::{MethodReliability, THRESHOLDS},
    row::{OUR_ALGORITHM, ROWS, Row},
    row_file::{PlayedPoint, RowResult},
    rows::Rows,
};
use crate::tables::TradeOff;
use cgcmarl::{
    evaluation::{
        Estimate,
        aggregate::{
            TaskScores, interquartile_mean_of_runs, interval, performance_profile,
            probability_of_improvement,
        },
        front::RANDOM,
        pareto::hypervolume,
    },
    rng::{Purpose, Rng, Streams},
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
    n_agents: usize,
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
    let means = scores(&tasks, methods.len());
    let mut rng = Streams::new(0).rng(Purpose::Bootstrap, 1);
    let resamples: Vec<Vec<TaskScores>> =
        (0..N_RESAMPLES).map(|_| resampled_scores(&tasks, methods.len(), &mut rng)).collect();
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
        ours: estimate(&|scores| interquartile_mean_of_runs(&where_both(scores, index))),
        ours_better: estimate(&|scores| probability_of_improvement(&scores[0], &scores[index])),
        profile,
        profile_low: bands.iter().map(|band| band.low).collect(),
        profile_high: bands.iter().map(|band| band.high).collect(),
    }
}

/// Our runs on the tasks that a method has runs on.
fn where_both(scores: &[TaskScores], index: usize) -> TaskScores {
    let both = scores[0].iter().zip(&scores[index]).filter(|(_, others)| !others.is_empty());
    both.map(|(ours, _)| ours.clone()).collect()
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
            tasks.push(Task { n_agents, random_collisions, n_episodes, methods });
        }
    }
    tasks
}

/// The seeds of a method that were trained at every one of its prices: with fewer a method has less of
/// a front than it could have.
fn runs(rows: &Rows, arm: Arm, algorithm: &str, n_agents: usize, layout: &str) -> TaskRuns {
    let is_priced = |row: &&Row| row.algorithm == algorithm && !row.is_published();
    let priced = ROWS.iter().filter(|row| row.arm.belongs_to(arm)).filter(is_priced);
    let mut seeds: BTreeMap<u64, (usize, SeedPoints)> = BTreeMap::new();
    for result in priced.clone().flat_map(|row| rows.seeds(n_agents, row)) {
        let Some(played) = result.layout(layout) else { continue };
        let (n_prices, points) = seeds.entry(result.seed).or_default();
        *n_prices += 1;
        let episodes = |point: &PlayedPoint| point.trade_offs(result.agents, result.horizon);
        points.extend(played.points.iter().map(episodes));
    }
    let all = priced.count();
    seeds.into_values().filter(|(n, _)| *n == all).map(|(_, points)| points).collect()
}

/// The score of every run.
fn scores(tasks: &[Task], n_methods: usize) -> Vec<TaskScores> {
    let mut all = vec![TaskScores::new(); n_methods];
    for task in tasks {
        let weights = vec![1.0; task.n_episodes];
        for (scores, runs) in all.iter_mut().zip(&task.methods) {
            scores.push(runs.iter().map(|points| score(task, points, &weights)).collect());
        }
    }
    all
}

/// The scores of seeds and start states that were drawn anew for each team size.
fn resampled_scores(tasks: &[Task], n_methods: usize, rng: &mut Rng) -> Vec<TaskScores> {
    let mut weights: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let mut seeds: BTreeMap<(usize, usize, usize), Vec<usize>> = BTreeMap::new();
    let mut all = vec![TaskScores::new(); n_methods];
    for task in tasks {
        let (n_agents, n_episodes) = (task.n_agents, task.n_episodes);
        let weights =
            weights.entry((n_agents, n_episodes)).or_insert_with(|| drawn_weights(n_episodes, rng));
        for (method, (scores, runs)) in all.iter_mut().zip(&task.methods).enumerate() {
            let n_seeds = runs.len();
            let drawn = seeds
                .entry((method, n_agents, n_seeds))
                .or_insert_with(|| (0..n_seeds).map(|_| rng.below(n_seeds)).collect());
            scores.push(drawn.iter().map(|seed| score(task, &runs[*seed], weights)).collect());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduction::row_file::PlayedLayout;

    fn trained(row: &Row, seed: u64) -> RowResult {
        let played = PlayedLayout {
            layout: "random".into(),
            points: vec![PlayedPoint::default()],
            ..PlayedLayout::default()
        };
        RowResult {
            row: row.name.clone(),
            arm: row.arm,
            agents: 3,
            seed,
            layouts: vec![played],
            ..RowResult::default()
        }
    }

    #[test]
    fn a_seed_counts_once_it_has_every_price() {
        let priced = || ROWS.iter().filter(|r| r.arm == Arm::Shared && r.algorithm == "iql");
        let mut rows = Rows::default();
        rows.trained.extend(priced().map(|row| trained(row, 1)));
        rows.trained.extend(priced().skip(1).map(|row| trained(row, 2)));
        let seeds = runs(&rows, Arm::Shared, "iql", 3, "random");
        assert_eq!((seeds.len(), seeds[0].len()), (1, priced().count()));
        rows.trained.retain(|row| row.row != "iql_0.6");
        assert!(runs(&rows, Arm::Shared, "iql", 3, "random").is_empty());
    }

    /// A seed that is better everywhere is drawn, or not, for every layout alike.
    #[test]
    fn layouts_of_a_team_share_their_draws() {
        let run = |coverage| vec![vec![TradeOff { coverage, collisions: 0.0 }; 4]];
        let task = |n_agents| Task {
            n_agents,
            random_collisions: 1.0,
            n_episodes: 4,
            methods: vec![vec![run(0.0), run(1.0)]],
        };
        let mut rng = Streams::new(0).rng(Purpose::Bootstrap, 1);
        let mut teams_differ = false;
        for _ in 0..20 {
            let drawn = &resampled_scores(&[task(3), task(3), task(4)], 1, &mut rng)[0];
            assert_eq!(drawn[0], drawn[1]);
            teams_differ |= drawn[0] != drawn[2];
        }
        assert!(teams_differ);
    }

    #[test]
    fn ours_stands_beside_a_method_on_the_tasks_of_both() {
        let scores = [vec![vec![0.9], vec![0.5, 0.6]], vec![vec![], vec![0.1]]];
        assert_eq!(where_both(&scores, 1), vec![vec![0.5, 0.6]]);
        assert_eq!(where_both(&scores, 0), scores[0]);
    }
}
