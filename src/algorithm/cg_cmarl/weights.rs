//! What all teams of a training share: the numbers of the network, those that follow them, Adam.

use super::{LearningOptions, network::TwoHead};
use crate::{
    algorithm::weights::{load_weights, save_weights},
    checkpoint::Checkpoint,
    error::Result,
    multipliers::ascent::step_size,
    nn::{Adam, Follower, Gradient, Layout, Numbers},
    rng::Rng,
};

/// Online, target and averaged network.
pub(super) struct Weights {
    pub(super) online: Numbers,
    pub(super) target: Numbers,
    averaged: Numbers,
    adam: Adam,
    learning: LearningOptions,
    /// Updates so far, of all teams.
    pub(super) updates: u64,
}

impl Weights {
    /// A fresh network.
    pub(super) fn new(learning: &LearningOptions, network: &TwoHead, rng: &mut Rng) -> Self {
        let online = Numbers::from(network.layout().initialise(rng));
        Self {
            target: online.clone(),
            averaged: online.clone(),
            adam: Adam::with_rows(learning.adam, online.len(), network.gradient().n_rows()),
            online,
            learning: learning.clone(),
            updates: 0,
        }
    }

    /// Moves the online network along the sum of some gradients, and the others after it; `progress` is
    /// the share of the training that is over.
    pub(super) fn descend(&mut self, gradients: &[&Gradient], progress: f32) {
        let learning = &self.learning;
        let lr = learning.lr * (1.0 + (learning.lr_final_share - 1.0) * progress);
        let lr = step_size(lr, self.updates, learning.lr_power);
        self.updates += 1;
        // A fixed rate would remember the first weights for long.
        let rate = learning.average_rate.max(1.0 / (self.updates + 1) as f32);
        let averages = learning.average_rate < 1.0;
        let follows = self.updates.is_multiple_of(learning.target_interval);
        let follower = |is, numbers, rate| {
            if is { Follower { numbers, rate } } else { Follower::nobody() }
        };
        let followers = [
            follower(averages, &mut self.averaged[..], rate),
            follower(follows, &mut self.target[..], learning.polyak_tau),
        ];
        self.adam.step_followed(lr, gradients, &mut self.online, followers);
    }

    /// The weights that are evaluated: the average, or the online ones where nothing is averaged.
    pub(super) fn evaluated(&self) -> &[f32] {
        if self.learning.average_rate < 1.0 { &self.averaged } else { &self.online }
    }

    /// Writes what playing needs.
    pub(super) fn save_model<'a>(&'a self, layout: &Layout, checkpoint: &mut Checkpoint<'a>) {
        save_weights(layout, "averaged", self.evaluated(), checkpoint);
    }

    /// Starts from what was trained elsewhere.
    pub(super) fn load_model(&mut self, layout: &Layout, checkpoint: &Checkpoint) -> Result<()> {
        load_weights(layout, "averaged", checkpoint, &mut self.averaged)?;
        self.online.copy_from_slice(&self.averaged);
        self.target.copy_from_slice(&self.averaged);
        Ok(())
    }

    /// Writes everything.
    pub(super) fn save<'a>(&'a self, layout: &Layout, checkpoint: &mut Checkpoint<'a>) {
        save_weights(layout, "online", &self.online, checkpoint);
        save_weights(layout, "target", &self.target, checkpoint);
        save_weights(layout, "averaged", self.evaluated(), checkpoint);
        save_weights(layout, "adam.mean", &self.adam.mean, checkpoint);
        save_weights(layout, "adam.root", &self.adam.root, checkpoint);
        checkpoint.push("adam.ages", &[self.adam.ages.len()], &self.adam.ages[..]);
        checkpoint.set("adam_steps", self.adam.steps);
    }

    /// Puts everything back; `updates` as the teams have counted them.
    pub(super) fn load(
        &mut self,
        layout: &Layout,
        checkpoint: &Checkpoint,
        updates: u64,
    ) -> Result<()> {
        load_weights(layout, "online", checkpoint, &mut self.online)?;
        load_weights(layout, "target", checkpoint, &mut self.target)?;
        load_weights(layout, "averaged", checkpoint, &mut self.averaged)?;
        load_weights(layout, "adam.mean", checkpoint, &mut self.adam.mean)?;
        load_weights(layout, "adam.root", checkpoint, &mut self.adam.root)?;
        let n_rows = self.adam.ages.len();
        self.adam.ages.copy_from_slice(checkpoint.get_shaped("adam.ages", &[n_rows])?);
        self.adam.steps = checkpoint.count("adam_steps")?;
        self.updates = updates;
        Ok(())
    }
}
