//! `train` and `resume`: learn, save, sweep, draw.

use super::{
    config::resolve,
    multiplier, output,
    sweep::{has_more_than_configured, sweep_and_save},
};
use crate::{
    exit::ExitCode,
    interrupt::Interrupt,
    progress::{Progress, Status},
    report::{self, measure::value, paper},
};
use anyhow::Context;
use cgcmarl::{
    Model,
    environment::Spec,
    evaluation::Measures,
    run::{End, Session, Watch, on_threads},
    run_dir::argument,
};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

const TRAIN_EXAMPLES: &str = "\
Examples:
  cgcmarl train                                  a small team, about a minute
  cgcmarl train agents=6 seed=7 total_steps=200000 gamma=0.9 batch_size=128
  cgcmarl train agents=2..6                      one network for teams of two to six
  cgcmarl train task=NAME                        another task; `cgcmarl tasks` lists them
  cgcmarl train preset=paper                     the paper's hyperparameters to the letter
  cgcmarl train value=augmented                  one value at the price of costs instead of a head for each
  cgcmarl train mode=learned cost_limit=0.003 relative=true lambda_lr=0.003 lagrangian_upper_bound=1   a limit
  cgcmarl train agents=10 start_from=RUN         on from the network of another team
  cgcmarl train algorithm=iql                    a baseline

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
    /// Where the run goes [default: runs/<task>_<agents>/<algorithm>/seed_<k>]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print and draw what the paper prints beside the front, where the task is the paper's
    #[arg(long)]
    beside_paper: bool,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// What `resume` takes.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cgcmarl resume runs/TASK_3/cg_cmarl/seed_1")]
pub(crate) struct ResumeArgs {
    /// The run directory
    run: PathBuf,
    /// Print and draw what the paper prints beside the front, where the task is the paper's
    #[arg(long)]
    beside_paper: bool,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// Trains a new run.
pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let config = resolve(args.config.as_ref(), &args.settings)?;
    if args.beside_paper {
        paper::check(&config.task)?;
    }
    on_threads(threads, || {
        let session = Session::start(config, args.out.as_deref(), Path::new("runs"))?;
        finish(session, args.beside_paper, args.quiet)
    })?
}

/// Goes on with a run.
pub(crate) fn resume(args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    on_threads(output::threads(args.threads)?, || {
        let session = Session::resume(&args.run)?;
        if args.beside_paper {
            paper::check(&session.config.task)?;
        }
        finish(session, args.beside_paper, args.quiet)
    })?
}

/// Trains to the end, then sweeps and draws.
fn finish(session: Session, beside_paper: bool, quiet: bool) -> anyhow::Result<ExitCode> {
    let path = session.run_dir().path().to_path_buf();
    let was_over = session.steps() >= session.config.training.total_steps;
    if train_to_the_end(session, quiet)? == End::Stopped {
        return Ok(ExitCode::from(130));
    }
    if was_over && has_more_than_configured(&path)? {
        let shown = path.display();
        output::remark(&format!("{shown} was trained to its end, and keeps its longer front"));
        return Ok(ExitCode::SUCCESS);
    }
    sweep_and_save(&path, beside_paper, quiet)?;
    for limit in Model::open(&path)?.learned_limits()? {
        output::remark(&multiplier::told(&limit));
    }
    Ok(ExitCode::SUCCESS)
}

/// Trains to the end, or until somebody presses Ctrl-C.
pub(super) fn train_to_the_end(mut session: Session, quiet: bool) -> anyhow::Result<End> {
    let path = session.run_dir().path().to_path_buf();
    let spec = session.config.scenario()?.spec()?;
    let mut watcher = Watcher::new(&session, &spec, quiet)?;
    let training = &session.config.training;
    let team = match training.teams.as_slice() {
        [] => format!("{} agents", spec.n_agents()),
        teams => format!("teams of {teams:?} agents"),
    };
    let steps = training.total_steps;
    watcher.progress.say(&format!("training {team} for {steps} steps in {}", path.display()));
    let end = session.run(&mut watcher);
    watcher.progress.finish(&watcher.status);
    let end = end.with_context(|| format!("{}", path.display()))?;
    if end == End::Stopped {
        output::remark(&format!(
            "stopped at step {}; everything is saved. Go on with: cgcmarl resume {}",
            session.steps(),
            argument(&path)
        ));
        return Ok(end);
    }
    report::save_curves(session.run_dir(), &watcher.measures)?;
    // The training is saved, so that Ctrl-C need not wait for the sweep.
    let run = argument(&path);
    watcher.interrupt.leave_at_once(format!(
        "stopped before the end; the training is saved. Go on with: cgcmarl resume {run}"
    ));
    Ok(end)
}

/// Shows progress, and stops on Ctrl-C.
struct Watcher {
    progress: Progress,
    status: Status,
    measures: Measures,
    interrupt: Interrupt,
}

impl Watcher {
    fn new(session: &Session, spec: &Spec, quiet: bool) -> anyhow::Result<Self> {
        let interrupt = Interrupt::listen()?;
        let total = session.config.training.total_steps;
        let status = Status { step: session.steps(), ..Status::default() };
        let progress = Progress::new(session.steps(), total, quiet);
        Ok(Self { progress, status, measures: Measures::of(spec), interrupt })
    }
}

impl Watch for Watcher {
    fn round(&mut self, steps: u64, line: Option<&Value>) {
        self.status.step = steps;
        if let Some(line) = line {
            self.status.measured = told(line, &self.measures);
        }
        self.progress.update(&self.status);
    }

    fn stop(&self) -> bool {
        self.interrupt.is_asked()
    }
}

/// What a line of metrics says about the front's axes and the multipliers.
fn told(line: &Value, measures: &Measures) -> String {
    let axes = measures.axis_metrics().filter_map(|metric| {
        let number = line[&metric.name].as_f64()?;
        Some(format!("{} {}", metric.name, value(metric, number)))
    });
    let multipliers = measures.constraints.iter().filter_map(|constraint| {
        let number = line[format!("multiplier_{}", constraint.name)].as_f64()?;
        let name = if measures.constraints.len() == 1 { "" } else { &constraint.name };
        Some(format!("λ {name}{}{number:.2}", if name.is_empty() { "" } else { " " }))
    });
    axes.chain(multipliers).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::Config;
    use serde_json::json;

    #[test]
    fn progress_tells_the_axes_and_the_multipliers() {
        let of = |constraints: &str| {
            let settings = [("constraints".to_owned(), constraints.to_owned())];
            let config = Config::resolve(None, &settings).unwrap();
            Measures::of(&config.scenario().unwrap().spec().unwrap())
        };
        let line = json!({
            "coverage": 0.934, "collisions_per_step": 0.0031, "cost_energy": 0.25,
            "multiplier_collision": 0.5, "multiplier_energy": 0.1,
        });
        let text = told(&line, &of(r#"["collision"]"#));
        assert_eq!(text, "coverage 93.4 %, collisions_per_step 0.00310, λ 0.50");
        let text = told(&line, &of(r#"["collision","energy"]"#));
        assert!(text.ends_with("λ collision 0.50, λ energy 0.10"), "{text}");
    }
}
