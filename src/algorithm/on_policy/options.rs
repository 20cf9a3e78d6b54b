//! The options of on-policy learning.

use crate::{
    error::{Error, Result, count, positive, within},
    nn::AdamOptions,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, toml};

/// The options that MAPPO shares with those that constrain it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PpoOptions {
    /// Widths of the hidden layers, of the actor and of each critic.
    pub hidden: Vec<usize>,
    /// Whether an agent also sees its own number, so that agents can take roles.
    pub identity: bool,
    /// Discount.
    pub gamma: f32,
    /// Weight of later errors in an advantage: 0 trusts the critic, 1 the rewards.
    pub gae_lambda: f32,
    /// How far a probability may move from the one acted with before its gain stops counting.
    pub clip: f32,
    /// Weight of the policy's entropy.
    pub entropy: f32,
    /// Adam's learning rate of the actor at the start.
    pub lr: f32,
    /// Adam's learning rate of the critics at the start.
    pub critic_lr: f32,
    /// Share of both that is left at the end of training; they fall in a straight line.
    pub lr_final_share: f32,
    /// Passes over each round of episodes.
    pub epochs: usize,
    /// Mini-batches that each pass is cut into.
    pub minibatches: usize,
    /// Longer gradients are clipped to this length.
    pub max_grad_norm: f32,
    /// Share of a round in the running mean and standard deviation of the returns.
    pub value_rate: f32,
    /// Errors of a critic beyond this count linearly; zero for squares throughout.
    pub huber: f32,
    /// How far a value may move from the one of the round before its gain stops counting; zero for any way.
    pub value_clip: f32,
    /// Whether every row is brought to mean 0 and spread 1 before it goes into a network.
    pub layer_norm: bool,
    /// Whether critics also see the global state.
    pub global_state: bool,
    /// What an agent pays for one unit of a constraint's cost, by the constraint's name.
    pub penalty: BTreeMap<String, f32>,
    /// Adam's other constants.
    pub adam: AdamOptions,
}

impl Default for PpoOptions {
    fn default() -> Self {
        Self {
            hidden: vec![64, 64],
            identity: true,
            gamma: 0.95,
            gae_lambda: 0.95,
            clip: 0.2,
            entropy: 0.01,
            lr: 7e-4,
            critic_lr: 1e-3,
            lr_final_share: 0.05,
            epochs: 10,
            minibatches: 2,
            max_grad_norm: 0.5,
            value_rate: 0.02,
            huber: 0.0,
            value_clip: 0.0,
            layer_norm: false,
            global_state: true,
            penalty: BTreeMap::new(),
            adam: AdamOptions { epsilon: 1e-5, ..AdamOptions::default() },
        }
    }
}

impl PpoOptions {
    /// Refuses what cannot work.
    pub(super) fn validate(&self) -> Result<()> {
        if !(0.0..1.0).contains(&self.gamma) {
            return Err(Error::setting("gamma", self.gamma, "must be at least 0 and below 1"));
        }
        within("gae_lambda", self.gae_lambda, 0.0..=1.0)?;
        within("lr_final_share", self.lr_final_share, 0.0..=1.0)?;
        within("entropy", self.entropy, 0.0..=1e6)?;
        positive("clip", self.clip, 1e6)?;
        positive("lr", self.lr, 1e6)?;
        positive("critic_lr", self.critic_lr, 1e6)?;
        positive("max_grad_norm", self.max_grad_norm, 1e30)?;
        positive("value_rate", self.value_rate, 1.0)?;
        within("huber", self.huber, 0.0..=1e30)?;
        within("value_clip", self.value_clip, 0.0..=1e30)?;
        count("epochs", self.epochs as u64, 1..=10_000)?;
        count("minibatches", self.minibatches as u64, 1..=1_000_000)?;
        if self.hidden.contains(&0) {
            let value = format!("{:?}", self.hidden);
            return Err(Error::setting("hidden", value, "every layer needs a width"));
        }
        self.adam.check()
    }

    /// Whether the networks fit teams of every size.
    pub(super) fn fits_any_team(&self) -> bool {
        !self.identity && !self.global_state
    }

    /// The share of the learning rates at a moment of training.
    pub(super) fn lr_share(&self, steps: u64, total_steps: u64) -> f32 {
        let progress = (steps as f64 / total_steps.max(1) as f64).min(1.0) as f32;
        1.0 + (self.lr_final_share - 1.0) * progress
    }
}

/// What Yu et al. publish for the particle tasks.
pub(super) fn published() -> Table {
    toml! {
        hidden = [64, 64]
        gamma = 0.99
        gae_lambda = 0.95
        clip = 0.2
        entropy = 0.01
        lr = 7e-4
        critic_lr = 7e-4
        lr_final_share = 1.0
        epochs = 10
        minibatches = 1
        max_grad_norm = 10.0
        huber = 10.0
        value_clip = 0.2
        layer_norm = true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_work_are_refused_by_name() {
        let refused = |change: fn(&mut PpoOptions)| {
            let mut options = PpoOptions::default();
            change(&mut options);
            options.validate().unwrap_err().to_string()
        };
        assert!(refused(|o| o.gamma = 1.0).contains("`gamma`: 1"));
        assert!(refused(|o| o.epochs = 0).contains("`epochs`: 0"));
        assert!(refused(|o| o.hidden = vec![8, 0]).contains("`hidden`: [8, 0]"));
        assert!(refused(|o| o.clip = f32::NAN).contains("`clip`: NaN"));
        assert!(refused(|o| o.huber = -1.0).contains("`huber`: -1"));
        assert!(refused(|o| o.value_clip = f32::NAN).contains("`value_clip`: NaN"));
        assert!(PpoOptions::default().validate().is_ok());
        let published: PpoOptions = published().try_into().unwrap();
        assert!(published.validate().is_ok() && published.layer_norm);
    }
}
