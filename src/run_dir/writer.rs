//! The one process that writes a run: it holds the lock, appends to the logs and saves checkpoints.

use super::{
    RunDir, argument,
    files::{self, CHECKPOINTS, CONFIG, EVENTS, LATEST, MANIFEST, METRICS, TEAMS},
    log::Log,
    manifest::{Manifest, unix_seconds},
    metrics, start, tensorboard,
};
use crate::{
    checkpoint::{Checkpoint, atomic},
    error::{Error, Result},
};
use serde_json::Value;
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Checkpoints that stay: the newest, and the one before it in case the newest is damaged.
const KEPT: usize = 2;

/// A run on disk that is being written: nobody else can write it meanwhile.
#[derive(Debug)]
pub struct RunWriter {
    run: RunDir,
    metrics: Log,
    events: Log,
    clock: fn() -> f64,
}

impl RunWriter {
    /// Refuses a place where no run can begin: one that is taken, or that is no directory.
    pub fn refuse_occupied(path: &Path) -> Result<()> {
        start::refuse_occupied(path)
    }

    /// Begins a run in a new or empty directory, or in one where a beginning was cut short.
    pub fn create(path: impl Into<PathBuf>, config: &str, manifest: &Manifest) -> Result<Self> {
        let run = RunDir { path: path.into() };
        let begin = || {
            start::refuse_occupied(&run.path)?;
            let checkpoints = run.file(CHECKPOINTS);
            fs::create_dir_all(&checkpoints).map_err(Error::file(checkpoints))?;
            let metrics = Log::open(&run.file(METRICS))?;
            let writer = Self::locked(run.clone(), metrics)?;
            // Another process may have begun one meanwhile.
            start::refuse_occupied(&run.path)?;
            writer.remove_unfinished();
            writer.run.write_json(MANIFEST, manifest)?;
            // The configuration makes it a run, so that it comes last.
            writer.run.write(CONFIG, config)?;
            Ok(writer)
        };
        begin().map_err(|error| with_advice(&run, error))
    }

    /// Opens a run to go on with it: nobody else changes it from here on, and it is as it was.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let run = RunDir::open(path)?;
        if !run.file(METRICS).exists() {
            // A model that was shipped without its logs gets none from a look at it.
            run.newest_checkpoint()?;
        }
        let metrics = Log::open(&run.file(METRICS))?;
        run.newest_checkpoint()?;
        let writer = Self::locked(run, metrics)?;
        writer.remove_unfinished();
        Ok(writer)
    }

    /// Takes the run back to one of its checkpoints: later lines of the logs are cut off.
    pub fn go_back(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let length = |name| checkpoint.logs.get(name).copied().unwrap_or(0);
        let crc32 = checkpoint.log_crc32.get(METRICS).copied();
        let metrics = self.metrics.known(length(METRICS), crc32)?;
        // The event file repeats the metrics; where it was removed it starts afresh.
        let events = self.events.prefix(length(EVENTS))?;
        self.metrics.cut_back(metrics)?;
        self.events.cut_back(events)
    }

    /// Reads the time from another clock (seconds since 1970), so that tests can stop it.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> f64) -> Self {
        Self { clock, ..self }
    }

    fn locked(run: RunDir, metrics: Log) -> Result<Self> {
        let events = Log::open(&run.file(EVENTS))?;
        Ok(Self { run, metrics, events, clock: unix_seconds })
    }

    fn remove_unfinished(&self) {
        atomic::remove_unfinished(&self.run.path);
        atomic::remove_unfinished(&self.run.file(CHECKPOINTS));
        let teams = std::fs::read_dir(self.run.file(TEAMS));
        teams.into_iter().flatten().flatten().for_each(|t| atomic::remove_unfinished(&t.path()));
    }

    /// The run as readers see it.
    pub fn run(&self) -> &RunDir {
        &self.run
    }

    /// Adds a line to `metrics.jsonl` and its numbers to the event file at `line["step"]`.
    pub fn append_metrics(&mut self, line: &Value) -> Result<()> {
        self.append(line).map_err(|error| with_advice(&self.run, error))
    }

    fn append(&mut self, line: &Value) -> Result<()> {
        self.metrics.append(format!("{line}\n").as_bytes())?;
        let time = (self.clock)();
        if self.events.kept().length == 0 {
            self.events.append(&tensorboard::header(time))?;
        }
        let mut numbers = metrics::numbers(line);
        numbers.retain(|(name, _)| name != "step");
        let step = line["step"].as_u64().unwrap_or(0);
        self.events.append(&tensorboard::scalars(time, step, &numbers))
    }

    /// Saves a checkpoint, points `latest` at it and removes all but the newest two.
    pub fn save_checkpoint(&mut self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.save(checkpoint).map_err(|error| with_advice(&self.run, error))
    }

    fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.metrics.sync()?;
        self.events.sync()?;
        let (metrics, events) = (self.metrics.kept(), self.events.kept());
        checkpoint.logs = [(METRICS, metrics), (EVENTS, events)]
            .map(|(name, log)| (name.to_owned(), log.length))
            .into();
        // The event file holds times, so that its checksum would differ between equal runs.
        checkpoint.log_crc32 = [(METRICS.to_owned(), metrics.crc32)].into();
        let folder = self.run.file(CHECKPOINTS);
        let name = files::checkpoint(checkpoint.step);
        checkpoint.write(&folder.join(&name))?;
        atomic::write(&folder.join(LATEST), format!("{name}\n").as_bytes())?;
        let names = self.run.checkpoints();
        for old in names.iter().filter(|old| **old < name).rev().skip(KEPT - 1) {
            let path = folder.join(old);
            fs::remove_file(&path).map_err(Error::file(path))?;
        }
        Ok(())
    }

    /// Writes what a finished training leaves: the model and its curves.
    pub fn finish(&self, model: &Checkpoint) -> Result<()> {
        let written = self.run.save_model(model).and_then(|()| self.run.write_curves());
        written.map_err(|error| with_advice(&self.run, error))
    }
}

/// Says what to do where a full disk stopped the writing of a run.
fn with_advice(run: &RunDir, error: Error) -> Error {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error {
        Error::File { path, source }
            if matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull) =>
        {
            let advice = if run.has_checkpoint() {
                let run = argument(&run.path);
                format!(
                    "everything saved before is kept: free some space, then `cgcmarl resume {run}`"
                )
            } else {
                "nothing was trained yet: free some space and train again".into()
            };
            let text = format!("{}; {advice}", atomic::explain(io::Error::from(source.kind())));
            Error::File { path, source: io::Error::new(source.kind(), text) }
        }
        error => error,
    }
}
