//! Improving a joint action by changing one agent or one pair of agents at a time.
//!
//! Keeps, for every agent, the payoff of each of its actions given what the others do:
//! `s_i(a) = u_i(a) + Σ_{R∋i} Q_R(a, a_{R∖i})`.

use super::kernel::{Chunk, LANES, apart, first_largest};
use super::layout::Layout;
use super::replies::{add, best_columns, exchange, replace_row, subtract};
use super::rows::Rows;
use super::triples::{Triangle, triangles};
use super::view::View;
use pulp::Simd;

/// A move must gain more than this share of the payoffs it touches.
pub(crate) const LEAST_GAIN: f32 = 1e-5;

/// A joint action and what each agent could gain alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalSearch {
    pub action: Vec<usize>,
    scores: Rows,
    /// Index of the current entry in each region's padded table.
    entries: Vec<usize>,
    /// Regions whose two agents share no other region: their pair moves are exact.
    simple_pairs: Vec<bool>,
    shape: Layout,
    /// When each agent's scores last changed, and when each region was last found without gain.
    touched: Vec<u64>,
    checked: Vec<u64>,
    clock: u64,
    /// Agents whose scores changed since they last replied, and a mark for each.
    pending: Vec<usize>,
    is_pending: Vec<bool>,
    pub(crate) triangles: Vec<Triangle>,
    pub(crate) first: Rows,
    pub(crate) second: Rows,
    pub(crate) third: Rows,
    pub(crate) given_first: Rows,
    pub(crate) given_second: Rows,
    pub(crate) best: Rows,
    /// Agents that moved and what they did before, to take moves back.
    pub undo: Vec<(usize, usize)>,
}

impl LocalSearch {
    /// Takes the shape of a problem.
    pub(crate) fn fit(&mut self, view: View) {
        let layout = &view.messages.layout;
        if self.shape == *layout {
            return;
        }
        self.shape.copy_from(layout);
        let graph = view.graph;
        self.simple_pairs.clear();
        self.simple_pairs.extend(graph.regions().map(|members| match *members {
            [i, j] => {
                let shared = |seat: &&crate::graph::Seat| graph.region(seat.region).contains(&j);
                graph.seats_of(i).iter().filter(shared).count() == 1
            }
            _ => false,
        }));
        self.scores.fit(layout.agent_starts[layout.n_agents()], 0.0);
        let widest = layout.n_actions.iter().map(|n| n.div_ceil(LANES)).max().unwrap_or(0);
        triangles(view, &self.simple_pairs, &mut self.triangles);
        for buffer in [
            &mut self.first,
            &mut self.second,
            &mut self.third,
            &mut self.given_first,
            &mut self.given_second,
            &mut self.best,
        ] {
            buffer.fit(widest, 0.0);
        }
        self.entries.resize(layout.n_regions(), 0);
        self.is_pending.resize(layout.n_agents(), false);
    }

    /// Starts from a joint action.
    #[inline(always)]
    pub(crate) fn start<S: Simd>(&mut self, simd: S, view: View, action: &[usize]) {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                self.action.clear();
                self.action.extend_from_slice(action);
                self.undo.clear();
                self.clock = 1;
                self.touched.clear();
                self.touched.resize(action.len(), 1);
                self.checked.clear();
                self.checked.resize(layout.n_regions(), 0);
                for region in 0..layout.n_regions() {
                    self.entries[region] = layout
                        .places(region)
                        .map(|place| action[layout.members[place]] * layout.strides[place])
                        .sum();
                }
                self.pending.clear();
                self.pending.extend(0..action.len());
                self.is_pending.fill(true);
                self.scores.copy_from_slice(&view.messages.utilities);
                for region in 0..layout.n_regions() {
                    for place in layout.places(region) {
                        self.add_row(simd, view, region, place);
                    }
                }
            },
        );
    }

    /// Adds the row of a region's table along one member to that member's scores.
    #[inline(always)]
    fn add_row<S: Simd>(&mut self, simd: S, view: View, region: usize, place: usize) {
        let layout = &view.messages.layout;
        let (agent, stride) = (layout.members[place], layout.strides[place]);
        let scores = &mut self.scores[layout.agent(agent)];
        if layout.is_pair(region) {
            let start = layout.region_places[region];
            let other = layout.members[2 * start + 1 - place];
            let row = view.given(region, place - start, self.action[other]);
            add(simd, scores, row);
            return;
        }
        let row = &view.table(region)[self.entries[region] - self.action[agent] * stride..];
        let scores = &mut scores.as_flattened_mut()[..layout.member_actions[place]];
        scores.iter_mut().zip(row.iter().step_by(stride)).for_each(|(score, &x)| *score += x);
    }

    /// Computes one agent's scores anew, without one region if told.
    #[inline(always)]
    fn rescore<S: Simd>(&mut self, simd: S, view: View, agent: usize, without: Option<usize>) {
        apart(
            simd,
            #[inline(always)]
            || {
                let chunks = view.messages.layout.agent(agent);
                self.scores[chunks.clone()].copy_from_slice(&view.messages.utilities[chunks]);
                for seat in view.graph.seats_of(agent) {
                    if Some(seat.region) != without {
                        let place = view.messages.layout.region_places[seat.region] + seat.slot;
                        self.add_row(simd, view, seat.region, place);
                    }
                }
            },
        );
    }

    /// What the agent's best action would gain alone, and that action.
    #[inline(always)]
    fn best_reply<S: Simd>(&self, simd: S, layout: &Layout, agent: usize) -> (f32, usize) {
        let scores = &self.scores[layout.agent(agent)];
        let (best, score) = first_largest(simd, scores);
        (score - scores.as_flattened()[self.action[agent]], best)
    }

    /// The padded row of [`Self::scores`].
    #[inline(always)]
    pub(crate) fn score_row(&self, layout: &Layout, agent: usize) -> &[Chunk<f32>] {
        &self.scores[layout.agent(agent)]
    }

    /// Payoff of each action of an agent, given the others.
    #[inline(always)]
    pub(crate) fn scores(&self, layout: &Layout, agent: usize) -> &[f32] {
        &self.scores[layout.agent(agent)].as_flattened()[..layout.n_actions[agent]]
    }

    /// Changes one agent's action and the scores of all who share a region with it.
    #[inline(always)]
    pub(crate) fn set<S: Simd>(&mut self, simd: S, view: View, agent: usize, to: usize) {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                self.clock += 1;
                self.touched[agent] = self.clock;
                self.undo.push((agent, self.action[agent]));
                let from = std::mem::replace(&mut self.action[agent], to);
                for seat in view.graph.seats_of(agent) {
                    let places = layout.places(seat.region);
                    let stride = layout.strides[places.start + seat.slot];
                    let old = self.entries[seat.region];
                    let new = old + to * stride - from * stride;
                    self.entries[seat.region] = new;
                    for place in places {
                        let other = layout.members[place];
                        if other == agent {
                            continue;
                        }
                        self.touched[other] = self.clock;
                        if !self.is_pending[other] {
                            self.is_pending[other] = true;
                            self.pending.push(other);
                        }
                        if view.messages.hard {
                            continue;
                        }
                        let scores = &mut self.scores[layout.agent(other)];
                        if layout.is_pair(seat.region) {
                            let from = view.given(seat.region, 1 - seat.slot, from);
                            let to = view.given(seat.region, 1 - seat.slot, to);
                            exchange(simd, scores, from, to);
                            continue;
                        }
                        let stride = layout.strides[place];
                        let back = self.action[other] * stride;
                        let table = view.table(seat.region);
                        let scores = &mut scores.as_flattened_mut()[..layout.member_actions[place]];
                        replace_row(scores, &table[old - back..], &table[new - back..], stride);
                    }
                }
                if view.messages.hard {
                    for seat in view.graph.seats_of(agent) {
                        for &other in view.graph.region(seat.region) {
                            self.rescore(simd, view, other, None);
                        }
                    }
                }
            },
        );
    }

    /// Takes the current action as one that no single move improves.
    #[inline(always)]
    pub(crate) fn settle(&mut self) {
        while let Some(agent) = self.pending.pop() {
            self.is_pending[agent] = false;
        }
    }

    /// Takes back every move since the last `undo.clear()`.
    #[inline(always)]
    pub(crate) fn take_back<S: Simd>(&mut self, simd: S, view: View) {
        while let Some((agent, action)) = self.undo.pop() {
            self.set(simd, view, agent, action);
            self.undo.pop();
        }
        self.settle();
    }

    /// Single moves until none gains; a `frozen` agent stays. Returns the total gain.
    #[inline(always)]
    pub(crate) fn ascend<S: Simd>(&mut self, simd: S, view: View, frozen: Option<usize>) -> f32 {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                let mut total = 0.0;
                let mut next = 0;
                while next < self.pending.len() {
                    let agent = self.pending[next];
                    next += 1;
                    self.is_pending[agent] = false;
                    if frozen == Some(agent) {
                        continue;
                    }
                    let (gain, to) = self.best_reply(simd, layout, agent);
                    if gain > self.least(layout, agent, to) {
                        self.set(simd, view, agent, to);
                        total += gain;
                    }
                }
                self.pending.clear();
                total
            },
        )
    }

    /// Single and pair moves until none gains. Returns the total gain.
    #[inline(always)]
    pub(crate) fn ascend_pairs<S: Simd>(&mut self, simd: S, view: View) -> f32 {
        apart(
            simd,
            #[inline(always)]
            || {
                let mut total = self.ascend(simd, view, None);
                loop {
                    let mut gained = 0.0;
                    for region in 0..self.entries.len() {
                        if self.simple_pairs[region] {
                            gained += self.improve_pair(simd, view, region);
                        }
                    }
                    total += gained;
                    if gained == 0.0 {
                        return total;
                    }
                    total += self.ascend(simd, view, None);
                }
            },
        )
    }

    /// The best joint move of one pair, made if it gains.
    #[inline(always)]
    fn improve_pair<S: Simd>(&mut self, simd: S, view: View, region: usize) -> f32 {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                let place = layout.region_places[region];
                let (i, j) = (layout.members[place], layout.members[place + 1]);
                if self.checked[region] > self.touched[i].max(self.touched[j]) {
                    return 0.0;
                }
                self.checked[region] = self.clock + 1;
                self.scores_without(simd, view, region, i, j);
                let widths = layout.widths(i, j);
                let table = &view.messages.tables[layout.table(region)];
                let best = &mut self.best[..widths[1]];
                best_columns(simd, table, &self.first, best);
                add(simd, best, &self.second[..widths[1]]);
                let (b, value) = first_largest(simd, best);
                let (first, second) = (self.first.as_flattened(), self.second.as_flattened());
                let (a_now, b_now) = (self.action[i], self.action[j]);
                let now = table.as_flattened()[a_now * widths[1] * LANES + b_now]
                    + first[a_now]
                    + second[b_now];
                let gain = value - now;
                if gain > LEAST_GAIN * (1.0 + now.abs()) {
                    add(simd, &mut self.first[..widths[0]], view.given(region, 0, b));
                    let (a, _) = first_largest(simd, &self.first[..widths[0]]);
                    self.set(simd, view, i, a);
                    self.set(simd, view, j, b);
                    return gain;
                }
                0.0
            },
        )
    }

    /// Writes the scores of both agents of a pair without their common region.
    #[inline(always)]
    pub(crate) fn scores_without<S: Simd>(
        &mut self,
        simd: S,
        view: View,
        region: usize,
        i: usize,
        j: usize,
    ) {
        let layout = &view.messages.layout;
        if view.messages.hard {
            self.rescore(simd, view, i, Some(region));
            self.rescore(simd, view, j, Some(region));
        }
        let (chunks_i, chunks_j) = (layout.agent(i), layout.agent(j));
        self.first[..chunks_i.len()].copy_from_slice(&self.scores[chunks_i]);
        self.second[..chunks_j.len()].copy_from_slice(&self.scores[chunks_j]);
        if view.messages.hard {
            self.rescore(simd, view, i, None);
            self.rescore(simd, view, j, None);
            return;
        }
        let widths = layout.widths(i, j);
        let first = &mut self.first[..widths[0]];
        subtract(simd, first, view.given(region, 0, self.action[j]));
        subtract(simd, &mut self.second[..widths[1]], view.given(region, 1, self.action[i]));
    }

    #[inline(always)]
    fn least(&self, layout: &Layout, agent: usize, action: usize) -> f32 {
        LEAST_GAIN * (1.0 + self.scores(layout, agent)[action].abs())
    }
}
