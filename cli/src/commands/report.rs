//! `report`: one HTML file about a run or a reproduction, to send and to print.

use super::output::{self, print, remark};
use crate::report::{page, paper::comparison};
use anyhow::Context;
use cgcmarl::{Model, checkpoint::atomic, evaluation::Front, run::on_threads};
use cgcmarl_paper::reproduction::Results;
use clap::Args;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl report RUN
  cgcmarl report RUN --out team.html
  cgcmarl report reproduction                 the figures and tables of `reproduce`";

/// What `report` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The run directory, or the folder of a reproduction
    run: PathBuf,
    /// Where the page goes
    #[arg(long, default_value = "report.html")]
    out: PathBuf,
}

/// Writes the page.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let html = if let Some(results) = comparison(&args.run)? {
        comparison::comparison_page(&results)?
    } else {
        let model = Model::open(&args.run)?;
        let front = on_threads(output::threads(None)?, || front(&model))??;
        page::run_page(&model, &front)?
    };
    atomic::write(&args.out, html.as_bytes()).with_context(|| args.out.display().to_string())?;
    print(&format!("{} ({} KB): open it in a browser", args.out.display(), html.len() / 1024))?;
    Ok(ExitCode::SUCCESS)
}

/// What a reproduction measured, where the folder is one.
fn comparison(folder: &Path) -> anyhow::Result<Option<Results>> {
    let file = folder.join("results.json");
    if !file.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).map(Some).with_context(|| file.display().to_string())
}

/// The run's front; one that was not swept yet is swept for the page.
fn front(model: &Model) -> anyhow::Result<Front> {
    if model.run.file("front.json").exists() {
        return Ok(model.front()?);
    }
    remark("this run was not swept yet: sweeping for the report");
    Ok(model.sweep(&model.scenario()?, &model.config.evaluation, &mut |_| {})?)
}
