//! The paper's comparison: which runs it needs, how far they are, what they say and what of the paper holds.

mod bootstrap;
pub mod check;
mod claims;
mod curve;
mod earlier;
mod gather;
mod job;
mod marl_eval;
mod measure;
mod plan;
mod possible;
mod results;
mod row_file;
mod rows;

pub use curve::Curve;
pub use gather::{gather, open, results};
pub use job::{JobEnd, is_done, run_job, run_reference, training_seconds};
pub use marl_eval::marl_eval;
pub use plan::{Budget, Job, LAYOUTS, Plan, ROWS, Row};
pub use results::{
    COVERAGES, Dominance, Learning, MethodFront, Point, RESULTS_FILE, Results, Spread, Team,
};
pub use row_file::{PlayedLayout, PlayedPoint, RowResult};
pub use rows::{LeftOut, Rows};
