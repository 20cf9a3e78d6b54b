//! Constrained multi-agent reinforcement learning on coordination graphs: a team is trained once, and
//! the trade-off between its task and its constraints is chosen afterwards, by a multiplier λ.
//!
//! # Use a trained team
//!
//! A run directory is all it takes. The policy is loaded from weights alone, is cheap to clone for
//! each thread and each λ, and draws nothing at random.
//!
//! ```
//! use cgcmarl::{Ending, Model, Outcome, Streams, rng::Purpose};
//!
//! fn main() -> cgcmarl::Result<()> {
//!     let model = Model::open("models/simple_spread_3")?;
//!     let mut careful = model.policy(2.0)?;
//!
//!     // The environment stands for whatever tells you the state of your team.
//!     let mut environment = model.scenario()?.build()?;
//!     environment.reset(&mut Streams::new(1).rng(Purpose::Episode, 0));
//!     let mut chance = Streams::new(1).rng(Purpose::Dynamics, 0);
//!     let mut state = vec![0.0; careful.spec().state_width];
//!     let mut outcome = Outcome::default();
//!     while outcome.ending == Ending::Running {
//!         environment.write_state(&mut state);
//!         let actions = careful.act(&state)?;
//!         environment.step(actions, &mut chance, &mut outcome);
//!     }
//!     let [covered, ..] = outcome.metrics[..] else { unreachable!("the task has metrics") };
//!     assert_eq!(careful.spec().metrics[0].name, "coverage");
//!     assert_eq!(covered, 1.0);
//!     Ok(())
//! }
//! ```
//!
//! # Bring a task of your own
//!
//! Implement [`Task`], [`Environment`] and [`View`], let [`check()`] play it, and give it to
//! [`register`] (or to the program's own `main`, which then has every command for it):
//! docs/own-task.md goes from the trait to a front. [`Session`] trains, [`Model::sweep`] measures a
//! [`Front`], [`Choice`] keeps the certified multiplier.
//!
//! # Coordinate
//!
//! [`CoordinationGraph`], [`FactorTables`] and the [`Coordinator`]s that [`SolverOptions`] build work
//! without any learning: `tables → joint action`.
//!
//! What is not re-exported here is internal: the program, the paper's package and the tests use it,
//! and it changes without notice.

#[doc(hidden)]
pub mod algorithm;
#[doc(hidden)]
pub mod argmax;
#[doc(hidden)]
pub mod cell_grid;
#[doc(hidden)]
pub mod checkpoint;
pub mod coordination;
pub mod environment;
#[doc(hidden)]
pub mod episode;
#[doc(hidden)]
pub mod error;
pub mod evaluation;
#[doc(hidden)]
pub mod graph;
#[doc(hidden)]
pub mod multipliers;
#[doc(hidden)]
pub mod nn;
#[doc(hidden)]
pub mod replay;
pub mod rng;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod run_dir;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod training;

pub use coordination::{Coordinator, FactorTables, SolverOptions};
pub use environment::{
    Constraint, Ending, Environment, Metric, Outcome, Policy, Scenario, Spec, Task, View, check,
    register,
};
pub use error::{Error, Result};
pub use evaluation::{Choice, Front, Limits, Score};
pub use graph::CoordinationGraph;
pub use rng::{Rng, Streams};
pub use run::{Config, Model, Session, TrainedPolicy};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
