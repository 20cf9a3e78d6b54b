//! Constrained multi-agent reinforcement learning on coordination graphs.

pub mod argmax;
pub mod coordination;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod graph;
pub mod rng;
pub mod run_dir;
pub mod schedule;
