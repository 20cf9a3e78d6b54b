//! A task: what is special about one kind of environment, as the rest of the program meets it.

use super::{Batch, Environment, Policy, Spec, View, registry};
use crate::{
    error::{Error, Result},
    graph::JointAction,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use serde_path_to_error::Segment;
use std::sync::Arc;
use toml::Table;

/// A kind of environment with its options. Registered once, it has every command of the program.
pub trait Task: Send + Sync + 'static {
    /// Everything that defines a score on it, as users write it under `[environment]`.
    type Options: Default + Serialize + DeserializeOwned;

    /// Its name, as users write it.
    fn name(&self) -> &str;
    /// What the team does, in one line.
    fn summary(&self) -> &str;
    /// Every option with its meaning in one line; nested ones as `group.option`. An option that is
    /// listed here but absent from the written defaults follows the others unless it is set;
    /// `agents` is the team size without being listed.
    fn options(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// The words of options that are one of a few and may differ from what a team was trained with:
    /// what a page offers to change. Each as users write it; `false` and `true` make a switch.
    fn choices(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        Vec::new()
    }
    /// The environment of some options; refuses what cannot work, by name.
    fn build(&self, options: &Self::Options) -> Result<Box<dyn Environment>>;
    /// The environment card: what defines a score beside the options as they are written.
    fn card(&self, options: &Self::Options) -> Value {
        json!({ "options": options })
    }
    /// The same options for another team size, with everything that the shape of a network depends
    /// on held fixed; refuses where what one team learned is of no use to another.
    fn with_agents(&self, _options: &Self::Options, agents: usize) -> Result<Self::Options> {
        let reason = format!("{} has one team size", self.name());
        Err(Error::setting("agents", agents, reason))
    }
    /// Policies that are played beside every front, such as an oracle.
    fn references(&self, _options: &Self::Options) -> Result<Vec<Reference>> {
        Ok(Vec::new())
    }
    /// Settings that learn well here, as a configuration file would hold them: what an algorithm
    /// takes instead of its own defaults, unless the user says otherwise. `teams` holds the sizes of
    /// the teams that learn together, where there are several.
    fn recipe(
        &self,
        _options: &Self::Options,
        _algorithm: &str,
        _preset: &str,
        _teams: &[usize],
    ) -> Table {
        Table::new()
    }
}

/// A policy to compare with.
pub struct Reference {
    /// How reports call it, such as `oracle`.
    pub name: String,
    /// What it does.
    pub policy: Box<dyn Policy>,
}

/// How a rule acts: it writes the joint action of a state.
pub type Rule = fn(&dyn View, &[f32], &mut JointAction);

impl Reference {
    /// A policy that follows a rule.
    pub fn rule(name: &str, rule: Rule) -> Self {
        Self { name: name.into(), policy: Box::new(RulePolicy(rule)) }
    }
}

/// Acts by a rule.
struct RulePolicy(Rule);

impl Policy for RulePolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        let states = (0..batch.len()).map(|index| batch.state(index));
        actions
            .iter_mut()
            .zip(states)
            .for_each(|(action, state)| (self.0)(batch.view, state, action));
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(Self(self.0))
    }
}

/// A task whose options are a table, so that one list holds all of them.
pub(crate) trait AnyTask: Send + Sync {
    fn name(&self) -> &str;
    fn summary(&self) -> &str;
    fn options(&self) -> Vec<(&'static str, &'static str)>;
    fn choices(&self) -> Vec<(&'static str, Vec<&'static str>)>;
    fn defaults(&self) -> Result<Table>;
    fn build(&self, options: &Table) -> Result<Box<dyn Environment>>;
    fn card(&self, options: &Table) -> Result<Value>;
    fn with_agents(&self, options: &Table, agents: usize) -> Result<Table>;
    fn references(&self, options: &Table) -> Result<Vec<Reference>>;
    fn recipe(
        &self,
        options: &Table,
        algorithm: &str,
        preset: &str,
        teams: &[usize],
    ) -> Result<Table>;
}

impl<T: Task> AnyTask for T {
    fn name(&self) -> &str {
        Task::name(self)
    }

    fn summary(&self) -> &str {
        Task::summary(self)
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        let mut options = Task::options(self);
        let has_agents = AnyTask::defaults(self).is_ok_and(|all| all.contains_key("agents"));
        if has_agents && options.iter().all(|(key, _)| *key != "agents") {
            options.insert(0, ("agents", "team size"));
        }
        options
    }

    fn choices(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        Task::choices(self)
    }

    fn defaults(&self) -> Result<Table> {
        to_table(&T::Options::default())
    }

    fn build(&self, options: &Table) -> Result<Box<dyn Environment>> {
        Task::build(self, &from_table(options)?)
    }

    fn card(&self, options: &Table) -> Result<Value> {
        Ok(Task::card(self, &from_table(options)?))
    }

    fn with_agents(&self, options: &Table, agents: usize) -> Result<Table> {
        to_table(&Task::with_agents(self, &from_table(options)?, agents)?)
    }

    fn references(&self, options: &Table) -> Result<Vec<Reference>> {
        Task::references(self, &from_table(options)?)
    }

    fn recipe(
        &self,
        options: &Table,
        algorithm: &str,
        preset: &str,
        teams: &[usize],
    ) -> Result<Table> {
        Ok(Task::recipe(self, &from_table(options)?, algorithm, preset, teams))
    }
}

/// Options as a table; through text, so that 0.1 in single precision stays 0.1.
pub(crate) fn to_table(options: &impl Serialize) -> Result<Table> {
    let text = toml::to_string(options).map_err(|error| Error::Refused(error.to_string()))?;
    toml::from_str(&text).map_err(|error| Error::Refused(error.to_string()))
}

/// Options from a table; a value of the wrong kind is refused with its key.
pub(crate) fn from_table<T: DeserializeOwned>(table: &Table) -> Result<T> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(table.clone(), &mut track);
    // Erased, as each kind of options would be compiled with its own copy of both otherwise.
    let read = erased_serde::deserialize(&mut <dyn erased_serde::Deserializer<'_>>::erase(tracked));
    read.map_err(|error| {
        let (path, whole) = (track.path(), toml::Value::Table(table.clone()));
        let value = path.iter().try_fold(&whole, |value, segment| match segment {
            Segment::Map { key } => value.get(key),
            Segment::Seq { index } => value.get(*index),
            _ => None,
        });
        let negative = value.and_then(toml::Value::as_integer).is_some_and(|number| number < 0);
        // Behind its first line TOML tells the place, which is known better here.
        let text = error.to_string();
        let reason = match text.lines().next().unwrap_or_default() {
            text if negative && text.contains("expected u") => "must be a whole number from 0 up",
            text => text,
        };
        let shown = value.map_or_else(String::new, ToString::to_string);
        Error::setting(&path.to_string(), shown, reason)
    })
}

/// A task with its options: everything that builds an environment.
#[derive(Clone)]
pub struct Scenario {
    task: Arc<dyn AnyTask>,
    options: Table,
}

/// What a task says about itself, for those who choose one.
#[derive(Clone, Debug, Serialize)]
pub struct TaskInfo {
    /// Its name.
    pub name: String,
    /// What the team does.
    pub summary: String,
    /// Its options: key, value by default (none where it follows others), meaning.
    pub options: Vec<OptionInfo>,
    /// What is measured.
    pub metrics: Vec<super::Metric>,
    /// The metric that the team is there for.
    pub objective: String,
    /// What is paid for.
    pub constraints: Vec<super::Constraint>,
    /// Policies played beside every front.
    pub references: Vec<String>,
}

/// One option of a task.
#[derive(Clone, Debug, Serialize)]
pub struct OptionInfo {
    /// How users write it.
    pub key: String,
    /// What it is unless set.
    pub default: Option<Value>,
    /// What it means.
    pub meaning: String,
    /// Every word it can be, where it is one of a few that may differ from what was trained.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

impl Scenario {
    /// A registered task with its default options.
    pub fn of(name: &str) -> Result<Self> {
        let task = registry::find_task(name)?;
        Ok(Self { options: task.defaults()?, task })
    }

    /// A registered task with these options; those that are missing have their defaults.
    pub fn new(name: &str, options: &impl Serialize) -> Result<Self> {
        Ok(Self { task: registry::find_task(name)?, options: to_table(options)? })
    }

    /// The same task with other options.
    #[must_use]
    pub fn with_options(&self, options: Table) -> Self {
        Self { task: Arc::clone(&self.task), options }
    }

    /// Name of the task.
    pub fn name(&self) -> &str {
        self.task.name()
    }

    /// The options as they are written.
    pub fn options(&self) -> &Table {
        &self.options
    }

    /// The options as the task knows them.
    pub fn typed_options<T: DeserializeOwned>(&self) -> Result<T> {
        from_table(&self.options)
    }

    /// The options that are absent unless they are set.
    pub fn unset_options(&self) -> Result<Vec<&'static str>> {
        let defaults = self.task.defaults()?;
        let listed = self.task.options().into_iter().map(|(key, _)| key);
        Ok(listed.filter(|key| lookup(&defaults, key).is_none()).collect())
    }

    /// A fresh environment.
    pub fn build(&self) -> Result<Box<dyn Environment>> {
        self.task.build(&self.options)
    }

    /// Sizes, measures and names of its environment.
    pub fn spec(&self) -> Result<Spec> {
        Ok(self.build()?.view().spec().clone())
    }

    /// Team size.
    pub fn n_agents(&self) -> Result<usize> {
        Ok(self.spec()?.n_agents())
    }

    /// The environment card: everything that defines a score.
    pub fn card(&self) -> Result<Value> {
        let mut card = json!({ "task": self.name() });
        if let (Some(card), Value::Object(own)) =
            (card.as_object_mut(), self.task.card(&self.options)?)
        {
            card.extend(own);
        }
        Ok(card)
    }

    /// The same scenario for another team size.
    pub fn with_agents(&self, agents: usize) -> Result<Self> {
        Ok(self.with_options(self.task.with_agents(&self.options, agents)?))
    }

    /// Policies that are played beside every front.
    pub fn references(&self) -> Result<Vec<Reference>> {
        self.task.references(&self.options)
    }

    /// Settings that learn well here.
    pub fn recipe(&self, algorithm: &str, preset: &str, teams: &[usize]) -> Result<Table> {
        self.task.recipe(&self.options, algorithm, preset, teams)
    }

    /// What the task says about itself.
    pub fn info(&self) -> Result<TaskInfo> {
        let spec = self.spec()?;
        let defaults = self.task.defaults()?;
        let choices = self.task.choices();
        let words = |key: &str| choices.iter().find(|(known, _)| *known == key);
        let option = |(key, meaning): (&'static str, &'static str)| OptionInfo {
            key: key.into(),
            default: lookup(&defaults, key).and_then(|value| serde_json::to_value(value).ok()),
            meaning: meaning.into(),
            choices: words(key).map_or_else(Vec::new, |(_, words)| {
                words.iter().map(ToString::to_string).collect()
            }),
        };
        Ok(TaskInfo {
            name: self.name().into(),
            summary: self.task.summary().into(),
            options: self.task.options().into_iter().map(option).collect(),
            metrics: spec.reported(),
            objective: spec.objective.clone(),
            constraints: spec.constraints,
            references: self.references()?.into_iter().map(|reference| reference.name).collect(),
        })
    }
}

/// The value at a path such as `group.option`.
fn lookup<'t>(table: &'t Table, path: &str) -> Option<&'t toml::Value> {
    match path.split_once('.') {
        Some((group, rest)) => lookup(table.get(group)?.as_table()?, rest),
        None => table.get(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Options {
        size: usize,
        offset: i32,
        widths: Vec<Vec<u32>>,
    }

    #[test]
    fn a_value_that_cannot_be_is_named_with_its_key() {
        let error = |text: &str| {
            let table: Table = toml::from_str(text).unwrap();
            from_table::<Options>(&table).map_err(|error| error.to_string())
        };
        let told = "must be a whole number from 0 up";
        assert_eq!(
            error("size = -1\noffset = -1\nwidths = []").unwrap_err(),
            format!("invalid value for `size`: -1 ({told})")
        );
        assert_eq!(
            error("size = 1\noffset = -1\nwidths = [[2], [3, -4]]").unwrap_err(),
            format!("invalid value for `widths[1][1]`: -4 ({told})")
        );
        let text = error("size = 1\noffset = \"far\"\nwidths = []").unwrap_err();
        assert!(text.contains("`offset`: \"far\" (invalid type"), "{text}");
        assert!(error("size = 1\noffset = -1\nwidths = []").is_ok());
    }
}
