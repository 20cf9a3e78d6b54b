//! One training of a plan and its episodes: started, taken up where it stopped, or left alone when done.

use super::{
    curve::Curve,
    plan::{Job, Plan, layout_name, reference_scenario},
    row_file::{PlayedLayout, PlayedPoint, REFERENCE, RowResult, digest, scenario_digest},
};
use cgcmarl::{
    checkpoint::atomic,
    environment::{Scenario, simple_spread::layout::Layout},
    episode::{Acting, Controller},
    error::{Error, Result},
    evaluation::{EvaluationOptions, Named, RandomPolicy, front::RANDOM, grid},
    run::{Config, End, Model, Session, Watch, episodes_of, named_multipliers},
    run_dir::{RunDir, files, unix_seconds},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Seconds between two notes of the time spent.
const NOTE_INTERVAL: f64 = 20.0;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Trained and played.
    Done,
    /// It was asked to stop; what it did is saved.
    Stopped,
}

/// Whether the row file of a job tells all that the plan asks for, so that nothing needs training.
pub fn is_done(plan: &Plan, job: &Job, folder: &Path) -> bool {
    let config = plan.config(job);
    let row = config.and_then(|config| known_row(job, &config, folder));
    row.is_ok_and(|row| is_complete(&row, plan))
}

/// Trains what is not trained, plays what is not played, and leaves the row's file.
pub fn run_job(plan: &Plan, job: &Job, folder: &Path, watch: &mut dyn Watch) -> Result<JobEnd> {
    let (place, config) = (job.place(folder), plan.config(job)?);
    let mut row = known_row(job, &config, folder)?;
    if is_complete(&row, plan) {
        return Ok(JobEnd::Done);
    }
    if train(&place, &config, watch)? == End::Stopped {
        return Ok(JobEnd::Stopped);
    }
    row.curve = Curve::of_lines(&RunDir::open(&place)?.metrics()?, job.n_agents);
    let model = Model::open(&place)?;
    for layout in missing(&row, plan) {
        let Some(points) = play_points(job, &model, layout, &config.evaluation, watch)? else {
            return Ok(JobEnd::Stopped);
        };
        row.put(played(layout, &config.evaluation, points));
        row.write(folder)?;
    }
    Ok(JobEnd::Done)
}

/// Plays the random policy and the oracle for a team, where they were not played yet.
pub fn run_reference(plan: &Plan, n_agents: usize, folder: &Path) -> Result<()> {
    let scenario = reference_scenario(n_agents)?;
    let mut row = RowResult::new(REFERENCE, n_agents, 0, &scenario)?;
    row.config = scenario_digest(&scenario)?;
    if let Ok(known) = RowResult::read(&row.place(folder))
        && known.config == row.config
    {
        row = known;
    }
    let options = EvaluationOptions { episodes: plan.episodes(), ..EvaluationOptions::default() };
    for layout in missing(&row, plan) {
        let points = play_references(&with_layout(&scenario, layout), &options)?;
        row.put(played(layout, &options, points));
        row.write(folder)?;
    }
    Ok(())
}

/// Seconds spent on training so far.
pub fn training_seconds(place: &Path) -> Option<f64> {
    let note: Value =
        serde_json::from_str(&fs::read_to_string(place.join(files::TRAINING_SECONDS)).ok()?)
            .ok()?;
    note["seconds"].as_f64()
}

/// The row as its file tells it, or one of which nothing was played; a file that cannot be read is
/// made anew, one of other settings is never replaced.
fn known_row(job: &Job, config: &Config, folder: &Path) -> Result<RowResult> {
    let mut row = RowResult::new(job.row.name, job.n_agents, job.seed, &config.scenario()?)?;
    (row.steps, row.config) = (config.training.total_steps, digest(config));
    let file = row.place(folder);
    let Ok(known) = RowResult::read(&file) else { return Ok(row) };
    if known.config != row.config {
        return Err(other_settings(&file, known.steps, row.steps));
    }
    Ok(known)
}

fn other_settings(place: &Path, found: u64, wanted: u64) -> Error {
    let steps =
        if found == wanted { String::new() } else { format!(" ({found} steps, not {wanted})") };
    Error::Refused(format!(
        "{} was trained with other settings{steps}: choose another folder with `--out DIR`, or remove it",
        place.display()
    ))
}

fn missing(row: &RowResult, plan: &Plan) -> Vec<Layout> {
    let is_missing = |layout: &&Layout| !row.has_played(&layout_name(**layout), plan.episodes());
    plan.layouts.iter().filter(is_missing).copied().collect()
}

fn is_complete(row: &RowResult, plan: &Plan) -> bool {
    missing(row, plan).is_empty()
}

fn train(place: &Path, config: &Config, watch: &mut dyn Watch) -> Result<End> {
    let Some(mut session) = Session::take_up(config, place)? else { return Ok(End::Finished) };
    let mut timed = Timed::new(watch, place.join(files::TRAINING_SECONDS));
    let end = session.run(&mut timed);
    timed.note()?;
    end
}

/// The same scenario with its landmarks elsewhere.
fn with_layout(scenario: &Scenario, layout: Layout) -> Scenario {
    let mut options = scenario.options().clone();
    options.insert("layout".into(), layout_name(layout).into());
    scenario.with_options(options)
}

fn played(layout: Layout, options: &EvaluationOptions, points: Vec<PlayedPoint>) -> PlayedLayout {
    PlayedLayout { layout: layout_name(layout), start_seed: options.start_seed, points }
}

/// The episodes of every operating point; `None` when asked to stop meanwhile.
fn play_points(
    job: &Job,
    model: &Model,
    layout: Layout,
    options: &EvaluationOptions,
    watch: &dyn Watch,
) -> Result<Option<Vec<PlayedPoint>>> {
    let scenario = with_layout(&model.scenario()?, layout);
    let spec = scenario.spec()?;
    let mut played = vec![];
    for mut point in model.operating_points(&scenario, &grid(options, &spec)?)? {
        if watch.stop() {
            return Ok(None);
        }
        let multipliers = named_multipliers(&spec, &point.multipliers);
        let parameter = if multipliers.is_empty() { job.row.parameter } else { &point.label };
        let episodes = episodes_of(&scenario, options, &mut Acting(point.policy.as_mut()))?;
        let point =
            PlayedPoint::of_episodes(parameter, &point.label, multipliers, &spec, &episodes);
        played.push(point);
    }
    Ok(Some(played))
}

fn play_references(scenario: &Scenario, options: &EvaluationOptions) -> Result<Vec<PlayedPoint>> {
    let spec = scenario.spec()?;
    let play = |name: &str, controller: &mut dyn Controller| -> Result<PlayedPoint> {
        let episodes = episodes_of(scenario, options, controller)?;
        Ok(PlayedPoint::of_episodes(name, name, Named::default(), &spec, &episodes))
    };
    let mut points = vec![play(RANDOM, &mut RandomPolicy::default())?];
    for mut reference in scenario.references()? {
        points.push(play(&reference.name, &mut Acting(reference.policy.as_mut()))?);
    }
    Ok(points)
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
