//! `paper-check`: what the paper prints beside what a reproduction measured.

use super::output::{OutputFormat, print, remark};
use crate::exit::ExitCode;
use crate::report::table;
use anyhow::Context;
use cgcmarl_paper::reproduction::{
    Arm,
    check::{CheckOutcome, Line, check},
    open,
};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cgcmarl paper-check
  cgcmarl paper-check --reproduction docs/comparison --arm shared
  cgcmarl paper-check --reproduction my_folder --format json

A number is confirmed within the stated tolerance: two deviations of the difference over the seeds
of both, at least 5 % of the printed number. Beyond it, a better one exceeds the paper and a worse
one is not confirmed. `cgcmarl reproduce` makes the folder.";

const VERDICTS: [CheckOutcome; 4] = [
    CheckOutcome::Confirmed,
    CheckOutcome::Exceeded,
    CheckOutcome::NotConfirmed,
    CheckOutcome::NotMeasured,
];

/// An arm that the paper's tables are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparedArm {
    /// The baselines see MPE2's rows.
    Raw,
    /// The baselines see what a region of CG-CMARL sees.
    Shared,
}

impl From<ComparedArm> for Arm {
    fn from(arm: ComparedArm) -> Self {
        match arm {
            ComparedArm::Raw => Self::Raw,
            ComparedArm::Shared => Self::Shared,
        }
    }
}

/// What `paper-check` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PaperCheckArgs {
    /// The folder that `reproduce` wrote
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    reproduction: PathBuf,
    /// Whose eyes the baselines had: `raw` or `shared`
    #[arg(long, value_enum, default_value_t = ComparedArm::Raw)]
    arm: ComparedArm,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Compares and prints.
pub(crate) fn run(args: &PaperCheckArgs) -> anyhow::Result<ExitCode> {
    let shown = args.reproduction.display();
    let results = open(&args.reproduction, args.arm.into())?
        .with_context(|| format!("{shown}: holds no rows; first run `cgcmarl reproduce`"))?;
    for left_out in &results.left_out {
        remark(&format!("warning: {left_out}"));
    }
    let lines = check(&results);
    match args.format {
        OutputFormat::Table => print(&format!("{}\n{}", line_table(&lines), counts(&lines))),
        OutputFormat::Json => print(&serde_json::to_string_pretty(&lines)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn line_table(lines: &[Line]) -> String {
    let head = ["", "of", "what", "paper", "ours", "tolerance", "verdict"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|line| {
        vec![
            line.part.into(),
            line.subject.clone(),
            line.quantity.clone(),
            line.paper.clone(),
            line.ours.clone(),
            line.tolerance.clone(),
            line.verdict.name().into(),
        ]
    }));
    table::aligned(&rows)
}

/// How many lines of each part got each verdict.
fn counts(lines: &[Line]) -> String {
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(VERDICTS.map(|verdict| verdict.name().to_owned()));
    for part in ["baselines", "cgcmarl", "scaling", "claims"] {
        let of = |verdict| {
            lines.iter().filter(|line| line.part == part && line.verdict == verdict).count()
        };
        let mut row = vec![part.to_owned()];
        row.extend(VERDICTS.map(|verdict| of(verdict).to_string()));
        rows.push(row);
    }
    table::aligned(&rows)
}
