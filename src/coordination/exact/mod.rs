//! Proofs: upper bounds by message passing, elimination, branch and bound, enumeration.

mod bound;
mod branch_and_bound;
mod dual;
mod elimination;
pub(crate) mod enumeration;
mod exhaustive;
mod factor_model;
mod pair_messages;
mod prover;

pub(crate) use bound::bound_of;
pub use bound::upper_bound;
pub use exhaustive::Exhaustive;
pub(crate) use factor_model::FactorModel;
pub use prover::{Exact, ExactOptions};
