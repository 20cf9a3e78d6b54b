//! `sweep`: the whole trade-off of one trained model.

use super::{
    conditions::Conditions,
    merge::PartArgs,
    multiplier,
    output::{self, OutputFormat, print, remark},
};
use crate::exit::ExitCode;
use crate::report::{self, paper, table};
use anyhow::{Context, anyhow};
use cgcmarl::{
    Config, Model,
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
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print and draw what the paper prints beside it, where the task is the paper's
    #[arg(long)]
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
        config.evaluation.episodes = self.episodes.unwrap_or(config.evaluation.episodes);
        config.evaluation.check(&spec)?;
        Ok((model, config))
    }
}

/// Plays some episodes of a sweep into a file.
pub(super) fn play_part(
    words: &[String],
    episodes: &Range<usize>,
    file: &Path,
    threads: usize,
) -> anyhow::Result<()> {
    let words = std::iter::once("sweep").chain(words.iter().map(String::as_str));
    let mut args = Words::try_parse_from(words).map_err(|error| anyhow!("{error}"))?.args;
    args.part = PartArgs::new(episodes, file);
    let (model, config) = args.prepare()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), std::fs::create_dir_all).with_context(|| file.display().to_string())?;
    let Some(range) = args.part.range(config.evaluation.episodes)? else { return Ok(()) };
    let scenario = config.scenario()?;
    let play = || model.sweep_part(&scenario, &config.evaluation, range);
    args.part.write(&on_threads(threads, play)??).map(drop)
}

/// Sweeps, draws and prints.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| output::check_folder(place))?;
    let threads = output::threads(args.threads)?;
    let (model, config) = args.prepare()?;
    let scenario = config.scenario()?;
    if let Some(range) = args.part.range(config.evaluation.episodes)? {
        let play = || model.sweep_part(&scenario, &config.evaluation, range);
        return args.part.write(&on_threads(threads, play)??);
    }
    let front = on_threads(threads, || {
        model.sweep(&scenario, &config.evaluation, &mut |score| {
            remark(&format!("{} done", score.label));
        })
    })??;
    let place = place(args, &model, &front);
    if place.as_ref() == Some(&args.run) {
        save_front_of(&model, &front, args.beside_paper)?;
    } else if let Some(place) = &place {
        report::save_front_in(place, &front, args.beside_paper)?;
    }
    print_front(&front, place.as_deref(), args.beside_paper, args.format)?;
    Ok(ExitCode::SUCCESS)
}

/// Where a front goes: a sweep under other conditions, or of less, does not replace the run's own.
fn place(args: &SweepArgs, model: &Model, front: &Front) -> Option<PathBuf> {
    if args.out.is_some() || !args.conditions.is_unchanged() {
        return args.out.clone();
    }
    let extent = |front: &Front| {
        (front.points.len(), front.points.first().map_or(0, |p| p.score.n_episodes))
    };
    let (points, episodes) = model.front().map_or((0, 0), |own| extent(&own));
    let (new_points, new_episodes) = extent(front);
    if new_points < points || new_episodes < episodes {
        let shown = args.run.display();
        remark(&format!(
            "{shown} keeps its front of {points} points with {episodes} episodes each; --out DIR saves this one of {new_points} with {new_episodes}"
        ));
        return None;
    }
    Some(args.run.clone())
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
