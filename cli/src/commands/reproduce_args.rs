//! What `reproduce` is asked for: its words, and the plan that they make.

use anyhow::{bail, ensure};
use cgcmarl::environment::simple_spread::layout::Layout;
use cgcmarl_paper::reproduction::{Arm, Budget, LAYOUTS, Plan, ROWS, Row};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl reproduce                                    tables and figures from the committed rows, in seconds
  cgcmarl reproduce --budget quick --agents 3 --jobs 2 trains what is missing
  cgcmarl reproduce --arm shared --budget plateau --rows vdn,qmix_0.6 --agents 3,4
  cgcmarl reproduce --table ladder --budget standard
  cgcmarl reproduce --rerun docs/comparison/rows/ours/cg_cmarl_seed_1_n3.json --out again
  cgcmarl paper-check                                  what of the paper holds

Every model has a committed configuration (configs/baselines, configs/cgcmarl). Finished trainings
are kept; Ctrl-C or a crash loses nothing: the same command goes on. Rows, tables (Markdown, CSV,
LaTeX), results.json, marl_eval.json and figures go to the folder, those of an arm below its name.
A row that does not count is named and left out of the tables, and the exit code is 2.";
/// Where everything goes unless told otherwise.
const OUT: &str = "reproduction";

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

impl TableName {
    /// The arm that alone has it.
    const fn own_arm(self) -> Option<Arm> {
        match self {
            Self::Ladder => Some(Arm::Ladder),
            Self::Stock => Some(Arm::Stock),
            _ => None,
        }
    }
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

/// Most seeds of one model.
const MOST_SEEDS: u64 = 1000;

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
    pub(super) jobs: Option<usize>,
    /// Where rows, tables and figures go [default: reproduction]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Where trainings go [default: `runs` in the folder of --out]
    #[arg(long, value_name = "DIR")]
    pub(super) runs: Option<PathBuf>,
    /// A folder whose rows count as done too
    #[arg(long, default_value = "docs/comparison", value_name = "DIR")]
    pub(super) known: PathBuf,
    /// Make a row again in the folder of --out, and tell whether every number is the same
    #[arg(long, value_name = "FILE", conflicts_with_all = ["arm", "table", "figure", "rows", "agents", "seeds", "budget", "steps", "episodes"])]
    pub(super) rerun: Option<PathBuf>,
    /// Say nothing while working
    #[arg(long)]
    pub(super) quiet: bool,
}

impl ReproduceArgs {
    /// Where everything goes.
    pub(super) fn folder(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(OUT))
    }

    /// Whether anything is trained.
    pub(super) const fn trains(&self) -> bool {
        self.budget.is_some() || self.steps.is_some()
    }

    /// Refuses what cannot work or would be ignored, before any work is done for it.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.check_numbers()?;
        if self.rerun.is_some() {
            let reason = "where the row is trained again, apart from those that tables are made of";
            ensure!(self.out.is_some(), "`--rerun` needs `--out DIR`, {reason}");
            return Ok(());
        }
        self.arm()?;
        let only_trained = |table: &TableName| table.own_arm().is_none();
        let said = [
            ("--table", self.table.iter().any(only_trained)),
            ("--figure", !self.figure.is_empty()),
            ("--rows", !self.rows.is_empty()),
            ("--agents", !self.agents.is_empty()),
            ("--seeds", self.seeds.is_some()),
            ("--episodes", self.episodes.is_some()),
        ];
        match said.iter().find(|(_, is_said)| *is_said) {
            Some((name, _)) if !self.trains() => bail!(
                "`{name}` says what to train and play, and needs `--budget` (or `--steps`): tables alone show every row that there is"
            ),
            _ => Ok(()),
        }
    }

    fn check_numbers(&self) -> anyhow::Result<()> {
        let counts = [
            ("--seeds", self.seeds),
            ("--steps", self.steps),
            ("--episodes", self.episodes.map(|n| n as u64)),
            ("--jobs", self.jobs.map(|n| n as u64)),
        ];
        for (name, count) in counts {
            ensure!(count != Some(0), "invalid value for `{name}`: 0 (must be positive)");
        }
        if let Some(seeds) = self.seeds.filter(|seeds| *seeds > MOST_SEEDS) {
            bail!("invalid value for `--seeds`: {seeds} (at most {MOST_SEEDS})");
        }
        if let Some(n_agents) = self.agents.iter().find(|n| **n < 2) {
            bail!("invalid value for `--agents`: {n_agents} (a team has at least 2 agents)");
        }
        Ok(())
    }

    /// The arm that was named, by itself or by a table of its own.
    pub(super) fn arm(&self) -> anyhow::Result<Option<Arm>> {
        let named = self.arm.map(ArmName::arm);
        let tables = self.table.iter().filter_map(|table| table.own_arm());
        let mut arms: Vec<Arm> = tables.chain(named).collect();
        arms.dedup();
        ensure!(
            arms.len() < 2,
            "`--table` and `--arm` name different arms ({}): one at a time",
            arms.iter().map(|arm| arm.name()).collect::<Vec<_>>().join(", ")
        );
        let arm = arms.first().copied();
        self.check_parts(arm.unwrap_or(Arm::Raw))?;
        Ok(arm)
    }

    /// Refuses tables and figures that an arm does not have.
    fn check_parts(&self, arm: Arm) -> anyhow::Result<()> {
        if matches!(arm, Arm::Raw | Arm::Shared) {
            return Ok(());
        }
        let tables = self.table.iter().filter(|table| table.own_arm().is_none());
        let tables = tables.map(|table| ("table", table.to_possible_value()));
        let figures = self.figure.iter().map(|figure| ("figure", figure.to_possible_value()));
        if let Some((kind, Some(name))) = tables.chain(figures).next() {
            bail!(
                "the {kind} `{}` is not part of the arm `{}`: it is of `--arm raw` and `--arm shared`",
                name.get_name(),
                arm.name()
            );
        }
        Ok(())
    }

    /// What the arm that was named, or the paper's, has to train and play.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        self.check_numbers()?;
        let arm = self.arm()?.unwrap_or(Arm::Raw);
        let usual: &[usize] = match arm {
            Arm::Ladder => &[3, 6],
            Arm::Stock => &[3],
            _ => &[3, 4, 6, 10],
        };
        Ok(Plan {
            rows: rows(self, arm)?,
            agents: if self.agents.is_empty() { usual.to_vec() } else { self.agents.clone() },
            seeds: self.seeds.map_or_else(Vec::new, |n| (1..=n).collect()),
            layouts: layouts(self, arm),
            budget: self.budget.map_or(Budget::Standard, BudgetName::budget),
            steps: self.steps,
            episodes: self.episodes,
        })
    }
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
    Ok(own().filter(is_wanted).collect())
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
