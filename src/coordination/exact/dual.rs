//! Sequential reweighted message passing (TRW-S, Kolmogorov): an upper bound by reparametrisation.
//!
//! Every variable in turn collects what its factors still offer, `u_i = θ_i + Σ_R q_R`, and gives
//! an equal share to each factor that reaches on: `h_{i→R} = w·u_i - q_R`. The bound
//! `Σ_i max (1-Σw)·u_i + Σ_R max [θ_R + Σ_k h_{k→R}]` never rises, and an assignment with `x_i = a`
//! is worth at most `bound - max u_i + u_i(a)`: values below the best known answer are struck out.

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
    /// Payoff of each value alone; minus infinity once struck out.
    utilities: Row,
    /// What each place of a region has been given by its variable.
    heard: Row,
    kept: Vec<f64>,
    region_max: Vec<f64>,
    pub n_remaining: Vec<usize>,
    pub bound: f64,
}

impl State {
    /// Becomes equal to another state; allocates nothing once its buffers have grown.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.utilities.clone_from(&other.utilities);
        self.heard.clone_from(&other.heard);
        self.kept.clone_from(&other.kept);
        self.region_max.clone_from(&other.region_max);
        self.n_remaining.clone_from(&other.n_remaining);
        self.bound = other.bound;
    }
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
    /// What each region offers each of its places, and whether that is out of date.
    to_variables: Row,
    stale: Vec<bool>,
    collected: Row,
    /// Values that cannot beat this are struck out.
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
        for table in model.scopes.iter().zip(&model.tables) {
            let width = table.0.last().map_or(1, |&v| model.utilities[v].len());
            table.1.chunks_exact(width).for_each(|row| push_padded(row, &mut dual.tables));
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

    /// Silent messages and their bound.
    fn reset(&mut self) {
        self.state.heard.clear();
        self.state.kept.clear();
        self.state.region_max.clear();
        self.state.n_remaining.clear();
        self.state.heard.resize(self.to_variables.len(), [0.0; LANES]);
        for region in 0..self.layout.n_regions() {
            let table = self.tables[self.layout.table(region)].as_flattened();
            self.state.region_max.push(table.iter().fold(PRUNED, |best, &x| best.max(x)));
        }
        for agent in 0..self.layout.n_agents() {
            let row = self.state.utilities[self.layout.agent(agent)].as_flattened();
            self.state.kept.push(row.iter().fold(PRUNED, |best, &x| best.max(x)));
            self.state.n_remaining.push(row.iter().filter(|&&x| x > PRUNED).count());
        }
        self.state.bound =
            self.state.kept.iter().sum::<f64>() + self.state.region_max.iter().sum::<f64>();
    }

    pub(crate) fn n_variables(&self) -> usize {
        self.layout.n_agents()
    }

    /// The values of a variable that are not struck out.
    pub(crate) fn remaining(&self, variable: usize) -> impl Iterator<Item = usize> + '_ {
        let row = self.state.utilities[self.layout.agent(variable)].as_flattened();
        row.iter().enumerate().filter(|(_, x)| **x > PRUNED).map(|(a, _)| a)
    }

    /// Brings back a saved state.
    pub(crate) fn restore(&mut self, state: &State) {
        self.state.copy_from(state);
        self.stale.fill(true);
    }

    /// Strikes out every other value of a variable.
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

    /// Notes that the search died at a variable.
    fn blame(&mut self, variable: usize) {
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
            self.blame(variable);
            return false;
        };
        let (weight, n_shares) = self.weight(variable, direction);
        let chunks = self.layout.agent(variable);
        let old: f64 = self.state.kept[variable]
            + self
                .graph
                .memberships_of(variable)
                .iter()
                .map(|membership| self.state.region_max[membership.region])
                .sum::<f64>();
        self.state.bound += best - old;
        self.prune(variable, self.cutoff - (self.state.bound - best));
        if self.state.n_remaining[variable] == 0 {
            self.blame(variable);
            return false;
        }
        for index in 0..self.graph.memberships_of(variable).len() {
            let membership = self.graph.memberships_of(variable)[index];
            let share = if self.reaches_on(membership, variable, direction) { weight } else { 0.0 };
            self.give(membership, share, chunks.len());
            self.state.region_max[membership.region] = share * best;
        }
        self.state.kept[variable] = (1.0 - weight * n_shares) * best;
        true
    }

    /// Sums utility and offers of one variable; `None` when no value is possible.
    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, variable: usize) -> Option<f64> {
        let chunks = self.layout.agent(variable);
        let width = chunks.len();
        self.collected[..width].copy_from_slice(&self.state.utilities[chunks]);
        for index in 0..self.graph.memberships_of(variable).len() {
            let membership = self.graph.memberships_of(variable)[index];
            self.refresh(simd, membership);
            let start = self.start_of(membership);
            let to_variables = self.to_variables[start..start + width].as_flattened();
            let collected = self.collected[..width].as_flattened_mut();
            collected.iter_mut().zip(to_variables).for_each(|(to, &x)| *to += x);
        }
        let best = row_max(simd, &self.collected[..width]);
        (best > PRUNED).then_some(best)
    }

    /// Payoff bound of every value of a variable, best first, with its value.
    #[inline(always)]
    pub(crate) fn ranked<S: Simd>(
        &mut self,
        simd: S,
        variable: usize,
        ranked: &mut Vec<(f64, usize)>,
    ) {
        ranked.clear();
        let Some(best) = self.collect(simd, variable) else { return };
        let rest = self.state.bound - best;
        let collected = self.collected.as_flattened();
        ranked.extend(self.remaining(variable).map(|a| (rest + collected[a], a)));
        ranked.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    }

    /// Strikes out the values that collected no more than `least`.
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

    /// Gives a region its share of what was collected.
    #[inline(always)]
    fn give(&mut self, membership: Membership, share: f64, width: usize) {
        let start = self.start_of(membership);
        let heard = self.state.heard[start..start + width].as_flattened_mut();
        let to_variables = self.to_variables[start..start + width].as_flattened();
        let collected = self.collected[..width].as_flattened();
        for ((heard, &offer), &collected) in heard.iter_mut().zip(to_variables).zip(collected) {
            *heard = if collected > PRUNED { share * collected - offer } else { PRUNED };
        }
        let places = self.layout.places(membership.region);
        for place in places.clone() {
            self.stale[place] |= place != places.start + membership.slot;
        }
    }

    /// Whether a region has an undecided member beyond the variable.
    #[inline(always)]
    fn reaches_on(&self, membership: Membership, variable: usize, direction: Direction) -> bool {
        self.layout.members[self.layout.places(membership.region)].iter().any(|&other| {
            self.state.n_remaining[other] > 1
                && match direction {
                    Direction::Forward => other > variable,
                    Direction::Backward => other < variable,
                }
        })
    }

    /// The share of each region that reaches on, and how many do.
    #[inline(always)]
    fn weight(&self, variable: usize, direction: Direction) -> (f64, f64) {
        let (mut ahead, mut behind) = (0.0_f64, 0.0_f64);
        for &membership in self.graph.memberships_of(variable) {
            let opposite = match direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
            ahead += f64::from(u8::from(self.reaches_on(membership, variable, direction)));
            behind += f64::from(u8::from(self.reaches_on(membership, variable, opposite)));
        }
        (1.0 / ahead.max(behind).max(1.0), ahead)
    }

    #[inline(always)]
    fn start_of(&self, membership: Membership) -> usize {
        let place = self.layout.region_places[membership.region] + membership.slot;
        self.layout.message_starts[membership.region] + self.layout.offsets[place]
    }

    /// Recomputes what a region offers one place, if another place has changed since.
    #[inline(always)]
    fn refresh<S: Simd>(&mut self, simd: S, membership: Membership) {
        let places = self.layout.places(membership.region);
        if !self.stale[places.start + membership.slot] {
            return;
        }
        self.stale[places.start + membership.slot] = false;
        let messages = self.layout.messages(membership.region);
        let table = &self.tables[self.layout.table(membership.region)];
        let heard = &self.state.heard[messages.clone()];
        let to_variables = &mut self.to_variables[messages];
        let n_actions = &self.layout.member_actions[places.clone()];
        let offsets = &self.layout.offsets[places.clone()];
        if let [n_first, _] = *n_actions {
            let (heard_first, heard_second) = heard.split_at(offsets[1]);
            let heard_first = &heard_first.as_flattened()[..n_first];
            let (to_first, to_second) = to_variables.split_at_mut(offsets[1]);
            if membership.slot == 1 {
                message_to_second(simd, table, heard_first, to_second);
            } else {
                let remaining = self.state.utilities
                    [self.layout.agent(self.layout.members[places.start])]
                .as_flattened();
                message_to_first(simd, table, heard_second, remaining, to_first.as_flattened_mut());
            }
        } else {
            region_messages(simd, table, n_actions, offsets, heard, to_variables);
            self.stale[places].fill(false);
        }
    }
}
