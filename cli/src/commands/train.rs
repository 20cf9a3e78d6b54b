//! `train` and `resume`: learn, save, sweep, draw.

use super::{config::resolve, output, sweep::sweep_and_save};
use crate::{
    progress::{Progress, Status},
    report,
};
use anyhow::Context;
use cgcmarl::experiment::{End, Session, Watch, on_threads};
use clap::Args;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

const TRAIN_EXAMPLES: &str = "\
Examples:
  cgcmarl train                                  three agents, about three minutes
  cgcmarl train agents=6 seed=7 total_steps=200000 gamma=0.9 batch_size=128
  cgcmarl train preset=paper                     the paper's hyperparameters to the letter
  cgcmarl train constraints='[\"collision\",\"energy\"]'
  cgcmarl train agents=10 start_from=models/simple_spread_6
  cgcmarl train algorithm=iql local_ratio=0.3    a baseline, with its share of collision reward

`cgcmarl config` prints every setting. Ctrl-C saves; `cgcmarl resume RUN` goes on.";

/// What `train` takes.
#[derive(Debug, Args)]
#[command(after_help = TRAIN_EXAMPLES)]
pub(crate) struct TrainArgs {
    /// Settings, such as agents=6 seed=7 gamma=0.9
    settings: Vec<String>,
    /// A file of settings (TOML); words on the command line win
    #[arg(long)]
    config: Option<PathBuf>,
    /// Where the run goes [default: runs/<task>/<algorithm>/seed_<k>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// What `resume` takes.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cgcmarl resume runs/simple_spread_3/cg_cmarl/seed_1")]
pub(crate) struct ResumeArgs {
    /// The run directory
    run: PathBuf,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// Trains a new run.
pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let config = resolve(args.config.as_ref(), &args.settings)?;
    on_threads(output::threads(args.threads), || {
        let session = Session::start(config, args.out.as_deref(), Path::new("runs"))?;
        finish(session, args.quiet)
    })?
}

/// Goes on with a run.
pub(crate) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    on_threads(output::threads(args.threads), || finish(Session::resume(&args.run)?, args.quiet))?
}

/// Trains to the end, then sweeps and draws.
fn finish(mut session: Session, quiet: bool) -> anyhow::Result<ExitCode> {
    let path = session.run_dir().path().to_path_buf();
    let mut watcher = Watcher::new(&session, quiet)?;
    let environment = &session.config.environment;
    watcher.progress.say(&format!(
        "training {} agents for {} steps in {}",
        environment.agents,
        session.config.training.total_steps,
        path.display()
    ));
    let end = session.run(&mut watcher);
    watcher.progress.finish(&watcher.status);
    let end = end.with_context(|| format!("{}", path.display()))?;
    if end == End::Stopped {
        output::remark(&format!(
            "stopped at step {}; everything is saved. Go on with: cgcmarl resume {}",
            session.steps(),
            path.display()
        ));
        return Ok(ExitCode::from(130));
    }
    report::save_curves(session.run_dir())?;
    drop(session);
    // The training is saved, so that Ctrl-C need not wait for the sweep.
    watcher.interrupted.store(true, Ordering::SeqCst);
    sweep_and_save(&path, quiet)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows progress, and stops on Ctrl-C.
struct Watcher {
    progress: Progress,
    status: Status,
    interrupted: Arc<AtomicBool>,
}

impl Watcher {
    fn new(session: &Session, quiet: bool) -> anyhow::Result<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        ctrlc::set_handler(move || {
            // A second Ctrl-C does not wait for the round to end.
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        })
        .context("cannot listen for Ctrl-C")?;
        let total = session.config.training.total_steps;
        let status = Status { step: session.steps(), ..Status::default() };
        Ok(Self { progress: Progress::new(session.steps(), total, quiet), status, interrupted })
    }
}

impl Watch for Watcher {
    fn round(&mut self, steps: u64, line: Option<&Value>) {
        self.status.step = steps;
        if let Some(line) = line {
            let number = |key: &str| line[key].as_f64().unwrap_or_default();
            self.status.coverage = number("coverage");
            self.status.collisions = number("collisions_per_step");
            let mut entries = line.as_object().into_iter().flatten();
            let multiplier = entries.find(|(key, _)| key.starts_with("multiplier_"));
            self.status.multiplier = multiplier.and_then(|(_, m)| m.as_f64());
        }
        self.progress.update(&self.status);
    }

    fn stop(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
