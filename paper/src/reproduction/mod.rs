//! The paper's comparison: which runs it needs, how far they are, what they say and what of the paper holds.

mod arm;
mod bootstrap;
pub mod check;
mod choice;
mod claims;
mod counts;
mod curve;
mod earlier;
mod gather;
mod greedy;
mod job;
mod ladder;
mod marl_eval;
mod measure;
mod plan;
mod possible;
mod reliability;
mod results;
mod row;
mod row_check;
mod row_file;
mod rows;
mod settings;

pub use arm::Arm;
pub use choice::LIMITS;
pub use counts::Counts;
pub use curve::Curve;
pub use gather::{gather, open, results};
pub use greedy::{GREEDY_STARTS, GreedyCurve};
pub use job::{
    JobEnd, Places, REPORT_STARTS, SELECTION_STARTS, is_done, run_job, run_reference, same_again,
};
pub use ladder::Change;
pub use marl_eval::marl_eval;
pub use plan::{Budget, Job, LAYOUTS, Plan};
pub use results::{
    COVERAGES, Chosen, Dominance, Learning, MethodFront, MethodReliability, Point, RESULTS_FILE,
    Results, Spread, THRESHOLDS, Team,
};
pub use row::{OUR_ALGORITHM, ROWS, Row};
pub use row_file::{PlayedLayout, PlayedPoint, RowResult, Timing};
pub use rows::{LeftOut, Rows};
