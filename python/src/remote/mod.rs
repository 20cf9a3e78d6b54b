//! Environments that others wrote in Python, in processes of their own: the task `pettingzoo`.

mod environment;
mod process;
mod task;

pub(crate) use process::Interpreter;
pub(crate) use task::{NAME, register};
