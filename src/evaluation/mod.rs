//! Scores operating points on shared start states: statistics, fronts and the paper's printed ones.

pub mod front;
pub mod paper_tables;
pub mod pareto;
pub mod score;
pub mod statistics;

pub use front::{Front, FrontPoint, Reference};
pub use score::{Coverage, Measures, Score};
pub use statistics::Estimate;
