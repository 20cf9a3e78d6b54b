//! One training of a plan and its episodes: started, taken up where it stopped, or left alone when done.

use super::{
    arm::Arm,
    curve::Curve,
    greedy::{Follower, Looks},
    plan::{Job, Plan, layout_name, reference_scenario},
    row_file::{PlayedLayout, PlayedPoint, REFERENCE, RowResult, Timing},
    settings::{self, difference},
};
use cgcmarl::{
    environment::{Scenario, simple_spread::layout::Layout},
    episode::{Acting, Controller},
    error::{Error, Result},
    evaluation::{EvaluationOptions, Named, RandomPolicy, front::RANDOM, grid},
    run::{Config, End, Model, Session, Watch, episodes_of, named_multipliers},
    run_dir::{Machine, RunDir, files},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Seed of the start states that tables and figures are about.
pub const REPORT_STARTS: u64 = 2_026_181;
/// Seed of the start states on which a trade-off is chosen.
pub const SELECTION_STARTS: u64 = 2_026_182;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Trained and played.
    Done,
    /// It was asked to stop; what it did is saved.
    Stopped,
}

/// Where a reproduction keeps what.
#[derive(Clone, Debug)]
pub struct Places {
    /// Rows, tables and figures.
    pub out: PathBuf,
    /// Run directories.
    pub runs: PathBuf,
    /// Another reproduction, whose rows count as done here too.
    pub known: Option<PathBuf>,
}

impl Places {
    /// Everything in one folder.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        let out = out.into();
        Self { runs: out.join("runs"), out, known: None }
    }
}

/// Whether a row file tells all that the plan asks of a job, so that nothing needs training.
pub fn is_done(plan: &Plan, job: &Job, places: &Places) -> bool {
    let is_known = |folder: &PathBuf| {
        reached(plan, job, folder).is_ok_and(|reached| is_enough(plan, job, &reached))
    };
    is_known(&places.out) || places.known.as_ref().is_some_and(is_known)
}

/// Trains what is not trained, plays what is not played, and leaves the row's file; again for longer
/// where the plan asks for it.
pub fn run_job(plan: &Plan, job: &Job, places: &Places, watch: &mut dyn Watch) -> Result<JobEnd> {
    let mut now = reached(plan, job, &places.out)?;
    let known = places.known.as_ref().and_then(|folder| reached(plan, job, folder).ok());
    if let Some(known) = known.filter(|known| is_complete(&known.row, plan))
        && (known.number > now.number || !is_complete(&now.row, plan))
    {
        known.row.write(&places.out)?;
        now = known;
    }
    while !is_enough(plan, job, &now) {
        if is_complete(&now.row, plan) {
            let number = now.number + 1;
            let config = plan.config_of(job, plan.lengths(job)[number])?;
            now = Reached { number, row: new_row(job, &config)?, config };
        }
        let place = job.place_of(&places.runs, now.number, now.row.steps);
        if !complete(plan, job, &place, &mut now, watch)? {
            return Ok(JobEnd::Stopped);
        }
        now.row.write(&places.out)?;
        // What only going on needs is large, and nobody goes on from here.
        let _ = fs::remove_dir_all(place.join(files::CHECKPOINTS));
    }
    Ok(JobEnd::Done)
}

/// One of the trainings of a job, and what is known of it.
struct Reached {
    /// Which of [`Plan::lengths`].
    number: usize,
    config: Config,
    row: RowResult,
}

/// The training that a folder tells of; the first one, of which nothing is known, where it tells of
/// none.
fn reached(plan: &Plan, job: &Job, folder: &Path) -> Result<Reached> {
    let mut refused = None;
    for (number, steps) in plan.lengths(job).into_iter().enumerate() {
        let config = plan.config_of(job, steps)?;
        match known_row(job, &config, folder) {
            Ok(row) => return Ok(Reached { number, config, row }),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| Error::Refused(format!("{} has no training", job.name()))))
}

/// Whether a training is complete, and none that is longer is asked for.
fn is_enough(plan: &Plan, job: &Job, Reached { number, row, .. }: &Reached) -> bool {
    let is_last = number + 1 == plan.lengths(job).len();
    is_complete(row, plan) && (is_last || row.greedy.has_converged())
}

/// Trains and plays what a row lacks; whether nobody asked to stop meanwhile.
fn complete(
    plan: &Plan,
    job: &Job,
    place: &Path,
    Reached { config, row, .. }: &mut Reached,
    watch: &mut dyn Watch,
) -> Result<bool> {
    if train(place, config, watch)? == End::Stopped {
        return Ok(false);
    }
    let model = Model::open(place)?;
    row.trained = model.steps;
    if !is_long_enough(row) {
        return Err(other_settings(place, &format!("it ended after {} steps", row.trained)));
    }
    row.budget = plan.budget.name().into();
    row.curve = Curve::of_lines(&RunDir::open(place)?.metrics()?, job.n_agents);
    let looks = Looks::read(place)?;
    row.timing = Timing { processor: Machine::here().cpu, cpu_seconds: looks.cpu_seconds };
    row.greedy = looks.curve;
    for layout in missing(row, plan) {
        let options = report_options(plan, config, layout);
        let Some(points) = play_points(job, &model, layout, &options, watch)? else {
            return Ok(false);
        };
        row.put(played(layout, &options, points));
    }
    let options = selection_options(plan, config);
    let Some(points) = play_points(job, &model, Layout::Random, &options, watch)? else {
        return Ok(false);
    };
    row.selection = Some(played(Layout::Random, &options, points));
    Ok(true)
}

/// Plays the random policy and the oracle for a team, where they were not played yet.
pub fn run_reference(plan: &Plan, arm: Arm, n_agents: usize, places: &Places) -> Result<()> {
    let (arm, scenario) = (arm.of_references(), reference_scenario(arm, n_agents)?);
    let settings = settings::of_references(&scenario)?;
    let mut row = RowResult::new((arm, REFERENCE), (n_agents, 0), &scenario, settings)?;
    for folder in [Some(&places.out), places.known.as_ref()].into_iter().flatten() {
        if let Ok(known) = RowResult::read(&row.place(folder))
            && difference(&known.settings, &row.settings, None)?.is_none()
        {
            row = known;
            break;
        }
    }
    let config = Config::resolve(None, &[])?;
    for layout in missing(&row, plan) {
        let options = report_options(plan, &config, layout);
        let points = play_references(&with_layout(&scenario, layout), &options)?;
        row.put(played(layout, &options, points));
    }
    row.write(&places.out)
}

/// The row as its file tells it, or one of which nothing was played; a file that cannot be read is
/// made anew, one of other settings is never replaced.
fn known_row(job: &Job, config: &Config, folder: &Path) -> Result<RowResult> {
    let row = new_row(job, config)?;
    let file = row.place(folder);
    let Ok(known) = RowResult::read(&file) else { return Ok(row) };
    match difference(&known.settings, &row.settings, Some(config))? {
        None => Ok(known),
        Some(difference) => Err(other_settings(&file, &difference)),
    }
}

/// A row of which nothing was played.
fn new_row(job: &Job, config: &Config) -> Result<RowResult> {
    let settings = settings::of_training(config)?;
    let whose = (job.row.arm, job.row.name.as_str());
    let mut row = RowResult::new(whose, (job.n_agents, job.seed), &config.scenario()?, settings)?;
    row.steps = config.training.total_steps;
    Ok(row)
}

fn other_settings(place: &Path, difference: &str) -> Error {
    Error::Refused(format!(
        "{} was trained with other settings ({difference}): choose another folder with `--out DIR`, or remove it",
        place.display()
    ))
}

fn missing(row: &RowResult, plan: &Plan) -> Vec<Layout> {
    let wanted = |layout: Layout| (plan.episodes_on(layout), REPORT_STARTS);
    let is_missing = |layout: &&Layout| !row.has_played(&layout_name(**layout), wanted(**layout));
    plan.layouts.iter().filter(is_missing).copied().collect()
}

/// Whether a row came out the same again but for the times: every number, and every setting once keys
/// that are newer than a file stand for their defaults.
pub fn same_again(plan: &Plan, known: &RowResult, again: &RowResult) -> Result<bool> {
    let config = plan.jobs().first().map(|job| plan.config(job)).transpose()?;
    let settings = difference(&known.settings, &again.settings, config.as_ref())?;
    let retold = RowResult {
        version: again.version.clone(),
        budget: again.budget.clone(),
        config: again.config.clone(),
        settings: again.settings.clone(),
        ..known.without_timing()
    };
    Ok(settings.is_none() && retold == again.without_timing())
}

/// Whether its training went on until its steps were done.
fn is_long_enough(row: &RowResult) -> bool {
    row.trained >= row.steps
}

fn is_complete(row: &RowResult, plan: &Plan) -> bool {
    let wanted = (plan.episodes_of_selection(), SELECTION_STARTS);
    let selection = row.selection.as_ref();
    missing(row, plan).is_empty()
        && is_long_enough(row)
        && selection.is_some_and(|played| played.has_played(wanted.0, wanted.1))
}

fn train(place: &Path, config: &Config, watch: &mut dyn Watch) -> Result<End> {
    let Some(mut session) = Session::take_up(config, place)? else { return Ok(End::Finished) };
    let steps = session.steps();
    session.run(&mut Follower::new(watch, place, config, steps)?)
}

/// The same scenario with its landmarks elsewhere.
fn with_layout(scenario: &Scenario, layout: Layout) -> Scenario {
    let mut options = scenario.options().clone();
    options.insert("layout".into(), layout_name(layout).into());
    scenario.with_options(options)
}

fn report_options(plan: &Plan, config: &Config, layout: Layout) -> EvaluationOptions {
    let episodes = plan.episodes_on(layout);
    EvaluationOptions { episodes, start_seed: REPORT_STARTS, ..config.evaluation.clone() }
}

fn selection_options(plan: &Plan, config: &Config) -> EvaluationOptions {
    let episodes = plan.episodes_of_selection();
    EvaluationOptions { episodes, start_seed: SELECTION_STARTS, ..config.evaluation.clone() }
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
        let parameter = if multipliers.is_empty() { &job.row.parameter } else { &point.label };
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
