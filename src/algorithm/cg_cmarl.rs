//! CG-CMARL: one network for all regions, coordinated action, multipliers set by the user afterwards.

use super::{
    Learner, OperatingPoint, Setting,
    actor::{Actor, Stage, states_per_shard},
    exploration::TableNoise,
    targets::polyak,
    td::{ErrorKind, NextAction, Sample, TdInputs, TdRule, TdShard},
    two_head::{NetworkOptions, TwoHead},
};
use crate::{
    checkpoint::Checkpoint,
    coordination::{Coordinator, SolverOptions},
    environment::{Ending, Spec, View},
    episode::{Player, Scene, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::{MultiplierMode, MultiplierOptions, Multipliers, per_constraint},
    nn::{Adam, AdamOptions},
    replay::{Replay, Row, RowShape},
    rng::{Purpose, Rng, Streams},
    schedule::Linear,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything about learning that is not the environment's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearningOptions {
    /// Discount.
    pub gamma: f32,
    /// Adam's learning rate at the start.
    pub lr: f32,
    /// Share of it that is left at the end of training; it falls in a straight line.
    pub lr_final_share: f32,
    /// Region rows per update.
    pub batch_size: usize,
    /// Region rows held in memory.
    pub buffer_size: usize,
    /// Environment steps before the first update.
    pub learning_starts: u64,
    /// Environment steps per update.
    pub steps_per_update: f64,
    /// Share of the online network that enters the target network at each target update.
    pub polyak_tau: f32,
    /// Updates between target updates.
    pub target_interval: u64,
    /// Who chooses the next action of a target: `regional` or `coupled`.
    pub next_action: NextAction,
    /// Which error the primary head learns from: `regional` or `summed`.
    pub error: ErrorKind,
    /// A summed error is divided by this power of the number of regions.
    pub error_power: f32,
    /// Weight of the cost heads' errors.
    pub cost_weight: f32,
    /// Errors beyond this count linearly; zero for squares throughout.
    pub huber: f32,
    /// Whether a pair is learned from in either order of its members, drawn anew each time.
    pub random_order: bool,
    /// Adam's other constants.
    pub adam: AdamOptions,
}

impl Default for LearningOptions {
    fn default() -> Self {
        Self {
            gamma: 0.85,
            lr: 7e-4,
            lr_final_share: 0.1,
            batch_size: 128,
            buffer_size: 1_000_000,
            learning_starts: 1000,
            steps_per_update: 4.0,
            polyak_tau: 0.01,
            target_interval: 1,
            next_action: NextAction::Coupled,
            error: ErrorKind::Summed,
            error_power: 0.5,
            cost_weight: 1.0,
            huber: 0.0,
            random_order: true,
            adam: AdamOptions::default(),
        }
    }
}

/// The options of CG-CMARL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CgCmarlOptions {
    /// The network.
    pub network: NetworkOptions,
    /// The learning rule.
    pub learning: LearningOptions,
    /// Scale of the Gaussian noise on the tables, by environment steps.
    pub exploration: Linear,
    /// Multipliers in training.
    pub multipliers: MultiplierOptions,
    /// The coordinator that acts in training and chooses the next action of coupled targets.
    pub coordination: SolverOptions,
    /// The coordinator of the trained policy.
    pub acting: SolverOptions,
    /// Whether the trained policy averages a pair's table over both orders of its members.
    pub average_orders: bool,
}

impl Default for CgCmarlOptions {
    fn default() -> Self {
        Self {
            network: NetworkOptions::default(),
            learning: LearningOptions::default(),
            exploration: Linear { start: 0.3, end: 0.02, steps: 100_000 },
            multipliers: MultiplierOptions::default(),
            coordination: SolverOptions::default(),
            acting: SolverOptions::default(),
            average_orders: true,
        }
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
    adam: Adam,
    replay: Replay,
    replay_rng: Rng,
    multipliers: Multipliers,
    behaviour: Vec<f32>,
    noise: TableNoise,
    actors: Vec<Actor>,
    shards: Vec<TdShard>,
    samples: Vec<Sample>,
    outcome: Vec<f32>,
    actions: Vec<u8>,
    steps: u64,
    updates: u64,
    losses: Vec<f32>,
    failure: Option<Error>,
}

impl CgCmarl {
    /// A fresh learner; `total_steps` is what the learning rate's decay is stretched over.
    pub fn new(
        options: &CgCmarlOptions,
        view: &dyn View,
        n_environments: usize,
        total_steps: u64,
        streams: Streams,
    ) -> Result<Self> {
        let spec = view.spec().clone();
        check(options, &spec)?;
        let network = TwoHead::new(&options.network, &spec)?;
        let online = network.layout().initialise(&mut streams.rng(Purpose::Initialisation, 0));
        let n_constraints = spec.constraints.len();
        let limits = per_constraint(&options.multipliers.cost_limit, n_constraints)
            .ok_or_else(|| wrong_length("cost_limit", &options.multipliers.cost_limit, &spec))?;
        let shape = RowShape {
            state: spec.state_width,
            agents: spec.n_agents,
            outcome: spec.max_regions * (1 + n_constraints),
        };
        let capacity = (options.learning.buffer_size / spec.max_regions).max(1);
        let learner = Self {
            total_steps,
            target: online.clone(),
            adam: Adam::new(options.learning.adam, online.len()),
            replay: Replay::new(shape, capacity),
            replay_rng: streams.rng(Purpose::Replay, 0),
            multipliers: Multipliers::new(
                spec.n_agents,
                limits,
                options.multipliers.lagrangian_upper_bound,
            ),
            behaviour: vec![0.0; n_environments * n_constraints],
            noise: TableNoise::default(),
            actors: Vec::new(),
            shards: Vec::new(),
            samples: Vec::new(),
            outcome: Vec::with_capacity(shape.outcome),
            actions: Vec::with_capacity(spec.n_agents),
            steps: 0,
            updates: 0,
            losses: vec![0.0; 1 + n_constraints],
            failure: None,
            options: options.clone(),
            network: Arc::new(network),
            online,
            spec,
        };
        Ok(learner)
    }

    /// One update of both networks (lines "Q-Network Update" of Algorithm CG-CMARL Training).
    fn update(&mut self, view: &dyn View) {
        self.draw_samples();
        let learning = self.options.learning.clone();
        let n_rows = self.samples.len() * if self.whole_states() { self.spec.max_regions } else { 1 };
        let inputs = TdInputs {
            network: &self.network,
            online: &self.online,
            target: &self.target,
            view,
            replay: &self.replay,
            rule: rule(&learning),
            n_rows,
        };
        let share = states_per_shard(n_rows / self.samples.len());
        let n_shards = self.samples.len().div_ceil(share);
        let coordination = &self.options.coordination;
        self.shards.resize_with(n_shards, || {
            TdShard::new(&self.network, view, coordination.build())
        });
        self.shards
            .par_iter_mut()
            .zip(self.samples.par_chunks(share))
            .for_each(|(shard, samples)| shard.accumulate(inputs, samples));
        self.sum_shards(n_rows);
        let progress = (self.steps as f64 / self.total_steps.max(1) as f64).min(1.0) as f32;
        let lr = learning.lr * (1.0 + (learning.lr_final_share - 1.0) * progress);
        self.adam.step(lr, &self.shards[0].gradient, &mut self.online);
        self.updates += 1;
        if self.updates.is_multiple_of(learning.target_interval) {
            polyak(&mut self.target, &self.online, learning.polyak_tau);
        }
    }

    /// Adds all shards' gradients into the first, in order, and follows the losses.
    fn sum_shards(&mut self, n_rows: usize) {
        let (first, rest) = self.shards.split_at_mut(1);
        for shard in rest {
            let sums = first[0].gradient.iter_mut().zip(&shard.gradient);
            crate::nn::vectorised(
                #[inline(always)]
                || sums.for_each(|(sum, d)| *sum += d),
            );
            first[0].losses.iter_mut().zip(&shard.losses).for_each(|(sum, l)| *sum += l);
        }
        for (head, (mean, loss)) in self.losses.iter_mut().zip(&first[0].losses).enumerate() {
            let loss = loss / n_rows as f32;
            if !loss.is_finite() && self.failure.is_none() {
                let what = if head == 0 { "primary loss".into() } else { format!("cost loss {head}") };
                self.failure = Some(Error::Diverged { step: self.steps, what, value: loss });
            }
            *mean += 0.01 * (loss - *mean);
        }
    }

    fn whole_states(&self) -> bool {
        let learning = &self.options.learning;
        learning.next_action == NextAction::Coupled || learning.error == ErrorKind::Summed
    }

    fn draw_samples(&mut self) {
        let whole = self.whole_states();
        let per_sample = if whole { self.spec.max_regions } else { 1 };
        let n = self.options.learning.batch_size.div_ceil(per_sample);
        let n_constraints = self.spec.constraints.len();
        let empty = Sample { row: 0, region: None, reversed: 0, multipliers: vec![0.0; n_constraints] };
        self.samples.resize(n, empty);
        let mixed = self.options.learning.random_order && self.spec.region_size == 2 && whole;
        for sample in &mut self.samples {
            sample.row = self.replay.sample(&mut self.replay_rng);
            sample.region = (!whole).then(|| self.replay_rng.below(self.spec.max_regions));
            sample.reversed = if mixed { self.replay_rng.next_u64() } else { 0 };
            if self.network.n_multipliers() > 0 {
                let options = &self.options.multipliers;
                draw_multipliers(options, &mut self.replay_rng, &mut sample.multipliers);
            }
        }
    }

    fn stage<'a>(&'a self, view: &'a dyn View) -> Stage<'a> {
        Stage {
            network: &self.network,
            parameters: &self.online,
            view,
            noise_scale: self.options.exploration.at(self.steps),
            noise: &self.noise,
        }
    }

    fn policy(&self, multipliers: Vec<f32>) -> CgCmarlPolicy {
        CgCmarlPolicy {
            network: Arc::clone(&self.network),
            parameters: Arc::new(self.online.clone()),
            multipliers,
            acting: self.options.acting.clone(),
            average_orders: self.options.average_orders,
            noise: Arc::new(self.noise.clone()),
            actors: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl Player for CgCmarl {
    fn begin(&mut self, slot: usize, rng: &mut Rng) {
        let n = self.spec.constraints.len();
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

    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let mut actors = std::mem::take(&mut self.actors);
        let n_constraints = self.spec.constraints.len();
        let coordinator = || self.options.coordination.build();
        let multipliers = &self.behaviour[..actions.len() * n_constraints];
        choose_in_shards(
            &mut actors,
            self.stage(scene.view),
            coordinator,
            false,
            scene,
            multipliers,
            rngs,
            actions,
        );
        self.actors = actors;
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let Transition { before, action, outcome, after, .. } = transition;
        self.steps += 1;
        let max_regions = self.spec.max_regions;
        self.outcome.clear();
        self.outcome.extend_from_slice(&outcome.region_rewards);
        self.outcome.resize(max_regions, 0.0);
        self.outcome.extend_from_slice(&outcome.region_costs);
        self.actions.clear();
        self.actions.extend(action.iter().map(|&a| a as u8));
        self.replay.push(Row {
            state: before,
            after,
            actions: &self.actions,
            outcome: &self.outcome,
            terminal: outcome.ending == Ending::Terminal,
        });
    }

    fn learn(&mut self, view: &dyn View) {
        let learning = &self.options.learning;
        let due = self.steps.saturating_sub(learning.learning_starts) as f64;
        let due = (due / learning.steps_per_update) as u64;
        while self.updates < due && self.failure.is_none() {
            self.update(view);
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
        for (j, name) in self.spec.constraints.iter().enumerate() {
            report.push((format!("loss_{name}"), self.losses[j + 1]));
            report.push((format!("multiplier_{name}"), self.multipliers.mean(j)));
        }
        report
    }

    fn operating_points(&self, multipliers: &[f32]) -> Vec<OperatingPoint> {
        let n_constraints = self.spec.constraints.len();
        let at = |&multiplier: &f32| OperatingPoint {
            setting: Setting::Multiplier(multiplier),
            policy: Box::new(self.policy(vec![multiplier; n_constraints])),
        };
        multipliers.iter().map(at).collect()
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_network(&self.network, "online", &self.online, checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        load_network(&self.network, "online", checkpoint, &mut self.online)?;
        self.target.copy_from_slice(&self.online);
        Ok(())
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_network(&self.network, "online", &self.online, checkpoint);
        save_network(&self.network, "target", &self.target, checkpoint);
        save_network(&self.network, "adam.mean", &self.adam.mean, checkpoint);
        save_network(&self.network, "adam.square", &self.adam.square, checkpoint);
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
        load_network(&self.network, "online", checkpoint, &mut self.online)?;
        load_network(&self.network, "target", checkpoint, &mut self.target)?;
        load_network(&self.network, "adam.mean", checkpoint, &mut self.adam.mean)?;
        load_network(&self.network, "adam.square", checkpoint, &mut self.adam.square)?;
        self.replay.load(checkpoint)?;
        let n_multipliers = self.multipliers.values().len();
        self.multipliers.restore(checkpoint.get_shaped("multipliers", &[n_multipliers])?);
        let n_heads = self.losses.len();
        self.losses.copy_from_slice(checkpoint.get_shaped("losses", &[n_heads])?);
        self.replay_rng = Rng::at(&checkpoint.entry("replay_rng")?);
        self.adam.steps = checkpoint.entry("adam_steps")?;
        self.steps = checkpoint.entry("learner_steps")?;
        self.updates = checkpoint.entry("updates")?;
        Ok(())
    }
}

/// The trained policy at one trade-off.
pub struct CgCmarlPolicy {
    network: Arc<TwoHead>,
    parameters: Arc<Vec<f32>>,
    multipliers: Vec<f32>,
    acting: SolverOptions,
    average_orders: bool,
    noise: Arc<TableNoise>,
    actors: Vec<Actor>,
    rows: Vec<f32>,
}

impl Player for CgCmarlPolicy {
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.rows.clear();
        (0..actions.len()).for_each(|_| self.rows.extend_from_slice(&self.multipliers));
        let stage = Stage {
            network: &self.network,
            parameters: &self.parameters,
            view: scene.view,
            noise_scale: 0.0,
            noise: &self.noise,
        };
        let coordinator = || self.acting.build();
        choose_in_shards(
            &mut self.actors,
            stage,
            coordinator,
            self.average_orders,
            scene,
            &self.rows,
            rngs,
            actions,
        );
    }
}

/// Chooses for many states on as many threads as there are; the shards depend on the graph only.
fn choose_in_shards(
    actors: &mut Vec<Actor>,
    stage: Stage<'_>,
    coordinator: impl Fn() -> Box<dyn Coordinator>,
    both_orders: bool,
    scene: Scene<'_>,
    multipliers: &[f32],
    rngs: &mut [Rng],
    actions: &mut [JointAction],
) {
    let spec = scene.view.spec();
    let share = states_per_shard(spec.max_regions);
    while actors.len() < actions.len().div_ceil(share) {
        actors.push(Actor::new(scene.view, coordinator(), both_orders));
    }
    let n_constraints = spec.constraints.len();
    actors
        .par_iter_mut()
        .zip(scene.states.par_chunks(share * spec.state_width))
        .zip(multipliers.par_chunks(share * n_constraints))
        .zip(rngs.par_chunks_mut(share))
        .zip(actions.par_chunks_mut(share))
        .for_each(|((((actor, states), multipliers), rngs), actions)| {
            actor.choose(stage, states, multipliers, rngs, actions);
        });
}

/// Draws the multipliers of an episode or a sample: zero, or log-uniform.
fn draw_multipliers(options: &MultiplierOptions, rng: &mut Rng, multipliers: &mut [f32]) {
    let (low, high) = (f64::from(options.sample_low).ln(), f64::from(options.sample_high).ln());
    for multiplier in multipliers {
        let zero = rng.uniform() < f64::from(options.zero_share);
        let positive = rng.range(low, high).exp() as f32;
        *multiplier = if zero { 0.0 } else { positive };
    }
}

fn save_network<'a>(
    network: &TwoHead,
    name: &str,
    numbers: &'a [f32],
    checkpoint: &mut Checkpoint<'a>,
) {
    for tensor in network.layout().tensors() {
        checkpoint.push(format!("{name}.{}", tensor.name), &tensor.shape, tensor.span.of(numbers));
    }
}

fn load_network(
    network: &TwoHead,
    name: &str,
    checkpoint: &Checkpoint,
    numbers: &mut [f32],
) -> Result<()> {
    for tensor in network.layout().tensors() {
        let saved = checkpoint.get_shaped(&format!("{name}.{}", tensor.name), &tensor.shape)?;
        tensor.span.of_mut(numbers).copy_from_slice(saved);
    }
    Ok(())
}

fn rule(learning: &LearningOptions) -> TdRule {
    TdRule {
        gamma: learning.gamma,
        next_action: learning.next_action,
        error: learning.error,
        error_power: learning.error_power,
        cost_weight: learning.cost_weight,
        huber: if learning.huber > 0.0 { learning.huber } else { f32::INFINITY },
    }
}

fn wrong_length(key: &str, values: &[f32], spec: &Spec) -> Error {
    let reason = format!("needs one number, or one for each of {:?}", spec.constraints);
    Error::setting(key, format!("{values:?}"), reason)
}

fn check(options: &CgCmarlOptions, spec: &Spec) -> Result<()> {
    let LearningOptions { gamma, lr, batch_size, steps_per_update, polyak_tau, .. } = options.learning;
    let positive = "must be positive";
    if !(0.0..1.0).contains(&gamma) {
        return Err(Error::setting("gamma", gamma, "must be at least 0 and below 1"));
    }
    if !(lr > 0.0 && lr.is_finite()) {
        return Err(Error::setting("lr", lr, positive));
    }
    if batch_size == 0 {
        return Err(Error::setting("batch_size", batch_size, positive));
    }
    if !(steps_per_update > 0.0) {
        return Err(Error::setting("steps_per_update", steps_per_update, positive));
    }
    if !(polyak_tau > 0.0 && polyak_tau <= 1.0) {
        return Err(Error::setting("polyak_tau", polyak_tau, "must be above 0 and at most 1"));
    }
    if options.learning.target_interval == 0 {
        return Err(Error::setting("target_interval", 0, positive));
    }
    if per_constraint(&options.multipliers.fixed, spec.constraints.len()).is_none() {
        return Err(wrong_length("fixed", &options.multipliers.fixed, spec));
    }
    if spec.constraints.is_empty() {
        return Err(Error::setting("constraints", "[]", "needs at least one constraint"));
    }
    Ok(())
}
