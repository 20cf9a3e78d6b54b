//! The same results in the form that marl-eval reads: environment, task, algorithm, run, step, metric.

use super::{
    arm::Arm,
    curve::Curve,
    gather::TABLES_LAYOUT,
    plan::{all_layouts, layout_name},
    row_file::{PlayedPoint, RowResult},
    rows::Rows,
};
use crate::tables::{TASK, TradeOff};
use cgcmarl::environment::TEAM_RETURN;
use serde_json::{Map, Value, json};

/// Logged steps of each training: marl-eval asks for the same number everywhere.
const N_STEPS: usize = 10;
/// The multiplier at which the paper follows its method over team sizes.
const MULTIPLIER: f64 = 1.0;

/// Every row twice: under the task's name with its training curve, one algorithm for each row, and
/// under `<task>_final` with what it achieves in the end, one algorithm for each operating point and
/// one task for each layout.
pub fn marl_eval(rows: &Rows, arm: Arm) -> Value {
    let (mut learned, mut achieved) = (Map::new(), Map::new());
    for row in rows.trained.iter().filter(|row| row.arm.belongs_to(arm)) {
        let seed = format!("seed_{}", row.seed);
        if let Some(run) = training(row) {
            entry(&mut learned, &task(row, TABLES_LAYOUT))[&row.row][&seed] = run;
        }
        for layout in all_layouts().map(layout_name) {
            for point in row.layout(&layout).into_iter().flat_map(|played| &played.points) {
                let name = algorithm(row, point);
                entry(&mut achieved, &task(row, &layout))[name][&seed] = end(row, point);
            }
        }
    }
    json!({ TASK: learned, format!("{TASK}_final"): achieved })
}

fn entry<'a>(tasks: &'a mut Map<String, Value>, task: &str) -> &'a mut Value {
    tasks.entry(task).or_insert_with(|| json!({}))
}

fn task(row: &RowResult, layout: &str) -> String {
    let suffix = if layout == TABLES_LAYOUT { String::new() } else { format!("_{layout}") };
    format!("{TASK}_{}{suffix}", row.agents)
}

fn algorithm(row: &RowResult, point: &PlayedPoint) -> String {
    match point.multiplier() {
        Some(_) => format!("{} {}", row.row, point.parameter),
        None => row.row.clone(),
    }
}

/// The curve of a row and how it ends on the layout it was trained on; a sweep ends at λ = 1.
fn training(row: &RowResult) -> Option<Value> {
    let points = &row.layout(TABLES_LAYOUT)?.points;
    let point = points.iter().find(|p| p.multiplier() == Some(MULTIPLIER)).or(points.first())?;
    let mut run = steps(&row.curve)?;
    run["absolute_metrics"] = scores(point);
    Some(run)
}

/// An evaluation at the last step, which is all there is.
fn end(row: &RowResult, point: &PlayedPoint) -> Value {
    let mut last = json!({ "step_count": row.trained });
    if let (Some(last), Value::Object(scores)) = (last.as_object_mut(), scores(point)) {
        last.extend(scores);
    }
    json!({ "step_0": last, "absolute_metrics": scores(point) })
}

fn scores(point: &PlayedPoint) -> Value {
    let TradeOff { coverage, collisions } = point.trade_off();
    json!({
        "coverage": [coverage],
        "collisions_per_step": [collisions],
        "return": [point.mean(TEAM_RETURN)],
    })
}

/// Evenly spaced entries of a training curve, as marl-eval's steps.
fn steps(curve: &Curve) -> Option<Value> {
    let mut run = json!({});
    for step in 0..N_STEPS {
        let place = ((step + 1) * curve.len() / N_STEPS).saturating_sub(1);
        run[format!("step_{step}")] = json!({
            "step_count": curve.step.get(place)?,
            "coverage": [curve.coverage[place]],
            "collisions_per_step": [curve.collisions_per_step[place]],
            "return": [curve.team_return[place]],
        });
    }
    Some(run)
}
