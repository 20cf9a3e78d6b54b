//! The multipliers of a team that learns them: a dual update after each episode, and how agents come
//! to one price.

use super::{
    DualUpdate, Mixing, MultiplierOptions, Multipliers,
    ascent::step_size,
    gossip::{Gossip, Link, disagreement, fixed_links},
    pid::{PidState, controlled},
};
use crate::rng::{Purpose, Streams};

/// Most exchanges of one team; those of others have other random numbers.
const MOST_EXCHANGES: u64 = 1 << 40;

/// The multipliers of one team.
#[derive(Clone, Debug)]
pub struct LearnedMultipliers {
    options: MultiplierOptions,
    multipliers: Multipliers,
    /// One for each multiplier where it is controlled.
    control: Vec<PidState>,
    gossip: Gossip,
    /// Links that never change; none where the coordination graph tells them.
    links: Option<Vec<Link>>,
    n_agents: usize,
    streams: Streams,
    first_exchange: u64,
    /// Episodes so far.
    episodes: u64,
}

impl LearnedMultipliers {
    /// All multipliers at zero; `number` tells the random numbers of teams apart.
    pub fn new(
        options: &MultiplierOptions,
        n_agents: usize,
        limits: Vec<f32>,
        (streams, number): (Streams, u64),
    ) -> Self {
        let state = PidState { integral: 0.0, smoothed: f32::NAN };
        let is_controlled = options.update == DualUpdate::Pid;
        let n_states = if is_controlled { n_agents * limits.len() } else { 0 };
        Self {
            multipliers: Multipliers::new(n_agents, limits, options.lagrangian_upper_bound),
            control: vec![state; n_states],
            gossip: Gossip::new(options.gossip),
            links: fixed_links(options.gossip.graph, n_agents),
            n_agents,
            streams,
            first_exchange: number * MOST_EXCHANGES,
            episodes: 0,
            options: options.clone(),
        }
    }

    /// The team average of one constraint.
    pub fn mean(&self, constraint: usize) -> f32 {
        self.multipliers.mean(constraint)
    }

    /// Root mean square distance of the agents' multipliers of one constraint from their mean.
    pub fn disagreement(&self, constraint: usize) -> f32 {
        let n_constraints = self.multipliers.limits().len();
        let column = self.values().iter().skip(constraint).step_by(n_constraints).copied();
        let column: Vec<f32> = column.collect();
        (disagreement(&column, self.n_agents) / (self.n_agents as f64).sqrt()) as f32
    }

    /// All values, row = agent.
    pub fn values(&self) -> &[f32] {
        self.multipliers.values()
    }

    /// Whether agents play at their own multipliers instead of the team's average.
    pub fn are_own(&self) -> bool {
        self.options.mixing == Mixing::Gossip
    }

    /// Numbers that an episode is played at: one per constraint, or those of each agent.
    pub fn n_played(&self) -> usize {
        if self.are_own() { self.values().len() } else { self.multipliers.limits().len() }
    }

    /// Writes what an episode is played at.
    pub fn write_played(&self, played: &mut [f32]) {
        if self.are_own() {
            played.copy_from_slice(self.values());
        } else {
            played.iter_mut().enumerate().for_each(|(j, m)| *m = self.mean(j));
        }
    }

    /// Whether agents have to know who shared a region with them.
    pub fn need_links(&self) -> bool {
        self.are_own() && self.links.is_none()
    }

    /// Closes an episode in which each agent paid this much per step (row = agent), and in which
    /// these agents could hear each other at the end: mixes, then steps.
    pub fn end_episode(&mut self, agent_costs: &[f32], links: &[Link]) {
        if self.are_own() {
            self.mix(links);
        }
        let step = step_size(self.options.lambda_lr, self.episodes, self.options.lambda_power);
        let relative = self.options.relative;
        let scale = |limit: f32| if relative { 1.0 / limit } else { 1.0 };
        if self.control.is_empty() {
            self.multipliers.ascend_each(agent_costs, |limit| step * scale(limit));
        } else {
            let limits = self.multipliers.limits().to_vec();
            let (options, ceiling) = (&self.options.pid, self.options.lagrangian_upper_bound);
            let costs = self.control.iter_mut().zip(agent_costs);
            for (index, (value, (state, cost))) in
                self.multipliers.values_mut().iter_mut().zip(costs).enumerate()
            {
                let limit = limits[index % limits.len()];
                *value = controlled(options, state, *cost, limit, scale(limit), ceiling);
            }
        }
        self.episodes += 1;
    }

    /// Exchanges what was added up with the neighbours.
    fn mix(&mut self, links: &[Link]) {
        let links = self.links.as_deref().unwrap_or(links);
        let rounds = self.options.gossip.rounds;
        for round in 0..rounds {
            let index = self.first_exchange + self.episodes * rounds + round;
            let rng = &mut self.streams.rng(Purpose::Gossip, index);
            if self.control.is_empty() {
                let values = self.multipliers.values_mut();
                self.gossip.exchange(values, self.n_agents, links, rng);
            } else {
                let mut sums: Vec<f32> = self.control.iter().map(|state| state.integral).collect();
                self.gossip.exchange(&mut sums, self.n_agents, links, rng);
                self.control.iter_mut().zip(sums).for_each(|(state, sum)| state.integral = sum);
            }
        }
    }

    /// What it remembers beside the values, by name; nothing where those are all.
    pub fn memory(&self) -> Vec<(&'static str, Vec<f32>)> {
        let mut memory = Vec::new();
        if !self.control.is_empty() {
            let all = self.control.iter().flat_map(|state| [state.integral, state.smoothed]);
            // Not a number stands for nothing seen yet, which a checkpoint would refuse.
            memory.push((
                "multiplier_control",
                all.map(|x| if x.is_nan() { -1.0 } else { x }).collect(),
            ));
        }
        if self.options.gossip.delay > 0 && self.are_own() {
            memory.push(("multiplier_messages", self.gossip.past()));
        }
        memory
    }

    /// Episodes so far, where it matters which one it is.
    pub fn counted(&self) -> Option<u64> {
        (self.options.lambda_power > 0.0 || self.are_own()).then_some(self.episodes)
    }

    /// Starts at these values instead of zero.
    pub fn start_at(&mut self, values: &[f32]) {
        self.multipliers.restore(values);
        self.control.iter_mut().zip(values).for_each(|(state, value)| state.integral = *value);
    }

    /// Puts saved values back.
    pub fn restore(&mut self, values: &[f32]) {
        self.multipliers.restore(values);
    }

    /// Puts back what [`Self::memory`] and [`Self::counted`] told; `false` where it does not fit.
    pub fn restore_memory(
        &mut self,
        read: &mut dyn FnMut(&str) -> Option<Vec<f32>>,
        episodes: u64,
    ) -> bool {
        self.episodes = episodes;
        let width = self.multipliers.values().len();
        for (name, _) in self.memory() {
            let Some(saved) = read(name) else { return false };
            if name == "multiplier_control" {
                if saved.len() != 2 * self.control.len() {
                    return false;
                }
                for (state, saved) in self.control.iter_mut().zip(saved.chunks_exact(2)) {
                    let smoothed = if saved[1] < 0.0 { f32::NAN } else { saved[1] };
                    *state = PidState { integral: saved[0], smoothed };
                }
            } else if saved.len() % width == 0
                && saved.len() / width <= self.options.gossip.delay as usize
            {
                self.gossip.restore(&saved, width);
            } else {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multipliers::{GossipOptions, LinkGraph, MultiplierMode, PidOptions};

    fn learned(options: &MultiplierOptions, n_agents: usize) -> LearnedMultipliers {
        let limits = options.cost_limit.clone();
        LearnedMultipliers::new(options, n_agents, limits, (Streams::new(1), 0))
    }

    fn options() -> MultiplierOptions {
        MultiplierOptions {
            mode: MultiplierMode::Learned,
            lambda_lr: 0.5,
            cost_limit: vec![0.1],
            ..MultiplierOptions::default()
        }
    }

    #[test]
    fn steps_fall_with_the_episodes_and_shares_do_not_know_units() {
        let mut falling = learned(&MultiplierOptions { lambda_power: 0.5, ..options() }, 1);
        falling.end_episode(&[0.3], &[]);
        falling.end_episode(&[0.3], &[]);
        let expected = 0.5 * 0.2 * (1.0 + 0.5f32.sqrt());
        assert!((falling.mean(0) - expected).abs() < 1e-6);
        let relative = |unit: f32| {
            let options =
                MultiplierOptions { relative: true, cost_limit: vec![0.1 * unit], ..options() };
            let mut learned = learned(&options, 1);
            learned.end_episode(&[0.3 * unit], &[]);
            learned.mean(0)
        };
        assert!((relative(1.0) - 1.0).abs() < 1e-6 && (relative(1e-3) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn gossip_among_all_ascends_like_the_mean_and_in_parts_each_for_itself() {
        let costs = |episode: usize| [0.1, 0.5, 0.3, 0.9].map(|c| c * (1 + episode % 3) as f32);
        let with = |graph| {
            let gossip = GossipOptions { graph, ..GossipOptions::default() };
            MultiplierOptions { mixing: Mixing::Gossip, gossip, ..options() }
        };
        let mut central = learned(&options(), 4);
        let mut all = learned(&with(LinkGraph::Complete), 4);
        let mut line = learned(&with(LinkGraph::Path), 4);
        let mut nobody = learned(&with(LinkGraph::Empty), 4);
        let mut told = learned(&with(LinkGraph::Coordination), 4);
        for episode in 0..6 {
            let everybody = [&mut central, &mut all, &mut line, &mut nobody];
            everybody.into_iter().for_each(|m| m.end_episode(&costs(episode), &[]));
            told.end_episode(&costs(episode), &[[0, 1], [1, 2], [2, 3]]);
        }
        // No multiplier met its ends, so that mixing moved none of the mean.
        for other in [&all, &line, &told] {
            assert!((other.mean(0) - central.mean(0)).abs() < 1e-5);
        }
        assert_eq!(told.values(), line.values());
        assert_eq!(nobody.values(), central.values());
        let spread = |m: &LearnedMultipliers| disagreement(m.values(), 4);
        assert!(spread(&all) < spread(&line) && spread(&line) < 0.7 * spread(&nobody));
    }

    #[test]
    fn everything_goes_on_where_it_stood() {
        let gossip = GossipOptions {
            graph: LinkGraph::Ring,
            delay: 2,
            message_loss: 0.3,
            link_failure: 0.2,
            rounds: 2,
        };
        let pid = PidOptions { proportional: 1.0, integral: 0.3, derivative: 0.5, smoothing: 0.2 };
        for update in [DualUpdate::Ascent, DualUpdate::Pid] {
            let options = MultiplierOptions {
                update,
                pid,
                lambda_power: 0.4,
                mixing: Mixing::Gossip,
                gossip,
                ..options()
            };
            let mut first = learned(&options, 5);
            let step = |m: &mut LearnedMultipliers, k: u64| {
                let costs: Vec<f32> = (0..5).map(|i| ((7 * k + i) % 5) as f32 * 0.1).collect();
                m.end_episode(&costs, &[]);
            };
            (0..7).for_each(|k| step(&mut first, k));
            let mut second = learned(&options, 5);
            second.restore(first.values());
            let memory = first.memory();
            let mut read = |name: &str| {
                memory.iter().find(|(known, _)| *known == name).map(|(_, saved)| saved.clone())
            };
            assert!(second.restore_memory(&mut read, first.counted().unwrap()));
            (7..15).for_each(|k| [&mut first, &mut second].into_iter().for_each(|m| step(m, k)));
            assert_eq!(first.values(), second.values(), "{update:?}");
            assert!(!learned(&options, 5).restore_memory(&mut |_| None, 1));
        }
    }
}
