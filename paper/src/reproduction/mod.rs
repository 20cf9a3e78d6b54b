//! The paper's comparison: which runs it needs, how far they are, what they say and what of the paper holds.

mod bootstrap;
pub mod check;
mod claims;
mod gather;
mod job;
mod marl_eval;
mod plan;
mod record;
mod results;

pub use gather::gather;
pub use job::{JobEnd, run_job, run_reference, training_seconds};
pub use marl_eval::marl_eval;
pub use plan::{Budget, Job, LAYOUTS, Plan, ROWS, Row};
pub use record::{Played, PlayedPoint};
pub use results::{COVERAGES, Dominance, Learning, MethodFront, Point, Results, Spread, Team};
