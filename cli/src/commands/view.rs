//! `view`: a local page that plays a trained model live.

use super::output::print;
use crate::exit::ExitCode;
use crate::viewer::{self, Access, PolicyPool};
use anyhow::Context;
use clap::Args;
use std::{
    net::TcpListener,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

const EXAMPLES: &str = "\
Examples:
  cgcmarl view RUN
  cgcmarl view RUN --compare random            a reference of the task beside it
  cgcmarl view RUN --compare OTHER --port 8000

Works on a run in training too: the page follows its newest checkpoint. Ctrl-C ends.";

/// What `view` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ViewArgs {
    /// The run directory
    run: PathBuf,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Address to listen on; anything but loopback lets the network in
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// A second policy side by side: another run of the task, or one of its references by name
    #[arg(long, value_name = "RUN|NAME")]
    compare: Option<String>,
}

/// Serves the page until Ctrl-C.
pub(crate) fn run(args: &ViewArgs) -> anyhow::Result<ExitCode> {
    let pool = PolicyPool::new(&args.run, args.compare.as_deref())?;
    let listener = TcpListener::bind((args.host.as_str(), args.port))
        .with_context(|| format!("cannot listen on {}:{}", args.host, args.port))?;
    let address = listener.local_addr().context("cannot listen")?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst))
        .context("cannot listen for Ctrl-C")?;
    print(&format!("{} is at http://{address}/ (Ctrl-C ends)", args.run.display()))?;
    viewer::serve(listener, pool, Access::new(address, &args.host), &stop)?;
    Ok(ExitCode::SUCCESS)
}
