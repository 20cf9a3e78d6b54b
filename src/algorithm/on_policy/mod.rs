//! On-policy learning: a round of episodes is played, learned from a few times over, and forgotten.

mod approximator;
mod critic;
mod mappo;
mod ppo;
#[cfg(test)]
mod reference;
mod rollout;
mod softmax_policy;

pub(super) use approximator::clip_gradient;
pub use mappo::{LagrangianOptions, Mappo, MappoLagOptions};
pub(super) use mappo::{MappoAlgorithm, MappoLagAlgorithm};
pub use ppo::PpoOptions;
