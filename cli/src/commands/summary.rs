//! `summary`: the mean front of several runs that differ in their seed only.

use super::output::{OutputFormat, check_folder, print};
use crate::exit::ExitCode;
use crate::report;
use anyhow::{Context, bail};
use cgcmarl::{evaluation::Front, run_dir::RunDir};
use clap::Args;
use std::{fs::canonicalize, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl summary runs/TASK/cg_cmarl/seed_*
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
            run.front().with_context(|| format!("first sweep it: cgcmarl sweep {}", path.display()))
        })
        .collect::<anyhow::Result<Vec<Front>>>()?;
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
        report::save_front_in(place, &mean, false)?;
    }
    match args.format {
        OutputFormat::Table => print(&report::table::front_table(&mean)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&mean)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// One run counted twice would look like two seeds that agree.
fn refuse_repeated(runs: &[PathBuf]) -> anyhow::Result<()> {
    let places: Vec<PathBuf> =
        runs.iter().map(|run| canonicalize(run).unwrap_or_else(|_| run.clone())).collect();
    for (index, run) in runs.iter().enumerate() {
        if let Some(first) = places[..index].iter().position(|place| *place == places[index]) {
            let (first, run) = (runs[first].display(), run.display());
            bail!("{first} and {run} are the same run: a mean needs runs with different seeds");
        }
    }
    Ok(())
}
