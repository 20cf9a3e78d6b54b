//! Scores operating points on shared start states: statistics, fronts over any axes, certified choices.

pub mod aggregate;
mod calibration;
pub mod certificate;
pub mod choice;
pub mod front;
mod named;
pub mod pareto;
pub mod part;
mod play;
mod random;
pub mod score;
pub mod statistics;

pub use calibration::Calibration;
pub use choice::{Choice, Limits};
pub use front::{Front, FrontPoint, Measures};
pub use named::Named;
pub use play::{EvaluationOptions, evaluation_streams, grid, play_episodes, play_fresh};
pub use random::RandomPolicy;
pub use score::Score;
pub use statistics::Estimate;
