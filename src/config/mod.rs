//! One tree of all options: presets, files and `key=value` overrides resolved into a configuration.

mod algorithms;
mod presets;

pub use algorithms::Algorithm;
pub use presets::Preset;

use crate::{
    algorithm::{
        CgCmarlOptions, DcgOptions, IqlOptions, MappoLagOptions, PpoOptions, QmixOptions,
        VdnOptions,
    },
    environment::spread_options::SimpleSpreadOptions,
    error::{Error, Result},
    evaluation::EvaluationOptions,
    training::TrainingOptions,
};
use serde::{Deserialize, Serialize, Serializer};
use std::path::PathBuf;
use toml::{Table, Value};

/// Everything that defines a run. Of the algorithms' options only the chosen one's count; only they
/// are written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The preset that CG-CMARL's values come from.
    #[serde(default)]
    pub preset: Preset,
    /// Who learns.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// The root of all randomness.
    pub seed: u64,
    /// A run whose network this one starts from.
    #[serde(default)]
    pub start_from: Option<PathBuf>,
    /// How long and how wide training runs.
    pub training: TrainingOptions,
    /// Simple Spread.
    pub environment: SimpleSpreadOptions,
    /// CG-CMARL.
    #[serde(default)]
    pub cg_cmarl: CgCmarlOptions,
    /// IQL.
    #[serde(default)]
    pub iql: IqlOptions,
    /// VDN.
    #[serde(default)]
    pub vdn: VdnOptions,
    /// QMIX.
    #[serde(default)]
    pub qmix: QmixOptions,
    /// DCG.
    #[serde(default)]
    pub dcg: DcgOptions,
    /// MAPPO.
    #[serde(default)]
    pub mappo: PpoOptions,
    /// MAPPO-Lagrangian.
    #[serde(default)]
    pub mappo_lag: MappoLagOptions,
    /// How the result is measured.
    pub evaluation: EvaluationOptions,
}

/// What is written of a configuration.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<Preset>,
    algorithm: Algorithm,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_from: Option<&'a PathBuf>,
    training: &'a TrainingOptions,
    environment: &'a SimpleSpreadOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    cg_cmarl: Option<&'a CgCmarlOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iql: Option<&'a IqlOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vdn: Option<&'a VdnOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qmix: Option<&'a QmixOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dcg: Option<&'a DcgOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mappo: Option<&'a PpoOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mappo_lag: Option<&'a MappoLagOptions>,
    evaluation: &'a EvaluationOptions,
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let chosen = |algorithm: Algorithm| self.algorithm == algorithm;
        let shown = Shown {
            preset: chosen(Algorithm::CgCmarl).then_some(self.preset),
            algorithm: self.algorithm,
            seed: self.seed,
            start_from: self.start_from.as_ref(),
            training: &self.training,
            environment: &self.environment,
            cg_cmarl: chosen(Algorithm::CgCmarl).then_some(&self.cg_cmarl),
            iql: chosen(Algorithm::Iql).then_some(&self.iql),
            vdn: chosen(Algorithm::Vdn).then_some(&self.vdn),
            qmix: chosen(Algorithm::Qmix).then_some(&self.qmix),
            dcg: chosen(Algorithm::Dcg).then_some(&self.dcg),
            mappo: chosen(Algorithm::Mappo).then_some(&self.mappo),
            mappo_lag: chosen(Algorithm::MappoLag).then_some(&self.mappo_lag),
            evaluation: &self.evaluation,
        };
        shown.serialize(serializer)
    }
}

impl Config {
    /// Resolves a configuration: preset, then a file's table, then `key=value` overrides.
    ///
    /// The values depend on the algorithm, the preset and the team size, so these are looked for first.
    pub fn resolve(file: Option<Table>, overrides: &[(String, String)]) -> Result<Self> {
        let file = file.unwrap_or_default();
        let given = |key: &str| overrides.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v);
        let word = |key: &str| {
            given(key).map(String::as_str).or_else(|| file.get(key).and_then(Value::as_str))
        };
        let algorithm = word("algorithm").map_or(Ok(Algorithm::CgCmarl), Algorithm::named)?;
        let preset = word("preset").map_or(Ok(Preset::Default), Preset::named)?;
        let in_file =
            || file.get("environment").and_then(|e| e.get("agents")).and_then(Value::as_integer);
        let agents = match given("agents").or_else(|| given("environment.agents")) {
            Some(text) => text.parse().map_err(|_| {
                Error::setting("agents", text, "must be a whole number of at least 2")
            })?,
            None => in_file().map_or(3, |n| n.max(0) as usize),
        };
        let mut tree = to_tree(&preset.config_of(algorithm, agents)?)?;
        merge(&mut tree, &file, "")?;
        for (key, text) in overrides.iter().filter(|(key, _)| key != "preset") {
            set(&mut tree, key, text)?;
        }
        Self::from_tree(tree)
    }

    /// Reads a resolved configuration back.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The resolved configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self)
            .unwrap_or_else(|error| unreachable!("options are plain data: {error}"))
    }

    /// Changes single values of a resolved configuration.
    pub fn with(&self, overrides: &[(String, String)]) -> Result<Self> {
        let mut tree = to_tree(self)?;
        for (key, text) in overrides {
            if key == "algorithm" && text != self.algorithm.name() {
                let reason = format!("this run is one of {}", self.algorithm.name());
                return Err(Error::setting(key, text, reason));
            }
            set(&mut tree, key, text)?;
        }
        Self::from_tree(tree)
    }

    fn from_tree(tree: Table) -> Result<Self> {
        tree.try_into().map_err(|error: toml::de::Error| Error::Refused(error.message().to_owned()))
    }
}

fn to_tree(config: &Config) -> Result<Table> {
    Table::try_from(config).map_err(|error| Error::Refused(error.to_string()))
}

/// Puts a file's values over a tree; a key that the tree cannot have is an error.
fn merge(tree: &mut Table, file: &Table, path: &str) -> Result<()> {
    for (key, value) in file {
        let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (tree.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(given)) => merge(inner, given, &full)?,
            (None, _) if !is_optional(&full) => {
                return Err(Error::UnknownKey {
                    key: full.clone(),
                    suggestion: closest(tree.keys().map(String::as_str), key),
                });
            }
            _ => drop(tree.insert(key.clone(), value.clone())),
        }
    }
    Ok(())
}

/// Options that are absent from a tree unless they are set.
const OPTIONAL: [&str; 8] = [
    "start_from",
    "environment.radius",
    "environment.contact",
    "environment.local_ratio",
    "environment.actions",
    "environment.cost_distance",
    "environment.observation.landmarks",
    "preset",
];

fn is_optional(path: &str) -> bool {
    OPTIONAL.contains(&path)
}

/// Sets one value. A key may be a whole path or a last name; a name that stands in several places
/// (such as `damping`, of the training and of the acting coordinator) is set in all of them.
fn set(tree: &mut Table, key: &str, text: &str) -> Result<()> {
    let all = paths(tree);
    let whole = all.iter().any(|path| path == key);
    let named = |path: &&String| *path == key || (!whole && path.ends_with(&format!(".{key}")));
    let found: Vec<String> = all.iter().filter(named).cloned().collect();
    if found.is_empty() {
        let names = all.iter().map(|path| path.rsplit('.').next().unwrap_or(path));
        let wanted = key.rsplit('.').next().unwrap_or(key);
        return Err(Error::UnknownKey { key: key.into(), suggestion: closest(names, wanted) });
    }
    for path in found {
        let mut place = &mut *tree;
        let (folders, last) = path.rsplit_once('.').unwrap_or(("", &path));
        for folder in folders.split('.').filter(|folder| !folder.is_empty()) {
            place = match place.get_mut(folder) {
                Some(Value::Table(inner)) => inner,
                _ => return Err(Error::setting(key, text, "is not a group of settings")),
            };
        }
        let value = parse_value(key, text, place.get(last))?;
        place.insert(last.into(), value);
    }
    Ok(())
}

/// A value as TOML writes it; a bare word is a string. It must be of the kind that stood there.
fn parse_value(key: &str, text: &str, before: Option<&Value>) -> Result<Value> {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.into()));
    match (before, &parsed) {
        (Some(Value::Float(_)), Value::Integer(number)) => Ok(Value::Float(*number as f64)),
        (Some(Value::Integer(_)), Value::Float(number)) if number.fract() == 0.0 => {
            Ok(Value::Integer(*number as i64))
        }
        (Some(Value::Array(_)), Value::Array(_)) | (None, _) => Ok(parsed),
        (Some(Value::Array(before)), _) => {
            let parts = text.split(',').map(|part| parse_value(key, part.trim(), before.first()));
            parts.collect::<Result<_>>().map(Value::Array)
        }
        (Some(before), parsed) if !before.same_type(parsed) => {
            let kind = before.type_str();
            let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
            let reason = format!("must be {article} {kind}, such as {before}");
            Err(Error::setting(key, text, reason))
        }
        _ => Ok(parsed),
    }
}

/// The whole path of every value, optional ones included.
fn paths(tree: &Table) -> Vec<String> {
    fn walk(tree: &Table, path: &str, into: &mut Vec<String>) {
        for (key, value) in tree {
            let full = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match value {
                Value::Table(inner) => walk(inner, &full, into),
                _ => into.push(full),
            }
        }
    }
    let mut all = Vec::new();
    walk(tree, "", &mut all);
    for path in OPTIONAL {
        if !all.iter().any(|known| known == path) {
            all.push(path.into());
        }
    }
    all
}

/// The most similar of some names, where it is similar at all.
fn closest<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Option<String> {
    names
        .map(|name| (strsim::jaro_winkler(name, wanted), name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(overrides: &[&str]) -> Result<Config> {
        let pairs: Vec<_> = overrides
            .iter()
            .map(|text| text.split_once('=').unwrap())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Config::resolve(None, &pairs)
    }

    #[test]
    fn short_names_find_their_place() {
        let config = resolve(&[
            "agents=6",
            "seed=7",
            "total_steps=200000",
            "gamma=0.9",
            "batch_size=128",
            "occupancy=false",
        ])
        .unwrap();
        assert_eq!((config.environment.agents, config.seed), (6, 7));
        assert_eq!(config.training.total_steps, 200_000);
        assert_eq!(config.cg_cmarl.learning.gamma, 0.9);
        assert_eq!(config.cg_cmarl.learning.batch_size, 128);
        assert!(!config.environment.observation.occupancy);
    }

    #[test]
    fn a_name_in_two_places_sets_both() {
        let config = resolve(&["damping=0.5"]).unwrap();
        assert_eq!(config.cg_cmarl.acting.damping, 0.5);
        assert_eq!(config.cg_cmarl.coordination.damping, 0.5);
    }

    #[test]
    fn a_list_needs_no_brackets() {
        assert_eq!(resolve(&["multipliers=0,0.5"]).unwrap().evaluation.multipliers, [0.0, 0.5]);
        assert!(resolve(&["multipliers=0,much"]).unwrap_err().to_string().contains(": much"));
    }

    #[test]
    fn an_unknown_key_suggests_the_nearest() {
        let error = resolve(&["gama=0.9"]).unwrap_err().to_string();
        assert_eq!(error, "unknown key `gama`; did you mean `gamma`?");
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_key_and_value() {
        let error = resolve(&["gamma=often"]).unwrap_err().to_string();
        assert!(error.contains("`gamma`: often (must be a float"), "{error}");
        assert!(resolve(&["agents=three"]).unwrap_err().to_string().contains("agents"));
    }

    #[test]
    fn a_resolved_configuration_survives_its_file() {
        for (_, preset) in Preset::NAMES {
            for agents in [2, 3, 4, 6, 10] {
                let config = preset.config(agents);
                assert_eq!(Config::parse(&config.to_toml()).unwrap(), config);
            }
        }
    }

    #[test]
    fn only_the_chosen_algorithm_is_written_and_set() {
        for (name, algorithm) in Algorithm::NAMES {
            let config = resolve(&[&format!("algorithm={name}"), "gamma=0.5"]).unwrap();
            assert_eq!(config.algorithm, algorithm);
            let text = config.to_toml();
            assert_eq!(Config::parse(&text).unwrap(), config, "{name}");
            for (other, _) in Algorithm::NAMES {
                assert_eq!(text.contains(&format!("\n[{other}.")), other == name, "{other}");
            }
        }
        let error = resolve(&["algorithm=iql", "preset=paper"]).unwrap_err().to_string();
        assert!(error.contains("presets are for cg_cmarl"), "{error}");
        let error = resolve(&["algorithm=dqn"]).unwrap_err().to_string();
        assert!(error.contains("must be one of `cg_cmarl`, `iql`"), "{error}");
    }

    #[test]
    fn a_file_with_a_stray_key_is_refused() {
        let file: Table = toml::from_str("[training]\ntotal_step = 5").unwrap();
        let error = Config::resolve(Some(file), &[]).unwrap_err().to_string();
        assert_eq!(error, "unknown key `training.total_step`; did you mean `total_steps`?");
    }

    #[test]
    fn the_paper_preset_is_its_table() {
        let config = Preset::Paper.config(3);
        let learning = &config.cg_cmarl.learning;
        assert_eq!((learning.gamma, learning.polyak_tau), (0.99, 0.005));
        assert_eq!((learning.target_interval, learning.batch_size), (200, 64));
        assert_eq!((learning.buffer_size, learning.lr), (100_000, 1e-3));
        assert_eq!(config.cg_cmarl.exploration.at(50_000), 0.475);
        assert!(!config.cg_cmarl.network.multiplier_input);
    }
}
