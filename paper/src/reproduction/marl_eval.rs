//! The same results in the form that marl-eval reads: environment, task, algorithm, run, step, metric.

use super::{
    job::{layout_name, played_file, read_played},
    plan::{LAYOUTS, Plan},
};
use crate::tables::TASK;
use cgcmarl::{
    environment::simple_spread::layout::Layout, evaluation::statistics::mean, run_dir::RunDir,
};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Logged steps of each run: marl-eval asks for the same number everywhere.
const N_STEPS: usize = 10;

/// Every run of a plan that is done, each operating point as an algorithm of its own.
pub fn marl_eval(plan: &Plan, folder: &Path) -> Value {
    let mut tasks = Map::new();
    for job in plan.jobs() {
        let place = job.place(folder);
        let Some(curve) = RunDir::open(&place).ok().and_then(|run| run.metrics().ok()) else {
            continue;
        };
        for layout in [Layout::Random].into_iter().chain(LAYOUTS) {
            let Some(played) = read_played(&played_file(&place, layout)) else { continue };
            let task = match layout_name(layout).as_str() {
                "random" => format!("{TASK}_{}", job.n_agents),
                name => format!("{TASK}_{}_{name}", job.n_agents),
            };
            for point in &played.points {
                let algorithm = if point.multiplier.is_some() {
                    format!("{} {}", job.row.name, point.parameter)
                } else {
                    job.row.name.to_owned()
                };
                let mut run = steps(&curve);
                let coverage: Vec<f64> = point.coverage.iter().map(|c| f64::from(*c)).collect();
                run["absolute_metrics"] = json!({
                    "coverage": [mean(&coverage)],
                    "collisions_per_step": [mean(&point.collisions)],
                    "return": [mean(&point.team_return)],
                });
                let task = tasks.entry(task.clone()).or_insert_with(|| json!({}));
                task[algorithm][format!("seed_{}", job.seed)] = run;
            }
        }
    }
    json!({ TASK: tasks })
}

/// Evenly spaced lines of a training curve, as marl-eval's steps.
fn steps(curve: &[Value]) -> Value {
    let mut run = json!({});
    for step in 0..N_STEPS {
        let place = (step + 1) * curve.len() / N_STEPS;
        let Some(line) = curve.get(place.saturating_sub(1)) else { continue };
        run[format!("step_{step}")] = json!({
            "step_count": line["step"],
            "coverage": [line["coverage"]],
            "collisions_per_step": [line["collisions_per_step"]],
            "return": [line["episode_return"]],
        });
    }
    run
}
