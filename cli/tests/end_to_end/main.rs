#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! The program as its user meets it: the real binary, small runs, temporary directories.

mod baselines;
mod choice;
mod failures;
mod help;
mod hostile_files;
mod hostile_settings;
mod interruption;
mod jobs;
mod mistakes;
mod nothing_lost;
mod parts;
mod playing;
mod program;
mod reproduce_words;
mod reproduction;
mod runs;
mod use_of_models;
mod values_and_limits;
