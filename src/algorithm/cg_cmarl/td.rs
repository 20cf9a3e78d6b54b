//! One gradient of CG-CMARL: sampled transitions in, summed gradients of both heads out.
//!
//! Double Q-learning: the online network chooses the next action, the target network values it.

use super::{
    head::{ABSENT, write_actions},
    network::{TwoHead, TwoHeadWorkspace, present},
    pass::Pass,
    sampling::Sample,
    targets::{head_targets, summed_error},
    transitions::{Span, Transitions},
    value::augmented_reward,
};
use crate::{
    algorithm::{action_masks::ActionMasks, state_tables::StateTables},
    argmax::argmax,
    coordination::Coordinator,
    environment::{Pose, View},
    graph::JointAction,
    nn::Gradient,
    replay::Replay,
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
    /// Whether the coordinator looks for it from what was done before.
    pub warm_start: bool,
    /// Which error the primary head learns from.
    pub error: ErrorKind,
    /// A summed error is divided by this power of the number of regions.
    pub error_power: f32,
    /// Weight of a region's own error beside the summed one.
    pub own_error: f32,
    /// Weight of the cost heads' errors.
    pub cost_weight: f32,
    /// Errors beyond this count linearly (Huber); infinite for squares throughout.
    pub huber: f32,
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
    /// Regions of the whole batch, over all shards.
    pub n_rows: usize,
}

/// One share of a batch with every buffer its gradient needs.
pub struct TdShard {
    coordinator: Box<dyn Coordinator>,
    /// Gradient of this share, flat like the parameters.
    pub gradient: Gradient,
    /// Sum over rows of half the squared error, primary head first.
    pub losses: Vec<f32>,
    transitions: Transitions,
    problem: StateTables,
    network: TwoHeadWorkspace,
    /// Buffers of the network that values: those of the other keep what its pass left.
    target: TwoHeadWorkspace,
    joint: JointAction,
    /// What was done before the next state.
    taken: JointAction,
    table: Vec<f32>,
    mean: Vec<f32>,
    next_actions: Vec<usize>,
    values: Vec<f32>,
    next_values: Vec<f32>,
    d_values: Vec<f32>,
    errors: Vec<f32>,
    /// What a region has to expect one of whose members has left.
    nothing: Vec<f32>,
}

impl TdShard {
    /// Buffers for one share of a batch.
    pub fn new(network: &TwoHead, view: &dyn View, coordinator: Box<dyn Coordinator>) -> Self {
        let spec = view.spec();
        Self {
            coordinator,
            gradient: network.gradient(),
            losses: vec![0.0; network.n_heads()],
            transitions: Transitions::new(spec.n_agents()),
            problem: StateTables::new(spec),
            network: TwoHeadWorkspace::default(),
            target: TwoHeadWorkspace::default(),
            joint: Vec::new(),
            taken: Vec::new(),
            table: Vec::new(),
            mean: Vec::new(),
            next_actions: Vec::new(),
            values: Vec::new(),
            next_values: Vec::new(),
            d_values: Vec::new(),
            errors: vec![0.0; network.n_heads()],
            nothing: vec![0.0; network.n_heads()],
        }
    }

    /// Computes the gradient of these samples.
    pub fn accumulate(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, online, target, view, replay, .. } = inputs;
        self.gradient.clear();
        self.losses.fill(0.0);
        self.transitions.gather(network, view, replay, samples);
        self.next_actions.clear();
        match inputs.rule.next_action {
            NextAction::Regional => self.choose_alone(inputs),
            NextAction::Coupled => self.choose_together(inputs, samples),
        }
        let Transitions { now, next, actions, .. } = &self.transitions;
        let n_heads = network.n_heads();
        self.values.resize(now.n_rows * n_heads, 0.0);
        self.d_values.resize(now.n_rows * n_heads, 0.0);
        self.next_values.resize(next.n_rows * n_heads, 0.0);
        let Self { network: buffers, next_actions, next_values, values, .. } = self;
        self.target.expect_zeros_as(buffers);
        let targets = &mut self.target;
        network.values(target, &next.inputs, next.n_rows, next_actions, next_values, targets);
        network.values_of_pass(online, now.all(), actions, values, buffers);
        self.measure_errors(inputs, samples);
        let Self { network: buffers, gradient, transitions, d_values, .. } = self;
        let now = &transitions.now;
        network.backward(online, gradient, &now.inputs, now.n_rows, d_values, buffers);
    }

    /// The best joint action of each region by itself, of those its members may take. Without the
    /// multiplier as an input the cost heads evaluate the primary-greedy action.
    fn choose_alone(&mut self, inputs: TdInputs<'_>) {
        let TdInputs { network, online, view, .. } = inputs;
        let Transitions { next, next_multipliers, next_masks, spans, .. } = &self.transitions;
        // With the paper's heads one pass for the rows of both states takes 1.5 % longer.
        let pass = Pass::of(&next.inputs, next.n_rows);
        let multipliers = if network.n_multipliers() > 0 { &next_multipliers[..] } else { &[] };
        let (head, n_actions) = (network.head(), view.spec().n_actions());
        let (n_terms, size) = (head.n_terms(), head.region_size());
        let Self { network: buffers, next_actions, table, mean, .. } = self;
        let mut push = |entry: usize, n_members: usize, symmetry: usize| {
            let start = next_actions.len();
            next_actions.resize(start + size, ABSENT);
            let actions = &mut next_actions[start..][..n_members];
            write_actions(entry, n_actions, actions);
            actions.iter_mut().for_each(|a| *a = view.transform_action(symmetry, *a));
        };
        if head.is_free() && !next_masks.forbids() && !next.members.contains(&ABSENT) {
            // The best of a region in its pose is the best as it is.
            let found = |entry| push(entry, size, 0);
            network.greedy(online, pass, multipliers, found, buffers);
            return;
        }
        let terms = network.terms(online, pass, multipliers, buffers);
        for (index, span) in spans.iter().enumerate() {
            for row in span.valued.clone() {
                let members = present(&next.members[row * size..][..size]);
                let symmetry = next.poses[row].symmetry;
                let seen = (Pose { symmetry, reversed: false }, &terms[row * n_terms..][..n_terms]);
                network.posed().average(members.len(), [seen].into_iter(), mean);
                table.resize(head.n_entries(members.len()), 0.0);
                network.posed().expand(members.len(), mean, table);
                forbid(table, members, next_masks, index * view.spec().n_agents());
                push(argmax(table), members.len(), symmetry);
            }
        }
    }

    /// The coordinator's joint action of each next state, on that state's own graph.
    fn choose_together(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, online, view, replay, rule, .. } = inputs;
        let Transitions { next, next_multipliers, next_masks, spans, .. } = &self.transitions;
        let Self { network: buffers, problem, joint, taken, next_actions, mean, .. } = self;
        let pass = self.transitions.pass();
        let terms = network.terms(online, pass, next_multipliers, buffers);
        let (n_terms, size) = (network.head().n_terms(), network.head().region_size());
        for (index, (sample, Span { next: rows, valued, .. })) in
            samples.iter().zip(spans).enumerate()
        {
            debug_assert!(sample.region.is_none(), "coupled targets need whole states");
            let row = replay.row(sample.row);
            problem.follow(view, row.next_state);
            let seen = next.poses[rows.clone()].iter().copied();
            let seen = seen.zip(terms[rows.start * n_terms..].chunks_exact(n_terms));
            for (region, (seen, members)) in seen.zip(problem.graph.regions()).enumerate() {
                let table = problem.tables.region_mut(region);
                network.posed().average(members.len(), [seen].into_iter(), mean);
                network.posed().expand(members.len(), mean, table);
            }
            problem.forbid_only(next_masks, index);
            if rule.warm_start {
                taken.clear();
                taken.extend(row.actions.iter().copied().map(usize::from));
                problem.solve_from(self.coordinator.as_mut(), taken, joint);
            } else {
                problem.solve(self.coordinator.as_mut(), joint);
            }
            for row in valued.clone() {
                let symmetry = next.poses[row].symmetry;
                let action = |agent: usize| view.transform_action(symmetry, joint[agent]);
                let members = next.members[row * size..][..size].iter();
                next_actions.extend(members.map(|&m| if m == ABSENT { m } else { action(m) }));
            }
        }
    }

    /// Writes the gradient of every value (Eqs. td-prim, td-cost; td-augmented).
    fn measure_errors(&mut self, inputs: TdInputs<'_>, samples: &[Sample]) {
        let TdInputs { network, view, replay, rule, n_rows, .. } = inputs;
        let n_heads = network.n_heads();
        let (max_regions, n_costs) = (view.spec().max_regions, network.n_constraints());
        // One augmented value learns from the reward at the price of its costs.
        let is_augmented = n_heads <= n_costs;
        let share = 1.0 / n_rows as f32;
        for (sample, span) in samples.iter().zip(&self.transitions.spans) {
            let row = replay.row(sample.row);
            let discount = if row.terminal { 0.0 } else { rule.gamma };
            let costs = |region: usize| &row.outcome[max_regions + region * n_costs..][..n_costs];
            let reward = |region: usize| match row.outcome[region] {
                reward if !is_augmented => reward,
                reward => augmented_reward(reward, costs(region), &sample.multipliers),
            };
            let summed = (rule.error == ErrorKind::Summed && sample.region.is_none())
                .then(|| self.summed_error(span, discount, rule.error_power, reward));
            for now in span.now.clone() {
                let region = self.transitions.regions[now];
                let costs = costs(region).iter().map(|cost| -cost);
                let rewards = std::iter::once(reward(region)).chain(costs);
                let next_values = match self.transitions.followers[now] {
                    ABSENT => &self.nothing[..],
                    next => &self.next_values[next * n_heads..][..n_heads],
                };
                let targets = head_targets(rewards, discount, next_values);
                let values = &self.values[now * n_heads..][..n_heads];
                for ((error, value), target) in self.errors.iter_mut().zip(values).zip(targets) {
                    *error = value - target;
                }
                if let Some(summed) = summed {
                    self.errors[0] = summed + rule.own_error * self.errors[0];
                }
                let weights = std::iter::once(1.0).chain(std::iter::repeat(rule.cost_weight));
                let heads = self.errors.iter().zip(&mut self.losses).zip(weights);
                let cells = &mut self.d_values[now * n_heads..][..n_heads];
                for (((error, loss), weight), d_value) in heads.zip(cells) {
                    *loss += 0.5 * error * error;
                    *d_value = weight * share * error.clamp(-rule.huber, rule.huber);
                }
            }
        }
    }

    /// The error of a whole state, each of both states with its own regions, for each region.
    fn summed_error(
        &self,
        span: &Span,
        discount: f32,
        power: f32,
        reward: impl Fn(usize) -> f32,
    ) -> f32 {
        let n_heads = self.losses.len();
        let values: f32 = span.now.clone().map(|now| self.values[now * n_heads]).sum();
        let next: f32 = span.next.clone().map(|next| self.next_values[next * n_heads]).sum();
        let rewards = self.transitions.regions[span.now.clone()].iter();
        let rewards = rewards.map(|&region| reward(region)).sum();
        summed_error(values, rewards, discount, next) / (span.now.len() as f32).powf(power)
    }
}

/// Forbids the entries of a region's table that need an action which a member may not take.
fn forbid(table: &mut [f32], members: &[usize], masks: &ActionMasks, first_row: usize) {
    let mut block = table.len();
    for agent in members {
        let Some(allowed) = masks.row(first_row + agent) else { return };
        let stride = block / allowed.len();
        for entries in table.chunks_exact_mut(block) {
            for (entries, allowed) in entries.chunks_exact_mut(stride).zip(allowed) {
                if !allowed {
                    entries.fill(f32::NEG_INFINITY);
                }
            }
        }
        block = stride;
    }
}
