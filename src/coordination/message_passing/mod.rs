//! Max-Sum: messages between agents and regions, on rows that fill whole registers.

mod decentralised;
pub(crate) mod kernel;
mod max_sum;
pub(crate) mod message_layout;
pub(crate) mod messages;
pub(crate) mod padded_rows;
mod pair_kernel;
mod pair_round;
pub(crate) mod row_arithmetic;

pub use decentralised::{agent_to_region, region_to_agent};
pub use max_sum::{MaxSum, MaxSumOptions};
