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

/// What every page has.
const TITLE: &[u8] = b"<title>cgcmarl";

/// What `report` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// The run directory, or the folder of a reproduction
    run: PathBuf,
    /// Where the page goes
    #[arg(long, default_value = "report.html")]
    out: PathBuf,
    /// Of a reproduction: whose eyes the baselines had [default: raw]
    #[arg(long, value_enum)]
    arm: Option<ComparedArm>,
}

/// Writes the page.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let is_page = |content: &[u8]| content.windows(TITLE.len()).any(|bytes| bytes == TITLE);
    output::check_replaced(&args.out, is_page, "page of `report`")?;
    let arm = args.arm.unwrap_or(ComparedArm::Raw);
    let html = if let Some(results) = open(&args.run, arm.into())? {
        comparison::comparison_page(&results)?
    } else {
        let shown = args.run.display();
        ensure!(args.arm.is_none(), "`--arm` is of a reproduction; {shown} is none");
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
