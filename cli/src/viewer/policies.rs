//! The policy pool: what a page can watch, kept ready for its next step.

use super::{
    answer::Refusal,
    follow::{Followed, Reading},
    measurement::Measurement,
    message::{Conditions, Measure, Show, Side, Start, Step},
};
use crate::playback::{Playback, reference_names};
use anyhow::{Context, bail};
use cgcmarl::{environment::Scenario, run::Moment};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// Policies that wait for their next step.
const MOST_WAITING: usize = 12;

/// Who plays beside the run when a page is opened.
enum Companion {
    Nobody,
    Reference(String),
    Run(Followed),
}

/// Which policy under which conditions.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    side: Side,
    model_version: u64,
    conditions: Conditions,
}

/// Every policy that can be watched.
pub(crate) struct PolicyPool {
    run: Followed,
    companion: Companion,
    references: Vec<String>,
    waiting: Mutex<Vec<(Key, Playback)>>,
}

impl PolicyPool {
    /// The run, and who plays beside it: another run, or a reference of the task.
    pub(crate) fn new(run: &Path, compare: Option<&str>) -> anyhow::Result<Self> {
        let run = Followed::open(run)?;
        let references = reference_names(&run.reading().scenario)?;
        let companion = match compare {
            None => Companion::Nobody,
            Some(name) if references.iter().any(|known| known == name) => {
                Companion::Reference(name.to_owned())
            }
            Some(path) => Companion::Run(beside(&run.reading(), path, &references)?),
        };
        Ok(Self { run, companion, references, waiting: Mutex::default() })
    }

    /// Looks for newer checkpoints, curves and fronts.
    pub(crate) fn refresh(&self) {
        self.run.refresh();
        if let Companion::Run(other) = &self.companion {
            other.refresh();
        }
    }

    /// What the page shows, and a tag that changes with it.
    pub(crate) fn description(&self) -> (Value, String) {
        let reading = self.run.reading();
        let (mut companion, mut any_team, mut other_version) = (Value::Null, reading.any_team, 0);
        let mut sides: Vec<Value> = vec![];
        match &self.companion {
            Companion::Nobody => {}
            Companion::Reference(name) => companion = json!({ "reference": name }),
            Companion::Run(other) => {
                let other = other.reading();
                (companion, other_version) = ("compare".into(), other.version);
                any_team &= other.any_team;
                sides.push(json!({ "side": companion, "name": other.data["name"] }));
            }
        }
        let reference = |name| json!({ "side": { "reference": name }, "name": name });
        sides.extend(self.references.iter().map(reference));
        let tag = format!("\"{}-{other_version}\"", reading.version);
        let mut data = reading.data.clone();
        data["sides"] = sides.into();
        data["beside"] = companion;
        data["any_team"] = any_team.into();
        data["version"] = json!([reading.version, other_version]);
        (data, tag)
    }

    /// A start state.
    pub(crate) fn start(&self, message: &Start) -> Result<Value, Refusal> {
        let (key, mut playback) = self.take(&Side::Run, &message.conditions)?;
        playback.begin(self.start_seed(), message.episode);
        let look = playback.look();
        let horizon = playback.spec().horizon;
        self.give_back(key, playback);
        Ok(json!({ "snapshot": look.snapshot, "drawing": look.drawing, "horizon": horizon }))
    }

    /// How a moment looks.
    pub(crate) fn show(&self, message: &Show) -> Result<Value, Refusal> {
        let (key, mut playback) = self.take(&Side::Run, &message.conditions)?;
        let moment = Moment { start_seed: self.start_seed(), episode: 0, step: 0 };
        let restored = playback
            .restore(&message.snapshot, moment)
            .and_then(|()| message.moved.map_or(Ok(()), |handle| playback.stop(handle, moment)));
        let look = playback.look();
        self.give_back(key, playback);
        restored.map_err(bad)?;
        serde_json::to_value(look).map_err(|_| Refusal::ours())
    }

    /// One step.
    pub(crate) fn step(&self, message: &Step) -> Result<Value, Refusal> {
        let (key, mut playback) = self.take(&message.policy, &message.conditions)?;
        let Step { episode, step, .. } = *message;
        let moment = Moment { start_seed: self.start_seed(), episode, step };
        let report = check_multipliers(&playback, &message.multipliers).and_then(|()| {
            playback.restore(&message.snapshot, moment).map_err(bad)?;
            Ok(playback.step(&message.multipliers))
        });
        self.give_back(key, playback);
        serde_json::to_value(report?).map_err(|_| Refusal::ours())
    }

    /// Measures for a turn; whether the measurement is done.
    pub(crate) fn advance(&self, measurement: &mut Measurement) -> Result<bool, Refusal> {
        let Measure { policy, conditions, multipliers, .. } = measurement.message();
        let (key, mut playback) = self.take(policy, conditions)?;
        let fits = check_multipliers(&playback, multipliers);
        let is_done =
            fits.and_then(|()| measurement.advance(&mut playback, self.start_seed()).map_err(bad));
        self.give_back(key, playback);
        is_done
    }

    fn start_seed(&self) -> u64 {
        self.run.reading().model.config.evaluation.start_seed
    }

    /// The run whose files a side is made of.
    fn reading(&self, side: &Side) -> Result<Arc<Reading>, Refusal> {
        match (side, &self.companion) {
            (Side::Compare, Companion::Run(other)) => Ok(other.reading()),
            (Side::Compare, _) => {
                Err(Refusal::bad("there is no second run: start with `--compare RUN`"))
            }
            _ => Ok(self.run.reading()),
        }
    }

    /// A policy under the conditions asked for: one that waits, or a new one.
    fn take(&self, side: &Side, conditions: &Conditions) -> Result<(Key, Playback), Refusal> {
        let reading = self.reading(side)?;
        let key = Key {
            side: side.clone(),
            model_version: reading.model_version,
            conditions: conditions.clone(),
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = waiting.iter().position(|(other, _)| *other == key) {
            return Ok(waiting.remove(index));
        }
        drop(waiting);
        let scenario = scenario(&reading, conditions)?;
        let playback = match side {
            Side::Reference(name) => Playback::reference(name, &scenario),
            Side::Run | Side::Compare => Playback::trained(&reading.model, &scenario),
        };
        playback.map(|playback| (key, playback)).map_err(bad)
    }

    /// Keeps a policy for its next step; the one that waited longest goes.
    fn give_back(&self, key: Key, playback: Playback) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((key, playback));
        if waiting.len() > MOST_WAITING {
            waiting.remove(0);
        }
    }
}

/// What a page asked for and cannot have.
#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` asks for")]
fn bad(error: cgcmarl::Error) -> Refusal {
    Refusal::bad(error.to_string())
}

/// A second run of the same task.
fn beside(run: &Reading, path: &str, references: &[String]) -> anyhow::Result<Followed> {
    let other = Followed::open(Path::new(path)).with_context(|| {
        format!("`--compare` takes another run, or one of {}", references.join(", "))
    })?;
    let (own, others) = (run.scenario.name(), other.reading().scenario.name().to_owned());
    if own != others {
        bail!("{path} is a run of {others}, not of {own}: the two cannot play side by side");
    }
    Ok(other)
}

/// Refuses multipliers that are not one for each constraint.
fn check_multipliers(playback: &Playback, multipliers: &[f32]) -> Result<(), Refusal> {
    let (names, n) = (playback.spec().constraint_names(), multipliers.len());
    if n == names.len() {
        return Ok(());
    }
    let names = names.join(", ");
    Err(Refusal::bad(format!("invalid `multipliers`: {n} numbers (one for each of: {names})")))
}

/// The run's scenario with the team and the options asked for.
fn scenario(reading: &Reading, conditions: &Conditions) -> Result<Scenario, Refusal> {
    let own = &reading.scenario;
    let mut config = reading.model.config.clone();
    if conditions.agents != own.n_agents().map_err(bad)? {
        config.environment = own.with_agents(conditions.agents).map_err(bad)?.options().clone();
    }
    let options = own.info().map_err(bad)?.options;
    let mut changes = vec![];
    for (key, word) in &conditions.options {
        let choices = options.iter().find(|option| option.key == *key).map(|o| &o.choices[..]);
        match choices {
            None | Some([]) => {
                return Err(Refusal::bad(format!("invalid option `{key}`: not for this page")));
            }
            Some(choices) if !choices.contains(word) => {
                let choices = choices.join(", ");
                return Err(Refusal::bad(format!("invalid `{key}`: {word:?} (one of {choices})")));
            }
            Some(_) => changes.push((format!("environment.{key}"), word.clone())),
        }
    }
    config.with(&changes).and_then(|config| config.scenario()).map_err(bad)
}
