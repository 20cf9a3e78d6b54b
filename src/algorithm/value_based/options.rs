//! How a value is learned, and what is usual for the baselines with a memory.

use crate::{
    error::{Error, Result, count, positive, within},
    nn::AdamOptions,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// How a value is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QLearningOptions {
    /// Discount.
    pub gamma: f32,
    /// Adam's learning rate at the start.
    pub lr: f32,
    /// Share of it that is left at the end of training; it falls in a straight line.
    pub lr_final_share: f32,
    /// Joint transitions per update.
    pub batch_size: usize,
    /// Joint transitions held in memory.
    pub buffer_size: usize,
    /// Environment steps before the first update.
    pub learning_starts: u64,
    /// Environment steps per update.
    pub steps_per_update: f64,
    /// Share of the online network that enters the target network at each target update.
    pub polyak_tau: f32,
    /// Updates between target updates.
    pub target_interval: u64,
    /// Whether nothing counts beyond the time limit, as in EPyMARL, rather than that values go on.
    pub time_limit_ends: bool,
    /// Whether rewards are brought to standard deviation 1, and to mean 0 where no episode truly ends.
    pub standardise_rewards: bool,
    /// Longer gradients are clipped to this length.
    pub max_grad_norm: f32,
    /// Whether a transition is learned from under a symmetry of the task, drawn anew each time.
    pub symmetries: bool,
    /// Share of the online network that enters, at each update, the average that is evaluated.
    pub average_rate: f32,
    /// What an agent pays for one unit of a constraint's cost, by the constraint's name.
    pub penalty: BTreeMap<String, f32>,
    /// Adam's other constants.
    pub adam: AdamOptions,
}

impl Default for QLearningOptions {
    fn default() -> Self {
        Self {
            gamma: 0.8,
            lr: 7e-4,
            lr_final_share: 0.1,
            batch_size: 64,
            buffer_size: 300_000,
            learning_starts: 1000,
            steps_per_update: 4.0,
            polyak_tau: 0.01,
            target_interval: 1,
            time_limit_ends: false,
            standardise_rewards: true,
            max_grad_norm: 10.0,
            symmetries: true,
            average_rate: 0.001,
            penalty: BTreeMap::new(),
            adam: AdamOptions::default(),
        }
    }
}

impl QLearningOptions {
    pub(super) fn check(&self) -> Result<()> {
        if !(0.0..1.0).contains(&self.gamma) {
            return Err(Error::setting("gamma", self.gamma, "must be at least 0 and below 1"));
        }
        positive("lr", self.lr, 1e6)?;
        within("lr_final_share", self.lr_final_share, 0.0..=1.0)?;
        count("batch_size", self.batch_size as u64, 1..=u64::MAX)?;
        count("buffer_size", self.buffer_size as u64, 1..=u64::MAX)?;
        within("steps_per_update", self.steps_per_update, 0.01..=1e9)?;
        positive("polyak_tau", self.polyak_tau, 1.0)?;
        count("target_interval", self.target_interval, 1..=u64::MAX)?;
        positive("average_rate", self.average_rate, 1.0)?;
        positive("max_grad_norm", self.max_grad_norm, 1e30)?;
        self.adam.check()
    }
}

/// Batches with about as many rows as CG-CMARL's, agents or (for pairs) pairs, and twice its
/// updates: what was found to serve them best (docs/baselines-tuning.md).
pub(super) fn usual_recipe(algorithm: &str, n_agents: usize, pairs: bool) -> Table {
    let (batch_size, pairs_batch_size, steps_per_update) = match n_agents {
        ..=3 => (64, 32, 2.0),
        4 => (48, 32, 2.0),
        5..=7 => (40, 16, 2.0),
        _ => (36, 8, 4.0),
    };
    let mut learning = Table::new();
    let batch_size = if pairs { pairs_batch_size } else { batch_size };
    learning.insert("batch_size".into(), Value::Integer(batch_size));
    learning.insert("steps_per_update".into(), Value::Float(steps_per_update));
    let mut own = Table::new();
    own.insert("learning".into(), Value::Table(learning));
    [(algorithm.to_owned(), Value::Table(own))].into_iter().collect()
}

/// The usual exploration: the share of actions drawn at random, by environment steps.
pub(super) fn usual_exploration() -> Linear {
    Linear { start: 1.0, end: 0.05, steps: 100_000 }
}
