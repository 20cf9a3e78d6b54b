//! Tables for the terminal: aligned columns, intervals behind a ±, a star on Pareto points.

use cgcmarl::evaluation::{Estimate, Front, Score};
use cgcmarl_paper::tables;
use std::fmt::Write as _;

const HEAD: [&str; 9] = [
    "",
    "λ",
    "coverage %",
    "at 0.15 %",
    "at 0.2 %",
    "collisions/step",
    "floor",
    "per pair",
    "collision-free %",
];

/// A sweep: one row per operating point, then the references, then the hypervolume.
pub(crate) fn front_table(front: &Front) -> String {
    let mut rows: Vec<Vec<String>> = vec![HEAD.map(String::from).to_vec()];
    for point in &front.points {
        let star = if point.pareto { "★" } else { "" };
        let name = point.score.multiplier.map_or(point.score.label.clone(), |m| m.to_string());
        rows.push(row(star, name, &point.score));
    }
    for score in front.oracle.iter().chain(&front.random) {
        rows.push(row("", score.label.clone(), score));
    }
    let mut text = title(front);
    text.push_str(&aligned(&rows));
    let reference = front.reference.collisions_per_step;
    let _ = write!(
        text,
        "\n★ Pareto-optimal (coverage within 0.1 against collisions per step); ± 95 % interval\n\
         hypervolume {:.4}, {:.1} % of the possible (reference: coverage 0, collisions of the random policy {reference:.4})\n",
        front.hypervolume,
        100.0 * front.hypervolume_share,
    );
    text
}

/// One policy: a row of the same table.
pub(crate) fn score_table(score: &Score) -> String {
    let name = score.multiplier.map_or(score.label.clone(), |m| m.to_string());
    let rows = [HEAD.map(String::from).to_vec(), row("", name, score)];
    format!("{}\n± 95 % interval over {} episodes\n", aligned(&rows), score.n_episodes)
}

/// The paper's printed points for a team size; empty where it prints none.
pub(crate) fn paper_table(n_agents: usize) -> String {
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
    if rows.len() == 1 { String::new() } else { aligned(&rows) }
}

fn title(front: &Front) -> String {
    let (episodes, seeds) =
        front.points.first().map_or((0, 0), |point| (point.score.n_episodes, point.score.n_seeds));
    let seeds = if seeds == 1 { String::new() } else { format!(" × {seeds} seeds") };
    let Front { task, algorithm, n_agents, .. } = front;
    format!("{task}, {n_agents} agents, {algorithm}: {episodes} episodes{seeds} per row\n\n")
}

fn row(star: &str, name: String, score: &Score) -> Vec<String> {
    let m = &score.measures;
    vec![
        star.into(),
        name,
        percent(&m.coverage.near),
        percent(&m.coverage.middle),
        percent(&m.coverage.wide),
        format!("{:.4} ±{:.4}", m.collisions_per_step.mean, m.collisions_per_step.half_width()),
        format!("{:.4}", m.collision_floor.mean),
        format!("{:.5}", m.per_pair_rate.mean),
        percent(&m.collision_free),
    ]
}

fn percent(share: &Estimate) -> String {
    format!("{:.1} ±{:.1}", 100.0 * share.mean, 100.0 * share.half_width())
}

/// Columns as wide as their widest cell, numbers to the right, two spaces between.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |cell: &String| cell.chars().count();
    let widths: Vec<usize> = (0..n_columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(length).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_sweep_reads_well() {
        insta::assert_snapshot!(front_table(&sample::front()));
    }

    #[test]
    fn one_policy_reads_well() {
        insta::assert_snapshot!(score_table(&sample::front().points[1].score));
    }

    #[test]
    fn the_papers_points_read_well() {
        insta::assert_snapshot!(paper_table(10));
        assert_eq!(paper_table(5), "");
    }
}
