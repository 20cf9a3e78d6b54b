//! The policy pool: what a page can watch, kept ready for its next step.

use super::{
    answer::Refusal,
    follow::{Followed, Reading, team_of},
    measurement::Measurement,
    message::{Measure, Side, Start, Step, World},
};
use crate::playback::Playback;
use cgcmarl::environment::spread_options::SimpleSpreadOptions;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Policies that wait for their next step.
const MOST_WAITING: usize = 12;

/// Who plays beside the run.
enum Companion {
    Nobody,
    Oracle,
    Run(Followed),
}

/// Which policy in which world.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    side: Side,
    model_version: u64,
    agents: usize,
    layout: String,
    contact: bool,
}

/// Every policy that can be watched.
pub(crate) struct PolicyPool {
    run: Followed,
    companion: Companion,
    waiting: Mutex<Vec<(Key, Playback)>>,
}

impl PolicyPool {
    /// The run, and who plays beside it: another run, or `oracle`.
    pub(crate) fn new(run: &Path, compare: Option<&str>) -> anyhow::Result<Self> {
        let companion = match compare {
            None => Companion::Nobody,
            Some("oracle") => Companion::Oracle,
            Some(path) => Companion::Run(Followed::open(Path::new(path))?),
        };
        Ok(Self { run: Followed::open(run)?, companion, waiting: Mutex::default() })
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
        let (compare, other_version, any_team) = match &self.companion {
            Companion::Nobody => (Value::Null, 0, reading.any_team),
            Companion::Oracle => (json!({ "name": "oracle" }), 0, reading.any_team),
            Companion::Run(other) => {
                let other = other.reading();
                let data = json!({
                    "name": other.data["name"],
                    "steps": other.data["steps"],
                    "total_steps": other.data["total_steps"],
                    "front": other.data["front"],
                });
                (data, other.version, reading.any_team && other.any_team)
            }
        };
        let tag = format!("\"{}-{other_version}\"", reading.version);
        let mut data = reading.data.clone();
        data["compare"] = compare;
        data["any_team"] = any_team.into();
        data["version"] = json!([reading.version, other_version]);
        (data, tag)
    }

    /// A start state.
    pub(crate) fn start(&self, message: &Start) -> Result<Value, Refusal> {
        let (key, mut playback) = self.take(Side::Run, &message.world)?;
        playback.reset(self.start_seed(), message.episode);
        let answer = json!({ "situation": playback.situation(), "radius": playback.radius() });
        self.give_back(key, playback);
        Ok(answer)
    }

    /// One step.
    pub(crate) fn step(&self, message: &Step) -> Result<Value, Refusal> {
        let (key, mut playback) = self.take(message.policy, &message.world)?;
        playback.place(&message.situation);
        let report = playback.step(message.multiplier);
        self.give_back(key, playback);
        serde_json::to_value(report).map_err(|_| Refusal::ours())
    }

    /// Measures for a turn; whether the measurement is done.
    pub(crate) fn advance(&self, measurement: &mut Measurement) -> Result<bool, Refusal> {
        let Measure { policy, world, .. } = measurement.message();
        let (key, mut playback) = self.take(*policy, world)?;
        let is_done = measurement.advance(&mut playback, self.start_seed());
        self.give_back(key, playback);
        Ok(is_done)
    }

    fn start_seed(&self) -> u64 {
        self.run.reading().model.config.evaluation.start_seed
    }

    /// A policy in the world asked for: one that waits, or a new one.
    fn take(&self, side: Side, world: &World) -> Result<(Key, Playback), Refusal> {
        let (reading, oracle) = match (side, &self.companion) {
            (Side::Run, _) => (self.run.reading(), false),
            (Side::Compare, Companion::Oracle) => (self.run.reading(), true),
            (Side::Compare, Companion::Run(other)) => (other.reading(), false),
            (Side::Compare, Companion::Nobody) => {
                return Err(Refusal::bad("no second policy: start with `--compare RUN|oracle`"));
            }
        };
        let key = Key {
            side,
            model_version: reading.model_version,
            agents: world.agents,
            layout: world.layout.clone(),
            contact: world.contact,
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = waiting.iter().position(|(other, _)| *other == key) {
            return Ok(waiting.remove(index));
        }
        drop(waiting);
        let options = options(&reading, world)?;
        let playback = if oracle {
            Playback::oracle(&options)
        } else {
            Playback::trained(&reading.model, &options)
        };
        playback.map(|playback| (key, playback)).map_err(|error| Refusal::bad(error.to_string()))
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

/// The run's environment with the team, layout and contact asked for.
fn options(reading: &Reading, world: &World) -> Result<SimpleSpreadOptions, Refusal> {
    let layout = serde_json::from_value(json!(world.layout)).map_err(|_| {
        let names = "random, spread_uniform, line or clustered_pair";
        Refusal::bad(format!("invalid `layout`: {:?} (one of {names})", world.layout))
    })?;
    let environment = team_of(&reading.model, world.agents);
    Ok(SimpleSpreadOptions { layout, contact: Some(world.contact), ..environment })
}
