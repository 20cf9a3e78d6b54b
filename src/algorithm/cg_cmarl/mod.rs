//! CG-CMARL: one network for all regions, coordinated action, multipliers set by the user afterwards.

mod actor;
mod exploration;
mod head;
mod network;
mod options;
mod policy;
mod region_views;
mod sampling;
mod targets;
mod td;
#[cfg(test)]
mod tests;
mod transitions;

pub use actor::{ActingContext, Actor};
pub use exploration::TableNoise;
pub use head::{Head, HeadKind};
pub use network::{NetworkOptions, TwoHead, TwoHeadWorkspace};
pub(super) use options::wrong_length;
pub use options::{CgCmarlOptions, LearningOptions};
pub use policy::{CgCmarlModel, CgCmarlPolicy};
pub use region_views::Averaging;
pub use sampling::Sample;
pub use targets::{
    HeadTargets, NextValues, augment, bootstrap, head_targets, polyak, summed_error,
    two_head_targets,
};
pub use td::{ErrorKind, NextAction, TdInputs, TdRule, TdShard};

use super::{
    Algorithm, Learner, Need, Start, TrainedModel,
    action_masks::ActionMasks,
    counters::{due, load_counters, load_rng},
    weights::{load_weights, save_weights},
};
use crate::{
    checkpoint::Checkpoint,
    environment::{Batch, Ending, Spec, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::{MultiplierMode, Multipliers, per_constraint},
    nn::Adam,
    replay::{Replay, Row, RowShape},
    rng::{Purpose, Rng},
};
use actor::states_per_shard;
use options::{check, draw_multipliers, rule};
use policy::choose_in_shards;
use rayon::prelude::*;
use sampling::Sampler;
use std::sync::Arc;
use toml::{Table, toml};

/// The algorithm as the registry knows it.
pub(super) struct CgCmarlAlgorithm;

impl Algorithm for CgCmarlAlgorithm {
    type Options = CgCmarlOptions;

    fn name(&self) -> &'static str {
        "cg_cmarl"
    }

    fn presets(&self) -> &'static [&'static str] {
        &["two_head", "paper"]
    }

    fn recipe(&self, _n_agents: usize) -> Table {
        toml! {
            [cg_cmarl.coordination]
            solver = "max_sum"
            tolerance = 1e-3
        }
    }

    fn preset(&self, preset: &str) -> Table {
        match preset {
            "two_head" => toml! { cg_cmarl.network.multiplier_input = false },
            "paper" => options::to_the_letter(),
            _ => Table::new(),
        }
    }

    fn memory(&self, options: &CgCmarlOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        options::memory(options, spec, n_environments)
    }

    fn learner(&self, options: &CgCmarlOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(CgCmarl::new(options, start)?))
    }

    fn model(
        &self,
        options: &CgCmarlOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        Ok(Box::new(CgCmarlModel::load(options, view, weights)?))
    }

    fn continued(&self, options: &CgCmarlOptions, steps: u64) -> Option<CgCmarlOptions> {
        let exploration = options.exploration.after(steps);
        let random_actions = options.random_actions.after(steps);
        Some(CgCmarlOptions { exploration, random_actions, ..options.clone() })
    }
}

/// The learner.
pub struct CgCmarl {
    options: CgCmarlOptions,
    total_steps: u64,
    spec: Spec,
    network: Arc<TwoHead>,
    online: Vec<f32>,
    target: Vec<f32>,
    averaged: Vec<f32>,
    adam: Adam,
    replay: Replay,
    replay_rng: Rng,
    multipliers: Multipliers,
    behaviour: Vec<f32>,
    /// The behaviour of the environments that act now.
    chosen: Vec<f32>,
    noise: TableNoise,
    actors: Vec<Actor>,
    masks: ActionMasks,
    shards: Vec<TdShard>,
    sampler: Sampler,
    outcome: Vec<f32>,
    steps: u64,
    updates: u64,
    losses: Vec<f32>,
    failure: Option<Error>,
}

impl CgCmarl {
    /// A fresh learner.
    pub fn new(options: &CgCmarlOptions, start: Start<'_>) -> Result<Self> {
        let Start { view, n_environments, total_steps, streams } = start;
        let spec = view.spec().clone();
        check(options, &spec)?;
        let network = TwoHead::new(&options.network, &spec)?;
        let online = network.layout().initialise(&mut streams.rng(Purpose::Initialisation, 0));
        let n_constraints = spec.n_constraints();
        let limits = per_constraint(&options.multipliers.cost_limit, n_constraints)
            .ok_or_else(|| wrong_length("cost_limit", &options.multipliers.cost_limit, &spec))?;
        let shape = RowShape {
            state: spec.state_width,
            agents: spec.n_agents(),
            actions: spec.n_actions(),
            outcome: spec.max_regions * (1 + n_constraints),
        };
        let capacity = (options.learning.buffer_size / spec.max_regions).max(1);
        let mut learner = Self {
            total_steps,
            target: online.clone(),
            averaged: online.clone(),
            adam: Adam::new(options.learning.adam, online.len()),
            replay: Replay::new(shape, capacity),
            replay_rng: streams.rng(Purpose::Replay, 0),
            multipliers: Multipliers::new(
                spec.n_agents(),
                limits,
                options.multipliers.lagrangian_upper_bound,
            ),
            behaviour: vec![0.0; n_environments * n_constraints],
            chosen: Vec::new(),
            noise: TableNoise::default(),
            actors: Vec::new(),
            masks: ActionMasks::default(),
            shards: Vec::new(),
            sampler: Sampler::new(options, spec.n_agents()),
            outcome: Vec::with_capacity(shape.outcome),
            steps: 0,
            updates: 0,
            losses: vec![0.0; 1 + n_constraints],
            failure: None,
            options: options.clone(),
            network: Arc::new(network),
            online,
            spec,
        };
        learner.replay.reserve();
        Ok(learner)
    }

    /// One update of both networks (lines "Q-Network Update" of Algorithm CG-CMARL Training).
    fn learn(&mut self, view: &dyn View) {
        let n_rows = self.sampler.draw(view, &self.replay, &mut self.replay_rng).max(1);
        let samples = &self.sampler.samples;
        let learning = &self.options.learning;
        let inputs = TdInputs {
            network: &self.network,
            online: &self.online,
            target: &self.target,
            view,
            replay: &self.replay,
            rule: rule(learning),
            n_rows,
        };
        let whole = self.sampler.whole_states;
        let share = states_per_shard(if whole { self.spec.max_regions } else { 1 });
        let n_shards = samples.len().div_ceil(share);
        let coordination = &self.options.coordination;
        while self.shards.len() < n_shards {
            self.shards.push(TdShard::new(&self.network, view, coordination.build()));
        }
        match &mut self.shards[..n_shards] {
            // Handing a single share to another thread would only cost time.
            [shard] => shard.accumulate(inputs, samples),
            shards => shards
                .par_iter_mut()
                .zip(samples.par_chunks(share))
                .for_each(|(shard, samples)| shard.accumulate(inputs, samples)),
        }
        self.sum_shards(n_shards, n_rows);
        self.descend();
    }

    /// Moves the online network along the gradient, and the others after it.
    fn descend(&mut self) {
        let learning = &self.options.learning;
        let progress = (self.steps as f64 / self.total_steps.max(1) as f64).min(1.0) as f32;
        let lr = learning.lr * (1.0 + (learning.lr_final_share - 1.0) * progress);
        self.adam.step(lr, &self.shards[0].gradient, &mut self.online);
        self.updates += 1;
        if learning.average_rate < 1.0 {
            // A fixed rate would remember the first weights for long.
            let rate = learning.average_rate.max(1.0 / (self.updates + 1) as f32);
            polyak(&mut self.averaged, &self.online, rate);
        }
        if self.updates.is_multiple_of(learning.target_interval) {
            polyak(&mut self.target, &self.online, learning.polyak_tau);
        }
    }

    /// Adds the shards' gradients into the first, in order, and follows the losses.
    fn sum_shards(&mut self, n_shards: usize, n_rows: usize) {
        let (first, rest) = self.shards[..n_shards].split_at_mut(1);
        for shard in rest {
            first[0].gradient.add(&shard.gradient);
            first[0].losses.iter_mut().zip(&shard.losses).for_each(|(sum, l)| *sum += l);
        }
        for (head, (mean, loss)) in self.losses.iter_mut().zip(&first[0].losses).enumerate() {
            let loss = loss / n_rows as f32;
            if !loss.is_finite() && self.failure.is_none() {
                let what =
                    if head == 0 { "primary loss".into() } else { format!("cost loss {head}") };
                self.failure = Some(Error::Diverged { step: self.steps, what, value: loss });
            }
            *mean += 0.01 * (loss - *mean);
        }
    }

    /// Updates that are due after some steps.
    fn due(&self, steps: u64) -> u64 {
        let learning = &self.options.learning;
        due(steps, learning.learning_starts, learning.steps_per_update)
    }

    fn context<'a>(&'a self, view: &'a dyn View) -> ActingContext<'a> {
        let scale = self.options.exploration.at(self.steps);
        ActingContext {
            network: &self.network,
            parameters: &self.online,
            view,
            noise: (scale > 0.0).then_some((&self.noise, scale)),
        }
    }

    /// The weights that are evaluated: the average, or the online ones where nothing is averaged.
    fn evaluated(&self) -> &[f32] {
        if self.options.learning.average_rate < 1.0 { &self.averaged } else { &self.online }
    }

    /// What was trained so far, to play with.
    pub fn model(&self) -> CgCmarlModel {
        let parameters = Arc::new(self.evaluated().to_vec());
        CgCmarlModel::new(&self.options, &self.spec, Arc::clone(&self.network), parameters)
    }
}

impl Controller for CgCmarl {
    fn begin(&mut self, slot: usize, rng: &mut Rng) {
        let n = self.spec.n_constraints();
        let row = &mut self.behaviour[slot * n..][..n];
        let options = &self.options.multipliers;
        match options.mode {
            MultiplierMode::Sampled => draw_multipliers(options, rng, row),
            MultiplierMode::Learned => {
                row.iter_mut().enumerate().for_each(|(j, m)| *m = self.multipliers.mean(j));
            }
            MultiplierMode::Fixed => {
                let fixed = options.fixed.iter().cycle();
                row.iter_mut().zip(fixed).for_each(|(m, fixed)| *m = *fixed);
            }
        }
    }

    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let mut actors = std::mem::take(&mut self.actors);
        let n = self.spec.n_constraints();
        let coordinator = || self.options.coordination.build();
        self.chosen.clear();
        for slot in batch.slots {
            self.chosen.extend_from_slice(&self.behaviour[slot * n..][..n]);
        }
        choose_in_shards(
            &mut actors,
            self.context(batch.view),
            coordinator,
            Averaging::NONE,
            batch,
            &self.chosen,
            Some(&mut *rngs),
            actions,
        );
        self.actors = actors;
        let share = self.options.random_actions.at(self.steps);
        if share > 0.0 {
            self.masks.read(batch.view, batch.states);
            self.masks.explore(share, rngs, actions);
        }
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let Transition { state, action, outcome, next_state, .. } = transition;
        self.steps += 1;
        let max_regions = self.spec.max_regions;
        self.outcome.clear();
        self.outcome.extend_from_slice(&outcome.region_rewards);
        self.outcome.resize(max_regions, 0.0);
        self.outcome.extend_from_slice(&outcome.region_costs);
        self.replay.push(Row {
            state,
            next_state,
            actions: action,
            outcome: &self.outcome,
            terminal: outcome.ending == Ending::Terminal,
        });
    }

    fn update(&mut self, view: &dyn View) {
        while self.updates < self.due(self.steps) && self.failure.is_none() {
            self.learn(view);
        }
    }
}

impl Learner for CgCmarl {
    fn end_episode(&mut self, _slot: usize, summary: &Summary) {
        self.multipliers.ascend(&summary.agent_costs, self.options.multipliers.lambda_lr);
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        let mut report = vec![
            ("loss_primary".into(), self.losses[0]),
            ("noise".into(), self.options.exploration.at(self.steps)),
            ("updates".into(), self.updates as f32),
        ];
        for (j, name) in self.spec.constraint_names().iter().enumerate() {
            report.push((format!("loss_{name}"), self.losses[j + 1]));
            if self.options.multipliers.mode == MultiplierMode::Learned {
                report.push((format!("multiplier_{name}"), self.multipliers.mean(j)));
            }
        }
        report
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_weights(self.network.layout(), "averaged", self.evaluated(), checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        load_weights(self.network.layout(), "averaged", checkpoint, &mut self.averaged)?;
        self.online.copy_from_slice(&self.averaged);
        self.target.copy_from_slice(&self.averaged);
        Ok(())
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_weights(self.network.layout(), "online", &self.online, checkpoint);
        save_weights(self.network.layout(), "target", &self.target, checkpoint);
        save_weights(self.network.layout(), "averaged", self.evaluated(), checkpoint);
        save_weights(self.network.layout(), "adam.mean", &self.adam.mean, checkpoint);
        save_weights(self.network.layout(), "adam.square", &self.adam.square, checkpoint);
        self.replay.save(checkpoint);
        let multipliers = self.multipliers.values();
        checkpoint.push("multipliers", &[multipliers.len()], multipliers);
        checkpoint.push("losses", &[self.losses.len()], &self.losses[..]);
        checkpoint.set("replay_rng", self.replay_rng.position());
        checkpoint.set("adam_steps", self.adam.steps);
        checkpoint.set("learner_steps", self.steps);
        checkpoint.set("updates", self.updates);
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        load_weights(self.network.layout(), "online", checkpoint, &mut self.online)?;
        load_weights(self.network.layout(), "target", checkpoint, &mut self.target)?;
        load_weights(self.network.layout(), "averaged", checkpoint, &mut self.averaged)?;
        load_weights(self.network.layout(), "adam.mean", checkpoint, &mut self.adam.mean)?;
        load_weights(self.network.layout(), "adam.square", checkpoint, &mut self.adam.square)?;
        self.replay.load(checkpoint)?;
        let n_multipliers = self.multipliers.values().len();
        self.multipliers.restore(checkpoint.get_shaped("multipliers", &[n_multipliers])?);
        let n_heads = self.losses.len();
        self.losses.copy_from_slice(checkpoint.get_shaped("losses", &[n_heads])?);
        load_rng(checkpoint, "replay_rng", &mut self.replay_rng)?;
        self.adam.steps = checkpoint.count("adam_steps")?;
        (self.steps, self.updates) =
            load_counters(checkpoint, |steps| self.due(steps)..=self.due(steps))?;
        if !self.replay.is_after(self.steps) {
            let text = format!("does not remember what {} steps leave", self.steps);
            return Err(checkpoint.mismatch(&text));
        }
        Ok(())
    }
}
