//! A run that may still be in training: its newest model, curves and front.

use crate::report::{data::run_data, metrics_file::MetricsFile};
use cgcmarl::{Model, Result, environment::Scenario, run_dir::files};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

/// The files whose change is news.
const NEWS: [&[&str]; 5] = [
    &[files::MODEL],
    &[files::CHECKPOINTS, files::LATEST],
    &[files::METRICS],
    &[files::FRONT_JSON],
    &[files::FRONT_CSV],
];

/// A run as it was last read.
pub(crate) struct Reading {
    /// Counts the readings.
    pub(crate) version: u64,
    /// Counts the models among them.
    pub(crate) model_version: u64,
    /// The newest model.
    pub(crate) model: Arc<Model>,
    /// The scenario it was trained in.
    pub(crate) scenario: Scenario,
    /// What a page shows of the run.
    pub(crate) data: Value,
    /// Whether the model plays in teams of another size too.
    pub(crate) any_team: bool,
    seen: Vec<String>,
}

/// A run that is read again whenever it changes.
pub(crate) struct Followed {
    path: PathBuf,
    reading: RwLock<Arc<Reading>>,
    metrics: Mutex<MetricsFile>,
}

impl Followed {
    /// Opens a run.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let seen = look(path);
        let model = Arc::new(Model::open(path)?);
        let mut metrics = MetricsFile::of(&model.run);
        let reading = read(model, seen, None, &mut metrics)?;
        let reading = RwLock::new(Arc::new(reading));
        Ok(Self { path: path.into(), reading, metrics: Mutex::new(metrics) })
    }

    /// The newest reading.
    pub(crate) fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.reading.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads again if something changed; what cannot be read now is read next time.
    pub(crate) fn refresh(&self) {
        let (old, seen) = (self.reading(), look(&self.path));
        if seen == old.seen {
            return;
        }
        // A checkpoint in training is large: it is read only when it is new.
        let model = if same_model(&old.seen, &seen) {
            Arc::clone(&old.model)
        } else {
            let Ok(model) = Model::open(&self.path) else { return };
            Arc::new(model)
        };
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(reading) = read(model, seen, Some(&old), &mut metrics) else { return };
        *self.reading.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(reading);
    }
}

fn read(
    model: Arc<Model>,
    seen: Vec<String>,
    old: Option<&Reading>,
    metrics: &mut MetricsFile,
) -> Result<Reading> {
    let kept = old.filter(|old| same_model(&old.seen, &seen));
    let version = old.map_or(1, |old| old.version + 1);
    let model_version = kept.map_or(version, |old| old.model_version);
    let scenario = model.scenario()?;
    let any_team = kept.map_or_else(|| transfers(&model, &scenario), |old| old.any_team);
    let data = run_data(&model, model.front().ok().as_ref(), metrics.curves())?;
    Ok(Reading { version, model_version, model, scenario, data, any_team, seen })
}

/// Whether the files of the model, which come first, have not changed.
fn same_model(old: &[String], new: &[String]) -> bool {
    old[..2] == new[..2]
}

/// Whether the model plays in a larger team.
fn transfers(model: &Model, scenario: &Scenario) -> bool {
    let larger = scenario.n_agents().and_then(|agents| scenario.with_agents(agents + 1));
    larger.is_ok_and(|larger| model.trained(&larger).is_ok())
}

/// Sizes and times of the files that matter.
fn look(path: &Path) -> Vec<String> {
    let stamp = |names: &&[&str]| match fs::metadata(path.join(names.iter().collect::<PathBuf>())) {
        Ok(found) => format!("{} {:?}", found.len(), found.modified().ok()),
        Err(_) => String::new(),
    };
    NEWS.iter().map(stamp).collect()
}
