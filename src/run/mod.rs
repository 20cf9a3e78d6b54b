//! The composition root: options become trainings, run directories become policies and fronts.

mod adapting;
mod calibrating;
mod choosing;
mod config;
mod contract;
mod fit;
mod learned_limits;
mod legacy;
pub mod limits;
mod model;
mod model_card;
mod narrow;
mod played;
mod scoring;
mod session;
mod teams;

pub use adapting::{Adapted, AdaptedLimit, Adapting};
pub use config::Config;
pub use contract::contract;
pub use learned_limits::LearnedLimit;
pub use legacy::read_front;
pub use model::{Decision, Model, TrainedPolicy, trained_from};
pub use model_card::{model_card, write_model_card};
pub use played::{Moment, Played};
pub use scoring::{episodes_of, named_multipliers, play, sweep_policies};
pub use session::{End, Session, Watch};

use crate::{
    environment::Scenario,
    episode::VectorEnvironment,
    error::{Error, Result, count},
};

/// Runs `work` on exactly `threads` threads; results never depend on the number.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    count("threads", threads as u64, 1..=limits::MAX_THREADS as u64)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::setting("threads", threads, error.to_string()))?;
    Ok(pool.install(work))
}

/// Environments of one kind side by side.
pub fn vectorise(scenario: &Scenario, n: usize) -> Result<VectorEnvironment> {
    let environments = (0..n.max(1)).map(|_| scenario.build()).collect::<Result<Vec<_>>>()?;
    Ok(VectorEnvironment::new(environments))
}
