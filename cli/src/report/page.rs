//! The report as one HTML file that carries its data, its scripts and its style.

use super::{data::run_data, metrics_file::MetricsFile};
use crate::playback::{Playback, Trace};
use cgcmarl::{
    Model,
    environment::Spec,
    evaluation::{Front, Score, pareto::oriented},
};
use serde_json::{Value, json};

/// Episodes shown at each point; all points share their start states.
const EPISODES: u64 = 4;
/// From so many points on, one episode must do.
const MANY: usize = 20;
/// Points shown side by side.
const SIDE: usize = 3;
/// Starts among which those are sought at which the trade-offs differ most.
const SOUGHT: u64 = 60;

const PAGE: &str = include_str!("../../../viewer/report.html");
const PARTS: [(&str, &str); 4] = [
    ("{{style}}", include_str!("../../../viewer/style.css")),
    ("{{drawing}}", include_str!("../../../viewer/drawing.js")),
    ("{{charts}}", include_str!("../../../viewer/charts.js")),
    ("{{report}}", include_str!("../../../viewer/report.js")),
];

/// The page of a run.
pub(crate) fn run_page(model: &Model, front: &Front) -> anyhow::Result<String> {
    let mut data = run_data(model, Some(front), MetricsFile::of(&model.run).curves())?;
    let labels: Vec<&str> = front.points.iter().map(|point| point.score.label.as_str()).collect();
    let starts = telling_starts(model, front)?;
    data["episodes"] = episodes(model, front, &starts)?.into();
    data["side"] = json!(side(&labels));
    Ok(fill(&data))
}

/// Puts data into the page; a `<` inside it could end the script that holds it.
fn fill(data: &Value) -> String {
    let data = data.to_string().replace('<', "\\u003c");
    let page = PARTS.iter().fold(PAGE.to_owned(), |page, (mark, part)| page.replace(mark, part));
    page.replace("{{data}}", &data)
}

/// The first, the middle and the last of the sweep.
fn side<'a>(labels: &[&'a str]) -> Vec<&'a str> {
    let n = labels.len();
    let mut chosen: Vec<&str> =
        (0..SIDE.min(n)).map(|k| labels[k * (n - 1) / (SIDE.min(n) - 1).max(1)]).collect();
    chosen.dedup();
    chosen
}

/// The multipliers of a point, one per constraint; none of a policy that has none.
fn multipliers(front: &Front, score: &Score) -> Vec<f32> {
    let names = front.measures.constraints.iter().map(|constraint| &constraint.name);
    names.filter_map(|name| score.multipliers.get(name)).map(|m| *m as f32).collect()
}

/// Start states at which the multipliers matter most: how much less is paid at the middle point than
/// at the first, and how well that goes with the objective.
fn telling_starts(model: &Model, front: &Front) -> anyhow::Result<Vec<u64>> {
    let n_starts = if front.points.len() > MANY { 1 } else { EPISODES };
    let (Some(first), Some(middle)) =
        (front.points.first(), front.points.get(front.points.len() / 2))
    else {
        return Ok((0..n_starts).collect());
    };
    let [first, middle] = [first, middle].map(|point| multipliers(front, &point.score));
    let mut playback = Playback::trained(model, &model.scenario()?)?;
    let seed = model.config.evaluation.start_seed;
    let spec = playback.spec().clone();
    let mut play = |episode: u64, multipliers: &[f32]| {
        axis_values(&spec, &playback.score(seed, episode, multipliers))
    };
    let differences: Vec<Vec<f64>> = (0..SOUGHT)
        .map(|episode| {
            let (careless, careful) = (play(episode, &first), play(episode, &middle));
            let saved = careful.iter().zip(&careless).skip(1).map(|(a, b)| a - b);
            careful[..1].iter().copied().chain(saved).collect()
        })
        .collect();
    let mut gains: Vec<(f64, u64)> = summed(&differences).into_iter().zip(0..).collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(gains.into_iter().take(n_starts as usize).map(|(_, episode)| episode).collect())
}

/// What an episode achieved on every axis of the front, more is better.
fn axis_values(spec: &Spec, metrics: &[f64]) -> Vec<f64> {
    let reported = spec.reported();
    let find =
        |name: &String| reported.iter().zip(metrics).find(|(metric, _)| metric.name == *name);
    let value = |name: &String| find(name).map_or(0.0, |(metric, value)| oriented(metric, *value));
    spec.axes().iter().map(value).collect()
}

/// The sum of each row, every column as a share of its widest spread.
fn summed(rows: &[Vec<f64>]) -> Vec<f64> {
    let column = |index: usize| rows.iter().map(move |row| row[index]);
    let spread = |index: usize| {
        let (low, high) = column(index)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        (high - low).max(f64::MIN_POSITIVE)
    };
    let spreads: Vec<f64> = (0..rows.first().map_or(0, Vec::len)).map(spread).collect();
    rows.iter().map(|row| row.iter().zip(&spreads).map(|(x, spread)| x / spread).sum()).collect()
}

/// The episodes of every point and of the task's own references, all from the same starts.
fn episodes(model: &Model, front: &Front, starts: &[u64]) -> anyhow::Result<Vec<Value>> {
    let (scenario, seed) = (model.scenario()?, model.config.evaluation.start_seed);
    let mut trained = Playback::trained(model, &scenario)?;
    let spec = trained.spec().clone();
    let mut found = vec![];
    let mut add = |label: &str, trace: &Trace| {
        let mut value = trace.to_json(&spec);
        value["label"] = label.into();
        found.push(value);
    };
    for point in &front.points {
        let multipliers = multipliers(front, &point.score);
        for &start in starts {
            add(&point.score.label, &trained.trace(seed, start, &multipliers));
        }
    }
    for reference in scenario.references()? {
        let mut playback = Playback::reference(&reference.name, &scenario)?;
        for &start in starts {
            add(&reference.name, &playback.trace(seed, start, &[]));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_filled_and_its_data_cannot_end_its_script() {
        let page = fill(&json!({ "name": "</script><b>" }));
        assert!(!page.contains("{{") && !page.contains("</script><b>"));
        assert!(page.contains(r#""name":"\u003c/script>\u003cb>""#));
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        let page = fill(&json!({}));
        for part in page.split("http").skip(1) {
            let known = part.starts_with("://www.w3.org/2000/svg") || part.starts_with("-equiv");
            assert!(known, "http{}", &part[..part.len().min(60)]);
        }
    }

    #[test]
    fn three_points_stand_side_by_side() {
        assert_eq!(side(&["a", "b", "c", "d", "e"]), ["a", "c", "e"]);
        assert_eq!(side(&["a", "b"]), ["a", "b"]);
        assert_eq!(side(&["a"]), ["a"]);
        assert!(side(&[]).is_empty());
    }

    #[test]
    fn columns_of_any_scale_count_alike() {
        let rows = [vec![1.0, 0.0], vec![0.0, 1000.0], vec![1.0, 1000.0]];
        assert_eq!(summed(&rows), [1.0, 1.0, 2.0]);
        assert!(summed(&[]).is_empty());
    }
}
