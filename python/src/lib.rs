//! The native half of the Python package: numpy arrays in and out, everything long without the lock.
//!
//! It is private to the package, which types and documents what users see.

#![expect(clippy::needless_pass_by_value, reason = "the shape that PyO3 asks for")]

mod command;
mod coordination;
mod environments;
mod failure;
mod model;
mod policy;
mod remote;
mod training;

/// The module `cgcmarl._native`.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::{
        command::command,
        coordination::solve,
        environments::{Environments, tasks},
        model::Model,
        policy::Policy,
        training::{set_interpreter, train},
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
