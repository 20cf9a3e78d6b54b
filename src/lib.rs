//! Constrained multi-agent reinforcement learning on coordination graphs.

pub mod algorithm;
pub mod argmax;
pub mod checkpoint;
pub mod config;
pub mod coordination;
pub mod curriculum;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod experiment;
pub mod graph;
pub mod multipliers;
pub mod nn;
pub mod replay;
pub mod rng;
pub mod run_dir;
pub mod schedule;
pub mod training;
