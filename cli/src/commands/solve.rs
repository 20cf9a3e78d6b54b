//! `cgcmarl solve`: the best assignment of a factor graph in a file, with a bound on its value.

use super::output::{OutputFormat, print};
use crate::exit::ExitCode;
use anyhow::{Result, bail};
use cgcmarl::coordination::{
    Anytime, AnytimeOptions, Coordination, Coordinator, Exact, ExactOptions, MaxSum, MaxSumOptions,
    Problem,
};
use clap::{Args, ValueEnum};
use std::{path::PathBuf, time::Instant};

/// Which algorithm answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solver {
    /// Damped Max-Sum, decoded agent by agent
    MaxSum,
    /// Max-Sum decoded by value, with local search
    Anytime,
    /// Proves the optimum, or stops at the time limit
    Exact,
}

/// Find the best assignment of a factor graph
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  cgcmarl solve problem.uai --evidence problem.uai.evid --solver exact
  cgcmarl solve tables.LG --solver max-sum --iterations 10 --damping 0.3
  cgcmarl solve spread_n10_p0.fgq.gz --solver exact --time-limit 1 --format json")]
pub(crate) struct SolveArgs {
    /// UAI (MARKOV or BAYES), log-UAI (.LG) or .fgq.gz file
    file: PathBuf,
    /// Evidence file: the observed variables and their values
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Algorithm
    #[arg(long, value_enum, default_value_t = Solver::Anytime)]
    solver: Solver,
    /// Rounds of messages
    #[arg(long, value_name = "K", default_value_t = 10)]
    iterations: usize,
    /// Share of the old message kept in each round, from 0 to below 1
    #[arg(long, value_name = "D", default_value_t = 0.3)]
    damping: f32,
    /// Seconds after which `exact` gives its best answer
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    time_limit: f64,
    /// Output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Sweeps of the bound for the solvers that compute none.
const BOUND_SWEEPS: usize = 50;

/// Runs the command.
pub(crate) fn run(args: &SolveArgs) -> Result<ExitCode> {
    if !(0.0..1.0).contains(&args.damping) {
        bail!("--damping {} is not from 0 to below 1", args.damping);
    }
    if args.time_limit.is_nan() || args.time_limit < 0.0 {
        bail!("--time-limit {} is not a number of seconds", args.time_limit);
    }
    let problem = Problem::read(&args.file, args.evidence.as_deref())?;
    let start = Instant::now();
    let (answer, action) = solve(args, &problem);
    let seconds = start.elapsed().as_secs_f64();
    print(&text(args, &answer, &action, seconds)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The answer, in the precision of the file and with a bound.
fn solve(args: &SolveArgs, problem: &Problem) -> (Coordination, Vec<usize>) {
    let mut action = Vec::new();
    let (msg_iterations, damping) = (args.iterations, args.damping);
    let mut answer = match args.solver {
        Solver::MaxSum => {
            let options = MaxSumOptions { msg_iterations, damping, ..MaxSumOptions::default() };
            MaxSum::new(options).coordinate(&problem.graph, &problem.tables, &mut action)
        }
        Solver::Anytime => {
            let options = AnytimeOptions { msg_iterations, damping, ..AnytimeOptions::default() };
            Anytime::new(options).coordinate(&problem.graph, &problem.tables, &mut action)
        }
        Solver::Exact => {
            let options = ExactOptions { time_limit: args.time_limit, ..ExactOptions::default() };
            Exact::new(options).solve(problem, &mut action)
        }
    };
    if args.solver != Solver::Exact {
        answer.value = problem.value(&action);
        answer.upper_bound = problem.upper_bound(BOUND_SWEEPS, answer.value);
    }
    (answer, action)
}

fn text(args: &SolveArgs, answer: &Coordination, action: &[usize], seconds: f64) -> Result<String> {
    if args.format == OutputFormat::Json {
        // JSON has no infinity: what is not finite becomes null.
        let object = serde_json::json!({
            "assignment": action,
            "value": answer.value,
            "upper_bound": answer.upper_bound,
            "gap": answer.gap(),
            "residual": answer.residual,
            "iterations": answer.iterations,
            "proven": answer.proven(),
            "seconds": seconds,
        });
        return Ok(serde_json::to_string_pretty(&object)?);
    }
    let assignment: Vec<String> = action.iter().map(ToString::to_string).collect();
    Ok(format!(
        "assignment   {}\nvalue        {}\nupper bound  {}\ngap          {}\nproven       {}\n\
         residual     {}\niterations   {}\nseconds      {seconds:.6}",
        assignment.join(" "),
        answer.value,
        answer.upper_bound,
        answer.gap(),
        if answer.proven() { "yes" } else { "no" },
        answer.residual,
        answer.iterations,
    ))
}
