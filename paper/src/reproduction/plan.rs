//! What a reproduction consists of: rows with a committed configuration each, team sizes, seeds, budgets.

use crate::tables::TASK;
use cgcmarl::{
    environment::{Scenario, simple_spread::layout::Layout},
    error::{Error, Result},
    run::Config,
};
use std::path::{Path, PathBuf};

/// One trained model of the comparison; CG-CMARL's gives a whole sweep, a baseline's one point.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// Name of its configuration file and of its folder.
    pub name: &'static str,
    /// Who learns, such as `iql`.
    pub algorithm: &'static str,
    /// What was varied, as the paper prints it: `lr=0.3`, `cl=0.1`, or nothing.
    pub parameter: &'static str,
    /// Where its configuration lies in the repository.
    pub file: &'static str,
    config: &'static str,
}

macro_rules! row {
    ($table:literal, $algorithm:literal) => {
        row!($table, $algorithm, $algorithm, "")
    };
    ($algorithm:literal, $value:literal, $letters:literal) => {
        row!(
            "baselines",
            concat!($algorithm, "_", $value),
            $algorithm,
            concat!($letters, "=", $value)
        )
    };
    ($table:literal, $name:expr, $algorithm:literal, $parameter:expr) => {
        Row {
            name: $name,
            algorithm: $algorithm,
            parameter: $parameter,
            file: concat!("configs/", $table, "/", $name, ".toml"),
            config: include_str!(concat!("../../../configs/", $table, "/", $name, ".toml")),
        }
    };
}

/// Every row, in the order of the paper's tables. The configurations are part of the program.
pub const ROWS: [Row; 19] = [
    row!("cgcmarl", "cg_cmarl"),
    row!("iql", "0.0", "lr"),
    row!("iql", "0.3", "lr"),
    row!("iql", "0.6", "lr"),
    row!("vdn", "0.0", "lr"),
    row!("vdn", "0.3", "lr"),
    row!("vdn", "0.6", "lr"),
    row!("qmix", "0.0", "lr"),
    row!("qmix", "0.3", "lr"),
    row!("qmix", "0.6", "lr"),
    row!("dcg", "0.0", "lr"),
    row!("dcg", "0.3", "lr"),
    row!("dcg", "0.6", "lr"),
    row!("mappo", "0.0", "lr"),
    row!("mappo", "0.3", "lr"),
    row!("mappo", "0.6", "lr"),
    row!("mappo_lag", "0.1", "cl"),
    row!("mappo_lag", "0.5", "cl"),
    row!("mappo_lag", "1.0", "cl"),
];

impl Row {
    /// Whether it is a model of the paper's own method.
    pub fn is_ours(&self) -> bool {
        self.algorithm == "cg_cmarl"
    }
}

/// Environment steps over which exploration falls by default.
const EXPLORED: u64 = 100_000;

/// The fixed layouts of the second figure.
pub const LAYOUTS: [Layout; 3] = [Layout::SpreadUniform, Layout::Line, Layout::ClusteredPair];

/// How much machine time to spend: environment steps, the same for every method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// To see that everything works.
    Quick,
    /// CG-CMARL's defaults for three and four agents, two thirds and more of them beyond.
    Standard,
    /// Three times as much and more.
    Full,
}

impl Budget {
    /// Environment steps of every training of a team.
    pub fn steps(self, n_agents: usize) -> u64 {
        let [quick, standard, full] = match n_agents {
            ..=3 => [50_000, 300_000, 1_000_000],
            4 => [50_000, 500_000, 1_500_000],
            5..=7 => [50_000, 600_000, 2_000_000],
            _ => [50_000, 900_000, 3_000_000],
        };
        match self {
            Self::Quick => quick,
            Self::Standard => standard,
            Self::Full => full,
        }
    }

    /// Evaluation episodes of every operating point.
    pub fn episodes(self) -> usize {
        match self {
            Self::Quick => 200,
            Self::Standard => 500,
            Self::Full => 1000,
        }
    }

    /// The name users write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// What to train and where to measure it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which models.
    pub rows: Vec<&'static Row>,
    /// Team sizes.
    pub agents: Vec<usize>,
    /// Training seeds.
    pub seeds: Vec<u64>,
    /// Layouts that are played; training is on random ones.
    pub layouts: Vec<Layout>,
    /// How long to train.
    pub budget: Budget,
    /// Environment steps instead of the budget's.
    pub steps: Option<u64>,
    /// Evaluation episodes instead of the budget's.
    pub episodes: Option<usize>,
}

impl Plan {
    /// Environment steps of every training of a team.
    pub fn steps(&self, n_agents: usize) -> u64 {
        self.steps.unwrap_or_else(|| self.budget.steps(n_agents))
    }

    /// Evaluation episodes of every operating point.
    pub fn episodes(&self) -> usize {
        self.episodes.unwrap_or_else(|| self.budget.episodes())
    }

    /// Every training, in an order that completes a comparison as early as possible.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = vec![];
        for &n_agents in &self.agents {
            for &seed in &self.seeds {
                jobs.extend(self.rows.iter().map(|&row| Job { row, n_agents, seed }));
            }
        }
        jobs
    }

    /// The configuration of a job: its row's file, with team, seed and budget set.
    pub fn config(&self, job: &Job) -> Result<Config> {
        job.config(self.steps(job.n_agents), self.episodes())
    }

    /// The command that trains a job on its own, from a clone of the repository.
    pub fn command(&self, job: &Job) -> String {
        let overrides = job.overrides(self.steps(job.n_agents), self.episodes());
        let words = overrides.map(|(key, value)| format!(" {key}={value}"));
        format!("cgcmarl train --config {}{}", job.row.file, words.collect::<String>())
    }
}

/// One training of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which model.
    pub row: &'static Row,
    /// Team size.
    pub n_agents: usize,
    /// Training seed.
    pub seed: u64,
}

impl Job {
    /// Where its run lies below the folder of a reproduction.
    pub fn place(&self, folder: &Path) -> PathBuf {
        team_folder(folder, self.n_agents).join(self.row.name).join(format!("seed_{}", self.seed))
    }

    /// Its configuration when it is trained this long and measured by this many episodes.
    pub(super) fn config(&self, steps: u64, episodes: usize) -> Result<Config> {
        let overrides = self.overrides(steps, episodes);
        let overrides: Vec<_> =
            overrides.map(|(key, value)| (key.to_owned(), value.to_string())).collect();
        let in_file = |message: String| Error::format(self.row.file, None, message);
        let table = toml::from_str(self.row.config).map_err(|error| in_file(error.to_string()))?;
        Config::resolve(Some(table), &overrides).map_err(|error| {
            in_file(format!("{error}; is `{}` part of this program?", self.row.algorithm))
        })
    }

    /// Team, seed and budget. Who explores does so for a third of a short training, lest it learn
    /// from chance alone.
    fn overrides(
        &self,
        steps: u64,
        episodes: usize,
    ) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let explored = EXPLORED.min(steps / 3);
        let explores = explored < EXPLORED && !self.row.algorithm.starts_with("mappo");
        [
            ("agents", self.n_agents as u64),
            ("seed", self.seed),
            ("total_steps", steps),
            ("episodes", episodes as u64),
        ]
        .into_iter()
        .chain(explores.then_some(("exploration.steps", explored)))
    }

    /// What a person calls it.
    pub fn name(&self) -> String {
        format!("{} agents, {}, seed {}", self.n_agents, self.row.name, self.seed)
    }
}

/// Every layout that can be played, that of the tables first.
pub(super) fn all_layouts() -> impl Iterator<Item = Layout> {
    [Layout::Random].into_iter().chain(LAYOUTS)
}

/// The name users write.
pub(super) fn layout_name(layout: Layout) -> String {
    serde_json::to_value(layout)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// What the policies that need no training play in: the paper's environment, as CG-CMARL's row has it.
pub(super) fn reference_scenario(n_agents: usize) -> Result<Scenario> {
    let job = Job { row: &ROWS[0], n_agents, seed: 1 };
    job.config(EXPLORED, 1)?.scenario()
}

/// Where the runs of a team lie.
pub(super) fn team_folder(folder: &Path, n_agents: usize) -> PathBuf {
    folder.join("runs").join(format!("{TASK}_{n_agents}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            rows: ROWS.iter().collect(),
            agents: vec![3, 10],
            seeds: vec![1, 2],
            layouts: vec![Layout::Random],
            budget: Budget::Quick,
            steps: None,
            episodes: Some(7),
        }
    }

    #[test]
    fn every_method_gets_the_same_steps() {
        let plan = plan();
        assert_eq!(plan.jobs().len(), 2 * 2 * ROWS.len());
        for job in plan.jobs().iter().filter(|job| job.row.is_ours()) {
            let config = plan.config(job).unwrap();
            assert_eq!(config.training.total_steps, plan.steps(job.n_agents));
            let n_agents = config.scenario().unwrap().n_agents().unwrap();
            assert_eq!((n_agents, config.seed), (job.n_agents, job.seed));
            assert_eq!(config.evaluation.episodes, 7);
        }
    }

    #[test]
    fn a_short_training_explores_for_a_third_of_it() {
        let explored = |row: &str, steps: u64| {
            let row = ROWS.iter().find(|known| known.name == row).unwrap();
            let job = Job { row, n_agents: 4, seed: 1 };
            let plan = Plan { steps: Some(steps), ..plan() };
            let config = plan.config(&job).unwrap();
            let told = plan.command(&job).contains("exploration.steps");
            let exploration = config.options.get("exploration");
            (exploration.and_then(|decay| decay["steps"].as_integer()), told)
        };
        assert_eq!(explored("cg_cmarl", 90_000), (Some(30_000), true));
        assert_eq!(explored("iql_0.3", 90_000), (Some(30_000), true));
        assert_eq!(explored("iql_0.3", 300_000), (Some(100_000), false));
        assert_eq!(explored("mappo_0.3", 90_000), (None, false));
    }

    #[test]
    fn the_papers_cost_limits_are_those_of_an_episode() {
        let mut n_rows = 0;
        for row in ROWS.iter().filter(|row| row.algorithm == "mappo_lag") {
            let config = plan().config(&Job { row, n_agents: 3, seed: 1 }).unwrap();
            let horizon = config.scenario().unwrap().spec().unwrap().horizon as f64;
            let limit = config.options["cost_limit"][0].as_float().unwrap();
            let printed: f64 = row.parameter.strip_prefix("cl=").unwrap().parse().unwrap();
            assert!((limit * horizon - printed).abs() < 1e-12, "{}: {limit}", row.name);
            n_rows += 1;
        }
        assert_eq!(n_rows, 3);
    }

    #[test]
    fn a_row_is_named_by_its_file() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for row in &ROWS {
            assert!(row.file.ends_with(&format!("/{}.toml", row.name)), "{row:?}");
            assert!(repository.join(row.file).is_file(), "{} is not in the repository", row.file);
        }
    }
}
