//! The command-line program of cgcmarl: a table of contents.

mod commands;
mod playback;
mod progress;
mod report;
mod viewer;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  cgcmarl train                                train a team of three, then draw its front
  cgcmarl train agents=6 seed=7 --out my_run   any setting is a key=value
  cgcmarl sweep models/simple_spread_3         the whole trade-off of a trained model
  cgcmarl evaluate models/simple_spread_6 --multiplier 0.5 --layout line
  cgcmarl choose models/simple_spread_3 --max-collisions 0.005
  cgcmarl solve problem.uai --solver exact     the best joint action of any factor graph

Train once, choose the trade-off afterwards: the multiplier λ weighs the constraints against the
task, and a trained model plays at any λ.";

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
    /// Choose the multiplier with the highest coverage that keeps a limit on collisions
    Choose(commands::choose::ChooseArgs),
    /// Check the paper's theorems on small problems, or the error budget of a trained model
    Theory(commands::theory::TheoryArgs),
    /// Average the fronts of several seeds
    Summary(commands::summary::SummaryArgs),
    /// Measure the paper's tables and figures: run what is missing, draw and tabulate
    Reproduce(commands::reproduce::ReproduceArgs),
    /// Compare what the paper prints with what `reproduce` measured
    PaperCheck(commands::paper_check::PaperCheckArgs),
    /// Write one HTML page about a run: front, curves, episodes, tables
    Report(commands::report::ReportArgs),
    /// Write an episode as a moving picture
    Render(commands::render::RenderArgs),
    /// Play a trained model live on a local page
    View(commands::view::ViewArgs),
    /// Print a resolved configuration
    Config(commands::config::ConfigArgs),
    /// Replay recorded MPE2 episodes and print the largest deviation
    CheckEnvironment(commands::check_environment::CheckEnvironmentArgs),
    /// Find the best joint action of a factor graph (UAI, log-UAI or fgq file)
    Solve(commands::solve::SolveArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Train(args) => commands::train::run(&args),
        Command::Resume(args) => commands::train::resume(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Theory(args) => commands::theory::run(&args),
        Command::Summary(args) => commands::summary::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::PaperCheck(args) => commands::paper_check::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Render(args) => commands::render::run(&args),
        Command::View(args) => commands::view::run(&args),
        Command::Config(args) => commands::config::run(&args),
        Command::CheckEnvironment(args) => commands::check_environment::run(&args),
        Command::Solve(args) => commands::solve::run(&args),
    };
    result.unwrap_or_else(|error| commands::output::fail(&error))
}
