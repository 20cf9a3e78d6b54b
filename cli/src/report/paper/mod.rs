//! Reports about the paper: its printed results beside ours, its comparison, its theory.

pub(crate) mod attainment;
pub(crate) mod budget;
pub(crate) mod claim;
pub(crate) mod comparison;
pub(crate) mod ladder;
pub(crate) mod overview;
pub(crate) mod panels;
pub(crate) mod reliability;
pub(crate) mod reproduction;
pub(crate) mod stock;
pub(crate) mod summary;
pub(crate) mod theory;

use super::{
    markers::Marker,
    picture::{Colour, GREY, ORANGE},
    series::{Mark, Series},
    table::aligned,
};
use anyhow::ensure;
use cgcmarl::evaluation::Estimate;
use cgcmarl_paper::tables::{self, PaperPoint, TradeOff};
use serde_json::{Value, json};

/// Refuses `--beside-paper` where the paper says nothing about the task.
pub(crate) fn check(task: &str) -> anyhow::Result<()> {
    let papers = tables::TASK;
    ensure!(task == papers, "`--beside-paper` is for {papers}; the paper prints nothing of {task}");
    Ok(())
}

/// The paper's printed points for a team size; a sentence where it prints none.
pub(crate) fn table(n_agents: usize) -> String {
    let mut rows = vec![
        ["", "printed in the paper", "coverage %", "collisions/step"].map(String::from).to_vec(),
    ];
    for point in tables::cg_cmarl(n_agents).chain(tables::baselines(n_agents)) {
        rows.push(vec![
            if point.starred { "★" } else { "" }.into(),
            format!("{} {}", point.algorithm, point.parameter),
            format!("{:.1} ±{:.1}", point.coverage.0, point.coverage.1),
            format!("{:.4} ±{:.4}", point.collisions.0, point.collisions.1),
        ]);
    }
    if rows.len() == 1 {
        return format!("the paper prints nothing for {n_agents} agents\n");
    }
    aligned(&rows)
}

/// The paper's points with one sample deviation as bars; none for a team that it does not print.
pub(crate) fn series(n_agents: usize) -> Vec<Series> {
    let printed = tables::cg_cmarl(n_agents).map(|point| {
        let marker = if point.starred { Marker::Disc } else { Marker::Ring };
        mark(point, marker, ORANGE)
    });
    let baselines = tables::baselines(n_agents).map(|point| mark(point, Marker::Cross, GREY));
    let series =
        |name: &str, marks, joined| Series { name: name.into(), marks, joined, dashed: true };
    let mut all = vec![
        series("baselines printed in the paper", baselines.collect(), false),
        series(
            "CG-CMARL printed in the paper (open: dominated; bars: sd)",
            printed.collect(),
            true,
        ),
    ];
    all.retain(|series: &Series| !series.marks.is_empty());
    all
}

/// The paper's points as a page reads them: means and deviations by metric; none of another task.
pub(crate) fn points(task: &str, n_agents: usize) -> Vec<Value> {
    let own = tables::cg_cmarl(n_agents).map(|point| (point, true));
    let all = own.chain(tables::baselines(n_agents).map(|point| (point, false)));
    let measured = |(mean, deviation): (f64, f64), scale: f64| json!({ "mean": mean / scale, "deviation": deviation / scale });
    let point = |(point, own): (PaperPoint, bool)| {
        let [gain, cost] = TradeOff::METRICS;
        json!({
            "label": format!("{} {}", point.algorithm, point.parameter),
            "own": own,
            "starred": point.starred,
            "metrics": { gain: measured(point.coverage, 100.0), cost: measured(point.collisions, 1.0) },
        })
    };
    all.filter(|_| task == tables::TASK).map(point).collect()
}

/// Coverage in percent above collisions per step.
fn mark(point: PaperPoint, marker: Marker, colour: Colour) -> Mark {
    let spread = |(mean, deviation): (f64, f64)| Estimate {
        mean,
        low: (mean - deviation).max(0.0),
        high: mean + deviation,
    };
    Mark {
        horizontal: spread(point.collisions),
        vertical: spread(point.coverage),
        marker,
        colour,
        label: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_points_read_well() {
        insta::assert_snapshot!(table(10));
        assert_eq!(table(5), "the paper prints nothing for 5 agents\n");
        assert!(series(5).is_empty());
    }

    #[test]
    fn only_its_task_has_a_paper() {
        check(tables::TASK).unwrap();
        assert!(check("another").unwrap_err().to_string().contains("nothing of another"));
    }
}
