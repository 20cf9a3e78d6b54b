//! Improving a joint action by changing three mutually coupled agents at once.
//!
//! For each action `c` of the third agent, the other two are a pair whose scores hold what they
//! earn together with `c`: `max_c [s_3(c) + max_{a,b} [Q(a, b) + s_1(a | c) + s_2(b | c)]]`.

use super::pair_moves::{PairMoves, PairScores, pair_payoff};
use super::{LEAST_GAIN, LocalSearch};
use crate::coordination::message_passing::kernel::{Chunk, first_largest, outlined, row_max};
use crate::coordination::message_passing::padded_rows::PaddedRows;
use crate::coordination::message_passing::row_arithmetic::{add, subtract};
use crate::coordination::padded_problem::{PaddedProblem, Pair};
use pulp::Simd;

/// The triangles of a problem, and buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct TripleMoves {
    triangles: Vec<Triangle>,
    /// The third agent's scores without its two regions.
    third_scores: PaddedRows,
    /// The scores of the pair given an action of the third agent.
    given: PairScores,
}

/// A pair, and a third agent that shares a region with each of the two.
#[derive(Clone, Copy, Debug)]
struct Triangle {
    pair: usize,
    third: usize,
    region_with_first: usize,
    region_with_second: usize,
}

impl TripleMoves {
    /// Takes the shape of a problem: every triangle of simple pairs.
    pub(super) fn fit(&mut self, problem: PaddedProblem, pairs: &PairMoves) {
        let width = problem.layout().widest_agent();
        self.third_scores.fit(width, 0.0);
        self.given.fit(width);
        self.triangles.clear();
        for region in (0..problem.graph.n_regions()).filter(|&region| pairs.is_simple[region]) {
            self.add_triangles(problem, pairs, problem.pair(region));
        }
    }

    /// Adds the triangles whose third agent comes after both agents of a pair.
    fn add_triangles(&mut self, problem: PaddedProblem, pairs: &PairMoves, pair: Pair) {
        let graph = problem.graph;
        for of_first in graph.memberships_of(pair.first) {
            if !pairs.is_simple[of_first.region] {
                continue;
            }
            let third = graph.region(of_first.region)[1 - of_first.slot];
            if third <= pair.first.max(pair.second) {
                continue;
            }
            let closing = graph.memberships_of(pair.second).iter().find(|of_second| {
                pairs.is_simple[of_second.region] && graph.region(of_second.region).contains(&third)
            });
            if let Some(of_second) = closing {
                self.triangles.push(Triangle {
                    pair: pair.region,
                    third,
                    region_with_first: of_first.region,
                    region_with_second: of_second.region,
                });
            }
        }
    }
}

impl LocalSearch {
    /// How many triangles [`Self::ascend_triples`] looks at.
    pub(crate) fn n_triangles(&self) -> usize {
        self.triples.triangles.len()
    }

    /// Single, pair and triple moves until none gains. Only for tables without minus infinity.
    #[inline(always)]
    pub(crate) fn ascend_triples<S: Simd>(&mut self, simd: S, problem: PaddedProblem) {
        let mut since_gain = 0;
        let mut next = 0;
        while since_gain < self.n_triangles() {
            let triangle = self.triples.triangles[next];
            next = (next + 1) % self.n_triangles();
            since_gain += 1;
            if self.improve_triple(simd, problem, triangle) > 0.0 {
                self.ascend_pairs(simd, problem);
                since_gain = 0;
            }
        }
    }

    /// Makes the best joint move of one triangle if it gains. Returns the gain.
    #[inline(always)]
    fn improve_triple<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
    ) -> f32 {
        outlined(
            simd,
            #[inline(always)]
            || {
                let pair = problem.pair(triangle.pair);
                self.load_scores_without_triangle(simd, problem, triangle, pair);
                let (third_action, value) = self.best_third_action(simd, problem, triangle, pair);
                let value_now = self.triple_value_now(simd, problem, triangle, pair);
                let gain = value - value_now;
                if gain > LEAST_GAIN * (1.0 + value_now.abs()) {
                    self.set_triple(simd, problem, triangle, pair, third_action);
                    return gain;
                }
                0.0
            },
        )
    }

    /// Copies the scores of the three agents, without the three regions between them.
    #[inline(always)]
    fn load_scores_without_triangle<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
        pair: Pair,
    ) {
        self.load_scores_without(simd, problem, pair);
        let Triangle { third, region_with_first, region_with_second, .. } = triangle;
        let chunks = problem.layout().agent(third);
        let third_scores = &mut self.triples.third_scores[..chunks.len()];
        third_scores.copy_from_slice(&self.scores[chunks]);
        let PairScores { first, second } = &mut self.pairs.scores;
        let (first, second) = (&mut first[..pair.first_width], &mut second[..pair.second_width]);
        let [with_first, with_second] = [region_with_first, region_with_second];
        let now = |agent: usize| self.action[agent];
        subtract(simd, first, payoffs_of(problem, pair.first, with_first, now(third)));
        subtract(simd, second, payoffs_of(problem, pair.second, with_second, now(third)));
        subtract(simd, third_scores, payoffs_of(problem, third, with_first, now(pair.first)));
        subtract(simd, third_scores, payoffs_of(problem, third, with_second, now(pair.second)));
    }

    /// The third agent's best action when the pair responds to it, and what all three then earn.
    #[inline(always)]
    fn best_third_action<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
        pair: Pair,
    ) -> (usize, f32) {
        let (mut best_action, mut best_value) = (0, f32::NEG_INFINITY);
        for action in 0..problem.layout().n_actions[triangle.third] {
            self.condition_pair(simd, problem, triangle, pair, action);
            let best = &mut self.pairs.best[..pair.second_width];
            self.triples.given.best_responses(simd, problem.table(pair.region), best);
            let value = self.triples.third_scores.as_flattened()[action] + row_max(simd, best);
            if value > best_value {
                (best_action, best_value) = (action, value);
            }
        }
        (best_action, best_value)
    }

    /// What the three agents earn now, by the scores that were loaded.
    #[inline(always)]
    fn triple_value_now<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
        pair: Pair,
    ) -> f32 {
        let third_action = self.action[triangle.third];
        self.condition_pair(simd, problem, triangle, pair, third_action);
        let TripleMoves { third_scores, given, .. } = &self.triples;
        let [a, b] = [self.action[pair.first], self.action[pair.second]];
        third_scores.as_flattened()[third_action]
            + given.first.as_flattened()[a]
            + given.second.as_flattened()[b]
            + pair_payoff(problem, pair, [a, b])
    }

    /// Writes the scores of the pair when the third agent takes an action.
    #[inline(always)]
    fn condition_pair<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
        pair: Pair,
        third_action: usize,
    ) {
        let PairScores { first, second } = &mut self.triples.given;
        first.copy_from_slice(&self.pairs.scores.first);
        second.copy_from_slice(&self.pairs.scores.second);
        let for_first = payoffs_of(problem, pair.first, triangle.region_with_first, third_action);
        add(simd, &mut first[..pair.first_width], for_first);
        let for_second =
            payoffs_of(problem, pair.second, triangle.region_with_second, third_action);
        add(simd, &mut second[..pair.second_width], for_second);
    }

    /// Sets the third agent's action and the pair's best response to it.
    #[inline(always)]
    fn set_triple<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        triangle: Triangle,
        pair: Pair,
        third_action: usize,
    ) {
        self.condition_pair(simd, problem, triangle, pair, third_action);
        let best = &mut self.pairs.best[..pair.second_width];
        let given = &mut self.triples.given;
        given.best_responses(simd, problem.table(pair.region), best);
        let (second_action, _) = first_largest(simd, best);
        let first_action = given.first_response(simd, problem, pair, second_action);
        self.set(simd, problem, triangle.third, third_action);
        self.set(simd, problem, pair.first, first_action);
        self.set(simd, problem, pair.second, second_action);
    }
}

/// The payoffs of one agent's actions in a pair, given the other's action.
#[inline(always)]
fn payoffs_of(
    problem: PaddedProblem<'_>,
    agent: usize,
    pair: usize,
    other_action: usize,
) -> &[Chunk<f32>] {
    let slot = usize::from(problem.pair(pair).first != agent);
    problem.payoffs_given(pair, slot, other_action)
}
