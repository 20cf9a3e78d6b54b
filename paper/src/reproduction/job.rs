//! One training of a plan and its episodes: started, taken up where it stopped, or left alone when done.

use super::{
    plan::{Job, Plan, team_folder},
    record::{Played, PlayedPoint},
};
use cgcmarl::{
    checkpoint::atomic,
    environment::{Scenario, simple_spread::layout::Layout},
    episode::{Acting, Controller},
    error::{Error, Result},
    evaluation::{EvaluationOptions, RandomPolicy, front::RANDOM, grid},
    run::{Config, End, Model, Session, Watch, episodes_of, named_multipliers},
    run_dir::unix_seconds,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Seconds between two notes of the time spent.
const NOTE_INTERVAL: f64 = 20.0;
const SECONDS: &str = "training_seconds.json";

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Trained and played.
    Done,
    /// It was asked to stop; what it did is saved.
    Stopped,
}

/// Trains what is not trained, plays what is not played.
pub fn run_job(plan: &Plan, job: &Job, folder: &Path, watch: &mut dyn Watch) -> Result<JobEnd> {
    let (place, config) = (job.place(folder), plan.config(job)?);
    if !place.join("model.safetensors").exists() || !is_same(&place, &config)? {
        let mut session = open_session(&place, &config)?;
        let mut timed = Timed::new(watch, place.join(SECONDS));
        let end = session.run(&mut timed);
        timed.note()?;
        if end? == End::Stopped {
            return Ok(JobEnd::Stopped);
        }
    }
    for layout in &plan.layouts {
        if is_played(&played_file(&place, *layout), plan) {
            continue;
        }
        let Some(points) = play_points(job, &place, *layout, watch)? else {
            return Ok(JobEnd::Stopped);
        };
        write_played(&place, *layout, &config.evaluation, points)?;
    }
    Ok(JobEnd::Done)
}

/// Plays the random policy and the oracle for a team, where they were not played yet.
pub fn run_reference(plan: &Plan, n_agents: usize, folder: &Path) -> Result<()> {
    let Some(row) = plan.rows.first() else { return Ok(()) };
    let place = team_folder(folder, n_agents).join("reference");
    for layout in &plan.layouts {
        if is_played(&played_file(&place, *layout), plan) {
            continue;
        }
        let config = plan.config(&Job { row, n_agents, seed: 1 })?;
        let scenario = with_layout(&config.scenario()?, *layout);
        let spec = scenario.spec()?;
        let play = |name: &str, controller: &mut dyn Controller| -> Result<PlayedPoint> {
            let episodes = episodes_of(&scenario, &config.evaluation, controller)?;
            Ok(PlayedPoint::of_episodes(name, None, &spec, &episodes))
        };
        let mut points = vec![play(RANDOM, &mut RandomPolicy::default())?];
        for mut reference in scenario.references()? {
            points.push(play(&reference.name, &mut Acting(reference.policy.as_mut()))?);
        }
        fs::create_dir_all(&place).map_err(Error::file(&place))?;
        write_played(&place, *layout, &config.evaluation, points)?;
    }
    Ok(())
}

/// The file of the episodes on one layout.
pub(super) fn played_file(place: &Path, layout: Layout) -> PathBuf {
    place.join(format!("played_{}.json", layout_name(layout)))
}

/// The name users write.
pub(super) fn layout_name(layout: Layout) -> String {
    serde_json::to_value(layout)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The same scenario with its landmarks elsewhere.
fn with_layout(scenario: &Scenario, layout: Layout) -> Scenario {
    let mut options = scenario.options().clone();
    options.insert("layout".into(), layout_name(layout).into());
    scenario.with_options(options)
}

/// What was played, where the file is there and whole.
pub(super) fn read_played(file: &Path) -> Option<Played> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

/// Seconds spent on training so far.
pub fn training_seconds(place: &Path) -> Option<f64> {
    let note: Value = serde_json::from_str(&fs::read_to_string(place.join(SECONDS)).ok()?).ok()?;
    note["seconds"].as_f64()
}

fn is_played(file: &Path, plan: &Plan) -> bool {
    let enough = |point: &PlayedPoint| point.n_episodes() == plan.episodes();
    read_played(file).is_some_and(|played| played.points.iter().all(enough))
}

/// Whether a run was made with this configuration; how it is measured may differ.
fn is_same(place: &Path, config: &Config) -> Result<bool> {
    let file = place.join("config.toml");
    let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
    let mut found = Config::parse(&text).map_err(|message| Error::format(&file, None, message))?;
    found.evaluation.clone_from(&config.evaluation);
    if found == *config {
        return Ok(true);
    }
    let steps = (found.training.total_steps, config.training.total_steps);
    let told = if steps.0 == steps.1 {
        String::new()
    } else {
        format!(" ({} steps, not {})", steps.0, steps.1)
    };
    Err(Error::Refused(format!(
        "{} was trained with other settings{told}: choose another folder with `--out DIR`, or remove it",
        place.display()
    )))
}

/// Takes a training up where it stopped, or starts it.
fn open_session(place: &Path, config: &Config) -> Result<Session> {
    let has_config = place.join("config.toml").exists();
    let latest = place.join("checkpoints").join("latest");
    if has_config && is_same(place, config)? && latest.exists() {
        return Session::resume(place);
    }
    // Killed before its first checkpoint: nothing is lost by starting again.
    if place.join("manifest.json").exists() {
        fs::remove_dir_all(place).map_err(Error::file(place))?;
    }
    Session::start(config.clone(), Some(place), place)
}

/// The episodes of every operating point; `None` when asked to stop meanwhile.
fn play_points(
    job: &Job,
    place: &Path,
    layout: Layout,
    watch: &dyn Watch,
) -> Result<Option<Vec<PlayedPoint>>> {
    let model = Model::open(place)?;
    let scenario = with_layout(&model.scenario()?, layout);
    let (options, spec) = (&model.config.evaluation, scenario.spec()?);
    let mut played = vec![];
    for mut point in model.operating_points(&scenario, &grid(options, &spec)?)? {
        if watch.stop() {
            return Ok(None);
        }
        let multiplier = named_multipliers(&spec, &point.multipliers).values().next().copied();
        let parameter = if multiplier.is_some() { &point.label } else { job.row.parameter };
        let episodes = episodes_of(&scenario, options, &mut Acting(point.policy.as_mut()))?;
        played.push(PlayedPoint::of_episodes(parameter, multiplier, &spec, &episodes));
    }
    Ok(Some(played))
}

fn write_played(
    place: &Path,
    layout: Layout,
    options: &EvaluationOptions,
    points: Vec<PlayedPoint>,
) -> Result<()> {
    let file = played_file(place, layout);
    let played = Played { layout: layout_name(layout), start_seed: options.start_seed, points };
    let text = serde_json::to_string(&played)
        .map_err(|error| Error::format(&file, None, error.to_string()))?;
    atomic::write(&file, (text + "\n").as_bytes())
}

/// Keeps account of the seconds that a training takes, over interruptions.
struct Timed<'a> {
    watch: &'a mut dyn Watch,
    file: PathBuf,
    before: f64,
    started: f64,
    noted: f64,
}

impl<'a> Timed<'a> {
    fn new(watch: &'a mut dyn Watch, file: PathBuf) -> Self {
        let before = file.parent().and_then(training_seconds).unwrap_or_default();
        let now = unix_seconds();
        Self { watch, file, before, started: now, noted: now }
    }

    fn note(&mut self) -> Result<()> {
        self.noted = unix_seconds();
        let seconds = self.before + self.noted - self.started;
        atomic::write(&self.file, format!("{}\n", json!({"seconds": seconds})).as_bytes())
    }
}

impl Watch for Timed<'_> {
    fn round(&mut self, steps: u64, line: Option<&Value>) {
        self.watch.round(steps, line);
        if unix_seconds() - self.noted > NOTE_INTERVAL {
            // A note that fails is made again; the last one reports its failure.
            let _ = self.note();
        }
    }

    fn stop(&self) -> bool {
        self.watch.stop()
    }
}
