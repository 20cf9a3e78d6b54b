//! `check-environment`: replays episodes recorded elsewhere and says how far ours are from them.

use super::output::{OutputFormat, print};
use crate::exit::ExitCode;
use crate::report::table::aligned;
use cgcmarl::environment::{
    particle::recording::{GroupDeviation, Recording, TOLERANCE},
    simple_spread, simple_tag,
};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Example:
  cgcmarl check-environment tests/data/mpe2_subset.json.gz";

/// What `check-environment` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckEnvironmentArgs {
    /// Recorded episodes: JSON, plain or compressed with gzip
    file: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Replays the file; fails with exit code 1 where a deviation is above 1e-9 or a count differs.
pub(crate) fn run(args: &CheckEnvironmentArgs) -> anyhow::Result<ExitCode> {
    let recording = Recording::read(&args.file)?;
    let mut groups = simple_spread::recording::replay_groups(&recording)?;
    groups.extend(simple_tag::recording::replay_groups(&recording)?);
    recording.check_found(&groups, &["simple_spread", "simple_tag"])?;
    let text = match args.format {
        OutputFormat::Table => table(&args.file, &groups)?,
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

/// One row per group of episodes: what it was and how far ours is from it.
fn table(file: &Path, groups: &[GroupDeviation]) -> anyhow::Result<String> {
    let mut rows: Vec<Vec<String>> = vec![];
    for group in groups {
        let Value::Object(fields) = serde_json::to_value(group)? else { continue };
        if rows.is_empty() {
            rows.push(fields.keys().map(|key| key.replace('_', " ")).collect());
        }
        let mut row: Vec<String> = fields.values().map(cell).collect();
        row.extend((!group.passes()).then(|| "differs".to_owned()));
        rows.push(row);
    }
    let failed = groups.iter().filter(|group| !group.passes()).count();
    let verdict = if failed == 0 { "equal".into() } else { format!("{failed} groups differ") };
    let episodes: usize = groups.iter().map(|group| group.episodes).sum();
    let largest = largest(groups);
    Ok(format!(
        "Largest deviations from {}\n\n{}\n{episodes} episodes, largest deviation {largest:.1e}: {verdict}",
        file.display(),
        aligned(&rows)
    ))
}

/// Deviations are tiny; what was set reads as it was.
fn cell(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() && number < 1e-3 => format!("{number:.1e}"),
        Some(number) if value.is_f64() => format!("{number:.4}"),
        _ => value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned),
    }
}
