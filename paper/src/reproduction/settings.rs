//! What a row was made with: every setting that decides what is learned, kept in its file.
//!
//! Two sets of settings are compared key by key, after each was laid over the defaults of this
//! program. So a key that came later and changes nothing by default leaves every row as it was,
//! while a default that changed is seen: the file holds the value that the row was made with.

use crate::tables::TASK;
use cgcmarl::{
    environment::Scenario,
    error::{Error, Result},
    run::Config,
    training::TrainingOptions,
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt::Write as _, path::Path};
use toml::Table;

/// What decides nothing about what is learned.
const LEFT_OUT: [&str; 4] = [
    "evaluation",
    "training.log_interval",
    "training.checkpoint_interval",
    "training.memory_limit",
];
/// Parts of an environment that policies without training do not notice.
const ONLY_FOR_LEARNERS: [&str; 5] = [
    "environment.observation",
    "environment.graph",
    "environment.reward",
    "environment.cost_distance",
    "environment.cost_radii",
];

/// Settings as a row's file holds them: groups within groups.
pub(super) type Settings = Map<String, Value>;

type Flat = BTreeMap<String, Value>;

/// The settings of a training.
pub(super) fn of_training(config: &Config) -> Result<Settings> {
    let tree: Table = toml::from_str(&config.to_toml()).map_err(unreadable)?;
    without(tree, &LEFT_OUT)
}

/// The settings of policies that need no training.
pub(super) fn of_references(scenario: &Scenario) -> Result<Settings> {
    let mut tree = Table::new();
    tree.insert("task".into(), scenario.name().into());
    tree.insert("environment".into(), toml::Value::Table(scenario.options().clone()));
    without(tree, &ONLY_FOR_LEARNERS)
}

/// Eight digits that tell settings apart.
pub(super) fn digest(settings: &Settings) -> String {
    let mut text = String::new();
    for (key, value) in flat(settings) {
        let _ = writeln!(text, "{key}={value}");
    }
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// The first key in which two sets of settings differ, with both values.
pub(super) fn difference(
    found: &Settings,
    wanted: &Settings,
    config: Option<&Config>,
) -> Result<Option<String>> {
    let mut defaults = flat(&defaults(config)?);
    defaults.retain(|key, _| !LEFT_OUT.iter().any(|left_out| key == left_out));
    let over = |settings: &Settings| {
        let mut all = defaults.clone();
        all.extend(flat(settings));
        all
    };
    let (found, wanted) = (over(found), over(wanted));
    let keys = found.keys().chain(wanted.keys());
    let mut different = keys.filter(|key| found.get(*key) != wanted.get(*key));
    let shown = |value: Option<&Value>| value.map_or("nothing".into(), Value::to_string);
    Ok(different
        .next()
        .map(|key| format!("`{key}` is {}, not {}", shown(found.get(key)), shown(wanted.get(key)))))
}

/// What this program takes for keys that nobody sets.
fn defaults(config: Option<&Config>) -> Result<Settings> {
    let mut tree = Table::new();
    let task = config.map_or(TASK, |config| &config.task);
    let environment = Scenario::of(task)?.options().clone();
    tree.insert("environment".into(), toml::Value::Table(environment));
    let Some(config) = config else { return without(tree, &[]) };
    let options = config.algorithm()?.defaults()?;
    tree.insert(config.algorithm.clone(), toml::Value::Table(options));
    let training = toml::Value::try_from(TrainingOptions::default()).map_err(unreadable)?;
    tree.insert("training".into(), training);
    without(tree, &[])
}

fn without(tree: Table, left_out: &[&str]) -> Result<Settings> {
    let value = serde_json::to_value(tree).map_err(unreadable)?;
    let Value::Object(mut settings) = value else { return Ok(Settings::new()) };
    for key in left_out {
        match key.split_once('.') {
            None => drop(settings.remove(*key)),
            Some((group, name)) => {
                if let Some(Value::Object(group)) = settings.get_mut(group) {
                    group.remove(name);
                }
            }
        }
    }
    Ok(settings)
}

fn unreadable(error: impl std::fmt::Display) -> Error {
    Error::format(Path::new("settings"), None, error.to_string())
}

/// Every value under its whole name.
fn flat(settings: &Settings) -> Flat {
    fn walk(group: &Settings, before: &str, all: &mut Flat) {
        for (key, value) in group {
            let name = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
            match value {
                Value::Object(inner) => walk(inner, &name, all),
                _ => drop(all.insert(name, value.clone())),
            }
        }
    }
    let mut all = Flat::new();
    walk(settings, "", &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> Config {
        Config::resolve(None, &[("algorithm".into(), "iql".into())]).unwrap()
    }

    fn compared(change: impl Fn(&mut Settings)) -> Option<String> {
        let config = config();
        let wanted = of_training(&config).unwrap();
        let mut found = wanted.clone();
        change(&mut found);
        difference(&found, &wanted, Some(&config)).unwrap()
    }

    #[test]
    fn a_row_from_before_a_key_stands_for_its_default() {
        assert_eq!(compared(|_| {}), None);
        // As if the key had not been there yet; its default and its value here are the same.
        let group = |found: &mut Settings| {
            found["iql"]["learning"].as_object_mut().unwrap().remove("standardise_rewards");
        };
        assert_eq!(compared(group), None);
        // The recipe's value is not the default, so that a row without it is another.
        let frame = |found: &mut Settings| {
            found["environment"]["observation"].as_object_mut().unwrap().remove("frame");
        };
        let told = compared(frame).unwrap();
        assert_eq!(told, "`environment.observation.frame` is \"world\", not \"cone\"");
    }

    #[test]
    fn other_values_and_strange_keys_are_told_by_name() {
        let told = compared(|found| found["iql"]["learning"]["gamma"] = json!(0.9)).unwrap();
        assert_eq!(told, "`iql.learning.gamma` is 0.9, not 0.8");
        let told = compared(|found| found["iql"]["bonus"] = json!(1)).unwrap();
        assert_eq!(told, "`iql.bonus` is 1, not nothing");
    }

    #[test]
    fn how_a_row_is_measured_and_logged_does_not_matter() {
        let words = [("algorithm", "iql"), ("episodes", "7"), ("log_interval", "10")];
        let words = words.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let settings = of_training(&Config::resolve(None, &words).unwrap()).unwrap();
        assert_eq!(digest(&settings), digest(&of_training(&config()).unwrap()));
    }
}
