//! What a learner keeps for each team that it trains: memory, reward scale, counters and buffers.

use super::{JointBatch, JointValue, QLearningOptions, reward_scale::RewardScale};
use crate::{
    algorithm::{
        Start,
        action_masks::ActionMasks,
        counters::{due, load_counters, load_rng},
    },
    checkpoint::Checkpoint,
    environment::View,
    error::Result,
    replay::Replay,
    rng::{Purpose, Rng},
};

/// One team.
pub(super) struct Team {
    /// What its entries of a checkpoint begin with; nothing for the training's own team.
    prefix: String,
    pub(super) value: Box<dyn JointValue>,
    pub(super) masks: ActionMasks,
    pub(super) replay: Replay,
    replay_rng: Rng,
    pub(super) reward_scale: RewardScale,
    /// Whether a reward's distance from zero has a meaning: how long an episode lasts depends on it.
    keeps_mean: bool,
    pub(super) batch: JointBatch,
    /// Steps of this team so far.
    pub(super) steps: u64,
    /// Updates from its memory so far.
    pub(super) updates: u64,
}

impl Team {
    /// A team that has seen nothing; its number tells its random numbers from those of others.
    pub(super) fn new(
        value: Box<dyn JointValue>,
        learning: &QLearningOptions,
        start: Start<'_>,
        number: usize,
    ) -> Self {
        let own = start.teams.len() - 1;
        let spec = start.teams[number].spec();
        let prefix =
            if number == own { String::new() } else { format!("team_{}.", spec.n_agents()) };
        Self {
            prefix,
            value,
            masks: ActionMasks::default(),
            replay: JointBatch::memory(spec, learning.buffer_size),
            replay_rng: start.streams.rng(Purpose::Replay, (own - number) as u64),
            reward_scale: RewardScale::default(),
            keeps_mean: spec.terminates,
            batch: JointBatch::default(),
            steps: 0,
            updates: 0,
        }
    }

    /// Whether its steps ask for an update.
    pub(super) fn is_due(&self, learning: &QLearningOptions) -> bool {
        self.updates < due(self.steps, learning.learning_starts, learning.steps_per_update)
    }

    /// Draws the batch of an update.
    pub(super) fn draw(&mut self, learning: &QLearningOptions, view: &dyn View) {
        let n_symmetries = if learning.symmetries { view.n_symmetries().max(1) } else { 1 };
        let draw = (learning.batch_size, n_symmetries, learning.gamma);
        self.batch.draw(&self.replay, view, &mut self.replay_rng, draw);
    }

    /// Brings the rewards of the batch to the scale they are learned at.
    pub(super) fn standardise(&mut self) {
        self.reward_scale.standardise(&mut self.batch.rewards, self.keeps_mean);
    }

    /// Writes everything needed to go on exactly from here.
    pub(super) fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        let prefix = &self.prefix;
        self.replay.save(prefix, checkpoint);
        checkpoint.set(&format!("{prefix}replay_rng"), self.replay_rng.position());
        checkpoint.set(&format!("{prefix}reward_scale"), self.reward_scale);
        checkpoint.set(&format!("{prefix}learner_steps"), self.steps);
        checkpoint.set(&format!("{prefix}updates"), self.updates);
    }

    /// Reads back what [`Self::save`] wrote.
    pub(super) fn load(
        &mut self,
        learning: &QLearningOptions,
        checkpoint: &Checkpoint,
    ) -> Result<()> {
        let prefix = &self.prefix;
        self.replay.load(prefix, checkpoint)?;
        load_rng(checkpoint, &format!("{prefix}replay_rng"), &mut self.replay_rng)?;
        self.reward_scale = checkpoint.entry(&format!("{prefix}reward_scale"))?;
        if !self.reward_scale.is_sound() {
            let text = format!("holds an impossible `{prefix}reward_scale`");
            return Err(checkpoint.mismatch(&text));
        }
        let due = |steps| due(steps, learning.learning_starts, learning.steps_per_update);
        (self.steps, self.updates) =
            load_counters(checkpoint, prefix, |steps| due(steps)..=due(steps))?;
        if !self.replay.is_after(self.steps) {
            let text = format!("does not remember what {} steps leave", self.steps);
            return Err(checkpoint.mismatch(&text));
        }
        Ok(())
    }
}
