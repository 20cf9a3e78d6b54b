//! `reproduce`: the paper's tables and figures, measured; runs what is missing.

use super::{
    job_runner::{JobRunner, JobsEnd},
    output::{check_folder, cores, print, remark},
};
use crate::exit::ExitCode;
use crate::report::{paper::reproduction, table};
use anyhow::{Context, bail, ensure};
use cgcmarl::environment::simple_spread::layout::Layout;
use cgcmarl_paper::reproduction::{Budget, LAYOUTS, Plan, ROWS, Results, Row, gather};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl reproduce                                    everything: days on a small machine
  cgcmarl reproduce --budget quick --agents 3 --jobs 2
  cgcmarl reproduce --table cgcmarl --seeds 3
  cgcmarl reproduce --rows iql_0.3,qmix_0.0 --agents 3,4
  cgcmarl paper-check                                  what of the paper holds

Every model has a committed configuration (configs/baselines, configs/cgcmarl) and the same number
of environment steps. Finished trainings are kept; Ctrl-C or a crash loses nothing: the same command
goes on. Tables (Markdown, CSV, LaTeX), results.json, marl_eval.json and figures go to the folder.";

/// A table of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// Every baseline at every ratio or limit
    Baselines,
    /// The sweep of CG-CMARL
    Cgcmarl,
    /// CG-CMARL at λ=1 as the team grows
    Scaling,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FigureName {
    /// All methods on random layouts
    Pareto,
    /// All methods on fixed layouts
    Scenarios,
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BudgetName {
    /// 50 k steps each
    Quick,
    /// 300 k to 900 k steps each, by team size
    Standard,
    /// 1 M to 3 M steps each, by team size
    Full,
}

/// What `reproduce` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// Only what these tables need
    #[arg(long, value_enum, value_delimiter = ',')]
    table: Vec<TableName>,
    /// Only what these figures need
    #[arg(long, value_enum, value_delimiter = ',')]
    figure: Vec<FigureName>,
    /// Only these models, by the names of their configurations, such as iql_0.3
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Team sizes
    #[arg(long, value_delimiter = ',', default_value = "3,4,6,10")]
    agents: Vec<usize>,
    /// Number of training seeds
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// Environment steps of every training
    #[arg(long, value_enum, default_value_t = BudgetName::Standard)]
    budget: BudgetName,
    /// Environment steps of every training, instead of the budget's
    #[arg(long)]
    steps: Option<u64>,
    /// Evaluation episodes of every point, instead of the budget's
    #[arg(long)]
    episodes: Option<usize>,
    /// Trainings at once; they change the speed, never the result [default: one per core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Where runs, tables and figures go
    #[arg(long, default_value = "reproduction")]
    out: PathBuf,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// Trains and plays what is missing, then writes everything.
pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    check_folder(&args.out)?;
    let plan = plan(args)?;
    // Every configuration is read before the first training starts.
    for job in plan.jobs() {
        plan.config(&job)?;
    }
    if !args.quiet {
        announce(&plan, &args.out);
    }
    let n_workers = args.jobs.unwrap_or_else(cores).max(1);
    let runner = JobRunner { plan: &plan, folder: &args.out, n_workers, quiet: args.quiet };
    let JobsEnd { stopped, failures } = runner.run()?;
    if stopped {
        remark("stopped; everything is saved. The same command goes on.");
        return Ok(ExitCode::from(130));
    }
    let results = gather(&args.out);
    let written = reproduction::save(&args.out, &plan, &results)?;
    print(&summary(&results, &args.out, &written))?;
    for left_out in &results.left_out {
        remark(&format!("warning: {left_out}"));
    }
    for failure in &failures {
        remark(&format!("error: {failure}"));
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

impl ReproduceArgs {
    /// Where everything goes.
    pub(super) fn folder(&self) -> &Path {
        &self.out
    }
}

/// What is to be trained and played.
pub(super) fn plan(args: &ReproduceArgs) -> anyhow::Result<Plan> {
    ensure!(args.seeds > 0, "invalid value for `--seeds`: 0 (must be positive)");
    if let Some(n_agents) = args.agents.iter().find(|n| **n < 2) {
        bail!("invalid value for `--agents`: {n_agents} (a team has at least 2 agents)");
    }
    Ok(Plan {
        rows: rows(args)?,
        agents: args.agents.clone(),
        seeds: (1..=args.seeds).collect(),
        layouts: layouts(args),
        budget: match args.budget {
            BudgetName::Quick => Budget::Quick,
            BudgetName::Standard => Budget::Standard,
            BudgetName::Full => Budget::Full,
        },
        steps: args.steps,
        episodes: args.episodes,
    })
}

/// The models that the wanted tables and figures need.
fn rows(args: &ReproduceArgs) -> anyhow::Result<Vec<&'static Row>> {
    let find = |name: &String| {
        ROWS.iter().find(|row| row.name == name).with_context(|| {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
            format!("invalid value for `--rows`: {name} (one of {})", names.join(", "))
        })
    };
    if !args.rows.is_empty() {
        return args.rows.iter().map(find).collect();
    }
    let everything = args.table.is_empty() || !args.figure.is_empty();
    let is_wanted = |row: &&Row| {
        everything
            || args.table.iter().any(|table| (*table == TableName::Baselines) != row.is_ours())
    };
    Ok(ROWS.iter().filter(is_wanted).collect())
}

fn layouts(args: &ReproduceArgs) -> Vec<Layout> {
    let everything = args.table.is_empty() && args.figure.is_empty();
    let mut layouts = vec![];
    if everything || !args.table.is_empty() || args.figure.contains(&FigureName::Pareto) {
        layouts.push(Layout::Random);
    }
    if everything || args.figure.contains(&FigureName::Scenarios) {
        layouts.extend(LAYOUTS);
    }
    layouts
}

fn announce(plan: &Plan, folder: &Path) {
    let n_trainings = plan.jobs().len();
    remark(&format!("{n_trainings} trainings in {}", folder.display()));
    for n_agents in &plan.agents {
        remark(&format!(
            "  {n_agents} agents: {} models × {} seeds, {} environment steps each, {} evaluation episodes per point",
            plan.rows.len(),
            plan.seeds.len(),
            plan.steps(*n_agents),
            plan.episodes()
        ));
    }
}

/// The hypervolumes, how many baseline points are dominated, and where everything is.
fn summary(results: &Results, folder: &Path, written: &[String]) -> String {
    let names = ["N", "layout", "method", "hypervolume", "95 %", "to the paper's front"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for team in &results.teams {
        for front in &team.fronts {
            let volume = &front.hypervolume;
            let ratio = front.ratio_to_printed_cg_cmarl;
            rows.push(vec![
                team.n_agents.to_string(),
                team.layout.clone(),
                front.algorithm.clone(),
                format!("{:.4}", volume.mean),
                format!("{:.4}–{:.4}", volume.low, volume.high),
                ratio.map_or(String::new(), |ratio| format!("{ratio:.2} times")),
            ]);
        }
    }
    let of_ours = || {
        let all = results.teams.iter().flat_map(|team| &team.dominance);
        all.filter(|entry| entry.by == "cg_cmarl")
    };
    let n_dominated = of_ours().filter(|entry| entry.dominated).count();
    format!(
        "{}\n{n_dominated} of {} baseline points are dominated by the front of cg_cmarl\n{}: {}\n",
        table::aligned(&rows),
        of_ours().count(),
        folder.display(),
        written.join(", ")
    )
}
