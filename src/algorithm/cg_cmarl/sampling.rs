//! Which transitions an update learns from, and how it looks at each.

use super::{
    CgCmarlOptions,
    options::draw_multipliers,
    td::{ErrorKind, NextAction},
};
use crate::{environment::View, graph::CoordinationGraph, replay::Replay, rng::Rng};

/// One sampled transition, with what was drawn for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Row of the memory.
    pub row: usize,
    /// Learn from this region only; from all where none is given, as coupled targets and summed
    /// errors need.
    pub region: Option<usize>,
    /// Bit `r % 64` tells whether region r is seen with its members in reverse order.
    pub reversed: u64,
    /// The frame in which every region is seen.
    pub frame: usize,
    /// The multipliers the transition is relabelled with.
    pub multipliers: Vec<f32>,
}

impl Sample {
    /// Nothing drawn yet, for this many constraints.
    pub fn new(n_constraints: usize) -> Self {
        let multipliers = vec![0.0; n_constraints];
        Self { row: 0, region: None, reversed: 0, frame: 0, multipliers }
    }

    /// The frame in which a region is seen, and whether its members are in reverse order.
    pub(super) fn seen(&self, region: usize) -> (usize, bool) {
        (self.frame, self.is_reversed(region))
    }

    fn is_reversed(&self, region: usize) -> bool {
        self.reversed >> (region % 64) & 1 == 1
    }
}

/// Draws samples until their regions fill a batch.
pub(super) struct Sampler {
    options: CgCmarlOptions,
    batch_size: usize,
    /// Whether a sample is a whole state, with all its regions.
    pub(super) whole_states: bool,
    graph: CoordinationGraph,
    /// What was drawn last.
    pub(super) samples: Vec<Sample>,
}

impl Sampler {
    /// A sampler of so many region rows for a team of so many agents.
    pub(super) fn new(options: &CgCmarlOptions, batch_size: usize, n_agents: usize) -> Self {
        let learning = &options.learning;
        Self {
            whole_states: learning.next_action == NextAction::Coupled
                || learning.error == ErrorKind::Summed,
            batch_size,
            options: options.clone(),
            graph: CoordinationGraph::empty(n_agents),
            samples: Vec::new(),
        }
    }

    /// Draws the samples of one update; returns how many regions they have.
    pub(super) fn draw(&mut self, view: &dyn View, replay: &Replay, rng: &mut Rng) -> usize {
        let spec = view.spec();
        let learning = &self.options.learning;
        let n_frames = if learning.symmetries { view.n_frames() } else { 1 };
        let any_order = learning.random_order && spec.region_size == 2 && self.whole_states;
        let (mut n_samples, mut n_regions) = (0, 0);
        // A state without regions counts as one sample, so that this ends where there are no others.
        while n_regions < self.batch_size && n_samples < self.batch_size {
            if n_samples == self.samples.len() {
                self.samples.push(Sample::new(spec.n_constraints()));
            }
            let sample = &mut self.samples[n_samples];
            sample.row = replay.sample(rng);
            view.graph(replay.row(sample.row).state, &mut self.graph);
            let present = self.graph.n_regions();
            sample.region = (!self.whole_states).then(|| rng.below(present.max(1)));
            sample.frame = rng.below(n_frames);
            sample.reversed = if any_order { rng.next_u64() } else { 0 };
            if !self.options.network.value.sees_multipliers() {
                // They enter at action selection only.
            } else if learning.relabel {
                draw_multipliers(&self.options.multipliers, rng, &mut sample.multipliers);
            } else {
                let outcome = replay.row(sample.row).outcome;
                let own = outcome.len() - spec.n_constraints();
                sample.multipliers.copy_from_slice(&outcome[own..]);
            }
            n_samples += 1;
            n_regions += if self.whole_states { present } else { present.min(1) };
        }
        self.samples.truncate(n_samples);
        n_regions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::tests::{nearest, standing},
        environment::Environment,
        replay::{Row, RowShape},
        rng::{Purpose, Streams},
    };

    fn sampled(
        rule: (NextAction, ErrorKind),
        batch_size: usize,
        states: &[Vec<f32>],
    ) -> (usize, Sampler) {
        let spread = nearest();
        let mut options = CgCmarlOptions::default();
        (options.learning.next_action, options.learning.error) = rule;
        let shape = RowShape { state: states[0].len(), agents: 4, actions: 5, outcome: 1 };
        let mut replay = Replay::new(shape, states.len());
        for state in states {
            replay.push(Row {
                state,
                next_state: state,
                actions: &[0; 4],
                outcome: &[0.0],
                terminal: false,
            });
        }
        let mut sampler = Sampler::new(&options, batch_size, 4);
        let mut rng = Streams::new(2).rng(Purpose::Replay, 0);
        let n_regions = sampler.draw(spread.view(), &replay, &mut rng);
        (n_regions, sampler)
    }

    #[test]
    fn every_region_that_is_there_is_sampled_equally_often() {
        let states = [standing([[0.0, 0.0], [0.5, 0.0], [0.9, 0.0], [1.2, 0.0]])];
        let (n_regions, sampler) =
            sampled((NextAction::Regional, ErrorKind::Regional), 3000, &states);
        assert_eq!(n_regions, 3000);
        let mut counts = [0_usize; 3];
        sampler.samples.iter().for_each(|sample| counts[sample.region.unwrap()] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 120), "{counts:?}");
    }

    #[test]
    fn a_batch_counts_the_regions_that_are_there() {
        let states = [
            standing([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.1, 0.0]]),
            standing([[0.0, 0.0], [0.5, 0.0], [0.9, 0.0], [1.2, 0.0]]),
        ];
        let (n_regions, sampler) = sampled((NextAction::Coupled, ErrorKind::Summed), 100, &states);
        let counted: Vec<usize> = sampler.samples.iter().map(|sample| 2 + sample.row).collect();
        assert_eq!(n_regions, counted.iter().sum::<usize>());
        assert!(n_regions >= 100 && n_regions - counted[counted.len() - 1] < 100, "{counted:?}");
    }
}
