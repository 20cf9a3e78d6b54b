//! `run-job`: does what is not done of one job, however often it is killed and started again.

use super::{
    config::resolve,
    job::{Job, Line},
    output::{self, remark},
    sweep::{self, sweep_and_save},
    train::train_to_the_end,
};
use crate::{exit::ExitCode, interrupt::Interrupt};
use anyhow::Context;
use cgcmarl::{
    Error,
    run::{End, Session, Watch, on_threads},
    run_dir::files,
};
use cgcmarl_paper::reproduction::{Job as PlannedJob, JobEnd, Places, Plan, is_done, run_job};
use clap::Args;
use serde_json::Value;
use std::{io::Read, ops::Range, path::Path};

const EXAMPLES: &str = "\
Examples:
  cgcmarl run-job '{\"out\": \"grid/seed=1\", \"settings\": [\"seed=1\"]}'
  head -1 jobs.jsonl | cgcmarl run-job -

Does what is not done: trains, goes on from the last checkpoint, or only sweeps; a finished job is
kept. However often it is killed and started again, the bytes are those of one undisturbed run. Exit
code 75 says that another process is at it, 130 that it was interrupted and saved.";

/// Exit code of a job that another process is doing: try again later.
const BUSY: u8 = 75;

/// What `run-job` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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

/// How a job went.
enum Did {
    /// Done, in which way.
    All(&'static str),
    /// It was asked to stop; everything is saved.
    Stopped,
}

/// Does what is not done of a job.
pub(crate) fn run(args: &RunJobArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let mut text = args.job.clone();
    if text == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).context("standard input")?;
    }
    let job = Line::read(&text)?;
    let (name, did) = match &job {
        Job::Training { out, settings } => {
            (out.display().to_string(), train(out, settings, threads, args.quiet))
        }
        Job::Row { out, plan, job } => {
            let name = format!("{}: {}", out.display(), job.name());
            (name, row(out, plan, job, threads))
        }
        Job::Part { out, words, episodes } => {
            (out.display().to_string(), part(out, words, episodes, threads))
        }
    };
    match did {
        Ok(Did::All(status)) => {
            remark(&format!("{name}: {status}"));
            Ok(ExitCode::SUCCESS)
        }
        Ok(Did::Stopped) => Ok(ExitCode::from(130)),
        Err(error) => match error.downcast_ref() {
            Some(Error::Busy(file)) => {
                let shown = file.display();
                remark(&format!("{shown} is being written by another cgcmarl; try again later"));
                Ok(ExitCode::from(BUSY))
            }
            _ => Err(error),
        },
    }
}

fn train(out: &Path, settings: &[String], threads: usize, quiet: bool) -> anyhow::Result<Did> {
    let config = resolve(None, settings)?;
    let session = on_threads(threads, || Session::take_up(&config, out))??;
    let status = match &session {
        None if out.join(files::FRONT_JSON).exists() => return Ok(Did::All("kept")),
        None => "swept",
        Some(session) if session.steps() > 0 => "resumed",
        Some(_) => "trained",
    };
    on_threads(threads, || -> anyhow::Result<Did> {
        if let Some(session) = session
            && train_to_the_end(session, quiet)? == End::Stopped
        {
            return Ok(Did::Stopped);
        }
        sweep_and_save(out, false, quiet)?;
        Ok(Did::All(status))
    })?
}

/// Stops where Ctrl-C asks for it.
struct Stoppable(Interrupt);

impl Watch for Stoppable {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}

    fn stop(&self) -> bool {
        self.0.is_asked()
    }
}

fn row(folder: &Path, plan: &Plan, job: &PlannedJob, threads: usize) -> anyhow::Result<Did> {
    let places = Places::new(folder);
    if is_done(plan, job, &places) {
        return Ok(Did::All("kept"));
    }
    let begun = job.place(&places.runs).exists();
    let mut watch = Stoppable(Interrupt::listen()?);
    match on_threads(threads, || run_job(plan, job, &places, &mut watch))?? {
        JobEnd::Stopped => Ok(Did::Stopped),
        JobEnd::Done => Ok(Did::All(if begun { "resumed" } else { "trained" })),
    }
}

fn part(
    file: &Path,
    words: &[String],
    episodes: &Range<usize>,
    threads: usize,
) -> anyhow::Result<Did> {
    let had_to = sweep::play_part(words, episodes, file, threads)?;
    Ok(Did::All(if had_to { "played" } else { "kept" }))
}
