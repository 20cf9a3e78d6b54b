//! On-policy learning: a round of episodes is played, learned from a few times over, and forgotten.

mod algorithms;
mod approximator;
mod critic;
mod lagrangian;
mod mappo;
mod ppo;
#[cfg(test)]
mod reference;
mod rollout;
mod softmax_policy;

pub(super) use algorithms::{MappoAlgorithm, MappoLagAlgorithm};
pub(super) use approximator::clip_gradient;
pub use lagrangian::{LagrangianOptions, MappoLagOptions};
pub use mappo::Mappo;
pub use ppo::PpoOptions;
