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
    /// The symmetry under which the transition is seen.
    pub symmetry: usize,
    /// The multipliers the transition is relabelled with.
    pub multipliers: Vec<f32>,
}

impl Sample {
    /// Nothing drawn yet, for this many constraints.
    pub fn new(n_constraints: usize) -> Self {
        let multipliers = vec![0.0; n_constraints];
        Self { row: 0, region: None, reversed: 0, symmetry: 0, multipliers }
    }

    /// Whether a region is seen with its members in reverse order.
    pub(super) fn is_reversed(&self, region: usize) -> bool {
        self.reversed >> (region % 64) & 1 == 1
    }
}

/// Draws samples until their regions fill a batch.
pub(super) struct Sampler {
    options: CgCmarlOptions,
    /// Whether a sample is a whole state, with all its regions.
    pub(super) whole_states: bool,
    graph: CoordinationGraph,
    /// What was drawn last.
    pub(super) samples: Vec<Sample>,
}

impl Sampler {
    /// A sampler for a team of so many agents.
    pub(super) fn new(options: &CgCmarlOptions, n_agents: usize) -> Self {
        let learning = &options.learning;
        Self {
            whole_states: learning.next_action == NextAction::Coupled
                || learning.error == ErrorKind::Summed,
            options: options.clone(),
            graph: CoordinationGraph::empty(n_agents),
            samples: Vec::new(),
        }
    }

    /// Draws the samples of one update; returns how many regions they have.
    pub(super) fn draw(&mut self, view: &dyn View, replay: &Replay, rng: &mut Rng) -> usize {
        let spec = view.spec();
        let learning = &self.options.learning;
        let n_symmetries = if learning.symmetries { view.n_symmetries() } else { 1 };
        let any_order = learning.random_order && spec.region_size == 2 && self.whole_states;
        let (mut n_samples, mut n_regions) = (0, 0);
        // A state without regions counts as one sample, so that this ends where there are no others.
        while n_regions < learning.batch_size && n_samples < learning.batch_size {
            if n_samples == self.samples.len() {
                self.samples.push(Sample::new(spec.n_constraints()));
            }
            let sample = &mut self.samples[n_samples];
            sample.row = replay.sample(rng);
            view.graph(replay.row(sample.row).state, &mut self.graph);
            let present = self.graph.n_regions();
            sample.region = (!self.whole_states).then(|| rng.below(present.max(1)));
            sample.symmetry = rng.below(n_symmetries);
            sample.reversed = if any_order { rng.next_u64() } else { 0 };
            if self.options.network.multiplier_input {
                draw_multipliers(&self.options.multipliers, rng, &mut sample.multipliers);
            }
            n_samples += 1;
            n_regions += if self.whole_states { present } else { present.min(1) };
        }
        self.samples.truncate(n_samples);
        n_regions
    }
}
