//! `reproduce`: the paper's tables and figures from rows that are known; trains what is missing where asked to.

use super::{
    job_runner::{JobRunner, JobsEnd},
    output::{check_folder, cores, print, remark},
};
use crate::exit::ExitCode;
use crate::report::paper::{reproduction, summary::summary};
use anyhow::{bail, ensure};
use cgcmarl::environment::simple_spread::layout::Layout;
use cgcmarl_paper::reproduction::{
    Arm, Budget, LAYOUTS, Places, Plan, ROWS, Row, RowResult, Rows, results, same_again,
};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl reproduce                                    tables and figures from the committed rows, in seconds
  cgcmarl reproduce --budget quick --agents 3 --jobs 2 trains what is missing
  cgcmarl reproduce --arm shared --budget plateau --rows vdn,qmix_0.6 --agents 3,4
  cgcmarl reproduce --table ladder --budget standard
  cgcmarl reproduce --rerun docs/comparison/rows/ours/cg_cmarl_seed_1_n3.json
  cgcmarl paper-check                                  what of the paper holds

Every model has a committed configuration (configs/baselines, configs/cgcmarl). Finished trainings
are kept; Ctrl-C or a crash loses nothing: the same command goes on. Rows, tables (Markdown, CSV,
LaTeX), results.json, marl_eval.json and figures go to the folder, those of an arm below its name.";

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// Every baseline at every ratio or limit
    Baselines,
    /// The sweep of CG-CMARL
    Cgcmarl,
    /// CG-CMARL at λ=1 as the team grows
    Scaling,
    /// From the paper's table to CG-CMARL, one change at a time, and back
    Ladder,
    /// Returns in MPE2 as it is shipped, beside published ones
    Stock,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FigureName {
    /// All methods on random layouts
    Pareto,
    /// All methods on fixed layouts
    Scenarios,
}

/// What is trained and shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ArmName {
    /// CG-CMARL, and the baselines on the rows that MPE2 shows an agent
    Raw,
    /// CG-CMARL, and the baselines on what its regions are shown of one agent
    Shared,
    /// From the paper's table to CG-CMARL, one change at a time, and back
    Ladder,
    /// Every method in MPE2 as it is shipped
    Stock,
}

impl ArmName {
    const fn arm(self) -> Arm {
        match self {
            Self::Raw => Arm::Raw,
            Self::Shared => Arm::Shared,
            Self::Ladder => Arm::Ladder,
            Self::Stock => Arm::Stock,
        }
    }
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
    /// As standard, and baselines whose greedy curve is not flat then again, each time twice as long, up to 2 M steps (10 M without a memory)
    Plateau,
}

impl BudgetName {
    const fn budget(self) -> Budget {
        match self {
            Self::Quick => Budget::Quick,
            Self::Standard => Budget::Standard,
            Self::Full => Budget::Full,
            Self::Plateau => Budget::Plateau,
        }
    }
}

/// What `reproduce` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// What is trained and shown together [default: raw to train, all that there are to show]
    #[arg(long, value_enum)]
    arm: Option<ArmName>,
    /// Only what these tables need
    #[arg(long, value_enum, value_delimiter = ',')]
    table: Vec<TableName>,
    /// Only what these figures need
    #[arg(long, value_enum, value_delimiter = ',')]
    figure: Vec<FigureName>,
    /// Only these models, by name, such as iql_0.3, or by algorithm, such as iql
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Team sizes [default: 3,4,6,10; ladder: 3,6; stock: 3]
    #[arg(long, value_delimiter = ',')]
    agents: Vec<usize>,
    /// Number of training seeds [default: 5 up to four agents, 3 beyond]
    #[arg(long)]
    seeds: Option<u64>,
    /// Train what is missing, for so many environment steps
    #[arg(long, value_enum)]
    budget: Option<BudgetName>,
    /// Train what is missing, for this number of environment steps
    #[arg(long)]
    steps: Option<u64>,
    /// Evaluation episodes of every point, instead of the budget's
    #[arg(long)]
    episodes: Option<usize>,
    /// Trainings at once; they change the speed, never the result [default: one per core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Where rows, tables and figures go
    #[arg(long, default_value = "reproduction")]
    out: PathBuf,
    /// Where trainings go [default: `runs` in the folder of --out]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// A folder whose rows count as done too
    #[arg(long, default_value = "docs/comparison", value_name = "DIR")]
    known: PathBuf,
    /// Make a row again and tell whether every number is the same
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arm", "table", "figure", "rows", "agents", "seeds", "budget", "steps", "episodes"])]
    rerun: Option<PathBuf>,
    /// Say nothing while working
    #[arg(long)]
    quiet: bool,
}

/// Trains and plays what is missing where asked to, then writes everything.
pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    check_folder(&args.out)?;
    if let Some(file) = &args.rerun {
        return rerun(args, file);
    }
    let arm = arm(args)?;
    let trains = args.budget.is_some() || args.steps.is_some();
    let plan = plan(args, arm.unwrap_or(Arm::Raw))?;
    let mut failures = vec![];
    if trains {
        let end = train(args, &plan)?;
        if end.stopped {
            remark("stopped; everything is saved. The same command goes on.");
            return Ok(ExitCode::from(130));
        }
        failures = end.failures;
    }
    let mut rows = Rows::read(&args.out);
    if !trains && rows.trained.is_empty() {
        warn_of_left_out(&rows);
        rows = Rows::read(&args.known);
        ensure!(
            !rows.trained.is_empty(),
            "neither {} nor {} holds rows: train them with `--budget quick` (or standard, full, plateau)",
            args.out.display(),
            args.known.display()
        );
    }
    let shown = match arm {
        Some(arm) => vec![arm],
        None if trains => vec![Arm::Raw],
        None => Arm::ALL[1..].to_vec(),
    };
    let shown: Vec<Arm> = shown.into_iter().filter(|arm| rows.has_own(*arm) || trains).collect();
    if let Some(arm) = arm.filter(|_| shown.is_empty()) {
        bail!(
            "no row of the arm `{}` is known: train some with `--budget quick` (or standard, full, plateau)",
            arm.name()
        );
    }
    for arm in shown {
        let results = results(&rows, arm);
        let written = reproduction::save(&args.out, &rows, &results)?;
        print(&summary(&results, &args.out.join(arm.name()), &written))?;
    }
    warn_of_left_out(&rows);
    for failure in &failures {
        remark(&format!("error: {failure}"));
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn warn_of_left_out(rows: &Rows) {
    for left_out in &rows.left_out {
        remark(&format!("warning: {left_out}"));
    }
}

fn train(args: &ReproduceArgs, plan: &Plan) -> anyhow::Result<JobsEnd> {
    // Every configuration is read before the first training starts.
    for job in plan.jobs() {
        plan.config(&job)?;
    }
    let places = places(args);
    if !args.quiet {
        announce(plan, &places);
    }
    let n_workers = args.jobs.unwrap_or_else(cores).max(1);
    JobRunner { plan, places: &places, n_workers, quiet: args.quiet }.run()
}

fn places(args: &ReproduceArgs) -> Places {
    Places {
        runs: args.runs.clone().unwrap_or_else(|| args.out.join("runs")),
        out: args.out.clone(),
        known: Some(args.known.clone()).filter(|known| *known != args.out),
    }
}

/// Trains the row of a file anew, and compares everything but the times.
fn rerun(args: &ReproduceArgs, file: &Path) -> anyhow::Result<ExitCode> {
    let known = RowResult::read(file)?;
    let plan = Plan::of_row(&known)?;
    let made = known.place(&args.out);
    ensure!(
        !made.exists(),
        "{} is there already, and would only be compared: name another folder with `--out`, in which the row is trained again",
        made.display()
    );
    // The row itself must not count as done.
    let places = Places { known: None, ..places(args) };
    let runner = JobRunner { plan: &plan, places: &places, n_workers: 1, quiet: args.quiet };
    let JobsEnd { stopped, failures } = runner.run()?;
    if stopped {
        remark("stopped; everything is saved. The same command goes on.");
        return Ok(ExitCode::from(130));
    }
    if let Some(failure) = failures.first() {
        bail!("{failure}");
    }
    let again = RowResult::read(&made)?;
    let same = same_again(&plan, &known, &again)?;
    let verdict = if same { "the same in every number" } else { "NOT the same" };
    print(&format!("{}: {verdict} as {}", made.display(), file.display()))?;
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The arm that was named, by itself or by a table of its own.
fn arm(args: &ReproduceArgs) -> anyhow::Result<Option<Arm>> {
    let named = args.arm.map(ArmName::arm);
    let of_table = |table: &TableName| match table {
        TableName::Ladder => Some(Arm::Ladder),
        TableName::Stock => Some(Arm::Stock),
        _ => None,
    };
    let mut arms: Vec<Arm> = args.table.iter().filter_map(of_table).chain(named).collect();
    arms.dedup();
    ensure!(
        arms.len() < 2,
        "`--table` and `--arm` name different arms ({}): one at a time",
        arms.iter().map(|arm| arm.name()).collect::<Vec<_>>().join(", ")
    );
    Ok(arms.first().copied())
}

impl ReproduceArgs {
    /// Where everything goes.
    pub(super) fn folder(&self) -> &Path {
        &self.out
    }
}

/// What the arm that was named, or the paper's, has to train and play.
pub(super) fn planned(args: &ReproduceArgs) -> anyhow::Result<Plan> {
    plan(args, arm(args)?.unwrap_or(Arm::Raw))
}

fn plan(args: &ReproduceArgs, arm: Arm) -> anyhow::Result<Plan> {
    ensure!(args.seeds != Some(0), "invalid value for `--seeds`: 0 (must be positive)");
    if let Some(n_agents) = args.agents.iter().find(|n| **n < 2) {
        bail!("invalid value for `--agents`: {n_agents} (a team has at least 2 agents)");
    }
    let usual: &[usize] = match arm {
        Arm::Ladder => &[3, 6],
        Arm::Stock => &[3],
        _ => &[3, 4, 6, 10],
    };
    Ok(Plan {
        rows: rows(args, arm)?,
        agents: if args.agents.is_empty() { usual.to_vec() } else { args.agents.clone() },
        seeds: args.seeds.map_or_else(Vec::new, |n| (1..=n).collect()),
        layouts: layouts(args, arm),
        budget: args.budget.map_or(Budget::Standard, BudgetName::budget),
        steps: args.steps,
        episodes: args.episodes,
    })
}

/// The models that the wanted tables and figures need.
fn rows(args: &ReproduceArgs, arm: Arm) -> anyhow::Result<Vec<&'static Row>> {
    let own = || ROWS.iter().filter(|row| row.arm.belongs_to(arm));
    if !args.rows.is_empty() {
        let mut found = vec![];
        for name in &args.rows {
            let before = found.len();
            found.extend(own().filter(|row| row.name == *name || row.algorithm == name));
            if found.len() == before {
                let names: Vec<_> = own().map(|row| row.name.as_str()).collect();
                bail!("invalid value for `--rows`: {name} (one of {})", names.join(", "));
            }
        }
        return Ok(found);
    }
    let is_wanted = |row: &&Row| {
        let of_table = |table: &TableName| match table {
            TableName::Baselines => !row.is_ours(),
            TableName::Cgcmarl | TableName::Scaling => row.is_ours(),
            TableName::Ladder | TableName::Stock => true,
        };
        args.table.is_empty() || !args.figure.is_empty() || args.table.iter().any(of_table)
    };
    let rows: Vec<&Row> = own().filter(is_wanted).collect();
    ensure!(!rows.is_empty(), "the arm {} has none of these tables", arm.name());
    Ok(rows)
}

fn layouts(args: &ReproduceArgs, arm: Arm) -> Vec<Layout> {
    let everything = args.table.is_empty() && args.figure.is_empty();
    let fixed = matches!(arm, Arm::Raw | Arm::Shared);
    let mut layouts = vec![];
    if everything || !args.table.is_empty() || args.figure.contains(&FigureName::Pareto) {
        layouts.push(Layout::Random);
    }
    if fixed && everything || args.figure.contains(&FigureName::Scenarios) {
        layouts.extend(LAYOUTS);
    }
    layouts
}

fn announce(plan: &Plan, places: &Places) {
    remark(&format!("{} trainings, rows in {}", plan.jobs().len(), places.out.display()));
    for &n_agents in &plan.agents {
        let jobs = plan.jobs();
        let own = jobs.iter().filter(|job| job.n_agents == n_agents);
        let steps: Vec<u64> =
            own.filter_map(|job| Some(plan.config(job).ok()?.training.total_steps)).collect();
        let (least, most) = (steps.iter().min().unwrap_or(&0), steps.iter().max().unwrap_or(&0));
        let steps = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let grows = jobs.iter().any(|job| plan.lengths(job).len() > 1);
        let longer = if grows { " (more where a curve is not flat then)" } else { "" };
        remark(&format!(
            "  {n_agents} agents: {} models × {} seeds, {steps} environment steps each{longer}, {} evaluation episodes per point",
            plan.rows.len(),
            plan.seeds(n_agents).len(),
            plan.episodes()
        ));
    }
}
