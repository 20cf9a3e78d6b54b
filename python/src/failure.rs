//! Errors of the library as Python's.

use cgcmarl::Error;
use pyo3::{PyErr, exceptions::PyOSError, exceptions::PyRuntimeError, exceptions::PyValueError};

/// The exception that fits an error best; its text names file, key and value.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::File { .. } => PyOSError::new_err(text),
        Error::Diverged { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// An argument that cannot be.
pub(crate) fn refused(text: impl Into<String>) -> PyErr {
    PyValueError::new_err(text.into())
}
