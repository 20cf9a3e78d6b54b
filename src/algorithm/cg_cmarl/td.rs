//! One gradient of CG-CMARL: sampled transitions in, summed gradients of both heads out.
//!
//! Double Q-learning: the online network chooses the next action, the target network values it.

use super::{
    actor::refit,
    network::{TwoHead, TwoHeadWorkspace},
    targets::{bootstrap, summed_error},
};
use crate::{
    coordination::{Coordinator, FactorTables},
    environment::View,
    graph::{CoordinationGraph, JointAction},
    nn::Gradient,
    replay::{Replay, Row},
};
use serde::{Deserialize, Serialize};

/// Who chooses the next action that a target bootstraps from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// Each region for itself (the paper's regional operator).
    Regional,
    /// The coordinator, for all regions at once (the paper's factored operator).
    Coupled,
}

/// Which error the primary head learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Each region's own.
    Regional,
    /// The sum over a state's regions, shared by all of them.
    Summed,
}

/// The constants of one gradient.
#[derive(Clone, Copy, Debug)]
pub struct TdRule {
    /// Discount.
    pub gamma: f32,
    /// Who chooses the next action.
    pub next_action: NextAction,
    /// Which error the primary head learns from.
    pub error: ErrorKind,
    /// A summed error is divided by this power of the number of regions.
    pub error_power: f32,
    /// Weight of the cost heads' errors.
    pub cost_weight: f32,
    /// Errors beyond this count linearly (Huber); infinite for squares throughout.
    pub huber: f32,
}

/// One sampled transition, with what was drawn for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Row of the memory.
    pub row: usize,
    /// Learn from this region only; from all where none is given.
    pub region: Option<usize>,
    /// Bit `r % 64` tells whether region r is seen with its members in reverse order.
    pub reversed: u64,
    /// The symmetry under which the transition is seen.
    pub symmetry: usize,
    /// The multipliers the transition is relabelled with.
    pub multipliers: Vec<f32>,
}

/// Everything a gradient reads and nobody writes meanwhile.
#[derive(Clone, Copy)]
pub struct TdInputs<'a> {
    /// The network's shape.
    pub network: &'a TwoHead,
    /// The network that chooses and learns.
    pub online: &'a [f32],
    /// The network that values.
    pub target: &'a [f32],
    /// How to look at a state.
    pub view: &'a dyn View,
    /// The memory.
    pub replay: &'a Replay,
    /// The constants.
    pub rule: TdRule,
    /// Rows of the whole batch, over all shards.
    pub n_rows: usize,
}

/// One share of a batch with every buffer its gradient needs.
pub struct TdShard {
    coordinator: Box<dyn Coordinator>,
    /// Gradient of this share, flat like the parameters.
    pub gradient: Gradient,
    /// Sum over rows of half the squared error, primary head first.
    pub losses: Vec<f32>,
    graph: CoordinationGraph,
    tables: FactorTables,
    fitted: usize,
    network: TwoHeadWorkspace,
    joint: JointAction,
    reversed: Vec<bool>,
    turned: [Vec<f32>; 2],
    counts: Vec<usize>,
    regions: Vec<usize>,
    multipliers: Vec<f32>,
    before: Vec<f32>,
    after: Vec<f32>,
    actions: Vec<usize>,
    next_actions: Vec<usize>,
    values: Vec<f32>,
    next_values: Vec<f32>,
    d_values: Vec<f32>,
}

impl TdShard {
    /// Buffers for one share of a batch.
    pub fn new(network: &TwoHead, view: &dyn View, coordinator: Box<dyn Coordinator>) -> Self {
        let spec = view.spec();
        let graph = CoordinationGraph::empty(spec.n_agents());
        let tables = FactorTables::zeros(&graph, spec.n_actions());
        Self {
            coordinator,
            gradient: network.gradient(),
            losses: vec![0.0; network.n_heads()],
            fitted: graph.n_regions(),
            graph,
            tables,
            network: TwoHeadWorkspace::default(),
            joint: Vec::new(),
            reversed: Vec::new(),
            turned: [Vec::new(), Vec::new()],
            counts: Vec::new(),
            regions: Vec::new(),
            multipliers: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            actions: Vec::new(),
            next_actions: Vec::new(),
            values: Vec::new(),
            next_values: Vec::new(),
            d_values: Vec::new(),
        }
    }

    /// Computes the gradient of these samples.
    pub fn accumulate(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, online, target, .. } = inputs;
        self.gradient.clear();
        self.losses.fill(0.0);
        self.gather(inputs, samples);
        self.choose_next(inputs, samples);
        let n_rows = self.regions.len();
        let len = n_rows * network.n_heads();
        self.values.resize(len, 0.0);
        self.next_values.resize(len, 0.0);
        self.d_values.resize(len, 0.0);
        let Self { network: buffers, after, next_actions, next_values, .. } = self;
        network.values(target, after, n_rows, next_actions, next_values, buffers);
        let Self { network: buffers, before, actions, values, .. } = self;
        network.values(online, before, n_rows, actions, values, buffers);
        self.measure_errors(inputs, samples);
        let Self { network: buffers, gradient, before, d_values, .. } = self;
        network.backward(online, gradient, before, n_rows, d_values, buffers);
    }

    /// Writes the input rows before and after, and the regions' actions.
    fn gather(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, view, replay, .. } = inputs;
        let stride = network.n_inputs();
        self.counts.clear();
        self.regions.clear();
        self.actions.clear();
        self.multipliers.clear();
        for sample in samples {
            let row = replay.row(sample.row);
            view.graph(row.state, &mut self.graph);
            let start = self.regions.len();
            match sample.region {
                Some(region) => self.regions.push(region % self.graph.n_regions()),
                None => self.regions.extend(0..self.graph.n_regions()),
            }
            let n_rows = self.regions.len();
            self.counts.push(n_rows - start);
            if self.before.len() < n_rows * stride {
                self.before.resize(n_rows * stride, 0.0);
                self.after.resize(n_rows * stride, 0.0);
            }
            self.write_rows(inputs, sample, row, start);
        }
    }

    fn write_rows(&mut self, inputs: TdInputs<'_>, sample: &Sample, row: Row<'_>, start: usize) {
        let TdInputs { network, view, .. } = inputs;
        let (stride, width) = (network.n_inputs(), view.spec().region_width);
        let range = start * stride..self.regions.len() * stride;
        let (before, after) = (&mut self.before[range.clone()], &mut self.after[range]);
        for (turned, state) in self.turned.iter_mut().zip([row.state, row.next_state]) {
            turned.clear();
            turned.extend_from_slice(state);
            view.transform_state(sample.symmetry, turned);
        }
        let [state, next] = &self.turned;
        let action =
            |agent: usize| view.transform_action(sample.symmetry, usize::from(row.actions[agent]));
        if sample.region.is_some() {
            let members = self.graph.region(self.regions[start]);
            view.region_row(state, members, &mut before[..width]);
            view.region_row(next, members, &mut after[..width]);
            push_actions(&mut self.actions, members, false, action);
        } else {
            self.reversed.clear();
            self.reversed.extend((0..self.graph.n_regions()).map(|r| sample.is_reversed(r)));
            view.region_rows(state, &self.graph, &self.reversed, before, stride);
            view.region_rows(next, &self.graph, &self.reversed, after, stride);
            for (members, &reversed) in self.graph.regions().zip(&self.reversed) {
                push_actions(&mut self.actions, members, reversed, action);
            }
        }
        for rows in [before, after] {
            network.write_multipliers(rows, &sample.multipliers);
        }
        for _ in start..self.regions.len() {
            self.multipliers.extend_from_slice(&sample.multipliers);
        }
    }

    /// Writes the next action of every row, chosen by the online network.
    fn choose_next(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        self.next_actions.clear();
        match inputs.rule.next_action {
            NextAction::Regional => self.choose_alone(inputs),
            NextAction::Coupled => self.choose_together(inputs, samples),
        }
    }

    /// The best joint action of each region by itself. Without the multiplier as an input the
    /// cost heads evaluate the primary-greedy action.
    fn choose_alone(&mut self, inputs: TdInputs<'_>) {
        let TdInputs { network, online, view, .. } = inputs;
        let multipliers = if network.n_multipliers() > 0 { &self.multipliers[..] } else { &[] };
        let n_actions = view.spec().n_actions();
        let Self { network: buffers, after, next_actions, tables, .. } = self;
        let table = &mut tables.regions_mut()[..network.head().n_entries()];
        let found = |mut entry: usize| {
            let start = next_actions.len();
            for _ in 0..view.spec().region_size {
                next_actions.push(entry % n_actions);
                entry /= n_actions;
            }
            next_actions[start..].reverse();
        };
        network.greedy(online, after, self.regions.len(), multipliers, table, found, buffers);
    }

    /// The coordinator's joint action of each sample's regions.
    fn choose_together(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, online, view, replay, .. } = inputs;
        let Self { network: buffers, after, multipliers, .. } = self;
        let terms = network.terms(online, after, self.regions.len(), multipliers, buffers);
        let head = network.head();
        let mut terms = terms.chunks_exact_mut(head.n_terms());
        for sample in samples {
            view.graph(replay.row(sample.row).state, &mut self.graph);
            refit(&mut self.tables, &mut self.fitted, &self.graph);
            let tables = self.tables.regions_mut().chunks_exact_mut(head.n_entries());
            for (region, (table, terms)) in tables.zip(&mut terms).enumerate() {
                if sample.is_reversed(region) {
                    head.reverse(terms);
                }
                head.expand(terms, table);
            }
            self.coordinator.coordinate(&self.graph, &self.tables, &mut self.joint);
            for (region, members) in self.graph.regions().enumerate() {
                let reversed = sample.is_reversed(region);
                push_actions(&mut self.next_actions, members, reversed, |agent| self.joint[agent]);
            }
        }
    }

    /// Writes the gradient of every value (Eqs. td-prim, td-cost).
    fn measure_errors(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, view, replay, rule, n_rows, .. } = inputs;
        let n_heads = network.n_heads();
        let (max_regions, n_costs) = (view.spec().max_regions, n_heads - 1);
        let share = 1.0 / n_rows as f32;
        let mut start = 0;
        for (sample, &count) in samples.iter().zip(&self.counts) {
            let row = replay.row(sample.row);
            let discount = if row.terminal { 0.0 } else { rule.gamma };
            let rows = start..start + count;
            start += count;
            let primary = |values: &[f32]| rows.clone().map(|r| values[r * n_heads]).sum::<f32>();
            let summed = (rule.error == ErrorKind::Summed && sample.region.is_none()).then(|| {
                let rewards = rows.clone().map(|r| row.outcome[self.regions[r]]).sum();
                let error = summed_error(
                    primary(&self.values),
                    rewards,
                    discount,
                    primary(&self.next_values),
                );
                error / (count as f32).powf(rule.error_power)
            });
            for r in rows {
                let region = self.regions[r];
                for head in 0..n_heads {
                    let at = r * n_heads + head;
                    let reward = if head == 0 {
                        row.outcome[region]
                    } else {
                        -row.outcome[max_regions + region * n_costs + head - 1]
                    };
                    let own = self.values[at] - bootstrap(reward, discount, self.next_values[at]);
                    let error = if head == 0 { summed.unwrap_or(own) } else { own };
                    let weight = if head == 0 { 1.0 } else { rule.cost_weight };
                    self.losses[head] += 0.5 * error * error;
                    self.d_values[at] = weight * share * error.clamp(-rule.huber, rule.huber);
                }
            }
        }
    }
}

impl Sample {
    /// Nothing drawn yet, for this many constraints.
    pub fn new(n_constraints: usize) -> Self {
        let multipliers = vec![0.0; n_constraints];
        Self { row: 0, region: None, reversed: 0, symmetry: 0, multipliers }
    }

    /// Whether a region is seen with its members in reverse order.
    fn is_reversed(&self, region: usize) -> bool {
        self.reversed >> (region % 64) & 1 == 1
    }
}

fn push_actions(
    actions: &mut Vec<usize>,
    members: &[usize],
    reversed: bool,
    of: impl Fn(usize) -> usize,
) {
    if reversed {
        actions.extend(members.iter().rev().map(|&agent| of(agent)));
    } else {
        actions.extend(members.iter().map(|&agent| of(agent)));
    }
}
