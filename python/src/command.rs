//! The program `cgcmarl`, called from Python.

use pyo3::{Python, pyfunction};
use std::ffi::OsString;

/// Runs the program with these arguments, its name first; returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| cgcmarl_cli::main_with([], arguments))
}
