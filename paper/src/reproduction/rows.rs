//! All rows of a reproduction's folder that count, and the files that do not, by name.

use super::{
    earlier::earlier_rows,
    plan::{Job, ROWS, Row, reference_scenario},
    row_file::{REFERENCE, ROWS_FOLDER, RowResult, digest, scenario_digest},
};
use cgcmarl::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{
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
                RowResult::read(&file).and_then(|row| check_digest(&file, &row).map(|()| row));
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
        let place = |name: &str| ROWS.iter().position(|row| row.name == name);
        rows.trained.sort_by_key(|row| (row.agents, place(&row.row), row.seed));
        rows.leave_out_other_lengths(folder);
        rows
    }

    /// Whether there is anything to tell of.
    pub fn is_empty(&self) -> bool {
        self.trained.is_empty()
    }

    /// Team sizes, smallest first.
    pub fn team_sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.trained.iter().map(|row| row.agents).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The seeds of a row, lowest first.
    pub fn seeds(&self, n_agents: usize, row: &Row) -> Vec<&RowResult> {
        let is_wanted = |known: &&RowResult| known.agents == n_agents && known.row == row.name;
        self.trained.iter().filter(is_wanted).collect()
    }

    /// The policies that need no training.
    pub fn reference(&self, n_agents: usize) -> Option<&RowResult> {
        self.references.iter().find(|row| row.agents == n_agents)
    }

    fn find(&self, wanted: &RowResult) -> Option<&RowResult> {
        let mut all = self.trained.iter().chain(&self.references);
        all.find(|row| row.file_name() == wanted.file_name())
    }

    fn add(&mut self, row: RowResult) {
        if row.row == REFERENCE { self.references.push(row) } else { self.trained.push(row) }
    }

    /// Seeds of one row are averaged, so they must have been trained for the same number of steps.
    fn leave_out_other_lengths(&mut self, folder: &Path) {
        let mut first: Option<(usize, String, u64)> = None;
        let left_out = &mut self.left_out;
        self.trained.retain(|row| {
            match &first {
                Some((agents, name, steps)) if (*agents, name) == (row.agents, &row.row) => {
                    if *steps == row.steps {
                        return true;
                    }
                    let message =
                        format!("trained for {} steps, an earlier seed for {steps}", row.steps);
                    let file = row.place(folder);
                    let error = Error::format(&file, None, message);
                    left_out.push(LeftOut::new(&file, &error));
                    return false;
                }
                _ => first = Some((row.agents, row.row.clone(), row.steps)),
            }
            true
        });
    }
}

/// The row files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join(ROWS_FOLDER)) else { return vec![] };
    let is_row = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.extension().is_some_and(|extension| extension == "json")
    };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_row).collect();
    files.sort();
    files
}

/// Refuses a row that was not made with the configuration that this program would make it with.
fn check_digest(file: &Path, row: &RowResult) -> Result<()> {
    let refuse = |message: String| Err(Error::format(file, None, message));
    if row.row == REFERENCE {
        let known = scenario_digest(&reference_scenario(row.agents)?)?;
        if known != row.config {
            return refuse("played in another environment than the paper's".into());
        }
        return Ok(());
    }
    let Some(known) = ROWS.iter().find(|known| known.name == row.row) else {
        return refuse(format!("`{}` is no row of the comparison", row.row));
    };
    let job = Job { row: known, n_agents: row.agents, seed: row.seed };
    let config = job.config(row.steps, 1)?;
    if digest(&config) != row.config {
        return refuse(format!(
            "made with another configuration than {} stands for now (digest {}, not {})",
            known.file,
            row.config,
            digest(&config)
        ));
    }
    Ok(())
}
