//! A centralised critic: what a state is worth to an agent, learned on the scale of the returns.

use super::{
    PpoOptions,
    approximator::{Approximator, Shape},
    rollout::Rollout,
    values::{ValueScale, value_loss},
};
use crate::{checkpoint::Checkpoint, error::Result, rng::Rng};

/// Values one stream of rewards or costs, and turns a round into advantages.
pub(super) struct Critic {
    net: Approximator,
    scale: ValueScale,
    /// Of the round, in the end on the scale that it left.
    values: Vec<f32>,
    last_values: Vec<f32>,
    targets: Vec<f32>,
    /// How much better than expected each step of the round went.
    pub(super) advantages: Vec<f32>,
}

impl Critic {
    /// A fresh critic of rows of a width.
    pub(super) fn new(options: &PpoOptions, width: usize, rng: &mut Rng) -> Self {
        let widths = [&[width], &options.hidden[..], &[1]].concat();
        Self {
            net: Approximator::new(Shape::new(&widths, options.layer_norm), 1.0, options.adam, rng),
            scale: ValueScale::default(),
            values: Vec::new(),
            last_values: Vec::new(),
            targets: Vec::new(),
            advantages: Vec::new(),
        }
    }

    /// Values a round: advantages for the actor, and targets for itself on a scale moved to them.
    pub(super) fn evaluate(
        &mut self,
        options: &PpoOptions,
        rollout: &Rollout,
        rewards: &[f32],
        places: &[usize],
    ) {
        self.net.outputs(&rollout.rows, &mut self.values);
        self.net.outputs(&rollout.last_rows, &mut self.last_values);
        let values = self.values.iter_mut().chain(&mut self.last_values);
        values.for_each(|value| *value = self.scale.restore(*value));
        let (values, last_values) = (&self.values, &self.last_values);
        let rates = (options.gamma, options.gae_lambda);
        rollout.advantages(rewards, values, last_values, rates, &mut self.advantages);
        self.targets.clear();
        self.targets.extend(self.advantages.iter().zip(values).map(|(a, value)| a + value));
        let before = self.scale;
        self.scale.follow(&self.targets, places, options.value_rate);
        let (weight, bias) = self.net.last_layer();
        self.scale.preserve(&before, weight, bias);
        let scaled = self.targets.iter_mut().chain(&mut self.values);
        scaled.for_each(|value| *value = self.scale.standardise(*value));
    }

    /// One step towards the targets of some places, whose rows are given; returns the loss.
    pub(super) fn improve(
        &mut self,
        options: &PpoOptions,
        lr_share: f32,
        rows: &[f32],
        places: &[usize],
    ) -> f32 {
        let (targets, values) = (&self.targets, &self.values);
        let lr = options.critic_lr * lr_share;
        let [loss, _] = self.net.descend(rows, lr, options.max_grad_norm, |row, value, d_value| {
            let place = places[row];
            let (d, loss) = value_loss(value[0], values[place], targets[place], options);
            d_value[0] = d;
            [loss, 0.0]
        });
        loss
    }

    /// Writes everything needed to go on exactly from here.
    pub(super) fn save<'a>(&'a self, name: &str, checkpoint: &mut Checkpoint<'a>) {
        self.net.save(name, checkpoint);
        checkpoint.set(&format!("{name}_scale"), self.scale);
    }

    /// Reads back what [`Self::save`] wrote.
    pub(super) fn load(&mut self, name: &str, checkpoint: &Checkpoint) -> Result<()> {
        self.scale = checkpoint.entry(&format!("{name}_scale"))?;
        self.net.load(name, checkpoint)
    }
}
