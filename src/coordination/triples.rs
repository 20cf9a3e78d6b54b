//! Improving a joint action by changing three mutually coupled agents at once.

use super::kernel::{LANES, apart, row_max};
use super::local_search::{LEAST_GAIN, LocalSearch, View};
use super::replies::best_columns;
use crate::argmax::argmax;
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
                let n_third = layout.n_actions[third];
                let mut alone = std::mem::take(&mut self.third);
                alone.clear();
                alone.extend_from_slice(self.scores(layout, third));
                let (first, second) =
                    (self.first.as_flattened_mut(), self.second.as_flattened_mut());
                let first = &mut first[..layout.n_actions[i]];
                let second = &mut second[..layout.n_actions[j]];
                Slice::new(view, to_first, i, third, third_now).subtract(first);
                Slice::new(view, to_second, j, third, third_now).subtract(second);
                Slice::new(view, to_first, third, i, i_now).subtract(&mut alone);
                Slice::new(view, to_second, third, j, j_now).subtract(&mut alone);
                let width = layout.n_actions[j].div_ceil(LANES);
                let table = &view.messages.tables[layout.table(pair)];
                let mut best = (f32::NEG_INFINITY, 0);
                for (a, &alone) in alone.iter().enumerate().take(n_third) {
                    self.condition(view, triangle, i, j, a);
                    best_columns(simd, table, &self.given_first, &mut self.best[..width]);
                    self.best[..width]
                        .as_flattened_mut()
                        .iter_mut()
                        .zip(self.given_second.as_flattened())
                        .for_each(|(best, &y)| *best += y);
                    let value = alone + row_max(simd, &self.best[..width]);
                    best = if value > best.0 { (value, a) } else { best };
                }
                self.condition(view, triangle, i, j, third_now);
                let table_now = table.as_flattened()[i_now * width * LANES + j_now];
                let now = alone[third_now]
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
    fn condition(&mut self, view: View, triangle: Triangle, i: usize, j: usize, a: usize) {
        let layout = &view.messages.layout;
        self.given_first.copy_from_slice(&self.first);
        self.given_second.copy_from_slice(&self.second);
        let first = &mut self.given_first.as_flattened_mut()[..layout.n_actions[i]];
        Slice::new(view, triangle.to_first, i, triangle.third, a).add(first);
        let second = &mut self.given_second.as_flattened_mut()[..layout.n_actions[j]];
        Slice::new(view, triangle.to_second, j, triangle.third, a).add(second);
    }

    /// Moves the third agent to `a` and the pair to its best reply.
    #[inline(always)]
    fn make<S: Simd>(&mut self, simd: S, view: View, triangle: Triangle, a: usize) {
        let layout = &view.messages.layout;
        let place = layout.region_places[triangle.pair];
        let (i, j) = (layout.members[place], layout.members[place + 1]);
        self.condition(view, triangle, i, j, a);
        let width = layout.n_actions[j].div_ceil(LANES);
        let table = &view.messages.tables[layout.table(triangle.pair)];
        best_columns(simd, table, &self.given_first, &mut self.best[..width]);
        let best = self.best[..width].as_flattened_mut();
        best.iter_mut().zip(self.given_second.as_flattened()).for_each(|(best, &y)| *best += y);
        let b_second = argmax(&best[..layout.n_actions[j]]);
        let table = table.as_flattened();
        let given = self.given_first.as_flattened();
        let value = |x: usize| table[x * width * LANES + b_second] + given[x];
        let b_first =
            (1..layout.n_actions[i]).fold(0, |b, x| if value(x) > value(b) { x } else { b });
        self.set(simd, view, triangle.third, a);
        self.set(simd, view, i, b_first);
        self.set(simd, view, j, b_second);
    }
}

/// The payoffs of one agent's actions in a pair, given the other's action.
struct Slice<'a> {
    row: &'a [f32],
    stride: usize,
}

impl<'a> Slice<'a> {
    #[inline(always)]
    fn new(view: View<'a>, region: usize, agent: usize, other: usize, action: usize) -> Self {
        let layout = &view.messages.layout;
        let place = layout.region_places[region];
        let slot = usize::from(layout.members[place] != agent);
        debug_assert_eq!(layout.members[place + 1 - slot], other, "the pair's other agent");
        let table = view.messages.tables[layout.table(region)].as_flattened();
        let row = &table[action * layout.strides[place + 1 - slot]..];
        Self { row, stride: layout.strides[place + slot] }
    }

    #[inline(always)]
    fn add(&self, to: &mut [f32]) {
        if self.stride == 1 {
            to.iter_mut().zip(self.row).for_each(|(x, &q)| *x += q);
        } else {
            to.iter_mut().zip(self.row.iter().step_by(self.stride)).for_each(|(x, &q)| *x += q);
        }
    }

    #[inline(always)]
    fn subtract(&self, to: &mut [f32]) {
        to.iter_mut().zip(self.row.iter().step_by(self.stride)).for_each(|(x, &q)| *x -= q);
    }
}
