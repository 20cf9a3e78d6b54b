//! Improving a joint action by changing three mutually coupled agents at once.

use super::kernel::{Chunk, LANES, apart, first_largest, row_max};
use super::local_search::{LEAST_GAIN, LocalSearch};
use super::replies::{add, best_columns, subtract};
use super::view::View;
use pulp::Simd;

/// One agent and the pair it is joined to by two more regions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    third: usize,
    pair: usize,
    to_first: usize,
    to_second: usize,
}

/// Every triangle of simple pairs.
pub(crate) fn triangles(view: View, simple_pairs: &[bool], found: &mut Vec<Triangle>) {
    found.clear();
    let graph = view.graph;
    for pair in (0..graph.n_regions()).filter(|&region| simple_pairs[region]) {
        let (i, j) = (graph.region(pair)[0], graph.region(pair)[1]);
        for seat in graph.seats_of(i).iter().filter(|seat| simple_pairs[seat.region]) {
            let third = graph.region(seat.region)[1 - seat.slot];
            if third <= i.max(j) {
                continue;
            }
            let closing = graph.seats_of(j).iter().find(|other| {
                simple_pairs[other.region] && graph.region(other.region).contains(&third)
            });
            if let Some(closing) = closing {
                let (to_first, to_second) = (seat.region, closing.region);
                found.push(Triangle { third, pair, to_first, to_second });
            }
        }
    }
}

impl LocalSearch {
    /// Single, pair and triple moves until none gains. Only for tables without minus infinity.
    #[inline(always)]
    pub(crate) fn ascend_triples<S: Simd>(&mut self, simd: S, view: View) {
        let mut since = 0;
        let mut next = 0;
        while since < self.triangles.len() {
            let triangle = self.triangles[next];
            next = (next + 1) % self.triangles.len();
            since += 1;
            if self.improve_triple(simd, view, triangle) > 0.0 {
                self.ascend_pairs(simd, view);
                since = 0;
            }
        }
    }

    /// The best joint move of one triangle, made if it gains.
    #[inline(always)]
    fn improve_triple<S: Simd>(&mut self, simd: S, view: View, triangle: Triangle) -> f32 {
        apart(
            simd,
            #[inline(always)]
            || {
                let layout = &view.messages.layout;
                let Triangle { third, pair, to_first, to_second } = triangle;
                let place = layout.region_places[pair];
                let (i, j) = (layout.members[place], layout.members[place + 1]);
                let (i_now, j_now, third_now) =
                    (self.action[i], self.action[j], self.action[third]);
                self.scores_without(simd, view, pair, i, j);
                let chunks = layout.agent(third);
                let mut alone = std::mem::take(&mut self.third);
                alone[..chunks.len()].copy_from_slice(self.score_row(layout, third));
                let widths = layout.widths(i, j);
                let third_row = &mut alone[..chunks.len()];
                subtract(simd, &mut self.first[..widths[0]], slice(view, to_first, i, third_now));
                subtract(simd, &mut self.second[..widths[1]], slice(view, to_second, j, third_now));
                subtract(simd, third_row, slice(view, to_first, third, i_now));
                subtract(simd, third_row, slice(view, to_second, third, j_now));
                let alone_row = &alone.as_flattened()[..layout.n_actions[third]];
                let width = layout.n_actions[j].div_ceil(LANES);
                let table = &view.messages.tables[layout.table(pair)];
                let mut best = (f32::NEG_INFINITY, 0);
                for (a, &alone) in alone_row.iter().enumerate() {
                    self.condition(simd, view, triangle, i, j, a);
                    best_columns(simd, table, &self.given_first, &mut self.best[..width]);
                    add(simd, &mut self.best[..width], &self.given_second[..width]);
                    let value = alone + row_max(simd, &self.best[..width]);
                    best = if value > best.0 { (value, a) } else { best };
                }
                self.condition(simd, view, triangle, i, j, third_now);
                let table_now = table.as_flattened()[i_now * width * LANES + j_now];
                let now = alone_row[third_now]
                    + self.given_first.as_flattened()[i_now]
                    + self.given_second.as_flattened()[j_now]
                    + table_now;
                self.third = alone;
                let gain = best.0 - now;
                if gain > LEAST_GAIN * (1.0 + now.abs()) {
                    self.make(simd, view, triangle, best.1);
                    return gain;
                }
                0.0
            },
        )
    }

    /// The scores of the pair when the third agent does `a`.
    #[inline(always)]
    fn condition<S: Simd>(
        &mut self,
        simd: S,
        view: View,
        triangle: Triangle,
        i: usize,
        j: usize,
        a: usize,
    ) {
        let widths = view.messages.layout.widths(i, j);
        self.given_first.copy_from_slice(&self.first);
        self.given_second.copy_from_slice(&self.second);
        let first = &mut self.given_first[..widths[0]];
        add(simd, first, slice(view, triangle.to_first, i, a));
        let second = &mut self.given_second[..widths[1]];
        add(simd, second, slice(view, triangle.to_second, j, a));
    }

    /// Moves the third agent to `a` and the pair to its best reply.
    #[inline(always)]
    fn make<S: Simd>(&mut self, simd: S, view: View, triangle: Triangle, a: usize) {
        let layout = &view.messages.layout;
        let place = layout.region_places[triangle.pair];
        let (i, j) = (layout.members[place], layout.members[place + 1]);
        self.condition(simd, view, triangle, i, j, a);
        let widths = layout.widths(i, j);
        let table = &view.messages.tables[layout.table(triangle.pair)];
        let best = &mut self.best[..widths[1]];
        best_columns(simd, table, &self.given_first, best);
        add(simd, best, &self.given_second[..widths[1]]);
        let (b_second, _) = first_largest(simd, best);
        let first = &mut self.given_first[..widths[0]];
        add(simd, first, view.given(triangle.pair, 0, b_second));
        let (b_first, _) = first_largest(simd, first);
        self.set(simd, view, triangle.third, a);
        self.set(simd, view, i, b_first);
        self.set(simd, view, j, b_second);
    }
}

/// The payoffs of one agent's actions in a pair, given the other's action.
#[inline(always)]
fn slice(view: View<'_>, pair: usize, agent: usize, action: usize) -> &[Chunk<f32>] {
    let layout = &view.messages.layout;
    let slot = usize::from(layout.members[layout.region_places[pair]] != agent);
    view.given(pair, slot, action)
}
