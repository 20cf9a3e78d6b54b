//! `sweep`: the whole trade-off of one trained model.

use super::{
    evaluate::refuse_baseline,
    output::{self, OutputFormat, print, remark},
};
use crate::report;
use cgcmarl::{
    evaluation::Front,
    experiment::{Model, on_threads},
    run_dir::files,
};
use clap::Args;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl sweep models/simple_spread_3
  cgcmarl sweep RUN --multipliers 0,0.5,1 --episodes 2000 --format json
  cgcmarl sweep RUN --layout line agents=4          on other layouts and team sizes";

/// What `sweep` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// The run directory
    run: PathBuf,
    /// Settings to change, such as `contact=true` `acting.solver=max_sum`
    settings: Vec<String>,
    /// Multipliers to try, separated by commas [default: the run's]
    #[arg(long, value_delimiter = ',')]
    multipliers: Option<Vec<f32>>,
    /// Episodes per multiplier [default: the run's]
    #[arg(long)]
    episodes: Option<usize>,
    /// Team size [default: the run's]
    #[arg(long)]
    agents: Option<usize>,
    /// Landmark layout: `random`, `spread_uniform`, `line` or `clustered_pair` [default: the run's]
    #[arg(long)]
    layout: Option<String>,
    /// Where front.json, front.csv, front.svg and front.png go [default: the run]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Sweeps, draws and prints.
pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<ExitCode> {
    args.out.iter().try_for_each(|place| output::check_folder(place))?;
    let mut model = Model::open(&args.run)?;
    let changes = changes(&args.settings, args.agents, args.layout.as_deref())?;
    let mut config = model.config.with(&changes)?;
    model.act_as(&config);
    if let Some(multipliers) = &args.multipliers {
        refuse_baseline(&model, "--multipliers")?;
        config.evaluation.multipliers.clone_from(multipliers);
    }
    config.evaluation.episodes = args.episodes.unwrap_or(config.evaluation.episodes);
    let front = on_threads(output::threads(args.threads), || {
        model.sweep(&config.environment, &config.evaluation, &mut |score| {
            remark(&format!("{} done", score.label));
        })
    })??;
    // A sweep under other conditions does not replace the run's own front.
    let place = match &args.out {
        None if changes.is_empty() => Some(args.run.clone()),
        given => given.clone(),
    };
    if let Some(place) = &place {
        report::save_front_in(place, &front)?;
    }
    match args.format {
        OutputFormat::Table => print(&text(&front, place.as_deref())),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&front)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The settings that differ from the run's, from words and from options of their own.
pub(crate) fn changes(
    settings: &[String],
    agents: Option<usize>,
    layout: Option<&str>,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut changes = output::overrides(settings)?;
    changes.extend(agents.map(|n| ("agents".to_owned(), n.to_string())));
    changes.extend(layout.map(|name| ("layout".to_owned(), name.to_owned())));
    Ok(changes)
}

/// Sweeps a finished run as its configuration says, and prints the table.
pub(crate) fn sweep_and_save(path: &Path, quiet: bool) -> anyhow::Result<()> {
    let model = Model::open(path)?;
    let config = &model.config;
    if !quiet && model.has_multipliers() {
        remark(&format!(
            "sweeping {} multipliers over {} episodes each",
            config.evaluation.multipliers.len(),
            config.evaluation.episodes
        ));
    } else if !quiet {
        remark(&format!("scoring over {} episodes", config.evaluation.episodes));
    }
    let front = model.sweep(&config.environment, &config.evaluation, &mut |_| {})?;
    report::save_front_in(path, &front)?;
    print(&text(&front, Some(path)))
}

fn text(front: &Front, place: Option<&Path>) -> String {
    let mut text = report::table::front_table(front);
    let printed = report::table::paper_table(front.n_agents);
    if !printed.is_empty() {
        let _ = write!(text, "\n{printed}");
    }
    if let Some(place) = place {
        let _ =
            writeln!(text, "\nThe front is drawn in {}", place.join(files::FRONT_PNG).display());
    }
    text
}
