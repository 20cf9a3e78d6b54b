//! Tables for the terminal: aligned columns, intervals behind a ±, a star on Pareto points.

use super::measure::{column_digits, shown, title, value};
use cgcmarl::{
    environment::{Metric, TEAM_RETURN},
    evaluation::{Calibration, Estimate, Front, Measures, Score},
    run::Adapted,
};
use std::fmt::Write as _;

/// Names of columns longer than this are broken.
const LONG_NAME: usize = 12;

/// A sweep: one row per operating point, then the references, then the hypervolume.
pub(crate) fn front_table(front: &Front) -> String {
    let points = front.points.iter().map(|point| (point.pareto, &point.score));
    let references = front.references.iter().map(|score| (false, score));
    let rows: Vec<(bool, &Score)> = points.chain(references).collect();
    let measures = &front.measures;
    let mut text = heading(front);
    text.push_str(&score_rows(&rows, measures));
    let axes = measures.axes.split_first().map_or_else(String::new, |(objective, limited)| {
        format!("{objective} against {}", limited.join(" and "))
    });
    let corner: Vec<String> = measures
        .axis_metrics()
        .zip(front.reference.values())
        .map(|(metric, corner)| format!("{} {}", metric.name, value(metric, *corner)))
        .collect();
    let share = front.hypervolume_share;
    let share = share.map_or_else(String::new, |s| format!(", {:.1} % of the possible", 100.0 * s));
    let _ = write!(
        text,
        "\n★ Pareto-optimal ({axes}); ± 95 % interval\n\
         hypervolume {}{share} (measured from {})\n",
        volume(front.hypervolume),
        corner.join(", "),
    );
    text
}

/// What each of several teams reaches at the middle one of the multipliers it was swept over.
pub(crate) fn teams_table(fronts: &[Front]) -> String {
    let row = |front: &Front| -> Option<Vec<String>> {
        let point = front.points.get(front.points.len() / 2)?;
        let axes = front.measures.axis_metrics().filter_map(|metric| {
            let estimate = shown(metric, point.score.metrics.get(&metric.name)?);
            let digits = column_digits(metric, [estimate.mean]);
            Some(cell(&estimate, &point.score, digits))
        });
        let start = std::iter::once(front.n_agents.to_string());
        Some(start.chain(multiplier_cells(&point.score, &front.measures)).chain(axes).collect())
    };
    let head = |front: &Front| -> Vec<String> {
        let names = front.measures.axis_metrics().map(title);
        let start = std::iter::once("agents".to_owned());
        start.chain(multiplier_heads(&front.measures)).chain(names).collect()
    };
    let rows: Vec<_> =
        fronts.iter().take(1).map(head).chain(fronts.iter().filter_map(row)).collect();
    format!(
        "The teams that learned with it; their fronts are in the folder `teams`\n\n{}",
        aligned(&rows)
    )
}

/// A hypervolume with about four digits that count.
pub(crate) fn volume(volume: f64) -> String {
    if volume >= 0.001 || volume == 0.0 { format!("{volume:.4}") } else { format!("{volume:.3e}") }
}

/// One policy: a row of the same table.
pub(crate) fn score_table(score: &Score, measures: &Measures) -> String {
    let rows = score_rows(&[(false, score)], measures);
    match score.n_episodes {
        1 => format!("{rows}\none episode, which has no interval\n"),
        episodes => format!("{rows}\n± 95 % interval over {episodes} episodes\n"),
    }
}

/// What values predict beside what came true: one row per signal.
pub(crate) fn calibration_table(found: &[Calibration]) -> String {
    let head = ["", "predicted", "realised", "difference", "error", "correlation", "slope"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let number = |value: f64| format!("{value:.4}");
    let some = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.2}"));
    for one in found {
        rows.push(vec![
            one.signal.clone(),
            number(one.predicted.mean),
            number(one.realised.mean),
            format!("{:+.4} ±{:.4}", one.difference.mean, one.difference.half_width()),
            number(one.error),
            some(one.correlation),
            some(one.slope),
        ]);
    }
    let episodes = found.first().map_or(0, |one| one.episodes);
    format!(
        "{}\nDiscounted sums from the start of each of {episodes} episodes to its end; ± 95 % interval;\n\
         error: root mean square of a single episode; slope: what one more predicted brings\n",
        aligned(&rows)
    )
}

/// How limits fared while multipliers adapted, then the score of all episodes.
pub(crate) fn adapted_table(adapted: &Adapted, measures: &Measures) -> String {
    let head = ["", "limit", "mean", "second half", "λ there", "kept from episode"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut told = String::new();
    for one in &adapted.limits {
        let Some(metric) = measures.metric(&one.metric) else { continue };
        let shown = |estimate: &Estimate| value(metric, estimate.mean);
        let half_width = value(metric, one.late.half_width());
        rows.push(vec![
            one.metric.clone(),
            value(metric, one.limit),
            shown(&one.mean),
            format!("{} ±{half_width}", shown(&one.late)),
            format!("{:.3}", one.multiplier),
            one.kept_from.map_or_else(|| "never".into(), |episode| episode.to_string()),
        ]);
        let _ = writeln!(told, "{}: {}", one.constraint, one.settling.told());
    }
    let scores = score_table(&adapted.score, measures);
    format!("{}\n{told}\n{scores}", aligned(&rows))
}

fn heading(front: &Front) -> String {
    let (episodes, seeds) =
        front.points.first().map_or((0, 0), |point| (point.score.n_episodes, point.score.n_seeds));
    let seeds = if seeds == 1 { String::new() } else { format!(" × {seeds} seeds") };
    let Front { task, algorithm, n_agents, .. } = front;
    format!("{task}, {n_agents} agents, {algorithm}: {episodes} episodes{seeds} per row\n\n")
}

/// What people compare: the front's axes and the task's own metrics; files hold everything.
fn columns_of(measures: &Measures) -> Vec<&Metric> {
    let is_general = |metric: &Metric| {
        let is_cost = |name: &str| metric.name.strip_prefix("cost_") == Some(name);
        metric.name == TEAM_RETURN || measures.constraints.iter().any(|c| is_cost(&c.name))
    };
    let is_axis = |metric: &Metric| measures.axes.contains(&metric.name);
    measures.metrics.iter().filter(|metric| is_axis(metric) || !is_general(metric)).collect()
}

fn score_rows(scores: &[(bool, &Score)], measures: &Measures) -> String {
    let mut columns: Vec<Vec<String>> = vec![vec![String::new()]];
    columns[0].extend(scores.iter().map(|(star, _)| if *star { "★" } else { "" }.to_owned()));
    for (index, head) in multiplier_heads(measures).into_iter().enumerate() {
        let cell = |score: &Score| multiplier_cells(score, measures).swap_remove(index);
        columns.push([head].into_iter().chain(scores.iter().map(|(_, s)| cell(s))).collect());
    }
    for metric in columns_of(measures) {
        let estimates: Vec<Estimate> = scores
            .iter()
            .map(|(_, score)| {
                let estimate = score.metrics.get(&metric.name).copied();
                shown(metric, &estimate.unwrap_or(Estimate::exact(f64::NAN)))
            })
            .collect();
        let digits = column_digits(metric, estimates.iter().map(|estimate| estimate.mean));
        let cells = scores.iter().zip(&estimates).map(|((_, s), e)| cell(e, s, digits));
        columns.push([title(metric)].into_iter().chain(cells).collect());
    }
    let row = |index: usize| columns.iter().map(|column| column[index].clone()).collect();
    aligned(&(0..=scores.len()).map(row).collect::<Vec<Vec<String>>>())
}

/// A number and its interval; one episode has none.
fn cell(estimate: &Estimate, score: &Score, digits: usize) -> String {
    if score.n_episodes * score.n_seeds == 1 {
        return format!("{:.digits$}", estimate.mean);
    }
    format!("{:.digits$} ±{:.digits$}", estimate.mean, estimate.half_width())
}

/// Over the columns of multipliers: `λ` alone, or one for each constraint.
pub(crate) fn multiplier_heads(measures: &Measures) -> Vec<String> {
    match measures.constraints.as_slice() {
        [] | [_] => vec!["λ".into()],
        several => several.iter().map(|constraint| format!("λ {}", constraint.name)).collect(),
    }
}

/// The multipliers of a policy; one without any has its label in the first column.
pub(crate) fn multiplier_cells(score: &Score, measures: &Measures) -> Vec<String> {
    let n_columns = measures.constraints.len().max(1);
    let mut cells: Vec<String> = measures
        .constraints
        .iter()
        .filter_map(|constraint| score.multipliers.get(&constraint.name))
        .map(f64::to_string)
        .collect();
    if cells.is_empty() {
        cells.push(score.label.clone());
    }
    cells.resize(n_columns, String::new());
    cells
}

/// Columns as wide as their widest cell, numbers to the right, two spaces between. A long name in
/// the first row is broken at an underscore.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let (upper, lower): (Vec<String>, Vec<String>) = head.iter().map(|name| broken(name)).unzip();
    let is_broken = upper.iter().any(|part| !part.is_empty());
    let rows: Vec<&Vec<String>> =
        is_broken.then_some(&upper).into_iter().chain([&lower]).chain(body).collect();
    let n_columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
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

/// A long name in two parts, the first one empty where it is short or has no underscore.
fn broken(name: &str) -> (String, String) {
    let middle = name.len() as isize / 2;
    let cut = name.match_indices('_').map(|(at, _)| at + 1);
    let cut = cut.min_by_key(|at| (*at as isize - middle).abs());
    match cut {
        Some(cut) if name.chars().count() > LONG_NAME => (name[..cut].into(), name[cut..].into()),
        _ => (String::new(), name.into()),
    }
}

/// Columns of words, to the left.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let length = |cell: &String| cell.chars().count();
    let widths: [usize; N] =
        std::array::from_fn(|c| rows.iter().map(|row| length(&row[c])).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
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
        let front = sample::front();
        insta::assert_snapshot!(score_table(&front.points[1].score, &front.measures));
    }
}
