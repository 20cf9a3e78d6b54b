//! Scores operating points on shared start states: statistics, fronts and choices.

pub mod certificate;
pub mod choice;
pub mod front;
pub mod pareto;
mod play;
pub mod score;
pub mod statistics;

pub use choice::Choice;
pub use front::{Front, FrontPoint, Reference};
pub use play::{EvaluationOptions, play_episodes, play_fresh};
pub use score::{Coverage, Measures, Score};
pub use statistics::Estimate;
