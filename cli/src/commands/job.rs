//! A job: one line of JSON that says what to do and where its result goes.

use anyhow::{Context, bail, ensure};
use cgcmarl_paper::reproduction::{Arm, Budget, Job as PlannedJob, Plan, Row};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a line holds: where the result goes, and one of three kinds of work.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    out: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reproduce: Option<RowJob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    episodes: Option<[usize; 2]>,
}

/// One training of a reproduction and what is played with it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowJob {
    #[serde(default)]
    arm: Arm,
    row: String,
    agents: usize,
    seed: u64,
    steps: u64,
    /// Name of the budget: one trains until a curve is flat.
    #[serde(default)]
    budget: String,
    episodes: usize,
    /// As the plan writes them.
    layouts: serde_json::Value,
}

/// A job.
pub(super) enum Job {
    /// A training with these settings, in its folder.
    Training { out: PathBuf, settings: Vec<String> },
    /// A row of a reproduction, in the reproduction's folder.
    Row { out: PathBuf, plan: Box<Plan>, job: PlannedJob },
    /// Some episodes of a sweep, in a file.
    Part { out: PathBuf, words: Vec<String>, episodes: std::ops::Range<usize> },
}

impl Line {
    pub(super) fn training(out: PathBuf, settings: Vec<String>) -> Self {
        Self { out, settings: Some(settings), reproduce: None, sweep: None, episodes: None }
    }

    pub(super) fn row(out: PathBuf, plan: &Plan, job: PlannedJob) -> anyhow::Result<Self> {
        let row = RowJob {
            arm: job.row.arm,
            row: job.row.name.clone(),
            agents: job.n_agents,
            seed: job.seed,
            steps: plan.config(&job)?.training.total_steps,
            budget: plan.budget.name().into(),
            episodes: plan.episodes(),
            layouts: serde_json::json!(plan.layouts),
        };
        Ok(Self { out, settings: None, reproduce: Some(row), sweep: None, episodes: None })
    }

    pub(super) fn part(out: PathBuf, words: Vec<String>, [from, to]: [usize; 2]) -> Self {
        let (sweep, episodes) = (Some(words), Some([from, to]));
        Self { out, settings: None, reproduce: None, sweep, episodes }
    }

    /// The job of a line.
    pub(super) fn read(text: &str) -> anyhow::Result<Job> {
        let whole = || format!("job {text}");
        let line: Self = serde_json::from_str(text.trim()).with_context(whole)?;
        ensure!(!line.out.as_os_str().is_empty(), "job {text}: `out` is empty");
        let Self { out, settings, reproduce, sweep, episodes } = line;
        match (settings, reproduce, sweep, episodes) {
            (Some(settings), None, None, None) => Ok(Job::Training { out, settings }),
            (None, Some(row), None, None) => {
                let (plan, job) = row.plan().with_context(whole)?;
                Ok(Job::Row { out, plan: Box::new(plan), job })
            }
            (None, None, Some(words), Some([from, to])) => {
                Ok(Job::Part { out, words, episodes: from..to })
            }
            _ => bail!(
                "job {text}: has `settings` (a training), `reproduce` (a row), or `sweep` with `episodes` (a part)"
            ),
        }
    }
}

impl RowJob {
    /// A plan of this row alone.
    fn plan(self) -> anyhow::Result<(Plan, PlannedJob)> {
        let row = Row::find(self.arm, &self.row).or(Row::find(Arm::Ours, &self.row));
        let row = row.with_context(|| format!("there is no row `{}`", self.row))?;
        ensure!(self.agents >= 2, "a team has at least 2 agents, not {}", self.agents);
        let plan = Plan {
            rows: vec![row],
            agents: vec![self.agents],
            seeds: vec![self.seed],
            layouts: serde_json::from_value(self.layouts).context("layouts")?,
            budget: Budget::named(&self.budget).unwrap_or(Budget::Standard),
            steps: Some(self.steps),
            episodes: Some(self.episodes),
        };
        Ok((plan, PlannedJob { row, n_agents: self.agents, seed: self.seed }))
    }
}
