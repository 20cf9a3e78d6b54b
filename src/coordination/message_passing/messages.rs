//! Damped, normalised Max-Sum messages on padded rows: what `max_sum` and `anytime` iterate.
//!
//! `M_{R→i}(a) = max over the others of [Q_R + Σ_k M_{k→R}]` and `M_{i→R} = Σ_{R'≠R} M_{R'→i}`,
//! each fresh message normalised so that its largest entry is 0 and damped as `(1-d)·fresh + d·old`.

use super::kernel::{LANES, first_largest, larger, outlined, region_messages, row_max, zip};
use super::message_layout::MessageLayout;
use super::padded_rows::PaddedRows;
use super::row_arithmetic::fill_padding;
use crate::argmax::argmax;
use crate::coordination::FactorTables;
use crate::graph::CoordinationGraph;
use pulp::Simd;

pub(super) const FORBIDDEN: f32 = f32::NEG_INFINITY;

/// Messages of every region to its members, and the buffers to iterate them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    pub layout: MessageLayout,
    pub utilities: PaddedRows,
    /// Padded tables; up to date if asked for at [`Self::load`] or if `!direct`.
    pub tables: PaddedRows,
    /// The tables of pairs by columns; up to date if asked for.
    pub transposed: PaddedRows,
    pub to_agents: PaddedRows,
    /// Utility plus all finite messages, per agent and action.
    pub beliefs: PaddedRows,
    /// How many messages forbid the action; only kept when some payoff is minus infinity.
    forbidden_counts: PaddedRows,
    /// The beliefs of the round that is being computed.
    pub(super) next: PaddedRows,
    pub(super) incoming: PaddedRows,
    pub(super) fresh: PaddedRows,
    /// The last table of long pairs, followed by what a register may read behind it.
    pub(super) last_table: Vec<f32>,
    pub has_forbidden: bool,
    /// Every region is a pair with long rows and nothing is forbidden: tables are read in place.
    direct: bool,
}

impl Messages {
    /// Takes the shape and payoffs of a problem; keeps the messages if `warm` and the shape is the
    /// same, else zeroes them. Copies the tables into padded rows if `padded`.
    pub(crate) fn load(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        warm: bool,
        padded: bool,
    ) {
        let same = self.layout.is_of(graph, tables.n_actions());
        if !same {
            self.layout.fit(graph, tables.n_actions());
            self.fit();
        }
        self.has_forbidden = tables.has_forbidden();
        self.layout.load_agents(tables, &mut self.utilities);
        self.direct = !self.has_forbidden && self.layout.has_long_pairs_only();
        if padded || !self.direct {
            self.layout.load_regions(tables, &mut self.tables);
        }
        if padded {
            self.layout.load_transposed(tables, &mut self.transposed);
        }
        if self.direct {
            self.load_last_table(tables);
        }
        if !warm || !same {
            self.to_agents.fill([0.0; LANES]);
        }
        let n_refusals = if self.has_forbidden { self.utilities.len() } else { 0 };
        if self.forbidden_counts.len() != n_refusals {
            self.forbidden_counts.fit(n_refusals, 0.0);
        }
    }

    /// Takes the shape of the layout.
    fn fit(&mut self) {
        let n_rows = self.layout.agent_starts[self.layout.n_agents()];
        self.to_agents.fit(self.layout.message_starts[self.layout.n_regions()], 0.0);
        self.beliefs.fit(n_rows, 0.0);
        self.next.fit(n_rows, 0.0);
        self.incoming.fit(self.layout.widest_region(), 0.0);
        self.fresh.fit(self.layout.widest_region(), FORBIDDEN);
    }

    /// Takes what each region says when its other members do as in `start` for its messages:
    /// `M_{R→i}(a) = Q_R(a, start of the others)`, the largest entry 0. After [`Self::load`] without
    /// warmth, where nothing is forbidden.
    pub(super) fn begin_at(&mut self, tables: &FactorTables, start: &[usize]) {
        let fits = start.iter().zip(&self.layout.n_actions).all(|(action, n)| action < n);
        let n_agents = self.layout.n_agents();
        assert!(fits && start.len() == n_agents, "{start:?} is no joint action of {n_agents}");
        for region in 0..self.layout.n_regions() {
            let (table, places) = (tables.region(region), self.layout.places(region));
            let entry = tables.entry(&self.layout.members[places.clone()], start);
            let messages = &mut self.to_agents[self.layout.messages(region)];
            let mut stride = 1;
            for place in places.rev() {
                let n = self.layout.member_actions[place];
                let first = entry - start[self.layout.members[place]] * stride;
                let payoffs = table[first..].iter().step_by(stride).take(n);
                let largest = payoffs.clone().fold(FORBIDDEN, |best, &payoff| larger(payoff, best));
                let message = messages[self.layout.offsets[place]..].as_flattened_mut();
                message.iter_mut().zip(payoffs).for_each(|(to, payoff)| *to = payoff - largest);
                stride *= n;
            }
        }
    }

    /// One round: every region answers the messages of the last round. Returns the largest change
    /// of a message; beliefs are those of the new messages.
    #[inline(always)]
    pub(crate) fn iterate<S: Simd>(&mut self, simd: S, tables: &FactorTables, damping: f32) -> f32 {
        if self.direct {
            return self.iterate_pairs(simd, tables, damping);
        }
        outlined(
            simd,
            #[inline(always)]
            || {
                let mut residual = 0.0;
                for region in 0..self.layout.n_regions() {
                    self.messages_to_region(region);
                    let places = self.layout.places(region);
                    region_messages(
                        simd,
                        &self.tables[self.layout.table(region)],
                        &self.layout.member_actions[places.clone()],
                        &self.layout.offsets[places],
                        &self.incoming,
                        &mut self.fresh,
                    );
                    residual = larger(self.damp_messages(simd, region, damping), residual);
                }
                self.sum_beliefs();
                residual
            },
        )
    }

    /// The messages of the members of a region to it: their belief without the region's own message.
    #[inline(always)]
    fn messages_to_region(&mut self, region: usize) {
        let messages = &self.to_agents[self.layout.messages(region)];
        for place in self.layout.places(region) {
            let agent = self.layout.agent(self.layout.members[place]);
            let offset = self.layout.offsets[place];
            let own = &messages[offset..][..agent.len()];
            let incoming = &mut self.incoming[offset..][..agent.len()];
            let beliefs = &self.beliefs[agent.clone()];
            if self.has_forbidden {
                let forbidden_counts = &self.forbidden_counts[agent];
                for w in 0..incoming.len() {
                    incoming[w] = std::array::from_fn(|lane| {
                        without(beliefs[w][lane], forbidden_counts[w][lane], own[w][lane])
                    });
                }
            } else {
                for ((to, &belief), &message) in incoming.iter_mut().zip(beliefs).zip(own) {
                    *to = zip(belief, message, |x, y| x - y);
                }
            }
        }
    }

    /// Normalises and damps the fresh messages of a region into place; returns the largest change.
    #[inline(always)]
    fn damp_messages<S: Simd>(&mut self, simd: S, region: usize, damping: f32) -> f32 {
        let mut change = 0.0;
        let messages = &mut self.to_agents[self.layout.messages(region)];
        for place in self.layout.places(region) {
            let n = self.layout.member_actions[place];
            let width = n.div_ceil(LANES);
            let offset = self.layout.offsets[place];
            let fresh = &mut self.fresh[offset..][..width];
            fill_padding(fresh, n, FORBIDDEN);
            let best = row_max(simd, fresh);
            let largest = if best == FORBIDDEN { 0.0 } else { best };
            fill_padding(fresh, n, largest);
            let message = messages[offset..][..width].as_flattened_mut();
            let changed = if self.has_forbidden {
                damp_with_forbidden(fresh.as_flattened(), largest, damping, message)
            } else {
                damp(simd, fresh.as_flattened(), largest, damping, message)
            };
            change = larger(changed, change);
        }
        change
    }

    /// Sums the messages to every agent (the inner sum of the action-selection rule).
    #[inline(always)]
    pub(crate) fn sum_beliefs(&mut self) {
        self.beliefs.copy_from_slice(&self.utilities);
        self.forbidden_counts.fill([0.0; LANES]);
        if self.has_forbidden {
            return self.sum_beliefs_with_forbidden();
        }
        for region in 0..self.layout.n_regions() {
            let messages = &self.to_agents[self.layout.messages(region)];
            for place in self.layout.places(region) {
                let agent = self.layout.agent(self.layout.members[place]);
                let own = &messages[self.layout.offsets[place]..][..agent.len()];
                for (belief, &message) in self.beliefs[agent].iter_mut().zip(own) {
                    *belief = zip(*belief, message, |x, y| x + y);
                }
            }
        }
    }

    /// [`Self::sum_beliefs`] that counts minus infinities apart, so that none is ever subtracted.
    #[inline(always)]
    fn sum_beliefs_with_forbidden(&mut self) {
        for w in 0..self.beliefs.len() {
            for lane in 0..LANES {
                if self.beliefs[w][lane] == FORBIDDEN {
                    self.beliefs[w][lane] = 0.0;
                    self.forbidden_counts[w][lane] = 1.0;
                }
            }
        }
        for region in 0..self.layout.n_regions() {
            let messages = &self.to_agents[self.layout.messages(region)];
            for place in self.layout.places(region) {
                let agent = self.layout.agent(self.layout.members[place]);
                let own = messages[self.layout.offsets[place]..].as_flattened();
                let forbidden_counts = self.forbidden_counts[agent.clone()].as_flattened_mut();
                let beliefs = self.beliefs[agent].as_flattened_mut();
                for ((belief, forbidden_count), &message) in
                    beliefs.iter_mut().zip(forbidden_counts).zip(own)
                {
                    let has_forbidden = message == FORBIDDEN;
                    *forbidden_count += if has_forbidden { 1.0 } else { 0.0 };
                    *belief += if has_forbidden { 0.0 } else { message };
                }
            }
        }
    }

    /// Writes the beliefs of one agent: minus infinity where some message forbids the action.
    pub(crate) fn belief(&self, agent: usize, row: &mut Vec<f32>) {
        row.clear();
        let chunks = self.layout.agent(agent);
        let n = self.layout.n_actions[agent];
        row.extend_from_slice(&self.beliefs[chunks.clone()].as_flattened()[..n]);
        if self.has_forbidden {
            let forbidden_counts = self.forbidden_counts[chunks].as_flattened();
            row.iter_mut()
                .zip(forbidden_counts)
                .filter(|(_, r)| **r > 0.0)
                .for_each(|(x, _)| *x = FORBIDDEN);
        }
    }

    /// Each agent's best action by its own belief (the action-selection rule).
    #[inline(always)]
    pub(crate) fn decode<S: Simd>(&self, simd: S, row: &mut Vec<f32>, action: &mut Vec<usize>) {
        outlined(
            simd,
            #[inline(always)]
            || {
                action.clear();
                let beliefs = &*self.beliefs;
                for agent in 0..self.layout.n_agents() {
                    if self.has_forbidden {
                        self.belief(agent, row);
                        action.push(argmax(row));
                    } else {
                        action.push(first_largest(simd, &beliefs[self.layout.agent(agent)]).0);
                    }
                }
            },
        );
    }
}

/// The belief without one message, where forbidden actions are counted apart.
#[inline(always)]
fn without(belief: f32, forbidden_counts: f32, message: f32) -> f32 {
    let (forbidden_counts, own) = if message == FORBIDDEN {
        (forbidden_counts - 1.0, 0.0)
    } else {
        (forbidden_counts, message)
    };
    if forbidden_counts > 0.0 { FORBIDDEN } else { belief - own }
}

/// `message = (1-d)·(fresh - largest) + d·message`; returns the largest change.
#[inline(always)]
fn damp<S: Simd>(simd: S, fresh: &[f32], largest: f32, damping: f32, message: &mut [f32]) -> f32 {
    let (keep, take) = (simd.splat_f32s(damping), simd.splat_f32s(1.0 - damping));
    let largest = simd.splat_f32s(largest);
    let mut change = simd.splat_f32s(0.0);
    for (old, &fresh) in S::as_mut_simd_f32s(message).0.iter_mut().zip(S::as_simd_f32s(fresh).0) {
        let taken = simd.mul_f32s(take, simd.sub_f32s(fresh, largest));
        let new = simd.add_f32s(taken, simd.mul_f32s(keep, *old));
        change = simd.max_f32s(simd.abs_f32s(simd.sub_f32s(new, *old)), change);
        *old = new;
    }
    simd.reduce_max_f32s(change)
}

/// [`damp`] that never averages a forbidden entry and counts its coming and going as no change.
#[inline(always)]
fn damp_with_forbidden(fresh: &[f32], largest: f32, damping: f32, message: &mut [f32]) -> f32 {
    let mut change = 0.0;
    for (old, &fresh) in message.iter_mut().zip(fresh) {
        let fresh = fresh - largest;
        let has_forbidden = fresh == FORBIDDEN || *old == FORBIDDEN;
        let new = if has_forbidden { fresh } else { (1.0 - damping) * fresh + damping * *old };
        change = if has_forbidden { change } else { larger((new - *old).abs(), change) };
        *old = new;
    }
    change
}
