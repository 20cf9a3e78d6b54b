//! The contract shared by CG-CMARL and the baselines, and the algorithms themselves.

mod actor;
mod agent_network;
mod agent_rows;
mod approximator;
mod cg_cmarl;
mod cg_cmarl_options;
mod counters;
mod critic;
mod dcg;
mod exploration;
mod head;
mod iql;
mod joint_batch;
mod mappo;
mod mappo_lag;
mod pair_network;
mod policy;
mod ppo;
#[cfg(test)]
mod q_checks;
mod q_learning;
mod qmix;
mod reference;
mod reward_scale;
mod rollout;
mod row_network;
mod softmax_policy;
mod targets;
mod td;
mod two_head;
mod vdn;
mod weights;

pub use actor::{Actor, Stage};
pub use agent_network::{AgentNetwork, AgentNetworkOptions};
pub use agent_rows::{agent_row_width, write_agent_rows};
pub use cg_cmarl::CgCmarl;
pub use cg_cmarl_options::{CgCmarlOptions, LearningOptions};
pub use dcg::{DcgNetworkOptions, DcgOptions};
pub use exploration::TableNoise;
pub use head::{Head, HeadKind};
pub use iql::IqlOptions;
pub use joint_batch::JointBatch;
pub use mappo::Mappo;
pub use mappo_lag::{MappoLag, MappoLagOptions};
pub use policy::CgCmarlPolicy;
pub use ppo::PpoOptions;
pub use q_learning::{JointValue, Networks, QLearner, QLearningOptions};
pub use qmix::{MixerOptions, QmixOptions};
pub use reference::RandomPolicy;
pub use targets::{
    HeadTargets, NextValues, augment, bootstrap, polyak, summed_error, two_head_targets,
};
pub use td::{ErrorKind, NextAction, Sample, TdInputs, TdRule, TdShard};
pub use two_head::{NetworkOptions, TwoHead, TwoHeadWorkspace};
pub use vdn::VdnOptions;

use crate::{
    checkpoint::Checkpoint,
    episode::{Player, Summary},
    error::{Error, Result},
};

/// A learning algorithm: acts with exploration, learns from what it observes.
///
/// It owns its memory and decides itself when to update, so nothing outside knows of on-policy or
/// off-policy.
pub trait Learner: Player {
    /// Closes an episode: multipliers, schedules.
    fn end_episode(&mut self, slot: usize, summary: &Summary);
    /// What went wrong since the last call; training stops on it.
    fn failure(&mut self) -> Option<Error>;
    /// Named scalars about itself, in a fixed order.
    fn report(&self) -> Vec<(String, f32)>;
    /// What can be evaluated: one point per multiplier, or the single trained one.
    fn operating_points(&self, multipliers: &[f32]) -> Vec<OperatingPoint>;
    /// Writes what playing needs, under the same names as [`Self::save`].
    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>);
    /// Takes the weights of [`Self::save_model`] or [`Self::save`].
    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()>;
    /// Writes everything needed to go on exactly from here.
    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>);
    /// Goes on from a checkpoint of the same configuration.
    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()>;
}

/// A frozen greedy policy with the trade-off it stands for.
pub struct OperatingPoint {
    /// Where it lies on the trade-off.
    pub setting: Setting,
    /// Acts greedily.
    pub policy: Box<dyn Player>,
}

/// How the trade-off between reward and constraint was set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// CG-CMARL: the multiplier given at evaluation.
    Multiplier(f32),
    /// IQL, VDN, QMIX, DCG, MAPPO: the penalty share trained with.
    MixingRatio(f32),
    /// MAPPO-Lagrangian: the cost allowed in training; its multiplier is frozen in the actor.
    CostLimit(f32),
}

impl Setting {
    /// How reports call it.
    pub fn label(self) -> String {
        match self {
            Self::Multiplier(multiplier) => format!("λ={multiplier}"),
            Self::MixingRatio(ratio) => format!("local_ratio={ratio}"),
            Self::CostLimit(limit) => format!("cost_limit={limit}"),
        }
    }

    /// The multiplier, where there is one; through text, so that 0.05 stays 0.05 in double precision.
    pub fn multiplier(self) -> Option<f64> {
        match self {
            Self::Multiplier(multiplier) => multiplier.to_string().parse().ok(),
            Self::MixingRatio(_) | Self::CostLimit(_) => None,
        }
    }
}
