//! `evaluate`: one trained model at one multiplier, or a baseline at its own trade-off.

use super::{
    multiplier,
    output::{self, OutputFormat, print},
    sweep::changes,
};
use crate::report;
use anyhow::Context;
use cgcmarl::{
    checkpoint::atomic,
    config::Config,
    coordination::write_log_uai,
    experiment::{Model, on_threads, play},
};
use clap::Args;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl evaluate models/simple_spread_3 --multiplier 0.5
  cgcmarl evaluate RUN --multiplier 0.5 --agents 6 --layout line --episodes 2000
  cgcmarl evaluate RUN --export-uai decision.LG     its first decision, for other solvers";

/// What `evaluate` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvaluateArgs {
    /// The run directory
    run: PathBuf,
    /// Settings to change, such as `contact=true` `acting.solver=max_sum`
    settings: Vec<String>,
    /// Weight of the constraints; a baseline has none [default: what `choose` left in the run, else 1]
    #[arg(long)]
    multiplier: Option<f32>,
    /// Episodes to play [default: the run's]
    #[arg(long)]
    episodes: Option<usize>,
    /// Team size [default: the run's]
    #[arg(long)]
    agents: Option<usize>,
    /// Landmark layout: `random`, `spread_uniform`, `line` or `clustered_pair` [default: the run's]
    #[arg(long)]
    layout: Option<String>,
    /// Write one decision as a log-UAI file instead of playing
    #[arg(long, value_name = "FILE")]
    export_uai: Option<PathBuf>,
    /// Which decision of which episode to export, as EPISODE:STEP
    #[arg(long, default_value = "0:0", value_name = "EPISODE:STEP")]
    decision: String,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Plays and prints, or exports a decision.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<ExitCode> {
    let mut model = Model::open(&args.run)?;
    if args.multiplier.is_some() {
        refuse_baseline(&model, "--multiplier")?;
    }
    let multiplier = multiplier::resolve(args.multiplier, &model.run)?;
    let changes = changes(&args.settings, args.agents, args.layout.as_deref())?;
    let mut config = model.config.with(&changes)?;
    model.act_as(&config);
    config.evaluation.episodes = args.episodes.unwrap_or(config.evaluation.episodes);
    if let Some(file) = &args.export_uai {
        refuse_baseline(&model, "--export-uai")?;
        output::check_file(file)?;
        return export(args, &model, &config, file, multiplier);
    }
    let score = on_threads(output::threads(args.threads), || {
        let mut points = model.operating_points(&config.environment, &[multiplier])?;
        let (label, multiplier) = (points[0].setting.label(), points[0].setting.multiplier());
        let policy = points[0].policy.as_mut();
        play(&config.environment, &config.evaluation, &label, multiplier, policy)
    })??;
    match args.format {
        OutputFormat::Table => print(&report::table::score_table(&score)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&score)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses an option that only a model with multipliers understands.
pub(crate) fn refuse_baseline(model: &Model, option: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        model.has_multipliers(),
        "`{option}` needs a cg_cmarl run; {} was trained with {}, which has the one trade-off it was trained for",
        model.run.path().display(),
        model.config.algorithm.name()
    );
    Ok(())
}

/// Writes one decision for other solvers.
fn export(
    args: &EvaluateArgs,
    model: &Model,
    config: &Config,
    file: &Path,
    multiplier: f32,
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
    let decision = model.decision(&config.environment, start_seed, multiplier, place)?;
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
