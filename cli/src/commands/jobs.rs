//! `jobs`: trainings, rows of a reproduction or parts of a sweep for any scheduler, one line each.

use super::{
    config::resolve, job::Line, output::print, reproduce::ReproduceArgs, sweep::SweepArgs,
};
use crate::exit::ExitCode;
use anyhow::{Context, bail, ensure};
use cgcmarl::{Error, run::Session};
use clap::{Args, Subcommand};
use std::{collections::BTreeMap, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl jobs --over seed=1,2,3 --over agents=3,6 --out grid > jobs.jsonl
  cgcmarl jobs --over algorithm=cg_cmarl,iql --over seed=1,2 task=NAME total_steps=100000 --out grid
  cgcmarl jobs reproduce --budget standard --agents 3,4 --seeds 2 --out reproduction > jobs.jsonl
  cgcmarl jobs sweep RUN --episodes 100000 --parts 16 --out parts > jobs.jsonl
  while read -r job; do cgcmarl run-job \"$job\"; done < jobs.jsonl

A line is a job: what to do, and where its result goes. Give lines to `run-job` on any machine that
sees the same folder. When all are done: `cgcmarl reproduce` with the same words writes the tables,
`cgcmarl merge parts/*.json --out RUN` the front.";

/// Most parts of a sweep.
const MOST_PARTS: usize = 100_000;

/// What `jobs` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    other: Option<OtherJobs>,
    /// Settings that all jobs share, such as agents=6 gamma=0.9
    settings: Vec<String>,
    /// A setting and the values it takes, separated by commas; several make every combination
    #[arg(long, value_name = "KEY=A,B,…", required = true)]
    over: Vec<String>,
    /// The folder of the runs
    #[arg(long, required = true)]
    out: Option<PathBuf>,
}

/// Jobs that are no grid of trainings.
#[derive(Debug, Subcommand)]
enum OtherJobs {
    /// The rows of a reproduction, as `cgcmarl reproduce` takes them
    Reproduce(ReproduceArgs),
    /// The parts of a sweep, as `cgcmarl sweep` takes it
    Sweep(PartsArgs),
}

/// The parts of a sweep.
#[derive(Debug, Args)]
struct PartsArgs {
    #[command(flatten)]
    sweep: SweepArgs,
    /// Into how many parts the episodes are divided
    #[arg(long)]
    parts: usize,
}

/// Prints the jobs, every one of which was resolved and checked.
pub(crate) fn list(args: &JobsArgs) -> anyhow::Result<ExitCode> {
    let lines = match (&args.other, &args.out) {
        (Some(OtherJobs::Reproduce(reproduce)), _) => rows(reproduce)?,
        (Some(OtherJobs::Sweep(parts)), _) => self::parts(parts)?,
        (None, Some(out)) => grid(args, out)?,
        (None, None) => bail!("`--out` is missing"),
    };
    let lines = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    print(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Every combination of the settings that vary.
fn grid(args: &JobsArgs, out: &std::path::Path) -> anyhow::Result<Vec<Line>> {
    let mut combinations: Vec<Vec<String>> = vec![vec![]];
    for over in &args.over {
        let (key, values) =
            over.split_once('=').with_context(|| format!("--over {over}: is written KEY=A,B,…"))?;
        ensure!(
            values.split(',').all(|value| !value.is_empty()),
            "--over {over}: a value is empty"
        );
        combinations = combinations
            .iter()
            .flat_map(|before| {
                values
                    .split(',')
                    .map(move |value| [&before[..], &[format!("{key}={value}")]].concat())
            })
            .collect();
    }
    let (mut lines, mut known) = (Vec::new(), BTreeMap::new());
    for varied in combinations {
        let settings = [&args.settings[..], &varied].concat();
        let config = resolve(None, &settings)?;
        let name = varied.join(",");
        Session::check(&config).with_context(|| name.clone())?;
        if let Some(twin) = known.insert(config.to_toml(), name.clone()) {
            let reason = format!("is the same training as {twin}");
            bail!(Error::setting("--over", name, reason));
        }
        lines.push(Line::training(out.join(name), settings));
    }
    Ok(lines)
}

/// Every row of a reproduction.
fn rows(args: &ReproduceArgs) -> anyhow::Result<Vec<Line>> {
    let plan = args.plan()?;
    let line = |job| Line::row(args.folder().into(), &plan, job);
    plan.jobs().into_iter().map(line).collect()
}

/// Every part of a sweep: stretches of episodes whose lengths differ by one at the most.
fn parts(args: &PartsArgs) -> anyhow::Result<Vec<Line>> {
    let (episodes, parts) = (args.sweep.check()?, args.parts);
    if !(1..=MOST_PARTS.min(episodes)).contains(&parts) {
        let reason = format!("must be 1 to {}", MOST_PARTS.min(episodes));
        bail!(Error::setting("--parts", parts, reason));
    }
    let out = args.sweep.out().context("`--out` is missing: the folder of the parts")?;
    let border = |part: usize| episodes / parts * part + (episodes % parts).min(part);
    let line = |part: usize| {
        let (from, to) = (border(part), border(part + 1));
        let file = out.join(format!("episodes_{from:08}_{to:08}.json"));
        Line::part(file, args.sweep.words(), [from, to])
    };
    Ok((0..parts).map(line).collect())
}
