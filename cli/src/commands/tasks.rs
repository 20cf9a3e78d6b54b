//! `tasks`: what a team can be trained for, with options, metrics and constraints.

use super::output::{OutputFormat, print};
use crate::exit::ExitCode;
use crate::report::table::columns;
use cgcmarl::environment::{Better, Scenario, TaskInfo, tasks};
use clap::Args;
use std::fmt::Write as _;

const EXAMPLES: &str = "\
Examples:
  cgcmarl tasks                     every task
  cgcmarl tasks NAME --format json  one of them, for programs
  cgcmarl train task=NAME agents=6  options are settings of `train` and `config`";

/// What `tasks` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TasksArgs {
    /// Only this task
    task: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Lists the tasks.
pub(crate) fn run(args: &TasksArgs) -> anyhow::Result<ExitCode> {
    let names = args.task.clone().map_or_else(tasks, |name| vec![name]);
    let infos = names.iter().map(|name| Scenario::of(name)?.info());
    let infos = infos.collect::<cgcmarl::Result<Vec<TaskInfo>>>()?;
    match args.format {
        OutputFormat::Table => {
            print(&infos.iter().map(described).collect::<Vec<_>>().join("\n"))?;
        }
        OutputFormat::Json => print(&serde_json::to_string_pretty(&infos)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One task in words; numbers of a team as it is by default.
fn described(info: &TaskInfo) -> String {
    let mut text = format!("{}: {}\n", info.name, info.summary);
    let options = info.options.iter().map(|option| {
        let default = option.default.as_ref().map_or("–".into(), ToString::to_string);
        [option.key.clone(), default, option.meaning.clone()]
    });
    section(&mut text, "options, with their defaults", &options.collect::<Vec<_>>());
    let metrics = info.metrics.iter().map(|metric| {
        let better =
            if metric.better == Better::Higher { "more is better" } else { "less is better" };
        let objective = if metric.name == info.objective { "; the objective" } else { "" };
        [metric.name.clone(), format!("{better}{objective}"), metric.unit.clone()]
    });
    section(&mut text, "metrics", &metrics.collect::<Vec<_>>());
    let constraints = info.constraints.iter().map(|constraint| {
        [constraint.name.clone(), format!("limits {}", constraint.metric), constraint.unit.clone()]
    });
    section(&mut text, "constraints", &constraints.collect::<Vec<_>>());
    let references = info.references.iter().map(String::as_str).chain(["random"]);
    let _ = writeln!(
        text,
        "\n  played beside every front: {}",
        references.collect::<Vec<_>>().join(", ")
    );
    text
}

/// A heading and what stands under it; nothing where nothing does.
fn section(text: &mut String, title: &str, rows: &[[String; 3]]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  {title}");
    for line in columns(rows).lines() {
        let _ = writeln!(text, "    {line}");
    }
}
