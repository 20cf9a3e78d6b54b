//! `summary`: the mean front of several runs that differ in their seed only.

use super::{
    front_place::Coming,
    output::{OutputFormat, check_folder, print},
};
use crate::exit::ExitCode;
use crate::report;
use anyhow::{Context, bail, ensure};
use cgcmarl::{
    Model,
    evaluation::Front,
    run_dir::{RunDir, argument},
};
use clap::Args;
use std::{fs::canonicalize, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl summary runs/TASK_3/cg_cmarl/seed_*
  cgcmarl summary RUN OTHER THIRD --out mean --format json";

/// What `summary` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SummaryArgs {
    /// Run directories whose sweeps are averaged, point by point
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Where front.json, front.csv, front.svg and front.png of the mean go
    #[arg(long)]
    out: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Reads every run's front, averages and prints.
pub(crate) fn run(args: &SummaryArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| check_folder(place))?;
    refuse_repeated(&args.runs)?;
    let fronts = args
        .runs
        .iter()
        .map(|path| {
            let run = RunDir::open(path)?;
            run.front().with_context(|| format!("first sweep it: cgcmarl sweep {}", argument(path)))
        })
        .collect::<anyhow::Result<Vec<Front>>>()?;
    refuse_other_episodes(&args.runs, &fronts)?;
    if let Some(other) = fronts.iter().position(|front| front.environment != fronts[0].environment)
    {
        bail!(
            "{} and {} were measured in different environments",
            args.runs[0].display(),
            args.runs[other].display()
        );
    }
    let mean = Front::over_seeds(&fronts)
        .context("the runs were swept over different multipliers; sweep them alike first")?;
    if let Some(place) = &args.out {
        Coming::of(&mean, None).check(place)?;
        report::save_front_in(place, &mean, false)?;
    }
    match args.format {
        OutputFormat::Table => print(&report::table::front_table(&mean)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&mean)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// One run, or one model, counted twice would look like two seeds that agree.
fn refuse_repeated(runs: &[PathBuf]) -> anyhow::Result<()> {
    let places: Vec<PathBuf> =
        runs.iter().map(|run| canonicalize(run).unwrap_or_else(|_| run.clone())).collect();
    let models: Vec<Option<u32>> =
        runs.iter().map(|run| Model::open(run).ok().map(|model| model.fingerprint())).collect();
    for (index, run) in runs.iter().enumerate() {
        let is_same = |first: &usize| {
            places[*first] == places[index]
                || models[index].is_some() && models[*first] == models[index]
        };
        if let Some(first) = (0..index).find(is_same) {
            let (first, run) = (runs[first].display(), run.display());
            bail!("{first} and {run} are the same run: a mean needs runs with different seeds");
        }
    }
    Ok(())
}

/// A mean counts every seed alike, so that each must have been measured as well as the others.
fn refuse_other_episodes(runs: &[PathBuf], fronts: &[Front]) -> anyhow::Result<()> {
    let episodes = |front: &Front| front.points.first().map(|point| point.score.n_episodes);
    for (run, front) in runs.iter().zip(fronts) {
        if let (Some(first), Some(own)) = (episodes(&fronts[0]), episodes(front)) {
            let (shown, run) = (runs[0].display(), run.display());
            ensure!(first == own, "{shown} was swept over {first} episodes, {run} over {own}");
        }
    }
    Ok(())
}
