//! One file per verb: glue between arguments and the library.

mod adapt;
pub(crate) mod check_environment;
pub(crate) mod choose;
pub(crate) mod conditions;
pub(crate) mod config;
pub(crate) mod evaluate;
pub(crate) mod export;
mod front_place;
mod job;
mod job_runner;
pub(crate) mod jobs;
pub(crate) mod merge;
pub(crate) mod multiplier;
pub(crate) mod output;
pub(crate) mod paper_check;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod reproduce;
mod reproduce_args;
pub(crate) mod run_job;
pub(crate) mod solve;
pub(crate) mod summary;
pub(crate) mod sweep;
pub(crate) mod tasks;
pub(crate) mod theory;
pub(crate) mod train;
pub(crate) mod view;
