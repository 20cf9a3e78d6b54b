//! `jobs` and `run-job`: trainings for any scheduler, one line each, done by whoever takes it.

use super::{
    config::resolve,
    output::{self, print, remark},
    sweep::sweep_and_save,
    train::train_to_the_end,
};
use crate::exit::ExitCode;
use anyhow::{Context, ensure};
use cgcmarl::{
    Error,
    run::{End, Session, on_threads},
    run_dir::files,
};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::{io::Read, path::PathBuf};

const JOBS_EXAMPLES: &str = "\
Examples:
  cgcmarl jobs --over seed=1,2,3 --over agents=3,6 --out grid > jobs.jsonl
  cgcmarl jobs --over algorithm=cg_cmarl,iql --over seed=1,2 task=NAME total_steps=100000 --out grid
  while read -r job; do cgcmarl run-job \"$job\"; done < jobs.jsonl

A line is a job: its settings, and where its run goes. Give lines to `run-job` on any machine that
sees the same folder.";

const RUN_JOB_EXAMPLES: &str = "\
Examples:
  cgcmarl run-job '{\"out\": \"grid/seed=1\", \"settings\": [\"seed=1\"]}'
  head -1 jobs.jsonl | cgcmarl run-job -

Does what is not done: trains, goes on from the last checkpoint, or only sweeps; a finished job is
kept. However often it is killed and started again, the bytes are those of one undisturbed run. Exit
code 75 says that another process is at it, 130 that it was interrupted and saved.";

/// Exit code of a job that another process is doing: try again later.
const BUSY: u8 = 75;

/// What `jobs` takes.
#[derive(Debug, Args)]
#[command(after_help = JOBS_EXAMPLES)]
pub(crate) struct JobsArgs {
    /// Settings that all jobs share, such as agents=6 gamma=0.9
    settings: Vec<String>,
    /// A setting and the values it takes, separated by commas; several make every combination
    #[arg(long, value_name = "KEY=A,B,…", required = true)]
    over: Vec<String>,
    /// The folder of the runs
    #[arg(long)]
    out: PathBuf,
}

/// What `run-job` takes.
#[derive(Debug, Args)]
#[command(after_help = RUN_JOB_EXAMPLES)]
pub(crate) struct RunJobArgs {
    /// A line of `jobs`, or - to read it from standard input
    job: String,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// One training.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    out: PathBuf,
    settings: Vec<String>,
}

/// Prints the jobs, every one of which was resolved.
pub(crate) fn list(args: &JobsArgs) -> anyhow::Result<ExitCode> {
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
    let mut lines = Vec::new();
    for varied in combinations {
        let settings = [&args.settings[..], &varied].concat();
        resolve(None, &settings)?;
        let job = Job { out: args.out.join(varied.join(",")), settings };
        lines.push(serde_json::to_string(&job)?);
    }
    print(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Does what is not done of a job.
pub(crate) fn run(args: &RunJobArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let mut text = args.job.clone();
    if text == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).context("standard input")?;
    }
    let job: Job = serde_json::from_str(text.trim()).with_context(|| format!("job {text}"))?;
    ensure!(!job.out.as_os_str().is_empty(), "job {text}: `out` is empty");
    let config = resolve(None, &job.settings)?;
    let mut training = on_threads(threads, || Session::take_up(&config, &job.out))?;
    if let Err(Error::Busy(file)) = &training {
        remark(&format!("{} is being written by another cgcmarl; try again later", file.display()));
        return Ok(ExitCode::from(BUSY));
    }
    let status = match &mut training {
        Ok(None) if job.out.join(files::FRONT_JSON).exists() => "kept",
        Ok(None) => "swept",
        Ok(Some(session)) if session.steps() > 0 => "resumed",
        _ => "trained",
    };
    let quiet = args.quiet;
    let end = on_threads(threads, || -> anyhow::Result<End> {
        if let Some(session) = training?
            && train_to_the_end(session, quiet)? == End::Stopped
        {
            return Ok(End::Stopped);
        }
        if status != "kept" {
            sweep_and_save(&job.out, false, quiet)?;
        }
        Ok(End::Finished)
    })??;
    match end {
        End::Stopped => Ok(ExitCode::from(130)),
        End::Finished => {
            remark(&format!("{}: {status}", job.out.display()));
            Ok(ExitCode::SUCCESS)
        }
    }
}
