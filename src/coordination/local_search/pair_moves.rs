//! Improving a joint action by changing the two agents of a pair at once.
//!
//! `max_{a,b} [Q(a, b) + s_1(a) + s_2(b)]`, where `s_1` and `s_2` are the agents' scores without
//! their common region.

use super::{LEAST_GAIN, LocalSearch};
use crate::coordination::message_passing::kernel::{Chunk, LANES, first_largest, outlined};
use crate::coordination::message_passing::padded_rows::PaddedRows;
use crate::coordination::message_passing::row_arithmetic::{add, best_columns, subtract};
use crate::coordination::padded_problem::{PaddedProblem, Pair};
use crate::graph::Membership;
use pulp::Simd;

/// What pair moves remember, and their buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct PairMoves {
    /// Regions whose two agents share no other region: their pair moves are exact.
    pub is_simple: Vec<bool>,
    /// When each region was last found without gain, on the clock of the search.
    checked_at: Vec<u64>,
    /// Scores without the regions that are being improved.
    pub scores: PairScores,
    pub best: PaddedRows,
}

/// Scores of the two agents of a pair, as padded rows.
#[derive(Clone, Debug, Default)]
pub(super) struct PairScores {
    pub first: PaddedRows,
    pub second: PaddedRows,
}

impl PairMoves {
    /// Takes the shape of a problem.
    pub(super) fn fit(&mut self, problem: PaddedProblem) {
        let graph = problem.graph;
        self.is_simple.clear();
        self.is_simple.extend(graph.regions().map(|members| match *members {
            [first, second] => {
                let shared =
                    |of_first: &&Membership| graph.region(of_first.region).contains(&second);
                graph.memberships_of(first).iter().filter(shared).count() == 1
            }
            _ => false,
        }));
        let width = problem.layout().widest_agent();
        self.scores.fit(width);
        self.best.fit(width, 0.0);
    }

    /// Takes every region as not yet looked at.
    pub(super) fn forget(&mut self, n_regions: usize) {
        self.checked_at.clear();
        self.checked_at.resize(n_regions, 0);
    }
}

impl PairScores {
    /// Makes room for rows of this many chunks.
    pub(super) fn fit(&mut self, width: usize) {
        self.first.fit(width, 0.0);
        self.second.fit(width, 0.0);
    }

    /// What each action of the second agent is worth when the first responds to it:
    /// `best(b) = max_a [table(a, b) + first(a)] + second(b)`.
    #[inline(always)]
    pub(super) fn best_responses<S: Simd>(
        &self,
        simd: S,
        table: &[Chunk<f32>],
        best: &mut [Chunk<f32>],
    ) {
        best_columns(simd, table, &self.first, best);
        add(simd, best, &self.second[..best.len()]);
    }

    /// The first agent's best response to an action of the second; its scores become those given
    /// that action.
    #[inline(always)]
    pub(super) fn first_response<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        pair: Pair,
        second_action: usize,
    ) -> usize {
        let scores = &mut self.first[..pair.first_width];
        add(simd, scores, problem.payoffs_given(pair.region, 0, second_action));
        first_largest(simd, scores).0
    }
}

/// Payoff of two actions in the padded table of a pair.
#[inline(always)]
pub(super) fn pair_payoff(problem: PaddedProblem, pair: Pair, [a, b]: [usize; 2]) -> f32 {
    problem.table(pair.region).as_flattened()[a * pair.second_width * LANES + b]
}

impl LocalSearch {
    /// Single and pair moves until none gains. Returns the total gain.
    #[inline(always)]
    pub(crate) fn ascend_pairs<S: Simd>(&mut self, simd: S, problem: PaddedProblem) -> f32 {
        outlined(
            simd,
            #[inline(always)]
            || {
                let mut total = self.ascend(simd, problem, None);
                loop {
                    let mut gained = 0.0;
                    for region in 0..self.pairs.is_simple.len() {
                        if self.pairs.is_simple[region] {
                            gained += self.improve_pair(simd, problem, region);
                        }
                    }
                    total += gained;
                    if gained == 0.0 {
                        return total;
                    }
                    total += self.ascend(simd, problem, None);
                }
            },
        )
    }

    /// Makes the best joint move of one pair if it gains. Returns the gain.
    #[inline(always)]
    fn improve_pair<S: Simd>(&mut self, simd: S, problem: PaddedProblem, region: usize) -> f32 {
        outlined(
            simd,
            #[inline(always)]
            || {
                let pair = problem.pair(region);
                let changed_at = self.changed_at[pair.first].max(self.changed_at[pair.second]);
                if self.pairs.checked_at[region] > changed_at {
                    return 0.0;
                }
                self.pairs.checked_at[region] = self.clock + 1;
                self.load_scores_without(simd, problem, pair);
                let PairMoves { scores, best, .. } = &mut self.pairs;
                let best = &mut best[..pair.second_width];
                scores.best_responses(simd, problem.table(region), best);
                let (second_action, value) = first_largest(simd, best);
                let now = [self.action[pair.first], self.action[pair.second]];
                let value_now = pair_payoff(problem, pair, now)
                    + scores.first.as_flattened()[now[0]]
                    + scores.second.as_flattened()[now[1]];
                let gain = value - value_now;
                if gain > LEAST_GAIN * (1.0 + value_now.abs()) {
                    let first_action = scores.first_response(simd, problem, pair, second_action);
                    self.set(simd, problem, pair.first, first_action);
                    self.set(simd, problem, pair.second, second_action);
                    return gain;
                }
                0.0
            },
        )
    }

    /// Copies the scores of both agents of a pair, without their common region.
    #[inline(always)]
    pub(super) fn load_scores_without<S: Simd>(
        &mut self,
        simd: S,
        problem: PaddedProblem,
        pair: Pair,
    ) {
        let Pair { region, first, second, first_width, second_width } = pair;
        let has_forbidden = problem.has_forbidden();
        if has_forbidden {
            // Minus infinities cannot be subtracted: the sums are made without the region.
            self.rescore(simd, problem, first, Some(region));
            self.rescore(simd, problem, second, Some(region));
        }
        let layout = problem.layout();
        let to_first = &mut self.pairs.scores.first[..first_width];
        let to_second = &mut self.pairs.scores.second[..second_width];
        to_first.copy_from_slice(&self.scores[layout.agent(first)]);
        to_second.copy_from_slice(&self.scores[layout.agent(second)]);
        if has_forbidden {
            self.rescore(simd, problem, first, None);
            self.rescore(simd, problem, second, None);
        } else {
            subtract(simd, to_first, problem.payoffs_given(region, 0, self.action[second]));
            subtract(simd, to_second, problem.payoffs_given(region, 1, self.action[first]));
        }
    }
}
