//! `sweep`: the whole trade-off of one trained model.

use super::{
    conditions::Conditions,
    multiplier,
    output::{self, OutputFormat, print, remark},
};
use crate::exit::ExitCode;
use crate::report::{self, paper, table};
use cgcmarl::{
    Model,
    evaluation::{Front, grid},
    run::on_threads,
    run_dir::files,
};
use clap::Args;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl sweep RUN
  cgcmarl sweep RUN --multipliers 0,0.5,1 --episodes 2000 --format json
  cgcmarl sweep RUN --multipliers NAME=0,0.5,1 --multipliers OTHER=0,0.1   every combination
  cgcmarl sweep RUN agents=4 --out other           under other conditions, beside the run's front";

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

/// Sweeps, draws and prints.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| output::check_folder(place))?;
    let threads = output::threads(args.threads)?;
    let mut model = Model::open(&args.run)?;
    let mut config = args.conditions.apply(&model.config)?;
    model.act_as(&config);
    let scenario = config.scenario()?;
    if args.beside_paper {
        paper::check(&config.task)?;
    }
    if !args.multipliers.is_empty() {
        multiplier::refuse_baseline(&model, "--multipliers")?;
        multiplier::apply_lists(&args.multipliers, &scenario.spec()?, &mut config.evaluation)?;
    }
    config.evaluation.episodes = args.episodes.unwrap_or(config.evaluation.episodes);
    let front = on_threads(threads, || {
        model.sweep(&scenario, &config.evaluation, &mut |score| {
            remark(&format!("{} done", score.label));
        })
    })??;
    // A sweep under other conditions does not replace the run's own front.
    let place = match &args.out {
        None if args.conditions.is_unchanged() => Some(args.run.clone()),
        given => given.clone(),
    };
    if let Some(place) = &place {
        report::save_front_in(place, &front, args.beside_paper)?;
    }
    match args.format {
        OutputFormat::Table => print(&text(&front, place.as_deref(), args.beside_paper)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&front)?),
    }?;
    Ok(ExitCode::SUCCESS)
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
    report::save_front_in(path, &front, beside_paper)?;
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
