//! A training tied to its run directory: started, stopped, resumed.

use super::{
    Config, contract::header, fit, limits, model_card::write_model_card, teams, vectorise,
};
use crate::{
    algorithm::Start,
    checkpoint::Checkpoint,
    error::{Error, Result},
    rng::Streams,
    run_dir::{Manifest, RunDir, RunWriter, files},
    training::{Team, Training},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The entry of a checkpoint that holds the configuration of its training.
const SETTINGS: &str = "settings";

/// Follows a training from outside, and may ask it to stop.
pub trait Watch {
    /// A round is over.
    fn round(&mut self, steps: u64, line: Option<&Value>);
    /// Whether to save and stop now.
    fn stop(&self) -> bool {
        false
    }
    /// Whether to be shown what would be played after so many steps.
    fn wants_model(&self, _steps: u64) -> bool {
        false
    }
    /// What would be played after so many steps.
    fn model(&mut self, _steps: u64, _model: &Checkpoint<'_>) -> Result<()> {
        Ok(())
    }
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are done.
    Finished,
    /// It was asked to stop; everything is saved.
    Stopped,
}

/// A training tied to its run directory.
pub struct Session {
    training: Training,
    writer: RunWriter,
    /// The resolved configuration.
    pub config: Config,
}

impl Session {
    /// Starts a run in a new directory.
    pub fn start(config: Config, out: Option<&Path>, root: &Path) -> Result<Self> {
        limits::check(&config)?;
        let path = out.map_or_else(|| default_place(root, &config), |path| Ok(path.into()))?;
        RunWriter::refuse_occupied(&path)?;
        let mut training = training(&config)?;
        if let Some(path) = &config.start_from {
            start_from(path, &config, &mut training)?;
        }
        let card = config.scenario()?.card()?;
        let manifest = Manifest::new(&config.task, &config.algorithm, config.seed, card);
        let mut writer = RunWriter::create(path, &config.to_toml(), &manifest)?;
        writer.save_checkpoint(&mut snapshot(&training, &config))?;
        Ok(Self { training, writer, config })
    }

    /// Refuses a configuration that could not be trained, without training it.
    pub fn check(config: &Config) -> Result<()> {
        limits::check(config)?;
        training(config).map(drop)
    }

    /// Takes a run up at its newest checkpoint.
    pub fn resume(path: &Path) -> Result<Self> {
        // Locked before anything is read, so that no other process saves a newer state meanwhile.
        let mut writer = RunWriter::open(path)?;
        let config = read_config(writer.run())?;
        limits::check(&config)?;
        let checkpoint = writer.run().load_latest()?;
        let mut training = training(&config)?;
        training.load(&checkpoint)?;
        refuse_edited(&config, &checkpoint, writer.run())?;
        // The logs are cut back only once the checkpoint is known to fit.
        writer.go_back(&checkpoint)?;
        Ok(Self { training, writer, config })
    }

    /// Takes a training up where it stopped, or starts it; nothing where it is finished. A run of other
    /// settings is refused; how it is measured may differ.
    pub fn take_up(config: &Config, place: &Path) -> Result<Option<Self>> {
        let is_finished = place.join(files::MODEL).exists();
        let begun = is_finished || RunDir::open(place).is_ok_and(|run| run.has_checkpoint());
        if begun {
            refuse_other_settings(config, place)?;
        }
        match (is_finished, begun) {
            (true, _) => Ok(None),
            (false, true) => Self::resume(place).map(Some),
            // One that was killed before its first checkpoint is begun again.
            (false, false) => Self::start(config.clone(), Some(place), place).map(Some),
        }
    }

    /// The run as readers see it.
    pub fn run_dir(&self) -> &RunDir {
        self.writer.run()
    }

    /// Environment steps so far.
    pub fn steps(&self) -> u64 {
        self.training.steps()
    }

    /// Trains to the end, or until asked to stop.
    pub fn run(&mut self, watch: &mut dyn Watch) -> Result<End> {
        while !self.training.finished() {
            let round = self.training.round()?;
            if let Some(line) = &round.line {
                self.writer.append_metrics(line)?;
            }
            let steps = self.training.steps();
            watch.round(steps, round.line.as_ref());
            if watch.wants_model(steps) {
                watch.model(steps, &self.training.model())?;
            }
            let stop = watch.stop();
            if round.checkpoint || stop {
                let mut checkpoint = snapshot(&self.training, &self.config);
                refuse_diverged(&checkpoint)?;
                self.writer.save_checkpoint(&mut checkpoint)?;
            }
            if stop && !self.training.finished() {
                return Ok(End::Stopped);
            }
        }
        let mut model = self.training.model();
        refuse_diverged(&model)?;
        model.about = header(&self.config)?;
        self.writer.finish(&model)?;
        write_model_card(self.run_dir(), &self.config, self.steps())?;
        Ok(End::Finished)
    }
}

/// A training as it stands, and the settings it goes by.
fn snapshot<'t>(training: &'t Training, config: &Config) -> Checkpoint<'t> {
    let mut checkpoint = training.save();
    checkpoint.set(SETTINGS, config.to_toml());
    checkpoint
}

/// Refuses a configuration that was changed since the checkpoint was taken; older ones hold no settings.
fn refuse_edited(config: &Config, checkpoint: &Checkpoint<'_>, run: &RunDir) -> Result<()> {
    if checkpoint.state[SETTINGS].is_null() {
        return Ok(());
    }
    let text: String = checkpoint.entry(SETTINGS)?;
    let began = Config::parse(&text)
        .map_err(|message| Error::format(checkpoint.source(), None, message))?;
    let Some(difference) = config.difference(&began) else { return Ok(()) };
    let message =
        format!("{difference}, with which the training began: put it back, or train anew");
    Err(Error::format(run.path().join(files::CONFIG), None, message))
}

fn refuse_other_settings(config: &Config, place: &Path) -> Result<()> {
    let file = place.join(files::CONFIG);
    let text = std::fs::read_to_string(&file).map_err(Error::file(&file))?;
    let found = Config::parse(&text).map_err(|message| Error::format(&file, None, message))?;
    let Some(difference) = found.difference(config) else { return Ok(()) };
    Err(Error::Refused(format!(
        "{} was trained with other settings ({difference}): choose another folder with `--out DIR`, or remove it",
        place.display()
    )))
}

/// A loss is checked before its update only, so the last update of a round is checked here.
fn refuse_diverged(checkpoint: &Checkpoint) -> Result<()> {
    match checkpoint.not_finite() {
        None => Ok(()),
        Some((name, value)) => {
            Err(Error::Diverged { step: checkpoint.step, what: name.into(), value: value as f32 })
        }
    }
}

fn default_place(root: &Path, config: &Config) -> Result<PathBuf> {
    let task = format!("{}_{}", config.task, config.scenario()?.n_agents()?);
    Ok(RunDir::place(root, &task, &config.algorithm, config.seed))
}

/// The configuration of a run.
pub(super) fn read_config(run: &RunDir) -> Result<Config> {
    Config::parse(&run.config()?)
        .map_err(|message| Error::format(run.file(files::CONFIG), None, message))
}

/// Gives a training the weights of a run; where they do not fit, tells which settings make the difference.
fn start_from(path: &Path, config: &Config, training: &mut Training) -> Result<()> {
    let run = RunDir::open(path)?;
    training.learner_mut().load_model(&run.load_model()?).map_err(|error| {
        let refused = |reason| Error::setting("start_from", path.display(), reason);
        match read_config(&run) {
            Ok(other) if other.algorithm != config.algorithm => {
                refused(format!("was trained by {}, not by {}", other.algorithm, config.algorithm))
            }
            Ok(other) if other.task != config.task => {
                refused(format!("was trained for {}, not for {}", other.task, config.task))
            }
            Ok(other) => match fit::other_shape(&other, config) {
                list if list.is_empty() => error,
                list => refused(format!("does not fit: {error}; {}", list.join(", "))),
            },
            Err(_) => error,
        }
    })
}

/// A training at its start.
fn training(config: &Config) -> Result<Training> {
    let team = |part: teams::Part| {
        let environments = vectorise(&part.scenario, part.environments)?;
        Ok(Team::new(environments, part.plays))
    };
    let teams = teams::parts(config)?.into_iter().map(team).collect::<Result<Vec<_>>>()?;
    let views: Vec<_> = teams.iter().map(|team| team.environments.view()).collect();
    let start = Start {
        teams: &views,
        n_environments: config.training.environments,
        total_steps: config.training.total_steps,
        streams: Streams::new(config.seed),
    };
    let learner = config.algorithm()?.learner(&config.options, start)?;
    drop(views);
    Ok(Training::of_teams(&config.training, teams, learner, config.seed))
}
