//! `render`: an episode as a moving picture.

use super::{
    conditions::Conditions,
    multiplier,
    output::{check_replaced, print},
};
use crate::exit::ExitCode;
use crate::{
    playback::Playback,
    report::{animation, animation_file, measure, plot::titled},
};
use anyhow::bail;
use cgcmarl::{Error, Model, checkpoint::atomic, environment::Spec};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cgcmarl render RUN --multiplier 0.5 --out episode.gif
  cgcmarl render RUN --multiplier 0 --episode 7 --agents 6 --out crowd.apng";

/// Most steps of an episode that is drawn: each takes 1.7 MB until all are written.
const MOST_STEPS: usize = 500;

/// What `render` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RenderArgs {
    /// The run directory
    run: PathBuf,
    #[command(flatten)]
    conditions: Conditions,
    /// Weight of the constraints: λ for all, or NAME=λ,…; a baseline has none [default: what `choose` left in the run, else 1]
    #[arg(long, value_name = "λ", allow_hyphen_values = true)]
    multiplier: Option<String>,
    /// Number of the start state, as in every sweep
    #[arg(long, default_value_t = 0)]
    episode: u64,
    /// Where the picture goes: a .gif, or an animated .apng or .png
    #[arg(long, default_value = "episode.gif")]
    out: PathBuf,
}

/// Plays one episode and writes it.
pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let kind = args.out.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let encode = match kind.to_ascii_lowercase().as_str() {
        "gif" => animation_file::gif,
        "apng" | "png" => animation_file::apng,
        _ => bail!("invalid value for `--out`: {} (ends in .gif or .apng)", args.out.display()),
    };
    check_replaced(&args.out, is_animation, "moving picture")?;
    let mut model = Model::open(&args.run)?;
    let config = args.conditions.apply(&model.config)?;
    model.act_as(&config)?;
    let scenario = config.scenario()?;
    let spec = scenario.spec()?;
    if spec.horizon > MOST_STEPS {
        let reason = format!("a moving picture has at most {MOST_STEPS} steps");
        bail!(Error::setting("horizon", spec.horizon, reason));
    }
    let multipliers = multiplier::resolve(args.multiplier.as_deref(), &model, &scenario)?;
    let label = match model.operating_points(&scenario, std::slice::from_ref(&multipliers))?.pop() {
        Some(point) => point.label,
        None => config.algorithm.clone(),
    };
    let mut playback = Playback::trained(&model, &scenario)?;
    let trace = playback.trace(config.evaluation.start_seed, args.episode, &multipliers);
    let caption = format!("{}, {} agents, {label}", titled(scenario.name()), spec.n_agents());
    let file = encode(&animation::frames(&trace, &caption)?)?;
    atomic::write(&args.out, &file)?;
    let (shown, steps) = (args.out.display(), trace.n_steps());
    let achieved = achieved(&spec, &trace.metrics);
    print(&format!("{shown} ({} KB): {achieved} over {steps} steps", file.len() / 1024))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a file is a GIF, or a PNG that says in its head that it moves.
fn is_animation(content: &[u8]) -> bool {
    let head = &content[..content.len().min(64)];
    head.starts_with(b"GIF8") || head.windows(4).any(|word| word == b"acTL")
}

/// What an episode came to on every axis of the front.
fn achieved(spec: &Spec, metrics: &[f64]) -> String {
    let (reported, axes) = (spec.reported(), spec.axes());
    let found =
        |name: &String| reported.iter().zip(metrics).find(|(metric, _)| metric.name == *name);
    let told = axes.iter().filter_map(found).map(|(metric, value)| {
        format!("{} {}", metric.name.replace('_', " "), measure::value(metric, *value))
    });
    told.collect::<Vec<_>>().join(", ")
}
