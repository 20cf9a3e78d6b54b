//! What a reader of a trained network must know of it: the header of every model, in plain words.

use super::Config;
use crate::{
    algorithm::{CgCmarlOptions, cg_cmarl::ValueKind},
    environment::{Spec, View},
    error::Result,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Task, team, actions, constraints and the layout of a row, by name.
pub fn contract(config: &Config, view: &dyn View) -> Map<String, Value> {
    let spec = view.spec();
    let actions: Vec<usize> = spec.agents.iter().map(|agent| agent.n_actions).collect();
    let mut first = 0;
    let group = |(words, width): (String, usize)| {
        first += width;
        json!({ "from": first - width, "to": first, "holds": words })
    };
    let layout: Vec<Value> = view.row_layout().into_iter().map(group).collect();
    let entries = [
        ("task", json!(spec.task)),
        ("algorithm", json!(config.algorithm)),
        ("seed", json!(config.seed)),
        ("agents", json!(spec.n_agents())),
        ("actions", json!(actions)),
        ("constraints", json!(spec.constraint_names())),
        ("objective", json!(spec.objective)),
        ("horizon", json!(spec.horizon)),
        ("state_width", json!(spec.state_width)),
        ("agent_width", json!(spec.agent_width)),
        ("region_size", json!(spec.region_size)),
        ("region_width", json!(spec.region_width)),
        ("row_layout", json!(layout)),
        ("frames", json!(view.n_frames())),
        ("heads", json!(heads(config, spec))),
    ];
    entries.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// What the tables of a network stand for: the task, then each constraint; or both at their price.
fn heads(config: &Config, spec: &Spec) -> Vec<String> {
    let own = config.typed_options::<CgCmarlOptions>();
    if own.is_ok_and(|own| own.network.value == ValueKind::Augmented) {
        return vec!["augmented".into()];
    }
    std::iter::once("task".to_owned()).chain(spec.constraint_names()).collect()
}

/// The contract as the header of a model holds it: words as they are, the rest as JSON.
pub(super) fn header(config: &Config) -> Result<BTreeMap<String, String>> {
    let environment = config.scenario()?.build()?;
    let mut entries = contract(config, environment.view());
    entries.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    let text = |value: Value| match value {
        Value::String(words) => words,
        other => other.to_string(),
    };
    Ok(entries.into_iter().map(|(name, value)| (name, text(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_task_actions_constraints_and_rows() {
        for task in crate::environment::tasks() {
            let config = Config::resolve(None, &[("task".into(), task.clone())]).unwrap();
            let header = header(&config).unwrap();
            let spec = config.scenario().unwrap().spec().unwrap();
            assert_eq!(header["task"], task);
            assert_eq!(header["constraints"], json!(spec.constraint_names()).to_string());
            let actions: Vec<usize> = serde_json::from_str(&header["actions"]).unwrap();
            assert_eq!(actions.len(), spec.n_agents());
            let layout: Vec<Value> = serde_json::from_str(&header["row_layout"]).unwrap();
            assert_eq!(layout[0]["from"], 0);
            assert_eq!(layout[layout.len() - 1]["to"], spec.region_width, "{task}");
        }
    }

    #[test]
    fn one_augmented_value_is_one_table() {
        let heads = |setting: &[(String, String)]| {
            header(&Config::resolve(None, setting).unwrap()).unwrap()["heads"].clone()
        };
        assert_eq!(heads(&[]), r#"["task","collision"]"#);
        assert_eq!(heads(&[("value".into(), "augmented".into())]), r#"["augmented"]"#);
    }
}
