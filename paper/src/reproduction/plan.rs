//! What a reproduction consists of: rows, team sizes, seeds and budgets.

use super::{
    arm::Arm,
    row::{OUR_ALGORITHM, ROWS, Row},
    row_file::{PlayedPoint, RowResult},
};
use crate::tables::TASK;
use cgcmarl::{
    environment::{Scenario, simple_spread::layout::Layout},
    error::{Error, Result},
    run::Config,
};
use std::{
    iter::successors,
    path::{Path, PathBuf},
};
use toml::Table;

/// Environment steps over which exploration falls by default.
const EXPLORED: u64 = 100_000;
/// Most environment steps of a method with a memory that is trained to its plateau.
const MOST_OFF_POLICY: u64 = 2_000_000;
/// Most environment steps of a method without.
const MOST_ON_POLICY: u64 = 10_000_000;
/// Most evaluation episodes on a fixed layout.
const EPISODES_ON_FIXED: usize = 200;
/// Most evaluation episodes on the start states on which a trade-off is chosen.
const EPISODES_OF_SELECTION: usize = 300;

/// The fixed layouts of the second figure.
pub const LAYOUTS: [Layout; 3] = [Layout::SpreadUniform, Layout::Line, Layout::ClusteredPair];

/// How much machine time to spend, in environment steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// To see that everything works.
    Quick,
    /// CG-CMARL's defaults for three and four agents, two thirds and more of them beyond; the same for
    /// every method.
    Standard,
    /// Three times as much and more.
    Full,
    /// CG-CMARL as its recipe says; every other method as [`Self::Standard`], and where its greedy curve
    /// is not flat at the end again, each time twice as long, up to a cap.
    Plateau,
}

impl Budget {
    /// Every budget.
    pub const ALL: [Self; 4] = [Self::Quick, Self::Standard, Self::Full, Self::Plateau];

    /// The budget of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|budget| budget.name() == name)
    }

    /// Environment steps of a training; nothing where the configuration says.
    fn steps(self, row: &Row, n_agents: usize) -> Option<u64> {
        let [quick, standard, full] = match n_agents {
            ..=3 => [50_000, 300_000, 1_000_000],
            4 => [50_000, 500_000, 1_500_000],
            5..=7 => [50_000, 600_000, 2_000_000],
            _ => [50_000, 900_000, 3_000_000],
        };
        match self {
            Self::Quick => Some(quick),
            _ if row.is_published() => Some(MOST_ON_POLICY),
            Self::Standard => Some(standard),
            Self::Full => Some(full),
            Self::Plateau if row.algorithm == OUR_ALGORITHM => None,
            Self::Plateau if row.is_on_policy() => Some(MOST_ON_POLICY),
            Self::Plateau => Some(MOST_OFF_POLICY),
        }
    }

    /// Evaluation episodes of every operating point.
    pub fn episodes(self) -> usize {
        match self {
            Self::Quick => 200,
            Self::Standard | Self::Plateau => 500,
            Self::Full => 1000,
        }
    }

    /// The name users write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
            Self::Plateau => "plateau",
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
    /// Training seeds of every team; as many as its size asks for where there are none.
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
    /// What makes the row of a file again.
    pub fn of_row(row: &RowResult) -> Result<Self> {
        let unknown = || Error::Refused(format!("`{}` is no row of the comparison", row.row));
        let known = Row::find(row.arm, &row.row).ok_or_else(unknown)?;
        let is_played = |layout: &Layout| row.layout(&layout_name(*layout)).is_some();
        let played = row.layout(&layout_name(Layout::Random)).or(row.layouts.first());
        let episodes = played.and_then(|played| played.points.first());
        Ok(Self {
            rows: vec![known],
            agents: vec![row.agents],
            seeds: vec![row.seed],
            layouts: all_layouts().filter(is_played).collect(),
            // As long as that one, once.
            budget: Budget::Standard,
            steps: Some(row.steps),
            episodes: episodes.map(PlayedPoint::n_episodes),
        })
    }

    /// Environment steps of a training: one number, or several of which the next is taken where the one
    /// before was not enough; nothing where the configuration says.
    pub fn lengths(&self, job: &Job) -> Vec<Option<u64>> {
        let most = self.steps.or_else(|| self.budget.steps(job.row, job.n_agents));
        let first = Budget::Standard.steps(job.row, job.n_agents);
        let mut lengths = vec![];
        if self.budget == Budget::Plateau && job.row.algorithm != OUR_ALGORITHM {
            let doubled = successors(first, |steps| steps.checked_mul(2));
            lengths.extend(doubled.take_while(|steps| Some(*steps) < most).map(Some));
        }
        lengths.push(most);
        lengths
    }

    /// Evaluation episodes of every operating point on random layouts.
    pub fn episodes(&self) -> usize {
        self.episodes.unwrap_or_else(|| self.budget.episodes())
    }

    /// Evaluation episodes of every operating point on a layout.
    pub(super) fn episodes_on(&self, layout: Layout) -> usize {
        let most = if layout == Layout::Random { usize::MAX } else { EPISODES_ON_FIXED };
        self.episodes().min(most)
    }

    /// Episodes on the start states on which a trade-off is chosen.
    pub(super) fn episodes_of_selection(&self) -> usize {
        self.episodes().min(EPISODES_OF_SELECTION)
    }

    /// Training seeds of a team.
    pub fn seeds(&self, n_agents: usize) -> Vec<u64> {
        let usual = if n_agents <= 4 { 5 } else { 3 };
        if self.seeds.is_empty() { (1..=usual).collect() } else { self.seeds.clone() }
    }

    /// Every training, in an order that completes a comparison as early as possible.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = vec![];
        for &n_agents in &self.agents {
            for seed in self.seeds(n_agents) {
                jobs.extend(self.rows.iter().map(|&row| Job { row, n_agents, seed }));
            }
        }
        jobs
    }

    /// The configuration of a job's first training: its row's file, with team, seed and budget set.
    pub fn config(&self, job: &Job) -> Result<Config> {
        self.config_of(job, self.lengths(job)[0])
    }

    /// The same for a training of so many steps.
    pub(super) fn config_of(&self, job: &Job, steps: Option<u64>) -> Result<Config> {
        let mut config = job.config(steps)?;
        config.evaluation.episodes = self.episodes();
        Ok(config)
    }
}

/// One training of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Which model.
    pub row: &'static Row,
    /// Team size.
    pub n_agents: usize,
    /// Training seed.
    pub seed: u64,
}

impl Job {
    /// Where its run lies below the folder of the runs.
    pub fn place(&self, runs: &Path) -> PathBuf {
        let Self { row, n_agents, seed } = self;
        let team = runs.join(row.arm.name()).join(format!("{TASK}_{n_agents}"));
        team.join(&row.name).join(format!("seed_{seed}"))
    }

    /// Where the run of one of its trainings lies: of several, longer ones beside the first.
    pub(super) fn place_of(&self, runs: &Path, number: usize, steps: u64) -> PathBuf {
        let first = self.place(runs);
        let longer = || first.with_file_name(format!("seed_{}_{steps}_steps", self.seed));
        if number == 0 { first.clone() } else { longer() }
    }

    /// Its configuration when it is trained this long.
    pub(super) fn config(&self, steps: Option<u64>) -> Result<Config> {
        let overrides = self.overrides(steps);
        let Some(change) = self.row.change else { return self.resolve(&overrides) };
        let ends = ["paper", "default"].map(|preset| {
            let words = [("preset".to_owned(), preset.to_owned())];
            self.resolve(&[&words[..], &overrides].concat())
        });
        let [paper, ours] = ends;
        // Both ends have as many steps, whatever their recipes say.
        let (mut paper, ours) = (paper?, ours?);
        paper.training.total_steps = ours.training.total_steps;
        change.config(&paper, &ours)
    }

    fn resolve(&self, overrides: &[(String, String)]) -> Result<Config> {
        let in_file = |message: String| Error::format(self.row.file, None, message);
        let mut table: Table =
            toml::from_str(self.row.text).map_err(|error| in_file(error.to_string()))?;
        if overrides.iter().any(|(key, value)| key == "preset" && value == "paper") {
            // The paper's table to the letter; only how it is measured is ours.
            table.retain(|key, _| key == "evaluation");
        }
        Config::resolve(Some(table), overrides).map_err(|error| in_file(error.to_string()))
    }

    /// Price, team, seed and budget. Who explores does so for a third of a short training, lest it learn
    /// from chance alone.
    fn overrides(&self, steps: Option<u64>) -> Vec<(String, String)> {
        let own = self.row.settings.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let mut words: Vec<(&str, String)> = own.collect();
        words.extend(self.row.price.setting(self.n_agents));
        words.push(("agents", self.n_agents.to_string()));
        words.push(("seed", self.seed.to_string()));
        if let Some(steps) = steps {
            words.push(("total_steps", steps.to_string()));
            let explored = EXPLORED.min(steps / 3);
            if explored < EXPLORED && !self.row.is_on_policy() {
                words.push(("exploration.steps", explored.to_string()));
            }
        }
        words.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The command that trains it on its own for so many steps, from a clone of the repository; rungs of
    /// the ladder have none.
    pub fn command(&self, steps: u64) -> Option<String> {
        let words = self.overrides(Some(steps)).into_iter();
        let words: Vec<String> = words.map(|(key, value)| format!("{key}={value}")).collect();
        let command = format!("cgcmarl train --config {} {}", self.row.file, words.join(" "));
        self.row.change.is_none().then_some(command)
    }

    /// What a person calls it.
    pub fn name(&self) -> String {
        let Self { row, n_agents, seed } = self;
        let arm = if row.is_ours() { String::new() } else { format!("{} ", row.arm.name()) };
        format!("{n_agents} agents, {arm}{}, seed {seed}", row.name)
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

/// What the policies that need no training play in: the environment of the first row of their arm.
pub(super) fn reference_scenario(arm: Arm, n_agents: usize) -> Result<Scenario> {
    let arm = arm.of_references();
    let row = ROWS.iter().find(|row| row.arm == arm).unwrap_or(&ROWS[0]);
    Job { row, n_agents, seed: 1 }.config(None)?.scenario()
}

#[cfg(test)]
mod tests {
    use super::{super::row::Price, *};
    use cgcmarl::environment::simple_spread::SimpleSpreadOptions;

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

    fn job(name: &str, n_agents: usize) -> Job {
        let row = Row::find(Arm::Raw, name).or(Row::find(Arm::Ours, name)).unwrap();
        Job { row, n_agents, seed: 1 }
    }

    #[test]
    fn every_method_gets_the_same_steps_and_the_same_cost_distance() {
        let plan = plan();
        assert_eq!(plan.jobs().len(), 2 * 2 * plan.rows.len());
        for job in plan.jobs() {
            let config = plan.config(&job).unwrap();
            assert_eq!(config.training.total_steps, 50_000, "{}", job.name());
            let options: SimpleSpreadOptions = config.scenario().unwrap().typed_options().unwrap();
            assert_eq!((options.agents, config.seed), (job.n_agents, job.seed));
            assert_eq!(config.evaluation.episodes, 7);
            let resolved = options.resolved();
            let is_priced = matches!(job.row.price, Price::LocalRatio(_));
            if matches!(job.row.arm, Arm::Ours | Arm::Raw | Arm::Shared) && !is_priced {
                let contact = resolved.radius.map(|radius| 2.0 * radius);
                assert_eq!(resolved.cost_distance, contact, "{}", job.name());
            }
        }
    }

    #[test]
    fn a_plateau_is_sought_by_doubling_and_ours_keeps_its_recipe() {
        let plan = Plan { budget: Budget::Plateau, ..plan() };
        let lengths = |name: &str| plan.lengths(&job(name, 3));
        let k = |steps: u64| Some(1000 * steps);
        assert_eq!(lengths("iql_0.3"), [k(300), k(600), k(1200), Some(MOST_OFF_POLICY)]);
        assert_eq!(lengths("mappo_0.3").last(), Some(&Some(MOST_ON_POLICY)));
        assert_eq!(lengths("cg_cmarl"), [None]);
        assert_eq!(lengths("mappo_published"), [Some(MOST_ON_POLICY)], "as long as was published");
        let capped = Plan { steps: Some(500_000), ..plan.clone() };
        assert_eq!(capped.lengths(&job("iql_0.3", 3)), [k(300), k(500)]);
        let steps = plan.config(&job("iql_0.3", 3)).unwrap().training.total_steps;
        assert_eq!(Some(steps), k(300), "begins as `standard`");
    }

    #[test]
    fn a_short_training_explores_for_a_third_of_it() {
        let explored = |row: &str, steps: u64| {
            let job = job(row, 4);
            let plan = Plan { steps: Some(steps), ..plan() };
            let config = plan.config(&job).unwrap();
            let told = job.command(steps).unwrap().contains("exploration.steps");
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
        for printed in [0.1, 0.5, 1.0] {
            let config = plan().config(&job(&format!("mappo_lag_{printed:?}"), 3)).unwrap();
            let horizon = config.scenario().unwrap().spec().unwrap().horizon as f64;
            let limit = config.options["cost_limit"][0].as_float().unwrap();
            assert!((limit * horizon - printed).abs() < 1e-12, "{limit}");
        }
    }
}
