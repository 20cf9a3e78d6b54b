//! UAI and log-UAI files.
use super::problem::Problem;
use crate::error::{Error, Result};
use std::path::Path;

/// Reads one file.
pub(crate) fn read(path: &Path) -> Result<Problem> {
    Err(Error::format(path, None, "UAI files are not read yet"))
}

/// Reads evidence: pairs of variable and value.
pub(crate) fn read_evidence(path: &Path, _n_actions: &[usize]) -> Result<Vec<(usize, usize)>> {
    Err(Error::format(path, None, "evidence is not read yet"))
}
