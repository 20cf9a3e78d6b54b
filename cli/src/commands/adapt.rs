//! `evaluate --adapt`: limits kept by dual updates that go on while a trained model plays.

use super::{
    choose::limits,
    multiplier,
    output::{OutputFormat, print, remark},
};
use crate::exit::ExitCode;
use crate::report::table;
use anyhow::{Context, ensure};
use cgcmarl::{
    Config, Error, Model,
    evaluation::Measures,
    multipliers::{DualUpdate, PidOptions},
    run::{Adapted, Adapting, on_threads},
};
use clap::{Args, ValueEnum};

/// How a multiplier follows the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Update {
    /// Projected dual ascent
    Ascent,
    /// Proportional, integral and derivative control
    Pid,
}

/// What `evaluate` takes for playing with adapting multipliers.
#[derive(Debug, Args)]
pub(crate) struct AdaptArgs {
    /// Keep limits on average by a dual update after every episode, starting at --multiplier
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "ascent", conflicts_with = "part")]
    adapt: Option<Update>,
    /// With --adapt: most of a constraint's metric on average, as for `choose`
    #[arg(long, value_name = "LIMIT", allow_hyphen_values = true)]
    limit: Vec<String>,
    /// With --adapt: step of a multiplier per violation as a share of its limit; for `pid` what
    /// violations add up with
    #[arg(
        long,
        default_value_t = 0.01,
        value_name = "STEP",
        allow_hyphen_values = true,
        requires = "adapt"
    )]
    adapt_rate: f32,
    /// With --adapt: multipliers never exceed this
    #[arg(
        long,
        default_value_t = 10.0,
        value_name = "λ",
        allow_hyphen_values = true,
        requires = "adapt"
    )]
    adapt_bound: f32,
}

impl AdaptArgs {
    /// Whether multipliers adapt; a limit alone is a mistake.
    pub(crate) fn is_wanted(&self) -> anyhow::Result<bool> {
        ensure!(
            self.adapt.is_some() || self.limit.is_empty(),
            Error::setting(
                "--limit",
                self.limit.join(" "),
                "is kept with --adapt only; `choose` certifies one"
            )
        );
        let reason = "say what to keep with --limit NAME=NUMBER";
        ensure!(
            self.adapt.is_none() || !self.limit.is_empty(),
            Error::setting("--adapt", "no limit", reason)
        );
        Ok(self.adapt.is_some())
    }
}

/// Plays.
pub(crate) fn run(
    args: &AdaptArgs,
    start: Option<&str>,
    model: &Model,
    config: &Config,
    threads: usize,
) -> anyhow::Result<Adapted> {
    let scenario = config.scenario()?;
    let spec = scenario.spec()?;
    let start = match start {
        Some(_) => multiplier::resolve(start, model, &scenario)?,
        None => vec![0.0; spec.n_constraints()],
    };
    let rate = args.adapt_rate;
    let adapting = Adapting {
        limits: limits(&args.limit, &spec)?,
        update: match args.adapt.context("nothing adapts")? {
            Update::Ascent => DualUpdate::Ascent,
            Update::Pid => DualUpdate::Pid,
        },
        pid: PidOptions { integral: rate, ..PidOptions::default() },
        rate,
        ceiling: args.adapt_bound,
        start,
    };
    let every = config.evaluation.episodes.div_ceil(10).max(1);
    let names = spec.constraint_names();
    let played = &mut |episode: usize, multipliers: &[f32]| {
        if episode.is_multiple_of(every) {
            let each = names.iter().zip(multipliers).map(|(name, m)| format!("{name} λ={m:.3}"));
            remark(&format!("episode {episode}: {}", each.collect::<Vec<_>>().join(", ")));
        }
    };
    Ok(on_threads(threads, || model.adapt(&scenario, &config.evaluation, &adapting, played))??)
}

/// Prints.
pub(crate) fn show(
    adapted: &Adapted,
    measures: &Measures,
    format: OutputFormat,
) -> anyhow::Result<ExitCode> {
    match format {
        OutputFormat::Table => print(&table::adapted_table(adapted, measures)),
        OutputFormat::Json => print(&serde_json::to_string_pretty(adapted)?),
    }?;
    Ok(ExitCode::SUCCESS)
}
