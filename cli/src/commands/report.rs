//! `report`: one HTML file about a run or a reproduction, to send and to print.

use super::{
    output::{self, print, remark},
    paper_check::ComparedArm,
};
use crate::exit::ExitCode;
use crate::report::{page, paper::comparison};
use anyhow::ensure;
use cgcmarl::{Model, checkpoint::atomic, evaluation::Front, run::on_threads, run_dir::files};
use cgcmarl_paper::reproduction::open;
use clap::Args;
use std::path::PathBuf;

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
    /// Of a reproduction: whose eyes the baselines had
    #[arg(long, value_enum, default_value_t = ComparedArm::Raw)]
    arm: ComparedArm,
}

/// Writes the page.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    output::check_file(&args.out)?;
    let is_page = args.out.extension().is_some_and(|end| end == "html" || end == "htm");
    ensure!(is_page || !args.out.is_file(), "{} exists and is no page", args.out.display());
    let html = if let Some(results) = open(&args.run, args.arm.into())? {
        comparison::comparison_page(&results)?
    } else {
        let model = Model::open(&args.run)?;
        let front = on_threads(output::threads(None)?, || front(&model))??;
        page::run_page(&model, &front)?
    };
    atomic::write(&args.out, html.as_bytes())?;
    print(&format!("{} ({} KB): open it in a browser", args.out.display(), html.len() / 1024))?;
    Ok(ExitCode::SUCCESS)
}

/// The run's front; one that was not swept yet is swept for the page.
fn front(model: &Model) -> anyhow::Result<Front> {
    if model.run.file(files::FRONT_JSON).exists() {
        return Ok(model.front()?);
    }
    remark("this run was not swept yet: sweeping for the report");
    Ok(model.sweep(&model.scenario()?, &model.config.evaluation, &mut |_| {})?)
}
