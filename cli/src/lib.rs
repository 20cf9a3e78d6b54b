//! The command-line program of cgcmarl: a table of contents.
//!
//! A crate of your own with a task of your own has every command:
//!
//! ```no_run
//! # fn program(my_task: impl cgcmarl::environment::Task) -> std::process::ExitCode {
//! cgcmarl_cli::main([cgcmarl_cli::task(my_task)])
//! # }
//! ```

mod commands;
mod exit;
mod interrupt;
mod playback;
mod progress;
mod report;
mod viewer;

use cgcmarl::environment::{Drawing, Task, register};
use clap::{Parser, Subcommand};
use exit::ExitCode;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  cgcmarl train                                train a small team, then draw its front
  cgcmarl train agents=6 seed=7 --out my_run   any setting is a key=value
  cgcmarl tasks                                what a team can be trained for
  cgcmarl sweep RUN                            the whole trade-off of a trained model
  cgcmarl evaluate RUN --multiplier 0.5 --episodes 2000
  cgcmarl choose RUN --limit 0.005             the best trade-off that keeps a limit
  cgcmarl solve problem.uai --solver exact     the best joint action of any factor graph

Train once, choose the trade-off afterwards: the multipliers λ weigh the constraints against the
task, and a trained model plays at any λ. RUN is the directory of a training, or one of models/.";

/// Constrained multi-agent reinforcement learning on coordination graphs.
#[derive(Debug, Parser)]
#[command(version, about, after_help = EXAMPLES, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a team, then sweep the multiplier and draw the front
    Train(commands::train::TrainArgs),
    /// Go on with an interrupted training, exactly where it stopped
    Resume(commands::train::ResumeArgs),
    /// Score a trained model at one multiplier
    Evaluate(commands::evaluate::EvaluateArgs),
    /// Score a trained model over many multipliers and draw the front
    Sweep(commands::sweep::SweepArgs),
    /// Choose the multipliers with the best objective that keep limits on the constraints
    Choose(commands::choose::ChooseArgs),
    /// Check the paper's theorems on small problems, or the error budget of a trained model
    Theory(commands::theory::TheoryArgs),
    /// Average the fronts of several seeds
    Summary(commands::summary::SummaryArgs),
    /// Measure the paper's tables and figures: run what is missing, draw and tabulate
    Reproduce(commands::reproduce::ReproduceArgs),
    /// Print the jobs of a grid, a reproduction or a sweep, one line each, for any scheduler
    Jobs(commands::jobs::JobsArgs),
    /// Do what is not done of one job: train, go on, or sweep
    RunJob(commands::run_job::RunJobArgs),
    /// Put the parts of a sweep or an evaluation together, to what one process would have found
    Merge(commands::merge::MergeArgs),
    /// Compare what the paper prints with what `reproduce` measured
    PaperCheck(commands::paper_check::PaperCheckArgs),
    /// Write the network of a trained model for other runtimes (ONNX)
    Export(commands::export::ExportArgs),
    /// Write one HTML page about a run: front, curves, episodes, tables
    Report(commands::report::ReportArgs),
    /// Write an episode as a moving picture
    Render(commands::render::RenderArgs),
    /// Play a trained model live on a local page
    View(commands::view::ViewArgs),
    /// List the tasks with their options, metrics and constraints
    Tasks(commands::tasks::TasksArgs),
    /// Print a resolved configuration
    Config(commands::config::ConfigArgs),
    /// Replay recorded episodes of the original environment and print the largest deviation
    CheckEnvironment(commands::check_environment::CheckEnvironmentArgs),
    /// Find the best joint action of a factor graph (UAI, log-UAI or fgq file)
    Solve(commands::solve::SolveArgs),
}

/// A picture: rows of pixels from the top, each red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Three numbers for each pixel.
    pub colours: Vec<u8>,
}

/// How a moment of an environment looks.
pub fn picture(drawing: &Drawing) -> anyhow::Result<Pixels> {
    let raster = report::animation::still(drawing)?;
    let colours = raster.pixels.iter().flat_map(|&(r, g, b)| [r, g, b]).collect();
    Ok(Pixels { width: raster.width, height: raster.height, colours })
}

/// A task of the user's own, ready to be listed; [`task`] makes it.
pub struct OwnTask(Box<dyn FnOnce()>);

/// A task of the user's own for [`main`].
pub fn task(task: impl Task) -> OwnTask {
    OwnTask(Box::new(move || register(task)))
}

/// Runs the program with tasks beside those built in; one of the same name is replaced.
pub fn main(tasks: impl IntoIterator<Item = OwnTask>) -> std::process::ExitCode {
    main_with(tasks, std::env::args_os()).into()
}

/// [`main`] with these arguments, the program's name first; returns the exit code.
pub fn main_with(
    tasks: impl IntoIterator<Item = OwnTask>,
    arguments: impl IntoIterator<Item = OsString>,
) -> u8 {
    tasks.into_iter().for_each(|task| (task.0)());
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(told) => {
            // Help that nobody can read is no error.
            drop(told.print());
            return told.exit_code().clamp(0, 255) as u8;
        }
    };
    run(arguments.command).unwrap_or_else(|error| commands::output::fail(&error)).into()
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Train(args) => commands::train::run(&args),
        Command::Resume(args) => commands::train::resume(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Theory(args) => commands::theory::run(&args),
        Command::Summary(args) => commands::summary::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Jobs(args) => commands::jobs::list(&args),
        Command::RunJob(args) => commands::run_job::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::PaperCheck(args) => commands::paper_check::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Render(args) => commands::render::run(&args),
        Command::View(args) => commands::view::run(&args),
        Command::Tasks(args) => commands::tasks::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::CheckEnvironment(args) => commands::check_environment::run(&args),
        Command::Solve(args) => commands::solve::run(&args),
    }
}
