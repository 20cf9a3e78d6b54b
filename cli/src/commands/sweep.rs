//! `sweep`: the whole trade-off of one trained model.

use super::{
    conditions::Conditions,
    front_place::{Coming, is_less, kept},
    merge::{PartArgs, Wanted},
    multiplier,
    output::{self, OutputFormat, check_writable, print, remark},
};
use crate::exit::ExitCode;
use crate::report::{self, paper, table};
use anyhow::{Context, anyhow};
use cgcmarl::{
    Config, Model,
    environment::Scenario,
    evaluation::{Front, grid},
    run::{on_threads, write_model_card},
    run_dir::files,
};
use clap::{Args, Parser};
use std::{
    fmt::Write as _,
    ops::Range,
    path::{Path, PathBuf},
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl sweep RUN
  cgcmarl sweep RUN --multipliers 0,0.5,1 --episodes 2000 --format json
  cgcmarl sweep RUN --multipliers NAME=0,0.5,1 --multipliers OTHER=0,0.1   every combination
  cgcmarl sweep RUN agents=4 --out other           under other conditions, beside the run's front
  cgcmarl sweep RUN --episode-range 0..250 --part a.json   a part of it, for `merge`

A sweep under the run's own conditions replaces the run's front and its card, unless it has fewer
points or episodes than that front; --out puts the front elsewhere.";

/// What `sweep` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The run directory
    run: PathBuf,
    #[command(flatten)]
    conditions: Conditions,
    /// Multipliers to try, separated by commas: for all constraints together, or NAME=… for one of
    /// them, once for each, for every combination [default: the run's]
    #[arg(long, value_name = "λ,λ,…", allow_hyphen_values = true)]
    multipliers: Vec<String>,
    /// Episodes per point [default: the run's]
    #[arg(long)]
    episodes: Option<usize>,
    #[command(flatten)]
    part: PartArgs,
    /// Where front.json, front.csv, front.svg and front.png go [default: the run]
    #[arg(long, conflicts_with = "part")]
    out: Option<PathBuf>,
    /// Print and draw what the paper prints beside it, where the task is the paper's
    #[arg(long, conflicts_with = "part")]
    beside_paper: bool,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The words of a sweep, as a job holds them.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: SweepArgs,
}

impl SweepArgs {
    /// What a job must say: the run, its conditions, multipliers and episodes.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec![self.run.display().to_string()];
        words.extend(self.conditions.words());
        words.extend(self.multipliers.iter().map(|list| format!("--multipliers={list}")));
        words.extend(self.episodes.map(|episodes| format!("--episodes={episodes}")));
        words
    }

    /// The folder of the results, where one is given.
    pub(super) fn out(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// Refuses what cannot be swept; tells how many episodes there are.
    pub(super) fn check(&self) -> anyhow::Result<usize> {
        let (_, config) = self.prepare()?;
        Ok(config.evaluation.episodes)
    }

    /// The model and the configuration under which it is swept.
    fn prepare(&self) -> anyhow::Result<(Model, Config)> {
        let mut model = Model::open(&self.run)?;
        let mut config = self.conditions.apply(&model.config)?;
        model.act_as(&config)?;
        if self.beside_paper {
            paper::check(&config.task)?;
        }
        let spec = config.scenario()?.spec()?;
        if !self.multipliers.is_empty() {
            multiplier::refuse_baseline(&model, "--multipliers")?;
            multiplier::apply_lists(&self.multipliers, &spec, &mut config.evaluation)?;
        }
        self.conditions.set_episodes(self.episodes, &mut config)?;
        config.evaluation.check(&spec)?;
        Ok((model, config))
    }

    /// Plays some of the episodes into a file, where only some are asked for.
    fn part_played(
        &self,
        model: &Model,
        config: &Config,
        threads: usize,
    ) -> anyhow::Result<Option<ExitCode>> {
        let scenario = config.scenario()?;
        let points = grid(&config.evaluation, &scenario.spec()?)?;
        let range = self.part.range(&wanted(model, config, &scenario, &points))?;
        let Some(range) = range else { return Ok(None) };
        let play = || model.sweep_part(&scenario, &config.evaluation, range);
        self.part.write(&on_threads(threads, play)??).map(Some)
    }
}

/// Plays some episodes of a sweep into a file; tells whether it had to.
pub(super) fn play_part(
    words: &[String],
    episodes: &Range<usize>,
    file: &Path,
    threads: usize,
) -> anyhow::Result<bool> {
    let words = std::iter::once("sweep").chain(words.iter().map(String::as_str));
    let mut args = Words::try_parse_from(words).map_err(|error| anyhow!("{error}"))?.args;
    args.part = PartArgs::new(episodes, file);
    let (model, config) = args.prepare()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), std::fs::create_dir_all).with_context(|| file.display().to_string())?;
    let scenario = config.scenario()?;
    let points = grid(&config.evaluation, &scenario.spec()?)?;
    if wanted(&model, &config, &scenario, &points).is_in(file, episodes)? {
        return Ok(false);
    }
    args.part_played(&model, &config, threads)?;
    Ok(true)
}

/// The sweep of which a part may be played.
fn wanted<'a>(
    model: &'a Model,
    config: &'a Config,
    scenario: &'a Scenario,
    points: &'a [Vec<f32>],
) -> Wanted<'a> {
    Wanted { model, scenario, options: &config.evaluation, points, is_sweep: true }
}

/// Sweeps, draws and prints.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let (model, config) = args.prepare()?;
    let scenario = config.scenario()?;
    if let Some(code) = args.part_played(&model, &config, threads)? {
        return Ok(code);
    }
    let place = place(args, &model, &config)?;
    let front = on_threads(threads, || {
        model.sweep(&scenario, &config.evaluation, &mut |score| {
            remark(&format!("{} done", score.label));
        })
    })??;
    if place.as_ref().is_some_and(|place| is_same(place, &args.run)) {
        save_front_of(&model, &front, args.beside_paper)?;
    } else if let Some(place) = &place {
        report::save_front_in(place, &front, args.beside_paper)?;
    }
    print_front(&front, place.as_deref(), args.beside_paper, args.format)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the front of a sweep goes: one under other conditions, or of less, does not replace the run's own.
fn place(args: &SweepArgs, model: &Model, config: &Config) -> anyhow::Result<Option<PathBuf>> {
    let (scenario, extent) = (config.scenario()?, extent(model, config)?);
    if let Some(folder) = &args.out {
        let coming = Coming {
            model: Some(model.fingerprint()),
            task: &config.task,
            algorithm: &config.algorithm,
            environment: &scenario.card()?,
            extent,
        };
        coming.check(folder)?;
        return Ok(Some(folder.clone()));
    }
    if !args.conditions.is_unchanged() {
        return Ok(None);
    }
    match model.front().map(|earlier| earlier.extent()) {
        Ok(earlier) if is_less(extent, earlier) => {
            remark(&kept(&args.run, earlier, extent));
            Ok(None)
        }
        _ => check_writable(&args.run).map(|()| Some(args.run.clone())),
    }
}

/// Points of a sweep, and episodes of each.
fn extent(model: &Model, config: &Config) -> anyhow::Result<(usize, usize)> {
    let (spec, options) = (config.scenario()?.spec()?, &config.evaluation);
    let n_points = if model.has_multipliers()? { grid(options, &spec)?.len() } else { 1 };
    Ok((n_points, options.episodes))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|o| o == one))
}

/// Puts a front into the model's own run, with a card that tells it; says so where another was there.
fn save_front_of(model: &Model, front: &Front, beside_paper: bool) -> anyhow::Result<()> {
    let path = model.run.path();
    if model.front().is_ok_and(|earlier| earlier != *front) {
        let shown = path.display();
        remark(&format!("the earlier front of {shown} is replaced; --out DIR leaves it as it is"));
    }
    report::save_front_in(path, front, beside_paper)?;
    Ok(write_model_card(&model.run, &model.config, model.steps)?)
}

/// Prints a front, and where it was put.
pub(super) fn print_front(
    front: &Front,
    place: Option<&Path>,
    beside_paper: bool,
    format: OutputFormat,
) -> anyhow::Result<()> {
    match format {
        OutputFormat::Table => print(&text(front, place, beside_paper)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(front)?),
    }
}

/// Whether the front of a run has more points or episodes than its configuration says.
pub(super) fn has_more_than_configured(path: &Path) -> anyhow::Result<bool> {
    let model = Model::open(path)?;
    let configured = extent(&model, &model.config)?;
    Ok(model.front().is_ok_and(|front| is_less(configured, front.extent())))
}

/// Sweeps a finished run as its configuration says, and prints the table.
pub(crate) fn sweep_and_save(path: &Path, beside_paper: bool, quiet: bool) -> anyhow::Result<()> {
    let model = Model::open(path)?;
    let (scenario, options) = (model.scenario()?, &model.config.evaluation);
    if !quiet && model.has_multipliers()? {
        let n_points = grid(options, &scenario.spec()?)?.len();
        remark(&format!("sweeping {n_points} trade-offs over {} episodes each", options.episodes));
    } else if !quiet {
        remark(&format!("scoring over {} episodes", options.episodes));
    }
    let front = model.sweep(&scenario, options, &mut |_| {})?;
    save_front_of(&model, &front, beside_paper)?;
    print(&text(&front, Some(path), beside_paper))?;
    sweep_other_teams(&model, path, quiet)
}

/// Sweeps the smaller teams that learned together with a run's own: each front goes into a folder of
/// its own, and a table tells what every team reaches.
fn sweep_other_teams(model: &Model, path: &Path, quiet: bool) -> anyhow::Result<()> {
    let (scenario, config) = (model.scenario()?, &model.config);
    let own = scenario.n_agents()?;
    let mut fronts = Vec::new();
    for &agents in config.training.teams.iter().filter(|&&agents| agents != own) {
        if !quiet {
            remark(&format!("sweeping teams of {agents}"));
        }
        let team = scenario.with_agents(agents)?;
        let front = model.sweep(&team, &config.evaluation, &mut |_| {})?;
        report::save_front_in(&path.join(files::TEAMS).join(agents.to_string()), &front, false)?;
        fronts.push(front);
    }
    if fronts.is_empty() { Ok(()) } else { print(&table::teams_table(&fronts)) }
}

fn text(front: &Front, place: Option<&Path>, beside_paper: bool) -> String {
    let mut text = table::front_table(front);
    if beside_paper {
        let _ = write!(text, "\n{}", paper::table(front.n_agents));
    }
    if let Some(place) = place {
        let _ =
            writeln!(text, "\nThe front is drawn in {}", place.join(files::FRONT_PNG).display());
    }
    text
}
