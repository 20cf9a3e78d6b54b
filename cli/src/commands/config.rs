//! `config`: prints a resolved configuration.

use super::output::{overrides, print};
use crate::exit::ExitCode;
use anyhow::Context;
use cgcmarl::{Config, run::Session};
use clap::Args;
use std::{fs, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl config                          the default configuration
  cgcmarl config preset=paper agents=6    the paper's hyperparameters for six agents
  cgcmarl config task=NAME algorithm=iql  another task, and a baseline's defaults
  cgcmarl config agents=10 > ten.toml     a file to edit; train it with --config ten.toml";

/// What `config` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigArgs {
    /// Settings, such as preset=paper agents=6 gamma=0.9
    settings: Vec<String>,
    /// A file of settings (TOML); words on the command line win
    #[arg(long)]
    config: Option<PathBuf>,
    /// Name the presets of the algorithm
    #[arg(long)]
    list: bool,
}

/// Prints the configuration, which `train` would take, or the presets.
pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let config = resolve(args.config.as_ref(), &args.settings)?;
    if args.list {
        print(
            &["default"]
                .iter()
                .chain(config.algorithm()?.presets())
                .copied()
                .collect::<Vec<_>>()
                .join("\n"),
        )?;
    } else {
        Session::check(&config)?;
        print(&config.to_toml())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration of a file and settings.
pub(crate) fn resolve(file: Option<&PathBuf>, settings: &[String]) -> anyhow::Result<Config> {
    let table = match file {
        None => None,
        Some(path) => {
            let shown = path.display().to_string();
            let text = fs::read_to_string(path).with_context(|| shown.clone())?;
            Some(text.parse().with_context(|| shown)?)
        }
    };
    let config = Config::resolve(table, &overrides(settings)?);
    match file {
        Some(path) => config.with_context(|| path.display().to_string()),
        None => Ok(config?),
    }
}
