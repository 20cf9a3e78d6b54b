//! Sequential reweighted message passing (TRW-S, Kolmogorov): an upper bound by reparametrisation.
//!
//! Every variable in turn collects the messages of its factors, `u_i = θ_i + Σ_R M_{R→i}`, and sends
//! an equal share to each factor with a member later in the pass: `M_{i→R} = w·u_i - M_{R→i}`. The
//! bound `Σ_i max (1-Σw)·u_i + Σ_R max [θ_R + Σ_k M_{k→R}]` never rises, and an assignment with
//! `x_i = a` is worth at most `bound - max u_i + u_i(a)`: values that cannot beat the best known
//! answer are pruned. A region of the layout is a factor, an agent a variable.

use super::factor_model::FactorModel;
use super::pair_messages::{PRUNED, message_to_first, message_to_second, push_padded};
use crate::coordination::message_passing::kernel::{
    Chunk, LANES, chunks_of, region_messages, row_max,
};
use crate::coordination::message_passing::message_layout::MessageLayout;
use crate::graph::{CoordinationGraph, Membership};
use pulp::Simd;

type Row = Vec<Chunk<f64>>;

/// What changes during a search, saved at each branch.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Payoff of each value alone; minus infinity once pruned.
    utilities: Row,
    /// The message of the variable at each place of a region.
    to_factors: Row,
    /// The parts of the bound that variables keep and that factors hold.
    kept: Vec<f64>,
    factor_max: Vec<f64>,
    /// How many values of each variable are left.
    pub n_remaining: Vec<usize>,
    pub bound: f64,
}

impl State {
    /// Becomes equal to another state; allocates nothing once its buffers are large enough.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.utilities.clone_from(&other.utilities);
        self.to_factors.clone_from(&other.to_factors);
        self.kept.clone_from(&other.kept);
        self.factor_max.clone_from(&other.factor_max);
        self.n_remaining.clone_from(&other.n_remaining);
        self.bound = other.bound;
    }
}

/// What a variable sends on: the weight of each share, and how many there are.
struct Shares {
    weight: f64,
    count: f64,
}

/// A value of a variable and a bound on every assignment with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedValue {
    pub bound: f64,
    pub value: usize,
}

/// The direction of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// The dual of one model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dual {
    layout: MessageLayout,
    graph: CoordinationGraph,
    tables: Row,
    pub state: State,
    /// The message of each region to each of its places, and whether it is out of date.
    to_variables: Row,
    stale: Vec<bool>,
    collected: Row,
    /// Values that cannot beat this are pruned.
    pub cutoff: f64,
    /// How often each region took part in a dead end.
    conflicts: Vec<f64>,
}

impl Dual {
    pub(crate) fn new(model: &FactorModel) -> Self {
        let graph = CoordinationGraph::new(model.n_variables(), &model.scopes)
            .expect("a model's scopes are regions");
        let mut dual = Self { cutoff: PRUNED, ..Self::default() };
        dual.layout.fit(&graph, &model.n_values());
        for (scope, table) in model.scopes.iter().zip(&model.tables) {
            let width = scope.last().map_or(1, |&v| model.utilities[v].len());
            table.chunks_exact(width).for_each(|row| push_padded(row, &mut dual.tables));
        }
        for row in &model.utilities {
            push_padded(row, &mut dual.state.utilities);
        }
        let n_messages = dual.layout.message_starts[dual.layout.n_regions()];
        dual.to_variables.resize(n_messages, [0.0; LANES]);
        dual.stale.resize(dual.layout.members.len(), true);
        let widest = model.n_values().iter().map(|&n| chunks_of(n)).max().unwrap_or(0);
        dual.collected.resize(widest, [0.0; LANES]);
        dual.conflicts.resize(dual.layout.n_regions(), 1.0);
        dual.graph = graph;
        dual.reset();
        dual
    }

    /// Zero messages and their bound.
    fn reset(&mut self) {
        self.state.to_factors.clear();
        self.state.kept.clear();
        self.state.factor_max.clear();
        self.state.n_remaining.clear();
        self.state.to_factors.resize(self.to_variables.len(), [0.0; LANES]);
        for region in 0..self.layout.n_regions() {
            let table = self.tables[self.layout.table(region)].as_flattened();
            self.state.factor_max.push(table.iter().fold(PRUNED, |best, &x| best.max(x)));
        }
        for agent in 0..self.layout.n_agents() {
            let row = self.state.utilities[self.layout.agent(agent)].as_flattened();
            self.state.kept.push(row.iter().fold(PRUNED, |best, &x| best.max(x)));
            self.state.n_remaining.push(row.iter().filter(|&&x| x > PRUNED).count());
        }
        self.state.bound =
            self.state.kept.iter().sum::<f64>() + self.state.factor_max.iter().sum::<f64>();
    }

    pub(crate) fn n_variables(&self) -> usize {
        self.layout.n_agents()
    }

    /// The values of a variable that are not pruned.
    pub(crate) fn remaining(&self, variable: usize) -> impl Iterator<Item = usize> + '_ {
        let row = self.state.utilities[self.layout.agent(variable)].as_flattened();
        row.iter().enumerate().filter(|(_, x)| **x > PRUNED).map(|(a, _)| a)
    }

    /// Brings back a saved state.
    pub(crate) fn restore(&mut self, state: &State) {
        self.state.copy_from(state);
        self.stale.fill(true);
    }

    /// Prunes every other value of a variable.
    pub(crate) fn assign(&mut self, variable: usize, value: usize) {
        let row = self.state.utilities[self.layout.agent(variable)].as_flattened_mut();
        row.iter_mut().enumerate().filter(|(a, _)| *a != value).for_each(|(_, x)| *x = PRUNED);
        self.state.n_remaining[variable] = 1;
    }

    /// One pass over all variables with a choice left. False when nothing beats the cutoff.
    #[inline(always)]
    pub(crate) fn pass<S: Simd>(&mut self, simd: S, direction: Direction) -> bool {
        let n = self.n_variables();
        for step in 0..n {
            let variable = if direction == Direction::Forward { step } else { n - 1 - step };
            if self.state.n_remaining[variable] > 1 && !self.update(simd, variable, direction) {
                return false;
            }
        }
        self.state.bound > self.cutoff
    }

    /// The open variable with the fewest values per dead end of its regions.
    pub(crate) fn branching_variable(&self) -> Option<usize> {
        let remaining = &self.state.n_remaining;
        let score = |variable: usize| {
            let open = |membership: &&Membership| {
                let members = self.graph.region(membership.region);
                members.iter().any(|&other| other != variable && remaining[other] > 1)
            };
            let memberships = self.graph.memberships_of(variable).iter().filter(open);
            remaining[variable] as f64
                / memberships.map(|membership| self.conflicts[membership.region]).sum::<f64>()
        };
        (0..remaining.len())
            .filter(|&variable| remaining[variable] > 1)
            .map(|variable| (score(variable), variable))
            .min_by(|x, y| x.0.total_cmp(&y.0))
            .map(|(_, variable)| variable)
    }

    /// Notes that no value of a variable was left.
    fn record_conflict(&mut self, variable: usize) {
        for membership in self.graph.memberships_of(variable) {
            self.conflicts[membership.region] += 1.0;
        }
    }

    /// Collects and redistributes at one variable. False when nothing beats the cutoff.
    #[inline(always)]
    pub(crate) fn update<S: Simd>(
        &mut self,
        simd: S,
        variable: usize,
        direction: Direction,
    ) -> bool {
        let Some(best) = self.collect(simd, variable) else {
            self.record_conflict(variable);
            return false;
        };
        let Shares { weight, count } = self.shares(variable, direction);
        let chunks = self.layout.agent(variable);
        let old: f64 = self.state.kept[variable]
            + self
                .graph
                .memberships_of(variable)
                .iter()
                .map(|membership| self.state.factor_max[membership.region])
                .sum::<f64>();
        self.state.bound += best - old;
        self.prune(variable, self.cutoff - (self.state.bound - best));
        if self.state.n_remaining[variable] == 0 {
            self.record_conflict(variable);
            return false;
        }
        for index in 0..self.graph.memberships_of(variable).len() {
            let membership = self.graph.memberships_of(variable)[index];
            let share =
                if self.has_later_member(membership, variable, direction) { weight } else { 0.0 };
            self.send_share(membership, share, chunks.len());
            self.state.factor_max[membership.region] = share * best;
        }
        self.state.kept[variable] = (1.0 - weight * count) * best;
        true
    }

    /// Sums the utility of and the messages to one variable; `None` when no value is possible.
    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, variable: usize) -> Option<f64> {
        let chunks = self.layout.agent(variable);
        let width = chunks.len();
        self.collected[..width].copy_from_slice(&self.state.utilities[chunks]);
        for index in 0..self.graph.memberships_of(variable).len() {
            let membership = self.graph.memberships_of(variable)[index];
            self.refresh_message(simd, membership);
            let start = self.message_start(membership);
            let messages = self.to_variables[start..start + width].as_flattened();
            let collected = self.collected[..width].as_flattened_mut();
            collected.iter_mut().zip(messages).for_each(|(to, &x)| *to += x);
        }
        let best = row_max(simd, &self.collected[..width]);
        (best > PRUNED).then_some(best)
    }

    /// The remaining values of a variable, best bound first.
    #[inline(always)]
    pub(crate) fn ranked<S: Simd>(
        &mut self,
        simd: S,
        variable: usize,
        ranked: &mut Vec<RankedValue>,
    ) {
        ranked.clear();
        let Some(best) = self.collect(simd, variable) else { return };
        let rest = self.state.bound - best;
        let collected = self.collected.as_flattened();
        ranked.extend(
            self.remaining(variable)
                .map(|value| RankedValue { bound: rest + collected[value], value }),
        );
        ranked.sort_unstable_by(|x, y| y.bound.total_cmp(&x.bound).then(x.value.cmp(&y.value)));
    }

    /// Prunes the values that collected no more than `least`.
    #[inline(always)]
    fn prune(&mut self, variable: usize, least: f64) {
        let chunks = self.layout.agent(variable);
        let collected = self.collected.as_flattened_mut();
        let utilities = self.state.utilities[chunks].as_flattened_mut();
        let mut remaining = 0;
        for (utility, collected) in utilities.iter_mut().zip(collected) {
            if *collected > least && *collected > PRUNED {
                remaining += 1;
            } else {
                *utility = PRUNED;
                *collected = PRUNED;
            }
        }
        self.state.n_remaining[variable] = remaining;
    }

    /// Sends a region its share of what was collected.
    #[inline(always)]
    fn send_share(&mut self, membership: Membership, share: f64, width: usize) {
        let start = self.message_start(membership);
        let to_factor = self.state.to_factors[start..start + width].as_flattened_mut();
        let to_variable = self.to_variables[start..start + width].as_flattened();
        let collected = self.collected[..width].as_flattened();
        for ((message, &received), &collected) in
            to_factor.iter_mut().zip(to_variable).zip(collected)
        {
            *message = if collected > PRUNED { share * collected - received } else { PRUNED };
        }
        let places = self.layout.places(membership.region);
        for place in places.clone() {
            self.stale[place] |= place != places.start + membership.slot;
        }
    }

    /// Whether a region has an undecided member after the variable in the pass.
    #[inline(always)]
    fn has_later_member(
        &self,
        membership: Membership,
        variable: usize,
        direction: Direction,
    ) -> bool {
        self.layout.members[self.layout.places(membership.region)].iter().any(|&other| {
            self.state.n_remaining[other] > 1
                && match direction {
                    Direction::Forward => other > variable,
                    Direction::Backward => other < variable,
                }
        })
    }

    /// What the regions with a later member get.
    #[inline(always)]
    fn shares(&self, variable: usize, direction: Direction) -> Shares {
        let (mut ahead, mut behind) = (0.0_f64, 0.0_f64);
        for &membership in self.graph.memberships_of(variable) {
            let opposite = match direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
            ahead += f64::from(u8::from(self.has_later_member(membership, variable, direction)));
            behind += f64::from(u8::from(self.has_later_member(membership, variable, opposite)));
        }
        Shares { weight: 1.0 / ahead.max(behind).max(1.0), count: ahead }
    }

    #[inline(always)]
    fn message_start(&self, membership: Membership) -> usize {
        let place = self.layout.region_places[membership.region] + membership.slot;
        self.layout.message_starts[membership.region] + self.layout.offsets[place]
    }

    /// Recomputes the message of a region to one place, if another place has changed since.
    #[inline(always)]
    fn refresh_message<S: Simd>(&mut self, simd: S, membership: Membership) {
        let places = self.layout.places(membership.region);
        if !self.stale[places.start + membership.slot] {
            return;
        }
        self.stale[places.start + membership.slot] = false;
        let messages = self.layout.messages(membership.region);
        let table = &self.tables[self.layout.table(membership.region)];
        let incoming = &self.state.to_factors[messages.clone()];
        let outgoing = &mut self.to_variables[messages];
        let n_actions = &self.layout.member_actions[places.clone()];
        let offsets = &self.layout.offsets[places.clone()];
        if let [n_first, _] = *n_actions {
            let (from_first, from_second) = incoming.split_at(offsets[1]);
            let from_first = &from_first.as_flattened()[..n_first];
            let (to_first, to_second) = outgoing.split_at_mut(offsets[1]);
            if membership.slot == 1 {
                message_to_second(simd, table, from_first, to_second);
            } else {
                let remaining = self.state.utilities
                    [self.layout.agent(self.layout.members[places.start])]
                .as_flattened();
                message_to_first(simd, table, from_second, remaining, to_first.as_flattened_mut());
            }
        } else {
            region_messages(simd, table, n_actions, offsets, incoming, outgoing);
            self.stale[places].fill(false);
        }
    }
}
