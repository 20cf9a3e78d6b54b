//! `theory`: the paper's claims as measured experiments.

use super::output::{self, OutputFormat, print, remark};
use crate::exit::ExitCode;
use crate::report::paper;
use anyhow::{Context, ensure};
use cgcmarl::{
    Model,
    algorithm::{CgCmarlOptions, cg_cmarl::ValueKind},
    checkpoint::atomic,
    run::{on_threads, vectorise},
    run_dir::files,
};
use cgcmarl_paper::theory::{self, BudgetPoint, ErrorBudget, Report};
use clap::{Args, ValueEnum};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl theory                                   every check, two to three minutes
  cgcmarl theory --check bound --format json
  cgcmarl theory --seed 7 --out docs/theory        figures and theory.json go there
  cgcmarl theory --run RUN                         the error budget of a trained model";

/// Multipliers at which a trained model is looked at.
const MULTIPLIERS: [f32; 3] = [0.0, 0.5, 5.0];
/// Seed of start states that neither training nor evaluation draws.
const HELD_OUT: u64 = 77_000_077;

/// Which claims to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Check {
    /// Theorem 1: both heads converge
    Convergence,
    /// Theorem 2: the multiplier, the executed policy, the duality gap
    Dual,
    /// Theorem 3: the compositional error bound
    Bound,
    /// Proposition: the structural error
    Structure,
    /// Constraint violation and policy suboptimality
    Violation,
    /// Corollary: a network that cannot represent the values
    Representation,
    /// Complexity table: times of a decision
    Complexity,
    /// Everything
    All,
}

/// What `theory` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TheoryArgs {
    /// Which claims to check
    #[arg(long, value_enum, default_value_t = Check::All, conflicts_with = "run")]
    check: Check,
    /// Seed of the random problems
    #[arg(long, default_value_t = 1, conflicts_with = "run")]
    seed: u64,
    /// Where theory.json and the figures go; with --run, error_budget.json [default: the run]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measure a trained run instead
    #[arg(long, value_name = "RUN")]
    run: Option<PathBuf>,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Checks, draws and prints.
pub(crate) fn run(args: &TheoryArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| output::check_folder(place))?;
    let n_threads = output::threads(args.threads)?;
    if let Some(run) = &args.run {
        output::check_folder(args.out.as_ref().unwrap_or(run))?;
        let budget = on_threads(n_threads, || trained(run))??;
        let json = serde_json::to_string_pretty(&budget)?;
        let folder = args.out.as_ref().unwrap_or(run);
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(files::ERROR_BUDGET);
        atomic::write(&path, format!("{json}\n").as_bytes())
            .with_context(|| path.display().to_string())?;
        match args.format {
            OutputFormat::Table => print(&paper::budget::table(&budget)),
            OutputFormat::Json => print(&json),
        }?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = on_threads(n_threads, || checks(args.check, args.seed))?;
    if let Some(folder) = &args.out {
        paper::theory::save(folder, &report)?;
    }
    match args.format {
        OutputFormat::Table => print(&paper::theory::verdicts(&report)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&report)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the chosen checks and says how far they are.
fn checks(chosen: Check, seed: u64) -> Report {
    type Run = fn(u64, &(dyn Fn() + Sync)) -> Report;
    let all: [(Check, &str, usize, Run); 7] = [
        (Check::Convergence, "convergence", 4, |seed, tick| {
            theory::check_convergence(&theory::ConvergenceOptions::default(), seed, tick)
        }),
        (Check::Dual, "dual", 4, |seed, tick| {
            theory::check_dual(&theory::DualOptions::default(), seed, tick)
        }),
        (Check::Bound, "bound", 2, |seed, tick| {
            theory::check_bound(&theory::BoundOptions::default(), seed, tick)
        }),
        (Check::Structure, "structure", 4, |seed, tick| {
            theory::check_structure(&theory::StructureOptions::default(), seed, tick)
        }),
        (Check::Violation, "violation", 2, |seed, tick| {
            theory::check_violation(&theory::ViolationOptions::default(), seed, tick)
        }),
        (Check::Representation, "representation", 2, |seed, tick| {
            theory::check_representation(&theory::RepresentationOptions::default(), seed, tick)
        }),
        (Check::Complexity, "complexity", 3, |seed, tick| {
            theory::check_complexity(&theory::ComplexityOptions::default(), seed, tick)
        }),
    ];
    let mut report = Report::default();
    let started = Instant::now();
    for (check, name, n_parts, run) in all {
        if chosen != Check::All && chosen != check {
            continue;
        }
        let done = AtomicUsize::new(0);
        let tick = || {
            let part = done.fetch_add(1, Ordering::Relaxed) + 1;
            let seconds = started.elapsed().as_secs();
            remark(&format!("{name}: part {part} of {n_parts} done after {seconds} s"));
        };
        report.append(run(seed, &tick));
    }
    report
}

/// The error budget of a trained run.
fn trained(run: &Path) -> anyhow::Result<ErrorBudget> {
    let model = Model::open(run)?;
    let scenario = model.scenario()?;
    let trained = model.cg_cmarl(&scenario)?;
    let own = model.config.typed_options::<CgCmarlOptions>()?;
    ensure!(
        own.network.value != ValueKind::Augmented,
        "{}: has one augmented value and no cost heads, whose errors a budget tells apart; \
         `evaluate --calibration` compares what it predicts with what comes true",
        run.display()
    );
    let mut policies: Vec<_> = MULTIPLIERS.iter().map(|&m| trained.policy_at(m)).collect();
    let options = theory::TrainedOptions::new(own.learning.gamma, HELD_OUT);
    let mut environments = vectorise(&scenario, options.episodes)?;
    let started = Instant::now();
    let tick = |point: &BudgetPoint| {
        let (done, seconds) = (point.multiplier, started.elapsed().as_secs());
        remark(&format!("λ = {done} of {MULTIPLIERS:?} done after {seconds} s"));
    };
    Ok(theory::check_trained(&mut policies, &mut environments, &options, &tick))
}
