//! All rows of a reproduction's folder that count, and the files that do not, by name.

use super::{
    arm::Arm,
    earlier::earlier_rows,
    plan::{Job, reference_scenario},
    row::{ROWS, Row},
    row_file::{REFERENCE, ROWS_FOLDER, RowResult},
    settings::{self, difference, digest},
};
use cgcmarl::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

/// A file whose content is not counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which file.
    pub file: PathBuf,
    /// Why, naming the file.
    pub reason: String,
}

impl LeftOut {
    pub(super) fn new(file: &Path, error: &Error) -> Self {
        Self { file: file.into(), reason: error.to_string() }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: not counted", self.reason)
    }
}

/// What a reproduction's folder holds.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Trained rows that count: by team size, in the order of the paper's tables, by seed.
    pub trained: Vec<RowResult>,
    /// The random policy and the oracle, one for each team size.
    pub references: Vec<RowResult>,
    /// What does not count.
    pub left_out: Vec<LeftOut>,
}

impl Rows {
    /// Reads every row file of a folder, and what earlier versions left in its run directories.
    pub fn read(folder: &Path) -> Self {
        let mut rows = Self::default();
        for file in files(folder) {
            let read =
                RowResult::read(&file).and_then(|row| check_settings(&file, &row).map(|()| row));
            match read {
                Ok(row) => rows.add(row),
                Err(error) => rows.left_out.push(LeftOut::new(&file, &error)),
            }
        }
        for row in earlier_rows(folder, &mut rows.left_out) {
            if rows.find(&row).is_none() {
                rows.add(row);
            }
        }
        let place =
            |row: &RowResult| ROWS.iter().position(|r| r.arm == row.arm && r.name == row.row);
        rows.trained.sort_by_key(|row| (row.agents, place(row), row.seed));
        rows.leave_out_other_lengths(folder);
        rows
    }

    /// Whether there is anything to tell of an arm.
    pub fn is_empty(&self, arm: Arm) -> bool {
        !self.trained.iter().any(|row| row.arm.belongs_to(arm))
    }

    /// Whether an arm is worth showing: it has rows that no other shows, or is the one that shows ours.
    pub fn has_own(&self, arm: Arm) -> bool {
        let is_own =
            |row: &RowResult| row.arm == arm || (arm == Arm::Raw && row.arm.belongs_to(arm));
        self.trained.iter().any(is_own)
    }

    /// Team sizes of an arm, smallest first.
    pub fn team_sizes(&self, arm: Arm) -> Vec<usize> {
        let own = self.trained.iter().filter(|row| row.arm.belongs_to(arm));
        let mut sizes: Vec<usize> = own.map(|row| row.agents).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The seeds of a row, lowest first.
    pub fn seeds(&self, n_agents: usize, row: &Row) -> Vec<&RowResult> {
        let is_wanted = |known: &&RowResult| {
            known.agents == n_agents && known.arm == row.arm && known.row == row.name
        };
        self.trained.iter().filter(is_wanted).collect()
    }

    /// The policies that need no training, in the environment of an arm.
    pub fn reference(&self, arm: Arm, n_agents: usize) -> Option<&RowResult> {
        let arm = arm.of_references();
        self.references.iter().find(|row| row.agents == n_agents && row.arm == arm)
    }

    fn find(&self, wanted: &RowResult) -> Option<&RowResult> {
        let mut all = self.trained.iter().chain(&self.references);
        all.find(|row| row.arm == wanted.arm && row.file_name() == wanted.file_name())
    }

    fn add(&mut self, row: RowResult) {
        if row.row == REFERENCE { self.references.push(row) } else { self.trained.push(row) }
    }

    /// Seeds of one row are averaged, so they must have been trained for as long as the longest, unless what is
    /// shorter had reached its plateau.
    fn leave_out_other_lengths(&mut self, folder: &Path) {
        let whose = |row: &RowResult| (row.agents, row.arm, row.row.clone());
        let mut longest = BTreeMap::new();
        for row in &self.trained {
            let steps = longest.entry(whose(row)).or_insert(row.steps);
            *steps = row.steps.max(*steps);
        }
        let left_out = &mut self.left_out;
        self.trained.retain(|row| {
            let longest = longest[&whose(row)];
            let counts = row.steps == longest || row.greedy.has_converged();
            if !counts {
                let curve = if row.greedy.is_empty() { "unknown" } else { "not flat" };
                let message = format!(
                    "its curve is {curve} after {} steps, where another seed has {longest}",
                    row.steps
                );
                let file = row.place(folder);
                let error = Error::format(&file, None, message);
                left_out.push(LeftOut::new(&file, &error));
            }
            counts
        });
    }
}

/// The row files of a folder, arm by arm, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let is_row = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut files: Vec<PathBuf> = vec![];
    for arm in Arm::ALL {
        let entries = fs::read_dir(folder.join(ROWS_FOLDER).join(arm.name()));
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        let first = files.len();
        files.extend(paths.filter(is_row));
        files[first..].sort();
    }
    files
}

/// Refuses a row that lies in another arm's folder, or that was not made with the settings that this
/// program would make it with.
fn check_settings(file: &Path, row: &RowResult) -> Result<()> {
    let refuse = |message: String| Err(Error::format(file, None, message));
    let folder = file.parent().and_then(Path::file_name);
    if folder.is_none_or(|folder| folder != row.arm.name()) {
        return refuse(format!("belongs to the arm `{}`", row.arm.name()));
    }
    if digest(&row.settings) != row.config {
        return refuse("its `config` is not the digest of its `settings`".into());
    }
    if row.row == REFERENCE {
        let wanted = settings::of_references(&reference_scenario(row.arm, row.agents)?)?;
        return match difference(&row.settings, &wanted, None)? {
            None => Ok(()),
            Some(difference) => refuse(format!("played in another environment: {difference}")),
        };
    }
    let Some(known) = Row::find(row.arm, &row.row) else {
        return refuse(format!("`{}` is no row of the comparison", row.row));
    };
    let job = Job { row: known, n_agents: row.agents, seed: row.seed };
    let config = job.config(Some(row.steps))?;
    match difference(&row.settings, &settings::of_training(&config)?, Some(&config))? {
        None => Ok(()),
        Some(difference) => refuse(format!(
            "made with another configuration than {} stands for now: {difference}",
            known.file
        )),
    }
}
