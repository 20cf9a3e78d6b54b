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
    episode::{Summary, Transition},
    error::Result,
    graph::{CoordinationGraph, JointAction},
    multipliers::{
        LearnedMultipliers, MultiplierMode,
        gossip::{Link, links_of},
        per_constraint,
    },
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
    pub(super) multipliers: LearnedMultipliers,
    /// Multipliers of the episode in each environment: one per constraint, or those of each agent.
    behaviour: Vec<f32>,
    /// Who could hear whom at the last decision in each environment, where somebody asks.
    links: Vec<Vec<Link>>,
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
    /// Whether a transition is remembered with the multipliers it was played at.
    remembers_multipliers: bool,
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
            outcome: outcome_width(options, &spec),
        };
        let batch_size = batch_size(options, &spec, start.view().spec());
        let capacity = (options.learning.buffer_size / spec.max_regions.max(1)).max(1);
        let streams = (start.streams, (own - number) as u64);
        let learned = LearnedMultipliers::new(multipliers, spec.n_agents(), limits, streams);
        let prefix =
            if number == own { String::new() } else { format!("team_{}.", spec.n_agents()) };
        let mut team = Self {
            prefix,
            replay: Replay::new(shape, capacity),
            replay_rng: start.streams.rng(Purpose::Replay, (own - number) as u64),
            behaviour: vec![0.0; start.n_environments * learned.n_played()],
            links: vec![Vec::new(); start.n_environments],
            multipliers: learned,
            chosen: Vec::new(),
            noise: TableNoise::default(),
            actors: Vec::new(),
            masks: ActionMasks::default(),
            shards: Vec::new(),
            n_shards: 0,
            sampler: Sampler::new(options, batch_size, spec.n_agents()),
            outcome: Vec::with_capacity(shape.outcome),
            remembers_multipliers: !options.learning.relabel,
            steps: 0,
            updates: 0,
            spec,
        };
        team.replay.reserve();
        Ok(team)
    }

    /// Chooses the multipliers of an episode.
    pub(super) fn begin(&mut self, options: &CgCmarlOptions, slot: usize, rng: &mut Rng) {
        let n = self.multipliers.n_played();
        let row = &mut self.behaviour[slot * n..][..n];
        let options = &options.multipliers;
        match options.mode {
            MultiplierMode::Sampled => draw_multipliers(options, rng, row),
            MultiplierMode::Learned => {
                self.multipliers.write_played(row);
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
        let n = self.multipliers.n_played();
        self.chosen.clear();
        for slot in batch.slots {
            self.chosen.extend_from_slice(&self.behaviour[slot * n..][..n]);
        }
        if self.multipliers.need_links() {
            self.see_links(batch);
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
        let Transition { slot, state, action, outcome, next_state } = transition;
        self.steps += 1;
        self.outcome.clear();
        self.outcome.extend_from_slice(&outcome.region_rewards);
        self.outcome.resize(self.spec.max_regions, 0.0);
        self.outcome.extend_from_slice(&outcome.region_costs);
        if self.remembers_multipliers {
            let (n, played) = (self.spec.n_constraints(), self.multipliers.n_played());
            self.outcome.resize(self.spec.max_regions * (1 + n), 0.0);
            let row = &self.behaviour[slot * played..][..played];
            let mean = |j| row.iter().skip(j).step_by(n).sum::<f32>() / (played / n) as f32;
            self.outcome.extend((0..n).map(mean));
        }
        self.replay.push(Row {
            state,
            next_state,
            actions: action,
            outcome: &self.outcome,
            terminal: outcome.ending == Ending::Terminal,
        });
    }

    /// Looks who could hear whom in these states.
    fn see_links(&mut self, batch: Batch<'_>) {
        let mut graph = CoordinationGraph::empty(self.spec.n_agents());
        let states = batch.states.chunks_exact(self.spec.state_width);
        for (&slot, state) in batch.slots.iter().zip(states) {
            batch.view.graph(state, &mut graph);
            self.links[slot] = links_of(&graph);
        }
    }

    /// Closes an episode: the multipliers ascend.
    pub(super) fn end_episode(&mut self, slot: usize, summary: &Summary) {
        self.multipliers.end_episode(&summary.agent_costs, &self.links[slot]);
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
        for (key, memory) in self.multipliers.memory() {
            checkpoint.push(name(key), &[memory.len()], memory);
        }
        if let Some(episodes) = self.multipliers.counted() {
            checkpoint.set(&name("multiplier_episodes"), episodes);
        }
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
        let counted =
            self.multipliers.counted().map(|_| checkpoint.count(&name("multiplier_episodes")));
        let episodes = counted.transpose()?.unwrap_or_default();
        let mut read = |key: &str| Some(checkpoint.get(&name(key)).ok()?.to_vec());
        if !self.multipliers.restore_memory(&mut read, episodes) {
            return Err(checkpoint.mismatch("does not hold what these multipliers remember"));
        }
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

/// Numbers that a remembered transition brought: rewards and costs of its regions, and the multipliers
/// it was played at where it is learned from at those.
fn outcome_width(options: &CgCmarlOptions, spec: &Spec) -> usize {
    let n_constraints = spec.n_constraints();
    let own = if options.learning.relabel { 0 } else { n_constraints };
    spec.max_regions * (1 + n_constraints) + own
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
