//! Constrained multi-agent reinforcement learning on coordination graphs.

pub mod algorithm;
pub mod argmax;
pub mod checkpoint;
pub mod coordination;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod graph;
pub mod multipliers;
pub mod nn;
pub mod replay;
pub mod rng;
pub mod run;
pub mod run_dir;
pub mod schedule;
pub mod training;

pub use error::{Error, Result};
pub use run::{Config, Model};
