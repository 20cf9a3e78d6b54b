//! The run directory: what a training leaves behind, and the only room that reads the clock.
//!
//! `docs/run-directory.md` describes every file, field by field.

mod log;
mod manifest;
mod metrics;
pub mod tensorboard;

pub use manifest::{Machine, Manifest, unix_seconds};
pub use metrics::numbers;

use crate::{
    checkpoint::{Checkpoint, atomic},
    error::{Error, Result},
    evaluation::{Choice, Front},
};
use log::Log;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

const CONFIG: &str = "config.toml";
const MANIFEST: &str = "manifest.json";
const METRICS: &str = "metrics.jsonl";
const EVENTS: &str = "events.out.tfevents.cgcmarl";
const CHECKPOINTS: &str = "checkpoints";
const LATEST: &str = "latest";
const CHOICE: &str = "choice.json";
const MODEL: &str = "model.safetensors";

/// Checkpoints that stay: the newest, and the one before it in case the newest is damaged.
const KEPT: usize = 2;

/// A run on disk, open for reading.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

/// A run on disk that is being written: nobody else can write it meanwhile.
#[derive(Debug)]
pub struct RunWriter {
    run: RunDir,
    metrics: Log,
    events: Log,
    clock: fn() -> f64,
}

impl RunDir {
    /// The place of a run below a root: `<root>/<task>/<algorithm>/seed_<k>`.
    pub fn place(root: &Path, task: &str, algorithm: &str, seed: u64) -> PathBuf {
        root.join(task).join(algorithm).join(format!("seed_{seed}"))
    }

    /// Opens an existing run; an error says what is missing.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        if path.join(CONFIG).is_file() {
            return Ok(Self { path });
        }
        let shown = path.display();
        let problem =
            if path.is_dir() { format!("holds no {CONFIG}") } else { "does not exist".into() };
        Err(Error::Refused(format!("{shown} is not a run directory: it {problem}")))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Puts a file into the run, whole or not at all.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        atomic::write(&self.file(name), content.as_ref())
    }

    /// The text of one of its files.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(Error::file(path))
    }

    /// The resolved configuration, as TOML.
    pub fn config(&self) -> Result<String> {
        self.read(CONFIG)
    }

    /// Where the run comes from.
    pub fn manifest(&self) -> Result<Manifest> {
        self.read_json(MANIFEST)
    }

    /// Writes `front.json` and `front.csv`.
    pub fn write_front(&self, front: &Front) -> Result<()> {
        self.write_json("front.json", front)?;
        self.write("front.csv", front.to_csv())
    }

    /// The front of the last sweep.
    pub fn front(&self) -> Result<Front> {
        self.read_json("front.json")
    }

    /// Writes `choice.json`.
    pub fn write_choice(&self, choice: &Choice) -> Result<()> {
        self.write_json(CHOICE, choice)
    }

    /// The multiplier that was chosen for this run, if one was.
    pub fn choice(&self) -> Result<Option<Choice>> {
        if self.file(CHOICE).exists() { self.read_json(CHOICE).map(Some) } else { Ok(None) }
    }

    /// Every line of `metrics.jsonl`.
    pub fn metrics(&self) -> Result<Vec<Value>> {
        metrics::parse(&self.file(METRICS), &self.read(METRICS)?)
    }

    /// Writes `curves.csv`: the metrics as a table, one column per number ever logged.
    pub fn write_curves(&self) -> Result<()> {
        self.write("curves.csv", metrics::to_csv(&self.metrics()?))
    }

    /// Writes what playing needs, without what only training needs, to `model.safetensors`.
    pub fn save_model(&self, model: &Checkpoint) -> Result<()> {
        model.write(&self.file(MODEL))
    }

    /// What `save_model` wrote, or the newest checkpoint where it wrote nothing.
    pub fn load_model(&self) -> Result<Checkpoint<'static>> {
        let path = self.file(MODEL);
        if path.exists() { Checkpoint::read(&path) } else { self.load_latest() }
    }

    /// The newest checkpoint; an error says which file is damaged and how to go on without it.
    pub fn load_latest(&self) -> Result<Checkpoint<'static>> {
        let names = self.checkpoints();
        let pointed = fs::read_to_string(self.file(CHECKPOINTS).join(LATEST)).unwrap_or_default();
        let name = names.iter().find(|name| *name == pointed.trim()).or(names.last());
        let Some(name) = name else {
            let shown = self.path.display();
            let text = format!("{shown} holds no checkpoint yet: remove it and train again");
            return Err(Error::Refused(text));
        };
        Checkpoint::read(&self.file(CHECKPOINTS).join(name)).map_err(|error| {
            let before = names.iter().rev().find(|other| *other < name);
            match (error, before) {
                (Error::Format { path, line, message }, Some(before)) => {
                    let advice = format!("{message}; remove this file to go on from {before}");
                    Error::format(path, line, advice)
                }
                (error, _) => error,
            }
        })
    }

    /// Names of the checkpoints, oldest first.
    fn checkpoints(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.file(CHECKPOINTS)) else { return vec![] };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with("step_"))
            .collect();
        names.sort();
        names
    }

    fn write_json(&self, name: &str, content: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(content)
            .map_err(|error| Error::format(self.file(name), None, error.to_string()))?;
        self.write(name, text + "\n")
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_str(&self.read(name)?)
            .map_err(|error| Error::format(self.file(name), Some(error.line()), error.to_string()))
    }
}

impl RunWriter {
    /// Starts a run in a new or empty directory, with its configuration and manifest.
    pub fn create(path: impl Into<PathBuf>, config: &str, manifest: &Manifest) -> Result<Self> {
        let path = path.into();
        refuse_occupied(&path)?;
        let checkpoints = path.join(CHECKPOINTS);
        fs::create_dir_all(&checkpoints).map_err(Error::file(checkpoints))?;
        let writer = Self::attach(RunDir { path })?;
        writer.run.write_json(MANIFEST, manifest)?;
        writer.run.write(CONFIG, config)?;
        Ok(writer)
    }

    /// Takes a run up again at its newest checkpoint: the logs are cut back to it.
    pub fn resume(path: impl Into<PathBuf>) -> Result<(Self, Checkpoint<'static>)> {
        let mut writer = Self::attach(RunDir::open(path)?)?;
        let checkpoint = writer.run.load_latest()?;
        let length = |name| checkpoint.logs.get(name).copied().unwrap_or(0);
        writer.metrics.cut_back(length(METRICS))?;
        // The event file repeats the metrics; where it was removed it starts afresh.
        let events = length(EVENTS).min(writer.events.length());
        writer.events.cut_back(events)?;
        Ok((writer, checkpoint))
    }

    /// Reads the time from another clock (seconds since 1970), so that tests can stop it.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> f64) -> Self {
        Self { clock, ..self }
    }

    fn attach(run: RunDir) -> Result<Self> {
        let metrics = Log::open(&run.file(METRICS))?;
        let events = Log::open(&run.file(EVENTS))?;
        atomic::remove_unfinished(&run.path);
        atomic::remove_unfinished(&run.file(CHECKPOINTS));
        Ok(Self { run, metrics, events, clock: unix_seconds })
    }

    /// The run as readers see it.
    pub fn run(&self) -> &RunDir {
        &self.run
    }

    /// Adds a line to `metrics.jsonl` and its numbers to the event file at `line["step"]`.
    pub fn append_metrics(&mut self, line: &Value) -> Result<()> {
        self.metrics.append(format!("{line}\n").as_bytes())?;
        let time = (self.clock)();
        if self.events.length() == 0 {
            self.events.append(&tensorboard::header(time))?;
        }
        let mut numbers = metrics::numbers(line);
        numbers.retain(|(name, _)| name != "step");
        let step = line["step"].as_u64().unwrap_or(0);
        self.events.append(&tensorboard::scalars(time, step, &numbers))
    }

    /// Saves a checkpoint, points `latest` at it and removes all but the newest two.
    pub fn save_checkpoint(&mut self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.metrics.sync()?;
        self.events.sync()?;
        checkpoint.logs = [(METRICS, self.metrics.length()), (EVENTS, self.events.length())]
            .map(|(name, length)| (name.to_owned(), length))
            .into();
        let folder = self.run.file(CHECKPOINTS);
        let name = format!("step_{:012}.safetensors", checkpoint.step);
        checkpoint.write(&folder.join(&name))?;
        atomic::write(&folder.join(LATEST), format!("{name}\n").as_bytes())?;
        let names = self.run.checkpoints();
        for old in names.iter().filter(|old| **old < name).rev().skip(KEPT - 1) {
            let path = folder.join(old);
            fs::remove_file(&path).map_err(Error::file(path))?;
        }
        Ok(())
    }
}

fn refuse_occupied(path: &Path) -> Result<()> {
    let shown = path.display();
    if path.join(CONFIG).exists() {
        return Err(Error::Refused(format!(
            "{shown} already holds a run: continue it with `cgcmarl resume {shown}`, or choose another place with `--out DIR`"
        )));
    }
    let occupied = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    };
    if occupied {
        return Err(Error::Refused(format!(
            "{shown} exists and is not empty: choose another place with `--out DIR`"
        )));
    }
    Ok(())
}
