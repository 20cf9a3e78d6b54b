//! Improving a joint action by changing one, two or three agents at a time.
//!
//! Keeps, for every agent, the payoff of each of its actions given what the others do:
//! `s_i(a) = u_i(a) + Σ_{R∋i} Q_R(a, a_{R∖i})`.

mod agent_queue;
mod pair_moves;
mod perturbation;
mod triple_moves;

use super::message_passing::kernel::{Chunk, first_largest, outlined};
use super::message_passing::message_layout::MessageLayout;
use super::message_passing::padded_rows::PaddedRows;
use super::message_passing::row_arithmetic::{add, exchange, replace_strided};
use super::padded_problem::{Assignment, PaddedProblem};
use crate::graph::Membership;
use agent_queue::AgentQueue;
use pair_moves::PairMoves;
use perturbation::Alternative;
use pulp::Simd;
use triple_moves::TripleMoves;

/// A move must gain more than this share of the payoffs it touches.
const LEAST_GAIN: f32 = 1e-5;

/// A joint action and what each agent could gain alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalSearch {
    pub action: Vec<usize>,
    scores: PaddedRows,
    /// Index of the current entry in each region's padded table.
    entries: Vec<usize>,
    shape: MessageLayout,
    /// When each agent's scores last changed, on a clock that counts moves.
    changed_at: Vec<u64>,
    clock: u64,
    /// Agents whose scores changed since they last responded.
    pending: AgentQueue,
    pairs: PairMoves,
    triples: TripleMoves,
    alternatives: Vec<Alternative>,
    /// What moved agents did before, to take moves back.
    undo: Vec<Assignment>,
}

/// What the move of one member changes in a region.
#[derive(Clone, Copy)]
struct RegionChange {
    mover: Membership,
    from: usize,
    to: usize,
    /// Index of the current entry before the move and after it.
    old_entry: usize,
    new_entry: usize,
}

impl LocalSearch {
    /// Takes the shape of a problem.
    pub(crate) fn fit(&mut self, problem: PaddedProblem) {
        let layout = problem.layout();
        if self.shape == *layout {
            return;
        }
        self.shape.copy_from(layout);
        self.scores.fit(layout.agent_starts[layout.n_agents()], 0.0);
        self.entries.resize(layout.n_regions(), 0);
        self.pairs.fit(problem);
        self.triples.fit(problem, &self.pairs);
    }

    /// Starts from a joint action.
    #[inline(always)]
    pub(crate) fn start<S: Simd>(&mut self, simd: S, problem: PaddedProblem, action: &[usize]) {
        outlined(
            simd,
            #[inline(always)]
            || {
                let layout = problem.layout();
                self.action.clear();
                self.action.extend_from_slice(action);
                self.undo.clear();
                self.clock = 1;
                self.changed_at.clear();
                self.changed_at.resize(action.len(), 1);
                self.pairs.forget(layout.n_regions());
                self.pending.fill(action.len());
                for region in 0..layout.n_regions() {
                    self.entries[region] = layout
                        .places(region)
                        .map(|place| action[layout.members[place]] * layout.strides[place])
                        .sum();
                }
                self.scores.copy_from_slice(&problem.messages.utilities);
                for region in 0..layout.n_regions() {
                    for place in layout.places(region) {
                        self.add_payoffs(simd, problem, region, place);
                    }
                }
            },
        );
    }

    /// Adds a region's payoffs along one member to that member's scores.
    #[inline(always)]
    fn add_payoffs<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        region: usize,
        place: usize,
    ) {
        let layout = problem.layout();
        let (agent, stride) = (layout.members[place], layout.strides[place]);
        let scores = &mut self.scores[layout.agent(agent)];
        if layout.is_pair(region) {
            let slot = place - layout.region_places[region];
            let other = layout.members[layout.region_places[region] + 1 - slot];
            add(simd, scores, problem.payoffs_given(region, slot, self.action[other]));
            return;
        }
        let first_entry = self.entries[region] - self.action[agent] * stride;
        let payoffs = problem.table(region).as_flattened()[first_entry..].iter().step_by(stride);
        let scores = &mut scores.as_flattened_mut()[..layout.member_actions[place]];
        scores.iter_mut().zip(payoffs).for_each(|(score, &x)| *score += x);
    }

    /// Computes one agent's scores anew, without one region if given.
    #[inline(always)]
    fn rescore<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        agent: usize,
        without: Option<usize>,
    ) {
        outlined(
            simd,
            #[inline(always)]
            || {
                let layout = problem.layout();
                let chunks = layout.agent(agent);
                self.scores[chunks.clone()].copy_from_slice(&problem.messages.utilities[chunks]);
                for &Membership { region, slot } in problem.graph.memberships_of(agent) {
                    if Some(region) != without {
                        let place = layout.region_places[region] + slot;
                        self.add_payoffs(simd, problem, region, place);
                    }
                }
            },
        );
    }

    /// The padded row of [`Self::scores`].
    #[inline(always)]
    fn score_row(&self, layout: &MessageLayout, agent: usize) -> &[Chunk<f32>] {
        &self.scores[layout.agent(agent)]
    }

    /// Payoff of each action of an agent, given the others.
    #[inline(always)]
    fn scores(&self, layout: &MessageLayout, agent: usize) -> &[f32] {
        &self.score_row(layout, agent).as_flattened()[..layout.n_actions[agent]]
    }

    /// Changes one agent's action and the scores of all who share a region with it.
    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, problem: PaddedProblem, agent: usize, to: usize) {
        outlined(
            simd,
            #[inline(always)]
            || {
                let from = std::mem::replace(&mut self.action[agent], to);
                self.undo.push(Assignment { agent, action: from });
                self.clock += 1;
                self.changed_at[agent] = self.clock;
                for &mover in problem.graph.memberships_of(agent) {
                    let change = self.move_entry(problem.layout(), mover, from, to);
                    self.tell_members(simd, problem, change);
                }
                if problem.has_forbidden() {
                    self.rescore_neighbours(simd, problem, agent);
                }
            },
        );
    }

    /// Moves the current entry of one region along the table's axis of the mover.
    #[inline(always)]
    fn move_entry(
        &mut self,
        layout: &MessageLayout,
        mover: Membership,
        from: usize,
        to: usize,
    ) -> RegionChange {
        let stride = layout.strides[layout.region_places[mover.region] + mover.slot];
        let old_entry = self.entries[mover.region];
        let new_entry = old_entry + to * stride - from * stride;
        self.entries[mover.region] = new_entry;
        RegionChange { mover, from, to, old_entry, new_entry }
    }

    /// Lets the other members of a region respond to a move in it.
    #[inline(always)]
    fn tell_members<S: Simd>(&mut self, simd: S, problem: PaddedProblem, change: RegionChange) {
        let layout = problem.layout();
        let places = layout.places(change.mover.region);
        let own_place = places.start + change.mover.slot;
        for place in places.filter(|&place| place != own_place) {
            let member = layout.members[place];
            self.changed_at[member] = self.clock;
            self.pending.push(member);
            if !problem.has_forbidden() {
                self.update_scores(simd, problem, change, place);
            }
        }
    }

    /// `s_k += Q_R(·, after the move) - Q_R(·, before it)` for the member at one place.
    #[inline(always)]
    fn update_scores<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        change: RegionChange,
        place: usize,
    ) {
        let layout = problem.layout();
        let Membership { region, slot } = change.mover;
        let member = layout.members[place];
        let scores = &mut self.scores[layout.agent(member)];
        if layout.is_pair(region) {
            let old = problem.payoffs_given(region, 1 - slot, change.from);
            let new = problem.payoffs_given(region, 1 - slot, change.to);
            exchange(simd, scores, old, new);
            return;
        }
        let stride = layout.strides[place];
        let own_offset = self.action[member] * stride;
        let table = problem.table(region).as_flattened();
        let old = &table[change.old_entry - own_offset..];
        let new = &table[change.new_entry - own_offset..];
        let scores = &mut scores.as_flattened_mut()[..layout.member_actions[place]];
        replace_strided(scores, old, new, stride);
    }

    /// Sums the scores of all who share a region with an agent anew: minus infinities cannot be
    /// subtracted again.
    #[inline(always)]
    fn rescore_neighbours<S: Simd>(&mut self, simd: S, problem: PaddedProblem, agent: usize) {
        for membership in problem.graph.memberships_of(agent) {
            for &member in problem.graph.region(membership.region) {
                self.rescore(simd, problem, member, None);
            }
        }
    }

    /// Takes the current action as one that no single move improves.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        self.pending.clear();
    }

    /// Forgets the moves so far: [`Self::undo_moves`] will come back to this joint action.
    #[inline(always)]
    fn mark(&mut self) {
        self.undo.clear();
    }

    /// Takes back every move since the last [`Self::mark`].
    #[inline(always)]
    fn undo_moves<S: Simd>(&mut self, simd: S, problem: PaddedProblem) {
        while let Some(Assignment { agent, action }) = self.undo.pop() {
            self.set(simd, problem, agent, action);
            self.undo.pop();
        }
        self.settle();
    }

    /// Single moves until none gains; a `frozen` agent stays. Returns the total gain.
    #[inline(always)]
    pub(crate) fn ascend<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        frozen: Option<usize>,
    ) -> f32 {
        outlined(
            simd,
            #[inline(always)]
            || {
                let layout = problem.layout();
                let mut total = 0.0;
                while let Some(agent) = self.pending.pop() {
                    if frozen == Some(agent) {
                        continue;
                    }
                    let scores = self.score_row(layout, agent);
                    let (best_response, score) = first_largest(simd, scores);
                    let gain = score - scores.as_flattened()[self.action[agent]];
                    if gain > LEAST_GAIN * (1.0 + score.abs()) {
                        self.set(simd, problem, agent, best_response);
                        total += gain;
                    }
                }
                total
            },
        )
    }
}
