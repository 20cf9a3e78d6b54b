//! The report as one HTML file that carries its data, its scripts and its style.

use super::{data::run_data, metrics_file::MetricsFile};
use crate::playback::{Playback, Trace};
use cgcmarl::{
    environment::spread_options::SimpleSpreadOptions, evaluation::Front, experiment::Model,
};
use serde_json::{Value, json};

/// Episodes shown at each point; all points share their start states.
const EPISODES: u64 = 4;
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
    let mut data = run_data(model, Some(front), MetricsFile::of(&model.run).curves());
    let multipliers: Vec<Option<f32>> =
        front.points.iter().map(|p| p.score.multiplier.map(|m| m as f32)).collect();
    let labels: Vec<&str> = front.points.iter().map(|p| p.score.label.as_str()).collect();
    let levels: Vec<f32> = multipliers.iter().flatten().copied().collect();
    let starts = telling_starts(model, &levels)?;
    data["episodes"] = episodes(model, &multipliers, &labels, &starts)?.into();
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

/// Start states at which the multiplier matters most: collisions at the lowest against the middle one.
fn telling_starts(model: &Model, multipliers: &[f32]) -> anyhow::Result<Vec<u64>> {
    let environment = &model.config.environment;
    let mut playback = Playback::trained(model, environment)?;
    let seed = model.config.evaluation.start_seed;
    let Some(&lowest) = multipliers.first() else { return Ok((0..EPISODES).collect()) };
    let middle = multipliers[multipliers.len() / 2];
    let mut gains: Vec<(f64, u64)> = (0..SOUGHT)
        .map(|episode| {
            let (_, collisions) = playback.score(seed, episode, lowest);
            let (coverage, fewer) = playback.score(seed, episode, middle);
            (collisions - fewer + coverage, episode)
        })
        .collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(gains.into_iter().take(EPISODES as usize).map(|(_, episode)| episode).collect())
}

fn episodes(
    model: &Model,
    multipliers: &[Option<f32>],
    labels: &[&str],
    starts: &[u64],
) -> anyhow::Result<Vec<Value>> {
    let environment: &SimpleSpreadOptions = &model.config.environment;
    let seed = model.config.evaluation.start_seed;
    let mut trained = Playback::trained(model, environment)?;
    let mut oracle = Playback::oracle(environment)?;
    let labelled = |label: &str, trace: Trace| -> anyhow::Result<Value> {
        let mut value = serde_json::to_value(trace)?;
        value["label"] = label.into();
        Ok(value)
    };
    let mut found = vec![];
    for &start in starts {
        for (label, &multiplier) in labels.iter().zip(multipliers) {
            found.push(labelled(label, trained.trace(seed, start, multiplier))?);
        }
        found.push(labelled("oracle", oracle.trace(seed, start, None))?);
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
}
