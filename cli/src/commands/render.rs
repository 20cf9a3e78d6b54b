//! `render`: an episode as a moving picture.

use super::{
    evaluate::refuse_baseline,
    multiplier,
    output::{self, print},
    sweep::changes,
};
use crate::{playback::Playback, report::animation};
use anyhow::bail;
use cgcmarl::{checkpoint::atomic, experiment::Model};
use clap::Args;
use std::{path::PathBuf, process::ExitCode};

const EXAMPLES: &str = "\
Examples:
  cgcmarl render models/simple_spread_3 --multiplier 0.5 --out episode.gif
  cgcmarl render RUN --multiplier 0 --episode 7 --agents 6 --out crowd.apng";

/// What `render` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RenderArgs {
    /// The run directory
    run: PathBuf,
    /// Settings of the environment to change, such as contact=true
    settings: Vec<String>,
    /// Weight of the constraints; a baseline has none [default: what `choose` left in the run, else 1]
    #[arg(long)]
    multiplier: Option<f32>,
    /// Number of the start state, as in every sweep
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Team size [default: the run's]
    #[arg(long)]
    agents: Option<usize>,
    /// Landmark layout: `random`, `spread_uniform`, `line` or `clustered_pair` [default: the run's]
    #[arg(long)]
    layout: Option<String>,
    /// Where the picture goes: a .gif, or an animated .apng or .png
    #[arg(long, default_value = "episode.gif")]
    out: PathBuf,
}

/// Plays one episode and writes it.
pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let kind = args.out.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let encode = match kind.to_ascii_lowercase().as_str() {
        "gif" => animation::gif,
        "apng" | "png" => animation::apng,
        _ => bail!("invalid value for `--out`: {} (ends in .gif or .apng)", args.out.display()),
    };
    output::check_file(&args.out)?;
    let model = Model::open(&args.run)?;
    if args.multiplier.is_some() {
        refuse_baseline(&model, "--multiplier")?;
    }
    let multiplier = multiplier::resolve(args.multiplier, &model.run)?;
    let config =
        model.config.with(&changes(&args.settings, args.agents, args.layout.as_deref())?)?;
    let mut playback = Playback::trained(&model, &config.environment)?;
    let trace = playback.trace(config.evaluation.start_seed, args.episode, Some(multiplier));
    let trade_off = if model.has_multipliers() {
        format!("λ = {multiplier}")
    } else {
        model.config.algorithm.name().to_owned()
    };
    let caption = format!("Simple Spread, {} agents, {trade_off}", config.environment.agents);
    let file = encode(&animation::frames(&trace, playback.radius(), &caption)?)?;
    atomic::write(&args.out, &file)?;
    let collisions: u32 = trace.collisions.iter().sum();
    print(&format!(
        "{} ({} KB): coverage {:.0} % at the end, {collisions} colliding pairs over {} steps",
        args.out.display(),
        file.len() / 1024,
        100.0 * trace.coverage,
        trace.collisions.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}
