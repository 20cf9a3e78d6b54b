//! The model card of a run: `README.md` with the front matter that model hubs read, the front as results.

use super::Config;
use crate::{
    environment::{Metric, Spec},
    error::Result,
    evaluation::{Front, Score},
    run_dir::{RunDir, files},
};
use serde_json::json;
use std::fmt::Write as _;

/// What tells our cards from a `README.md` that somebody wrote.
const LIBRARY: &str = "library_name: cgcmarl";
/// What every card of ours says.
const SAME_BYTES: &str = "`cgcmarl train --config config.toml` gives the same bytes again";
/// Before the checksum at the end of a card, which tells whether somebody changed it.
const CHECKSUM: &str = "\n<!-- written by cgcmarl, crc32 ";

/// Writes the card of a run, with its front where there is one; a `README.md` of somebody else's stays.
pub fn write_model_card(run: &RunDir, config: &Config, steps: u64) -> Result<()> {
    let path = run.file(files::MODEL_CARD);
    if std::fs::read_to_string(&path).is_ok_and(|text| is_of_somebody(&text)) {
        return Ok(());
    }
    let front = super::read_front(run).ok();
    let card = model_card(config, steps, front.as_ref())?;
    let checksum = crc32fast::hash(card.as_bytes());
    run.write(files::MODEL_CARD, format!("{card}{CHECKSUM}{checksum:08x} -->\n"))
}

/// Whether somebody wrote a card, or changed one of ours; earlier versions left no checksum.
fn is_of_somebody(text: &str) -> bool {
    let Some((card, end)) = text.rsplit_once(CHECKSUM) else {
        return !(text.contains(LIBRARY) && text.contains(SAME_BYTES));
    };
    end != format!("{:08x} -->\n", crc32fast::hash(card.as_bytes()))
}

/// The card: nothing in it depends on time or machine.
pub fn model_card(config: &Config, steps: u64, front: Option<&Front>) -> Result<String> {
    let info = config.scenario()?.info()?;
    let spec = config.scenario()?.spec()?;
    let name =
        format!("{}_{}-{}-seed_{}", spec.task, spec.n_agents(), config.algorithm, config.seed);
    let mut text = front_matter(&name, config, &spec, front);
    let constraints = spec.constraint_names().join(", ");
    let _ = write!(
        text,
        "# {name}\n\n\
         A team of {} trained for the task `{}` ({}) with `{}`, {steps} environment steps, seed {}. What is paid for: {constraints}.\n\n",
        spec.n_agents(),
        spec.task,
        info.summary,
        config.algorithm,
        config.seed,
    );
    if let Some(front) = front {
        text += &results(front);
    }
    let _ = write!(
        text,
        "## Use\n\n\
         ```python\n\
         import cgcmarl\n\n\
         policy = cgcmarl.load(\".\").policy(multiplier=1.0)   # this folder\n\
         actions = policy.act(states)                        # one state or many: {} numbers each\n\
         ```\n\n\
         `cgcmarl evaluate .`, `cgcmarl sweep .`, `cgcmarl choose . --limit …` and `cgcmarl report .` do the same on the command line. \
         `model.safetensors` is an ordinary safetensors file; its header tells the task, the actions, the constraints and what each number of a row means.\n\n\
         ## Training\n\n\
         `config.toml` holds every setting; {SAME_BYTES}. `metrics.jsonl` holds the learning curve.\n\n\
         ## Limits\n\n\
         Trained and measured in simulation, in the environment whose options are in `config.toml`: the numbers say nothing about other dynamics, other teams or the real world. \
         A mean that keeps a limit is no promise for a single episode; `cgcmarl choose` tells with which confidence a mean stays below a limit.\n",
        spec.state_width,
    );
    Ok(text)
}

/// The YAML on top; strings are written as JSON, which YAML reads.
fn front_matter(name: &str, config: &Config, spec: &Spec, front: Option<&Front>) -> String {
    let tags = [
        "reinforcement-learning",
        "multi-agent-reinforcement-learning",
        "constrained-reinforcement-learning",
        "coordination-graph",
        "cgcmarl",
        &config.algorithm,
        &spec.task,
    ];
    let tags: Vec<String> = tags.iter().map(|tag| format!("- {}\n", json!(tag))).collect();
    let mut text = format!(
        "---\nlicense:\n- mit\n- apache-2.0\n{LIBRARY}\npipeline_tag: reinforcement-learning\ntags:\n{}",
        tags.concat()
    );
    if let Some(front) = front {
        let _ = write!(text, "model-index:\n- name: {}\n  results:\n", json!(name));
        front.points.iter().for_each(|point| text += &result(front, &point.score));
    }
    text + "---\n\n"
}

/// One point of the front as a result of the model index.
fn result(front: &Front, score: &Score) -> String {
    let data = format!("{} with {} agents, {}", front.task, front.n_agents, score.label);
    let mut text = format!(
        "  - task:\n      type: reinforcement-learning\n      name: {}\n    dataset:\n      type: {}\n      name: {}\n    metrics:\n",
        json!(front.task),
        json!(front.task),
        json!(data)
    );
    for metric in front.measures.axis_metrics() {
        let Some(estimate) = score.metrics.get(&metric.name) else { continue };
        let (kind, label) =
            (json!(metric.name), json!(format!("{} at {}", metric.name, score.label)));
        let _ = write!(
            text,
            "    - type: {kind}\n      name: {label}\n      value: {}\n      args:\n        low: {}\n        high: {}\n        episodes: {}\n",
            estimate.mean, estimate.low, estimate.high, score.n_episodes
        );
        for (constraint, multiplier) in score.multipliers.iter() {
            let _ = writeln!(
                text,
                "        {}: {multiplier}",
                json!(format!("multiplier_{constraint}"))
            );
        }
    }
    text
}

/// The front as a table.
fn results(front: &Front) -> String {
    let axes: Vec<&Metric> = front.measures.axis_metrics().collect();
    let episodes = front.points.first().map_or(0, |point| point.score.n_episodes);
    let mut text = format!(
        "## Results\n\nOne network, one row for each trade-off; 95 % intervals over {episodes} episodes each, the same start states for all. ★: no other row is at least as good everywhere and better somewhere.\n\n|  | policy |"
    );
    for metric in &axes {
        let _ = write!(text, " {} ({}) |", metric.name, metric.unit);
    }
    text += "\n|---|---|";
    axes.iter().for_each(|_| text += "---|");
    text.push('\n');
    let points = front.points.iter().map(|point| (point.pareto, &point.score));
    for (pareto, score) in points.chain(front.references.iter().map(|score| (false, score))) {
        let _ = write!(text, "| {} | {} |", if pareto { "★" } else { "" }, score.label);
        for metric in &axes {
            let estimate = score.metrics.get(&metric.name).copied().unwrap_or_default();
            let _ =
                write!(text, " {:.4} [{:.4}, {:.4}] |", estimate.mean, estimate.low, estimate.high);
        }
        text.push('\n');
    }
    let _ = write!(text, "\nHypervolume {:.4}.\n\n", front.hypervolume);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Model;

    #[test]
    fn a_card_has_front_matter_and_the_front() {
        let model = Model::open("models/simple_spread_3").unwrap();
        let front = model.front().unwrap();
        let card = model_card(&model.config, model.steps, Some(&front)).unwrap();
        assert!(card.starts_with("---\nlicense:\n") && card.contains(LIBRARY));
        assert_eq!(card.matches("  - task:\n").count(), front.points.len());
        assert!(card.contains("| random |"), "{card}");
        let bare = model_card(&model.config, model.steps, None).unwrap();
        assert!(!bare.contains("model-index") && bare.contains("## Use"));
    }

    #[test]
    fn what_somebody_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["config.toml", "model.safetensors"] {
            let from = format!("models/simple_spread_3/{name}");
            std::fs::copy(from, folder.path().join(name)).unwrap();
        }
        let model = Model::open(folder.path()).unwrap();
        let write = || write_model_card(&model.run, &model.config, model.steps).unwrap();
        write();
        assert!(model.run.read(files::MODEL_CARD).unwrap().contains(LIBRARY));
        let ours = model.run.read(files::MODEL_CARD).unwrap();
        write_model_card(&model.run, &model.config, model.steps + 1).unwrap();
        assert_ne!(model.run.read(files::MODEL_CARD).unwrap(), ours, "ours is kept up to date");
        let noted = ours.replace("## Limits", "Seen on the robot: fine.\n\n## Limits");
        for mine in [noted, format!("---\n{LIBRARY}\n---\n# mine\n")] {
            model.run.write(files::MODEL_CARD, &mine).unwrap();
            write_model_card(&model.run, &model.config, model.steps).unwrap();
            assert_eq!(model.run.read(files::MODEL_CARD).unwrap(), mine);
        }
        model.run.write(files::MODEL_CARD, "# mine\n").unwrap();
        write();
        assert_eq!(model.run.read(files::MODEL_CARD).unwrap(), "# mine\n");
    }
}
