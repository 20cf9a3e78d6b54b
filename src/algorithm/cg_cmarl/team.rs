//! What a learner keeps for each team that it trains: memory, multipliers, counters and buffers.

use super::{
    CgCmarlOptions, TableNoise,
    actor::{ActingContext, Actor},
    network::TwoHead,
    options::{draw_multipliers, rule, wrong_length},
    policy::choose_in_shards,
    region_views::Averaging,
    sampling::Sampler,
    td::{TdInputs, TdShard},
    weights::Weights,
};
use crate::{
    algorithm::{
        Start,
        action_masks::ActionMasks,
        counters::{due, load_counters, load_rng},
    },
    checkpoint::Checkpoint,
    environment::{Batch, Ending, Spec, View},
    episode::Transition,
    error::Result,
    graph::JointAction,
    multipliers::{MultiplierMode, Multipliers, per_constraint},
    nn::Gradient,
    replay::{Replay, Row, RowShape},
    rng::{Purpose, Rng},
};
use rayon::prelude::*;

/// Rows of a batch that are worth a share of their own.
const ROWS_PER_SHARE: usize = 60;

/// Most shares of a batch: each has a gradient of its own, and somebody adds them up.
const MOST_SHARES: usize = 8;

/// Into how many shares of equal size a batch is cut: a power of two, so that two or four threads
/// have equally much to do. Depends on the batch only, so that the number of threads never changes a
/// result.
fn n_shares(n_rows: usize) -> usize {
    let most = (n_rows / ROWS_PER_SHARE).clamp(1, MOST_SHARES);
    1 << most.ilog2()
}

/// One team.
pub(super) struct Team {
    pub(super) spec: Spec,
    /// What its entries of a checkpoint begin with; nothing for the training's own team.
    prefix: String,
    replay: Replay,
    replay_rng: Rng,
    pub(super) multipliers: Multipliers,
    behaviour: Vec<f32>,
    /// The behaviour of the environments that act now.
    chosen: Vec<f32>,
    noise: TableNoise,
    actors: Vec<Actor>,
    masks: ActionMasks,
    shards: Vec<TdShard>,
    /// How many of them the last batch took.
    n_shards: usize,
    sampler: Sampler,
    outcome: Vec<f32>,
    /// Steps of this team so far.
    pub(super) steps: u64,
    /// Updates from its memory so far.
    pub(super) updates: u64,
}

impl Team {
    /// A team that has seen nothing; its number tells its random numbers from those of others.
    pub(super) fn new(options: &CgCmarlOptions, start: Start<'_>, number: usize) -> Result<Self> {
        let own = start.teams.len() - 1;
        let spec = start.teams[number].spec().clone();
        let n_constraints = spec.n_constraints();
        let multipliers = &options.multipliers;
        let limits = per_constraint(&multipliers.cost_limit, n_constraints)
            .ok_or_else(|| wrong_length("cost_limit", &multipliers.cost_limit, &spec))?;
        let shape = RowShape {
            state: spec.state_width,
            agents: spec.n_agents(),
            actions: spec.n_actions(),
            outcome: spec.max_regions * (1 + n_constraints),
        };
        let batch_size = batch_size(options, &spec, start.view().spec());
        let capacity = (options.learning.buffer_size / spec.max_regions.max(1)).max(1);
        let ceiling = multipliers.lagrangian_upper_bound;
        let prefix =
            if number == own { String::new() } else { format!("team_{}.", spec.n_agents()) };
        let mut team = Self {
            prefix,
            replay: Replay::new(shape, capacity),
            replay_rng: start.streams.rng(Purpose::Replay, (own - number) as u64),
            multipliers: Multipliers::new(spec.n_agents(), limits, ceiling),
            behaviour: vec![0.0; start.n_environments * n_constraints],
            chosen: Vec::new(),
            noise: TableNoise::default(),
            actors: Vec::new(),
            masks: ActionMasks::default(),
            shards: Vec::new(),
            n_shards: 0,
            sampler: Sampler::new(options, batch_size, spec.n_agents()),
            outcome: Vec::with_capacity(shape.outcome),
            steps: 0,
            updates: 0,
            spec,
        };
        team.replay.reserve();
        Ok(team)
    }

    /// Chooses the multipliers of an episode.
    pub(super) fn begin(&mut self, options: &CgCmarlOptions, slot: usize, rng: &mut Rng) {
        let n = self.spec.n_constraints();
        let row = &mut self.behaviour[slot * n..][..n];
        let options = &options.multipliers;
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

    /// Acts with this much noise and this share of random actions.
    pub(super) fn act(
        &mut self,
        options: &CgCmarlOptions,
        (network, parameters): (&TwoHead, &[f32]),
        (noise, random): (f32, f32),
        batch: Batch<'_>,
        rngs: &mut [Rng],
        actions: &mut [JointAction],
    ) {
        let n = self.spec.n_constraints();
        self.chosen.clear();
        for slot in batch.slots {
            self.chosen.extend_from_slice(&self.behaviour[slot * n..][..n]);
        }
        let noise = (noise > 0.0).then_some((&self.noise, noise));
        choose_in_shards(
            &mut self.actors,
            ActingContext { network, parameters, view: batch.view, noise },
            || options.coordination.build(),
            Averaging::NONE,
            batch,
            &self.chosen,
            Some(&mut *rngs),
            actions,
        );
        if random > 0.0 {
            self.masks.read(batch.view, batch.states);
            self.masks.explore(random, rngs, actions);
        }
    }

    /// Remembers a step.
    pub(super) fn observe(&mut self, transition: Transition<'_>) {
        let Transition { state, action, outcome, next_state, .. } = transition;
        self.steps += 1;
        self.outcome.clear();
        self.outcome.extend_from_slice(&outcome.region_rewards);
        self.outcome.resize(self.spec.max_regions, 0.0);
        self.outcome.extend_from_slice(&outcome.region_costs);
        self.replay.push(Row {
            state,
            next_state,
            actions: action,
            outcome: &self.outcome,
            terminal: outcome.ending == Ending::Terminal,
        });
    }

    /// Whether an update is due.
    pub(super) fn is_due(&self, options: &CgCmarlOptions) -> bool {
        self.updates < due_after(options, self.steps)
    }

    /// Measures the gradient of a batch of its memory, in [`Self::gradients`], and the mean loss of
    /// each head.
    pub(super) fn measure(
        &mut self,
        options: &CgCmarlOptions,
        (network, weights): (&TwoHead, &Weights),
        view: &dyn View,
        losses: &mut [f32],
    ) {
        let n_rows = self.sampler.draw(view, &self.replay, &mut self.replay_rng).max(1);
        let samples = &self.sampler.samples;
        let inputs = TdInputs {
            network,
            online: &weights.online,
            target: &weights.target,
            view,
            replay: &self.replay,
            rule: rule(&options.learning),
            n_rows,
        };
        let share = samples.len().div_ceil(n_shares(n_rows)).max(1);
        self.n_shards = samples.len().div_ceil(share);
        while self.shards.len() < self.n_shards {
            self.shards.push(TdShard::new(network, view, options.coordination.build()));
        }
        match &mut self.shards[..self.n_shards] {
            // Handing a single share to another thread would only cost time.
            [shard] => shard.accumulate(inputs, samples),
            shards => shards
                .par_iter_mut()
                .zip(samples.par_chunks(share))
                .for_each(|(shard, samples)| shard.accumulate(inputs, samples)),
        }
        self.updates += 1;
        losses.fill(0.0);
        for shard in &self.shards[..self.n_shards] {
            losses.iter_mut().zip(&shard.losses).for_each(|(sum, loss)| *sum += loss);
        }
        losses.iter_mut().for_each(|mean| *mean /= n_rows as f32);
    }

    /// Whose sum is the gradient measured last.
    pub(super) fn gradients(&self) -> ([&Gradient; MOST_SHARES], usize) {
        let last = self.n_shards - 1;
        (std::array::from_fn(|share| &self.shards[share.min(last)].gradient), self.n_shards)
    }

    /// Writes everything it keeps.
    pub(super) fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        let name = |name: &str| format!("{}{name}", self.prefix);
        self.replay.save(&self.prefix, checkpoint);
        let multipliers = self.multipliers.values();
        checkpoint.push(name("multipliers"), &[multipliers.len()], multipliers);
        checkpoint.set(&name("replay_rng"), self.replay_rng.position());
        checkpoint.set(&name("learner_steps"), self.steps);
        checkpoint.set(&name("updates"), self.updates);
    }

    /// Puts everything back; refuses what no training leaves.
    pub(super) fn load(&mut self, options: &CgCmarlOptions, checkpoint: &Checkpoint) -> Result<()> {
        let name = |name: &str| format!("{}{name}", self.prefix);
        self.replay.load(&self.prefix, checkpoint)?;
        let n_multipliers = self.multipliers.values().len();
        self.multipliers.restore(checkpoint.get_shaped(&name("multipliers"), &[n_multipliers])?);
        load_rng(checkpoint, &name("replay_rng"), &mut self.replay_rng)?;
        (self.steps, self.updates) = load_counters(checkpoint, &self.prefix, |steps| {
            due_after(options, steps)..=due_after(options, steps)
        })?;
        if !self.replay.is_after(self.steps) {
            let text = format!("does not remember what {} steps leave", self.steps);
            return Err(checkpoint.mismatch(&text));
        }
        Ok(())
    }
}

/// Updates that are due after some steps.
fn due_after(options: &CgCmarlOptions, steps: u64) -> u64 {
    due(steps, options.learning.learning_starts, options.learning.steps_per_update)
}

/// Region rows per update of a team: as set for the training's own, for others in proportion to the
/// cube root of the number of their regions.
fn batch_size(options: &CgCmarlOptions, spec: &Spec, own: &Spec) -> usize {
    let share = spec.max_regions as f64 / own.max_regions.max(1) as f64;
    ((options.learning.batch_size as f64 * share.cbrt()).round() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use crate::{
        algorithm::{
            Start,
            cg_cmarl::{CgCmarl, tests::quick},
        },
        environment::{Batch, Environment, matrix_game::MatrixGame},
        episode::Controller,
        rng::{Purpose, Streams},
    };

    #[test]
    fn random_actions_play_everything_and_draw_nothing_where_there_are_none() {
        let game = MatrixGame::climbing().unwrap();
        let teams = [game.view()];
        let start =
            Start { teams: &teams, n_environments: 1, total_steps: 1, streams: Streams::new(1) };
        let batch = Batch { view: game.view(), states: &[0.0], slots: &[0] };
        let mut rngs = [Streams::new(1).rng(Purpose::Exploration, 0)];
        let mut greedy = CgCmarl::new(&quick(0.0), start).unwrap();
        let before = serde_json::to_value(rngs[0].position()).unwrap();
        let mut actions = [Vec::new()];
        greedy.act(batch, &mut rngs, &mut actions);
        assert_eq!(serde_json::to_value(rngs[0].position()).unwrap(), before);
        let mut random = CgCmarl::new(&quick(1.0), start).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            random.act(batch, &mut rngs, &mut actions);
            seen.insert(actions[0].clone());
        }
        assert_eq!(seen.len(), 9);
    }
}
