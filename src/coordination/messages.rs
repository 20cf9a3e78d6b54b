//! Damped, normalised Max-Sum messages on padded rows: what `max_sum` and `anytime` iterate.
//!
//! `M_{R→i}(a) = max over the others of [Q_R + Σ_k M_{k→R}]` and `M_{i→R} = Σ_{R'≠R} M_{R'→i}`,
//! each fresh message shifted so that its largest entry is 0 and mixed as `(1-d)·fresh + d·old`.

use super::FactorTables;
use super::kernel::{Chunk, LANES, apart, first_largest, larger, region_messages, row_max, zip};
use super::layout::Layout;
use super::rows::Rows;
use crate::argmax::argmax;
use crate::graph::CoordinationGraph;
use pulp::Simd;

pub(super) const FORBIDDEN: f32 = f32::NEG_INFINITY;

/// Messages of every region to its members, and the buffers to iterate them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    pub layout: Layout,
    pub utilities: Rows,
    /// Padded tables; up to date if asked for at [`Self::load`] or if `!direct`.
    pub tables: Rows,
    /// The tables of pairs by columns; up to date if asked for.
    pub turned: Rows,
    pub to_members: Rows,
    /// Utility plus all finite messages, per agent and action.
    pub beliefs: Rows,
    /// How many messages forbid the action; only kept when some payoff is minus infinity.
    refusals: Rows,
    /// The beliefs of the round that is being computed.
    pub(super) next: Rows,
    pub(super) heard: Rows,
    pub(super) fresh: Rows,
    /// The last table of long pairs, followed by what a register may read behind it.
    pub(super) last_table: Vec<f32>,
    pub hard: bool,
    /// Every region is a pair with long rows and nothing is forbidden: tables are read in place.
    direct: bool,
}

impl Messages {
    /// Takes the shape and payoffs of a problem; keeps the messages if `warm` and the shape is the
    /// same, else silences them. Copies the tables into padded rows if `padded`.
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
        self.hard = tables.has_forbidden();
        self.layout.load_agents(tables, &mut self.utilities);
        self.direct = !self.hard && self.layout.has_long_pairs_only();
        if padded || !self.direct {
            self.layout.load_regions(tables, &mut self.tables);
        }
        if padded {
            self.layout.load_turned(tables, &mut self.turned);
        }
        if self.direct {
            self.load_last_table(tables);
        }
        if !warm || !same {
            self.to_members.fill([0.0; LANES]);
        }
        let n_refusals = if self.hard { self.utilities.len() } else { 0 };
        if self.refusals.len() != n_refusals {
            self.refusals.fit(n_refusals, 0.0);
        }
    }

    /// Takes the shape of the layout.
    fn fit(&mut self) {
        let n_rows = self.layout.agent_starts[self.layout.n_agents()];
        self.to_members.fit(self.layout.message_starts[self.layout.n_regions()], 0.0);
        self.beliefs.fit(n_rows, 0.0);
        self.next.fit(n_rows, 0.0);
        self.heard.fit(self.layout.widest(), 0.0);
        self.fresh.fit(self.layout.widest(), FORBIDDEN);
    }

    /// One round: every region answers what it heard in the last round. Returns the largest change
    /// of a message; beliefs are those of the new messages.
    #[inline(always)]
    pub(crate) fn iterate<S: Simd>(&mut self, simd: S, tables: &FactorTables, damping: f32) -> f32 {
        if self.direct {
            return self.iterate_pairs(simd, tables, damping);
        }
        apart(
            simd,
            #[inline(always)]
            || {
                let mut residual = 0.0;
                for region in 0..self.layout.n_regions() {
                    self.hear(region);
                    let places = self.layout.places(region);
                    region_messages(
                        simd,
                        &self.tables[self.layout.table(region)],
                        &self.layout.member_actions[places.clone()],
                        &self.layout.offsets[places],
                        &self.heard,
                        &mut self.fresh,
                    );
                    residual = larger(self.send(simd, region, damping), residual);
                }
                self.gather();
                residual
            },
        )
    }

    /// What the members of a region tell it: their belief without the region's own message.
    #[inline(always)]
    fn hear(&mut self, region: usize) {
        let messages = &self.to_members[self.layout.messages(region)];
        for place in self.layout.places(region) {
            let agent = self.layout.agent(self.layout.members[place]);
            let offset = self.layout.offsets[place];
            let own = &messages[offset..][..agent.len()];
            let heard = &mut self.heard[offset..][..agent.len()];
            let beliefs = &self.beliefs[agent.clone()];
            if self.hard {
                let refusals = &self.refusals[agent];
                for w in 0..heard.len() {
                    heard[w] = std::array::from_fn(|lane| {
                        without(beliefs[w][lane], refusals[w][lane], own[w][lane])
                    });
                }
            } else {
                for ((to, &belief), &message) in heard.iter_mut().zip(beliefs).zip(own) {
                    *to = zip(belief, message, |x, y| x - y);
                }
            }
        }
    }

    /// Normalises and damps the fresh messages of a region into place; returns the largest change.
    #[inline(always)]
    fn send<S: Simd>(&mut self, simd: S, region: usize, damping: f32) -> f32 {
        let mut change = 0.0;
        let messages = &mut self.to_members[self.layout.messages(region)];
        for place in self.layout.places(region) {
            let n = self.layout.member_actions[place];
            let width = n.div_ceil(LANES);
            let offset = self.layout.offsets[place];
            let fresh = &mut self.fresh[offset..][..width];
            fill_padding(fresh, n, FORBIDDEN);
            let best = row_max(simd, fresh);
            let shift = if best == FORBIDDEN { 0.0 } else { best };
            fill_padding(fresh, n, shift);
            let message = messages[offset..][..width].as_flattened_mut();
            let changed = if self.hard {
                damp_hard(fresh.as_flattened(), shift, damping, message)
            } else {
                damp(simd, fresh.as_flattened(), shift, damping, message)
            };
            change = larger(changed, change);
        }
        change
    }

    /// Sums what every agent has heard (the inner sum of the action-selection rule).
    #[inline(always)]
    pub(crate) fn gather(&mut self) {
        self.beliefs.copy_from_slice(&self.utilities);
        self.refusals.fill([0.0; LANES]);
        if self.hard {
            return self.gather_hard();
        }
        for region in 0..self.layout.n_regions() {
            let messages = &self.to_members[self.layout.messages(region)];
            for place in self.layout.places(region) {
                let agent = self.layout.agent(self.layout.members[place]);
                let own = &messages[self.layout.offsets[place]..][..agent.len()];
                for (belief, &message) in self.beliefs[agent].iter_mut().zip(own) {
                    *belief = zip(*belief, message, |x, y| x + y);
                }
            }
        }
    }

    /// [`Self::gather`] that counts minus infinities apart, so that none is ever subtracted.
    #[inline(always)]
    fn gather_hard(&mut self) {
        for w in 0..self.beliefs.len() {
            for lane in 0..LANES {
                if self.beliefs[w][lane] == FORBIDDEN {
                    self.beliefs[w][lane] = 0.0;
                    self.refusals[w][lane] = 1.0;
                }
            }
        }
        for region in 0..self.layout.n_regions() {
            let messages = &self.to_members[self.layout.messages(region)];
            for place in self.layout.places(region) {
                let agent = self.layout.agent(self.layout.members[place]);
                let own = messages[self.layout.offsets[place]..].as_flattened();
                let refusals = self.refusals[agent.clone()].as_flattened_mut();
                let beliefs = self.beliefs[agent].as_flattened_mut();
                for ((belief, refusal), &message) in beliefs.iter_mut().zip(refusals).zip(own) {
                    let hard = message == FORBIDDEN;
                    *refusal += if hard { 1.0 } else { 0.0 };
                    *belief += if hard { 0.0 } else { message };
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
        if self.hard {
            let refusals = self.refusals[chunks].as_flattened();
            row.iter_mut()
                .zip(refusals)
                .filter(|(_, r)| **r > 0.0)
                .for_each(|(x, _)| *x = FORBIDDEN);
        }
    }

    /// Each agent's best action by its own belief (the action-selection rule).
    #[inline(always)]
    pub(crate) fn decode<S: Simd>(&self, simd: S, row: &mut Vec<f32>, action: &mut Vec<usize>) {
        apart(
            simd,
            #[inline(always)]
            || {
                action.clear();
                let beliefs = &*self.beliefs;
                for agent in 0..self.layout.n_agents() {
                    if self.hard {
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

/// Writes what lies behind the `n` numbers of a row; lane by lane, unlike a `fill` of unknown length.
#[inline(always)]
pub(super) fn fill_padding(row: &mut [Chunk<f32>], n: usize, value: f32) {
    let whole = row.len().saturating_sub(1) * LANES;
    if let Some(last) = row.last_mut() {
        for (lane, x) in last.iter_mut().enumerate() {
            *x = if whole + lane < n { *x } else { value };
        }
    }
}

/// The belief without one message, where forbidden actions are counted apart.
#[inline(always)]
fn without(belief: f32, refusals: f32, message: f32) -> f32 {
    let (refusals, own) =
        if message == FORBIDDEN { (refusals - 1.0, 0.0) } else { (refusals, message) };
    if refusals > 0.0 { FORBIDDEN } else { belief - own }
}

/// `message = (1-d)·(fresh - shift) + d·message`; returns the largest change.
#[inline(always)]
fn damp<S: Simd>(simd: S, fresh: &[f32], shift: f32, damping: f32, message: &mut [f32]) -> f32 {
    let (keep, take) = (simd.splat_f32s(damping), simd.splat_f32s(1.0 - damping));
    let shift = simd.splat_f32s(shift);
    let mut change = simd.splat_f32s(0.0);
    for (old, &fresh) in S::as_mut_simd_f32s(message).0.iter_mut().zip(S::as_simd_f32s(fresh).0) {
        let taken = simd.mul_f32s(take, simd.sub_f32s(fresh, shift));
        let new = simd.add_f32s(taken, simd.mul_f32s(keep, *old));
        change = simd.max_f32s(simd.abs_f32s(simd.sub_f32s(new, *old)), change);
        *old = new;
    }
    simd.reduce_max_f32s(change)
}

/// [`damp`] that never averages a forbidden entry and counts its coming and going as no change.
#[inline(always)]
fn damp_hard(fresh: &[f32], shift: f32, damping: f32, message: &mut [f32]) -> f32 {
    let mut change = 0.0;
    for (old, &fresh) in message.iter_mut().zip(fresh) {
        let fresh = fresh - shift;
        let hard = fresh == FORBIDDEN || *old == FORBIDDEN;
        let new = if hard { fresh } else { (1.0 - damping) * fresh + damping * *old };
        change = if hard { change } else { larger((new - *old).abs(), change) };
        *old = new;
    }
    change
}
