//! Coordination problems in files: UAI, log-UAI and `.fgq.gz`.

mod fgq;
mod problem;
mod tokens;
mod uai;

pub use problem::Problem;
pub use uai::write_log_uai;
