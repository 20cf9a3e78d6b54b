//! `check-environment`: replays recorded MPE2 episodes and says how far ours are from them.

use super::output::{OutputFormat, print};
use cgcmarl::environment::recording::{self, GroupDeviation, TOLERANCE};
use clap::Args;
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What `check-environment` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckEnvironmentArgs {
    /// Recorded episodes: JSON, plain or compressed with gzip
    file: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Replays the file; fails with exit code 1 where a deviation is above 1e-9 or a count differs.
pub(crate) fn run(args: &CheckEnvironmentArgs) -> anyhow::Result<ExitCode> {
    let groups = recording::check(&args.file)?;
    let text = match args.format {
        OutputFormat::Table => table(&args.file, &groups),
        OutputFormat::Json => json(&groups)?,
    };
    print(&text)?;
    let passed = groups.iter().all(GroupDeviation::passes);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn json(groups: &[GroupDeviation]) -> anyhow::Result<String> {
    let value = serde_json::json!({
        "tolerance": TOLERANCE,
        "largest": largest(groups),
        "passed": groups.iter().all(GroupDeviation::passes),
        "groups": groups,
    });
    Ok(serde_json::to_string_pretty(&value)?)
}

fn largest(groups: &[GroupDeviation]) -> f64 {
    groups.iter().map(GroupDeviation::largest).fold(0.0, f64::max)
}

fn table(file: &Path, groups: &[GroupDeviation]) -> String {
    let mut text = format!("Simple Spread against {}: largest deviations\n\n", file.display());
    text.push_str(
        "agents  radius  contact  episodes  position  velocity    reward  landmark  observed  \
         pairs  endings\n",
    );
    for g in groups {
        let contact = if g.contact { "on" } else { "off" };
        let _ = writeln!(
            text,
            "{:>6}  {:>6.4}  {contact:>7}  {:>8}  {:>8.1e}  {:>8.1e}  {:>8.1e}  {:>8.1e}  {:>8.1e}  \
             {:>5}  {:>7}{}",
            g.agents,
            g.radius,
            g.episodes,
            g.position,
            g.velocity,
            g.reward,
            g.landmark_distance,
            g.observation,
            g.pair_mismatches,
            g.ending_mismatches,
            if g.passes() { "" } else { "  differs" },
        );
    }
    let failed = groups.iter().filter(|g| !g.passes()).count();
    let verdict = if failed == 0 { "equal".into() } else { format!("{failed} groups differ") };
    let episodes: usize = groups.iter().map(|g| g.episodes).sum();
    let largest = largest(groups);
    let _ = write!(text, "\n{episodes} episodes, largest deviation {largest:.1e}: {verdict}");
    text
}
