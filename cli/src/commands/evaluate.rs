//! `evaluate`: one trained model at one multiplier, or a baseline at its own trade-off.

use super::{
    adapt::{self, AdaptArgs},
    conditions::Conditions,
    merge::{PartArgs, Wanted},
    multiplier,
    output::{self, OutputFormat, print},
};
use crate::exit::ExitCode;
use crate::report::{paper, table};
use anyhow::Context;
use cgcmarl::{
    Config, Model,
    checkpoint::atomic,
    coordination::write_log_uai,
    episode::Acting,
    evaluation::{Measures, Score},
    run::{named_multipliers, on_threads, play},
};
use clap::Args;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl evaluate RUN --multiplier 0.5
  cgcmarl evaluate RUN --multiplier NAME=0.5,OTHER=0.1   each constraint by its name
  cgcmarl evaluate RUN --agents 6 --episodes 2000
  cgcmarl evaluate RUN --episodes 2000 --episode-range 0..500 --part a.json   a part, for `merge`
  cgcmarl evaluate RUN --calibration                     what its values predict beside what comes true
  cgcmarl evaluate RUN --adapt --limit NAME=0.005        dual updates go on while it plays
  cgcmarl evaluate RUN --export-uai decision.LG          its first decision, for other solvers";

/// What `evaluate` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvaluateArgs {
    /// The run directory
    run: PathBuf,
    #[command(flatten)]
    conditions: Conditions,
    /// Weight of the constraints: one number for all, or each as NAME=NUMBER, separated by commas, or
    /// `learned` for what a training with mode=learned ended with; a baseline has none [default: what
    /// `choose` left in the run, else 1; with --adapt 0]
    #[arg(long, value_name = "λ", allow_hyphen_values = true)]
    multiplier: Option<String>,
    /// Episodes to play [default: the run's]
    #[arg(long)]
    episodes: Option<usize>,
    #[command(flatten)]
    part: PartArgs,
    /// Compare the discounted reward and costs that the values predict at the start of each episode
    /// with what comes true
    #[arg(long, conflicts_with_all = ["adapt", "export_uai", "beside_paper", "part"])]
    calibration: bool,
    #[command(flatten)]
    adaptation: AdaptArgs,
    /// Write one decision as a log-UAI file instead of playing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["adapt", "part", "beside_paper"])]
    export_uai: Option<PathBuf>,
    /// Which decision of which episode to export, as EPISODE:STEP
    #[arg(long, default_value = "0:0", value_name = "EPISODE:STEP", requires = "export_uai")]
    decision: String,
    /// Print what the paper prints below it, where the task is the paper's
    #[arg(long, conflicts_with_all = ["adapt", "part"])]
    beside_paper: bool,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Plays and prints, or exports a decision.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let mut model = Model::open(&args.run)?;
    let mut config = args.conditions.apply(&model.config)?;
    model.act_as(&config)?;
    args.conditions.set_episodes(args.episodes, &mut config)?;
    let spec = config.scenario()?.spec()?;
    if args.adaptation.is_wanted()? {
        multiplier::refuse_baseline(&model, "--adapt")?;
        let start = args.multiplier.as_deref();
        let adapted = adapt::run(&args.adaptation, start, &model, &config, threads)?;
        return adapt::show(&adapted, &Measures::of(&spec), args.format);
    }
    let multipliers = multiplier::resolve(args.multiplier.as_deref(), &model, &config.scenario()?)?;
    if args.beside_paper {
        paper::check(&config.task)?;
    }
    if let Some(file) = &args.export_uai {
        multiplier::refuse_baseline(&model, "--export-uai")?;
        output::check_file(file)?;
        return export(args, &model, &config, file, &multipliers);
    }
    let (scenario, options, points) =
        (config.scenario()?, &config.evaluation, [multipliers.clone()]);
    let wanted =
        Wanted { model: &model, scenario: &scenario, options, points: &points, is_sweep: false };
    if let Some(range) = args.part.range(&wanted)? {
        let play = || model.score_part(&scenario, options, range, &points);
        return args.part.write(&on_threads(threads, play)??);
    }
    if args.calibration {
        multiplier::refuse_baseline(&model, "--calibration")?;
        let scenario = config.scenario()?;
        let found = on_threads(threads, || {
            model.calibration(&scenario, &config.evaluation, &multipliers)
        })??;
        match args.format {
            OutputFormat::Table => print(&table::calibration_table(&found)),
            OutputFormat::Json => print(&serde_json::to_string_pretty(&found)?),
        }?;
        return Ok(ExitCode::SUCCESS);
    }
    let score = on_threads(threads, || score(&model, &config, multipliers))??;
    print_score(&score, &Measures::of(&spec), args.format)?;
    if args.beside_paper && args.format == OutputFormat::Table {
        print(&format!("\n{}", paper::table(spec.n_agents())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a score.
pub(super) fn print_score(
    score: &Score,
    measures: &Measures,
    format: OutputFormat,
) -> anyhow::Result<()> {
    match format {
        OutputFormat::Table => print(&table::score_table(score, measures)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(score)?),
    }
}

/// The score of a model under some conditions.
fn score(model: &Model, config: &Config, multipliers: Vec<f32>) -> anyhow::Result<Score> {
    let scenario = config.scenario()?;
    let mut points = model.operating_points(&scenario, &[multipliers])?;
    let point = points.first_mut().context("the model has no operating point")?;
    let named = named_multipliers(&scenario.spec()?, &point.multipliers);
    let mut acting = Acting(point.policy.as_mut());
    Ok(play(&scenario, &config.evaluation, &point.label, named, &mut acting)?)
}

/// Writes one decision for other solvers.
fn export(
    args: &EvaluateArgs,
    model: &Model,
    config: &Config,
    file: &Path,
    multipliers: &[f32],
) -> anyhow::Result<ExitCode> {
    let shown = file.display();
    let place = args
        .decision
        .split_once(':')
        .and_then(|(episode, step)| Some((episode.parse().ok()?, step.parse().ok()?)))
        .with_context(|| {
            format!("invalid value for `--decision`: {} (write EPISODE:STEP)", args.decision)
        })?;
    let start_seed = config.evaluation.start_seed;
    let decision = model.decision(&config.scenario()?, start_seed, multipliers, place)?;
    anyhow::ensure!(!file.exists(), "{shown} exists already; choose another name");
    let mut text = Vec::new();
    write_log_uai(&decision.graph, &decision.tables, &mut text)?;
    atomic::write(file, &text)?;
    print(&format!(
        "wrote decision {} to {shown}; our action {:?} is worth {:.6}",
        args.decision, decision.action, decision.answer.value
    ))?;
    Ok(ExitCode::SUCCESS)
}
