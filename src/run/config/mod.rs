//! One tree of all options: defaults, recipes, presets, files and `key=value` overrides resolved into
//! a configuration.

mod team_sizes;
mod tree;

use crate::{
    algorithm::{self, AnyAlgorithm},
    environment::{Scenario, from_table, to_table},
    error::{Error, Result, closest},
    evaluation::EvaluationOptions,
    training::TrainingOptions,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::PathBuf;
use toml::{Table, Value};

/// The task of a configuration that names none.
const DEFAULT_TASK: &str = "simple_spread";
/// The algorithm of a configuration that names none.
const DEFAULT_ALGORITHM: &str = "cg_cmarl";
/// The preset that every algorithm has.
const DEFAULT_PRESET: &str = "default";

/// How a training is measured, saved and kept from growing: the same is learned whatever is said here.
const DECIDE_NOTHING: [&str; 3] =
    ["evaluation", "training.checkpoint_interval", "training.memory_limit"];

/// Everything that defines a run. Of the algorithms' options only the chosen one's are there, under
/// its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The algorithm's named set of defaults that the values come from.
    pub preset: String,
    /// What the team does.
    pub task: String,
    /// Who learns.
    pub algorithm: String,
    /// The root of all randomness.
    pub seed: u64,
    /// A run whose network this one starts from.
    pub start_from: Option<PathBuf>,
    /// How long and how wide training runs.
    pub training: TrainingOptions,
    /// The task's options.
    pub environment: Table,
    /// The algorithm's options.
    pub options: Table,
    /// How the result is measured.
    pub evaluation: EvaluationOptions,
}

/// What does not depend on the task or the algorithm.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Common {
    #[serde(default = "default_preset")]
    preset: String,
    #[serde(default = "default_task")]
    task: String,
    #[serde(default = "default_algorithm")]
    algorithm: String,
    seed: u64,
    #[serde(default)]
    start_from: Option<PathBuf>,
    training: TrainingOptions,
    evaluation: EvaluationOptions,
}

fn default_preset() -> String {
    DEFAULT_PRESET.into()
}

fn default_task() -> String {
    DEFAULT_TASK.into()
}

fn default_algorithm() -> String {
    DEFAULT_ALGORITHM.into()
}

impl Config {
    /// Resolves a configuration: defaults, what suits the task and its team, preset, then a file's
    /// table, then `key=value` overrides.
    ///
    /// Two passes: the first finds out which team it is about, the second resolves on the values
    /// that suit it.
    pub fn resolve(file: Option<Table>, overrides: &[(String, String)]) -> Result<Self> {
        let (mut file, mut overrides) = (file.unwrap_or_default(), overrides.to_vec());
        team_sizes::spread(&mut file, &mut overrides)?;
        let given = |key: &str| overrides.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v);
        let word = |key: &str, default: &str| {
            let text = given(key).map(String::as_str);
            let text = text.or_else(|| file.get(key).and_then(Value::as_str));
            text.unwrap_or(default).to_owned()
        };
        let scenario = Scenario::of(&word("task", DEFAULT_TASK))?;
        let algorithm = algorithm::find(&word("algorithm", DEFAULT_ALGORITHM))?;
        let preset = word("preset", DEFAULT_PRESET);
        check_preset(algorithm, &preset)?;
        let defaults = defaults(&scenario, algorithm, &preset)?;
        let optional = optional_keys(&scenario, algorithm)?;
        let resolve = |mut tree: Table| -> Result<Table> {
            tree::merge(&mut tree, &file, &optional)?;
            let is_word = |key: &str| ["preset", "task", "algorithm"].contains(&key);
            for (key, text) in overrides.iter().filter(|(key, _)| !is_word(key)) {
                tree::set(&mut tree, key, text, &optional)?;
            }
            Ok(tree)
        };
        let first = Self::from_tree(resolve(defaults.clone())?)?;
        let team = first.scenario()?;
        let mut suited = defaults;
        tree::overlay(&mut suited, &algorithm.recipe(&team.spec()?));
        let teams = &first.training.teams;
        tree::overlay(&mut suited, &team.recipe(algorithm.name(), &preset, teams)?);
        tree::overlay(&mut suited, &algorithm.preset(&preset));
        Self::from_tree(resolve(suited)?)
    }

    /// Reads a resolved configuration back.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let tree: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        Self::from_tree(tree).map_err(|error| error.to_string())
    }

    /// The resolved configuration as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.to_tree())
            .unwrap_or_else(|error| unreachable!("options are plain data: {error}"))
    }

    /// The first setting that decides what is learned, or what is logged of it, and is not as in another
    /// configuration: its key and both values.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        tree::difference(&self.to_tree(), &other.to_tree(), &DECIDE_NOTHING)
    }

    /// Changes single values of a resolved configuration.
    pub fn with(&self, overrides: &[(String, String)]) -> Result<Self> {
        let mut tree = self.to_tree();
        // A run of an earlier version lacks the options that came later.
        let mut options = self.algorithm()?.defaults()?;
        tree::overlay(&mut options, &self.options);
        tree.insert(self.algorithm.clone(), Value::Table(options));
        let optional = optional_keys(&self.scenario()?, self.algorithm()?)?;
        for (key, text) in overrides {
            for (fixed, own) in [("algorithm", &self.algorithm), ("task", &self.task)] {
                if key == fixed && text != own {
                    return Err(Error::setting(key, text, format!("this run is one of {own}")));
                }
            }
            tree::set(&mut tree, key, text, &optional)?;
        }
        Self::from_tree(tree)
    }

    /// The task with its options.
    pub fn scenario(&self) -> Result<Scenario> {
        Ok(Scenario::of(&self.task)?.with_options(self.environment.clone()))
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Result<&'static dyn AnyAlgorithm> {
        algorithm::find(&self.algorithm)
    }

    /// The algorithm's options as it knows them.
    pub fn typed_options<T: DeserializeOwned>(&self) -> Result<T> {
        from_table(&self.options)
    }

    /// Puts the algorithm's options back.
    pub fn set_options(&mut self, options: &impl Serialize) -> Result<()> {
        self.options = to_table(options)?;
        Ok(())
    }

    fn from_tree(mut tree: Table) -> Result<Self> {
        let environment = tree::take_table(&mut tree, "environment");
        let name = tree.get("algorithm").and_then(Value::as_str).unwrap_or(DEFAULT_ALGORITHM);
        let name = algorithm::find(name)?.name();
        let options = tree::take_table(&mut tree, name);
        // Files of earlier versions may hold the options of other algorithms too.
        algorithm::names().for_each(|other| drop(tree::take_table(&mut tree, other)));
        let Common { preset, task, algorithm, seed, start_from, training, evaluation } =
            from_table(&tree)?;
        Ok(Self {
            preset,
            task,
            algorithm,
            seed,
            start_from,
            training,
            environment,
            options,
            evaluation,
        })
    }

    /// Everything in one table.
    pub(in crate::run) fn to_tree(&self) -> Table {
        let mut tree = Table::new();
        tree.insert("preset".into(), Value::String(self.preset.clone()));
        tree.insert("task".into(), Value::String(self.task.clone()));
        tree.insert("algorithm".into(), Value::String(self.algorithm.clone()));
        tree.insert("seed".into(), Value::Integer(self.seed as i64));
        if let Some(path) = &self.start_from {
            tree.insert("start_from".into(), Value::String(path.display().to_string()));
        }
        tree.insert("training".into(), plain(&self.training));
        tree.insert("environment".into(), Value::Table(self.environment.clone()));
        tree.insert(self.algorithm.clone(), Value::Table(self.options.clone()));
        tree.insert("evaluation".into(), plain(&self.evaluation));
        tree
    }
}

/// Options that are plain data, as a table.
fn plain(options: &impl Serialize) -> Value {
    let table = to_table(options);
    Value::Table(table.unwrap_or_else(|error| unreachable!("options are plain data: {error}")))
}

fn check_preset(algorithm: &dyn AnyAlgorithm, preset: &str) -> Result<()> {
    let presets = algorithm.presets();
    if preset == DEFAULT_PRESET || presets.contains(&preset) {
        return Ok(());
    }
    if presets.is_empty() {
        let reason = format!("{} has the preset `{DEFAULT_PRESET}` only", algorithm.name());
        return Err(Error::setting("preset", preset, reason));
    }
    let nearest = closest(presets.iter().copied(), preset)
        .map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let names = presets.join("`, `");
    let reason = format!("must be `{DEFAULT_PRESET}` or one of `{names}`{nearest}");
    Err(Error::setting("preset", preset, reason))
}

/// Every option at its default.
fn defaults(scenario: &Scenario, algorithm: &dyn AnyAlgorithm, preset: &str) -> Result<Table> {
    let config = Config {
        preset: preset.into(),
        task: scenario.name().into(),
        algorithm: algorithm.name().into(),
        seed: 1,
        start_from: None,
        training: TrainingOptions::default(),
        environment: scenario.options().clone(),
        options: algorithm.defaults()?,
        evaluation: EvaluationOptions::default(),
    };
    Ok(config.to_tree())
}

/// Options that are absent from a tree unless they are set.
fn optional_keys(scenario: &Scenario, algorithm: &dyn AnyAlgorithm) -> Result<Vec<String>> {
    let environment = scenario.unset_options()?.into_iter();
    let mut keys: Vec<String> = environment.map(|key| format!("environment.{key}")).collect();
    let own = algorithm.unset_options().iter();
    keys.extend(own.map(|key| format!("{}.{key}", algorithm.name())));
    keys.extend(["start_from", "preset", "task"].map(String::from));
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::{CgCmarlOptions, cg_cmarl::ValueKind},
        environment::simple_spread::SimpleSpreadOptions,
    };

    fn resolve(overrides: &[&str]) -> Result<Config> {
        let pairs: Vec<_> = overrides
            .iter()
            .map(|text| text.split_once('=').unwrap())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Config::resolve(None, &pairs)
    }

    fn own(config: &Config) -> CgCmarlOptions {
        config.typed_options().unwrap()
    }

    fn error(overrides: &[&str]) -> String {
        resolve(overrides).unwrap_err().to_string()
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
        let environment: SimpleSpreadOptions = config.scenario().unwrap().typed_options().unwrap();
        assert_eq!((environment.agents, config.seed), (6, 7));
        assert_eq!(config.training.total_steps, 200_000);
        assert_eq!((own(&config).learning.gamma, own(&config).learning.batch_size), (0.9, 128));
        assert!(!environment.observation.occupancy);
    }

    #[test]
    fn a_name_in_two_places_sets_both() {
        let options = own(&resolve(&["damping=0.5"]).unwrap());
        assert_eq!((options.acting.damping, options.coordination.damping), (0.5, 0.5));
    }

    #[test]
    fn a_list_needs_no_brackets() {
        assert_eq!(resolve(&["multipliers=0,0.5"]).unwrap().evaluation.multipliers, [0.0, 0.5]);
        assert!(error(&["multipliers=0,much"]).contains(": much"));
    }

    #[test]
    fn a_constraint_may_have_multipliers_of_its_own() {
        let config = resolve(&["grid.collision=[0.5,2.0]"]).unwrap();
        assert_eq!(config.evaluation.grid["collision"], [0.5, 2.0]);
        assert_eq!(Config::parse(&config.to_toml()).unwrap(), config);
    }

    #[test]
    fn unknown_words_suggest_the_nearest() {
        assert_eq!(error(&["gama=0.9"]), "unknown key `gama`; did you mean `gamma`?");
        let task = error(&["task=simple_sprad"]);
        assert!(task.contains("`task`: simple_sprad (did you mean `simple_spread`?"), "{task}");
        let algorithm = error(&["algorithm=qmixx"]);
        assert!(algorithm.contains("must be one of `cg_cmarl`, `iql`"), "{algorithm}");
        assert!(algorithm.contains("did you mean `qmix`?"), "{algorithm}");
        assert!(error(&["preset=papr"]).contains("did you mean `paper`?"));
        assert!(error(&["algorithm=iql", "preset=paper"]).contains("iql has the preset `default`"));
    }

    #[test]
    fn a_value_of_the_wrong_kind_names_key_and_value() {
        let text = error(&["gamma=often"]);
        assert!(text.contains("`gamma`: often (must be a number, such as"), "{text}");
        assert!(error(&["agents=three"]).contains("agents"));
    }

    #[test]
    fn a_resolved_configuration_survives_its_file() {
        for preset in ["default", "two_head", "augmented", "paper"] {
            for agents in [2, 3, 4, 6, 10] {
                let words = [format!("preset={preset}"), format!("agents={agents}")];
                let config = resolve(&words.each_ref().map(String::as_str)).unwrap();
                assert_eq!(Config::parse(&config.to_toml()).unwrap(), config);
            }
        }
    }

    #[test]
    fn only_the_chosen_algorithm_is_written_and_set() {
        for name in algorithm::names() {
            let config = resolve(&[&format!("algorithm={name}"), "gamma=0.5"]).unwrap();
            assert_eq!(config.algorithm, name);
            let text = config.to_toml();
            assert_eq!(Config::parse(&text).unwrap(), config, "{name}");
            for other in algorithm::names() {
                let there = ["]", "."].iter().any(|end| text.contains(&format!("\n[{other}{end}")));
                assert_eq!(there, other == name, "{other} in a file of {name}: {text}");
            }
        }
    }

    #[test]
    fn the_task_and_the_algorithm_of_a_run_stay() {
        let config = resolve(&[]).unwrap();
        let with = |key: &str, value: &str| config.with(&[(key.into(), value.into())]);
        assert!(with("algorithm", "iql").unwrap_err().to_string().contains("one of cg_cmarl"));
        assert!(with("task", "chess").unwrap_err().to_string().contains("one of simple_spread"));
        assert_eq!(with("task", "simple_spread").unwrap(), config);
    }

    #[test]
    fn a_file_with_a_stray_key_is_refused() {
        let file: Table = toml::from_str("[training]\ntotal_step = 5").unwrap();
        let error = Config::resolve(Some(file), &[]).unwrap_err().to_string();
        assert_eq!(error, "unknown key `training.total_step`; did you mean `total_steps`?");
    }

    #[test]
    fn the_paper_preset_is_its_table() {
        let options = own(&resolve(&["preset=paper"]).unwrap());
        let learning = &options.learning;
        assert_eq!((learning.gamma, learning.polyak_tau), (0.99, 0.005));
        assert_eq!((learning.target_interval, learning.batch_size), (200, 64));
        assert_eq!((learning.buffer_size, learning.lr), (100_000, 1e-3));
        assert_eq!(options.exploration.at(50_000), 0.475);
        assert_eq!(options.network.value, ValueKind::TwoHead);
    }
}
