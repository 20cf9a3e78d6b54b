//! The run directory: what a training leaves behind, and the only room that reads the clock.
//!
//! `docs/run-directory.md` describes every file, field by field.

mod argument;
pub mod files;
mod log;
mod manifest;
mod metrics;
mod start;
pub mod tensorboard;
mod writer;

pub use argument::argument;
pub use manifest::{Machine, Manifest, cpu_seconds, unix_seconds};
pub use metrics::numbers;
pub use writer::RunWriter;

use crate::{
    checkpoint::{Checkpoint, atomic},
    error::{Error, Result},
    evaluation::{Choice, Front},
};
use files::{
    CHECKPOINTS, CHOICE, CONFIG, CURVES_CSV, FRONT_JSON, LATEST, MANIFEST, METRICS, MODEL,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A run on disk, open for reading.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
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
        if start::is_cut_short(&path) {
            return Err(start::cut_short(&path));
        }
        let shown = path.display();
        let problem = match (path.is_dir(), path.exists()) {
            (true, _) => format!("holds no {CONFIG}"),
            (false, true) => "is a file".into(),
            (false, false) => "does not exist".into(),
        };
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

    /// The front of the last sweep.
    pub fn front(&self) -> Result<Front> {
        self.read_json::<Front>(FRONT_JSON)?.checked(self.file(FRONT_JSON))
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
        self.write(CURVES_CSV, metrics::to_csv(&self.metrics()?))
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
        let name = self.newest_checkpoint()?;
        Checkpoint::read(&self.file(CHECKPOINTS).join(&name)).map_err(|error| {
            let names = self.checkpoints();
            let before = names.iter().rev().find(|other| **other < name);
            match (error, before) {
                (Error::Format { path, line, message }, Some(before)) => {
                    let advice = format!("{message}; remove this file to go on from {before}");
                    Error::format(path, line, advice)
                }
                (error, _) => error,
            }
        })
    }

    /// Whether there is something to go on from.
    pub fn has_checkpoint(&self) -> bool {
        !self.checkpoints().is_empty()
    }

    /// The name of the newest checkpoint; an error says what a run without one is good for.
    fn newest_checkpoint(&self) -> Result<String> {
        let mut names = self.checkpoints();
        let pointed = fs::read_to_string(self.file(CHECKPOINTS).join(LATEST)).unwrap_or_default();
        if let Some(place) = names.iter().position(|name| *name == pointed.trim()) {
            return Ok(names.swap_remove(place));
        }
        names.pop().ok_or_else(|| {
            if start::is_cut_short(&self.path) {
                return start::cut_short(&self.path);
            }
            let shown = self.path.display();
            Error::Refused(format!("{shown} holds no checkpoint to go on from"))
        })
    }

    /// Names of the checkpoints, oldest first.
    fn checkpoints(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.file(CHECKPOINTS)) else { return vec![] };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| files::is_checkpoint(name))
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
