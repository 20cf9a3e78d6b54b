//! On-policy learning: a round of episodes is played, learned from a few times over, and forgotten.

mod agent_step;
mod algorithms;
mod approximator;
mod critic;
mod lagrangian;
mod macpo;
mod mappo;
mod multiplier_input;
mod options;
mod ppo;
#[cfg(test)]
mod reference;
mod rollout;
mod softmax_policy;
mod trust_region;
mod values;

pub(super) use algorithms::{
    MacpoAlgorithm, MappoAlgorithm, MappoLagAlgorithm, MappoLambdaAlgorithm,
};
pub(super) use approximator::clip_gradient;
pub use lagrangian::{
    LagrangianOptions, MappoLagOptions, MappoLambdaOptions, Pricing, SamplingOptions,
};
pub use macpo::{Macpo, MacpoOptions};
pub use mappo::Mappo;
pub use options::PpoOptions;
