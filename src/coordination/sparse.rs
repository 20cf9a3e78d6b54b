//! A graph learned from the values: only the pairs whose payoffs vary most are coordinated.
//!
//! Context-aware sparse coordination graphs (Wang et al. 2022): a pair is worth messages where what one
//! member does changes what the other's action is worth. The graph is chosen anew for every decision,
//! from its tables alone.

use super::{Coordination, Coordinator, FactorTables};
use crate::graph::{CoordinationGraph, JointAction};
use pulp::Arch;
use serde::{Deserialize, Serialize};

/// Which pairs of a decision are coordinated.
#[derive(Clone, Copy, Debug)]
pub(super) struct SparseOptions {
    /// Share of the pairs, rounded up.
    pub(super) kept_pairs: f64,
    /// By what pairs are ranked.
    pub(super) kept_by: PairScore,
    /// What becomes of the payoffs of the other pairs.
    pub(super) other_pairs: OtherPairs,
}

/// By what pairs are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairScore {
    /// The largest variance of the payoff over one member's actions, the other's given: max over a of
    /// `Var_b q(a, b)`, of either member.
    #[default]
    Variance,
    /// The variance of what is left of the payoff when each member's own part is taken away.
    Coupling,
}

/// What becomes of a pair's payoffs that is not coordinated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherPairs {
    /// Each member keeps its own part, the mean over the other's actions: q(a, b) ≈ q(a, ·) + q(·, b) −
    /// q(·, ·). No message is needed for that.
    #[default]
    Additive,
    /// Nothing.
    Dropped,
}

/// Coordinates the pairs that are worth it.
pub(super) struct Sparse {
    options: SparseOptions,
    coordinator: Box<dyn Coordinator>,
    graph: CoordinationGraph,
    tables: FactorTables,
    ranking: PairRanking,
}

/// Which regions of a decision are worth coordinating.
#[derive(Default)]
pub(crate) struct PairRanking {
    /// What each region is worth, the kept ones first.
    ranked: Vec<(f64, usize)>,
    n_kept: usize,
    marginals: Marginals,
}

/// What each member of a pair is worth by itself.
#[derive(Default)]
struct Marginals {
    rows: Vec<f64>,
    columns: Vec<f64>,
    mean: f64,
    /// The table row by row and column by column.
    by_rows: Vec<f64>,
    by_columns: Vec<f64>,
    squares: Vec<f64>,
}

impl Sparse {
    pub(super) fn new(options: SparseOptions, coordinator: Box<dyn Coordinator>) -> Self {
        Self {
            options,
            coordinator,
            graph: CoordinationGraph::default(),
            tables: FactorTables::default(),
            ranking: PairRanking::default(),
        }
    }

    /// Whether every pair is kept; takes over those that are where not.
    fn keeps_all(&mut self, graph: &CoordinationGraph, tables: &FactorTables) -> bool {
        let SparseOptions { kept_pairs, kept_by, .. } = self.options;
        self.ranking.rank(graph, tables, (kept_pairs, kept_by));
        let all = self.ranking.n_kept == graph.n_regions();
        if !all {
            self.fill(graph, tables);
        }
        all
    }

    /// Takes over the payoffs of the kept regions, and what the others say of each agent alone.
    fn fill(&mut self, graph: &CoordinationGraph, tables: &FactorTables) {
        self.graph.keep(graph, self.ranking.kept());
        if self.tables.n_actions() == tables.n_actions() {
            self.tables.fit(&self.graph);
        } else {
            self.tables = FactorTables::with_domains(&self.graph, tables.n_actions());
        }
        for agent in 0..graph.n_agents() {
            self.tables.agent_mut(agent).copy_from_slice(tables.agent(agent));
        }
        for (place, region) in self.ranking.kept().enumerate() {
            self.tables.region_mut(place).copy_from_slice(tables.region(region));
        }
        if self.options.other_pairs == OtherPairs::Dropped {
            return;
        }
        let PairRanking { ranked, n_kept, marginals } = &mut self.ranking;
        for &(_, region) in &ranked[*n_kept..] {
            let members = graph.region(region);
            marginals.read(tables.region(region), tables.n_actions()[members[1]]);
            let Marginals { rows, columns, mean, .. } = &*marginals;
            for (agent, part) in members.iter().zip([rows, columns]) {
                let alone = self.tables.agent_mut(*agent).iter_mut().zip(part);
                alone.for_each(|(payoff, part)| *payoff += (part - 0.5 * mean) as f32);
            }
        }
    }
}

impl PairRanking {
    /// Chooses the share of the regions to keep. Regions that are no pairs, and payoffs that forbid
    /// something, are always kept.
    pub(crate) fn rank(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        (kept_pairs, kept_by): (f64, PairScore),
    ) {
        self.ranked.clear();
        for (region, members) in graph.regions().enumerate() {
            let table = tables.region(region);
            let is_open = members.len() == 2 && table.iter().all(|payoff| payoff.is_finite());
            let score = if is_open {
                self.marginals.read(table, tables.n_actions()[members[1]]);
                self.marginals.score(kept_by)
            } else {
                f64::INFINITY
            };
            self.ranked.push((score, region));
        }
        let share = (kept_pairs * self.ranked.len() as f64).ceil() as usize;
        let fixed = self.ranked.iter().filter(|entry| entry.0 == f64::INFINITY).count();
        self.n_kept = share.max(fixed).min(self.ranked.len());
        self.ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.ranked[..self.n_kept].sort_unstable_by_key(|entry| entry.1);
    }

    /// The regions that are kept, in the order of the graph.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranked[..self.n_kept].iter().map(|entry| entry.1)
    }
}

impl Marginals {
    /// Means over the actions of the other member, and over all.
    fn read(&mut self, table: &[f32], n_columns: usize) {
        let n_rows = table.len() / n_columns;
        let Self { rows, columns, by_rows, by_columns, .. } = self;
        by_rows.clear();
        by_rows.extend(table.iter().map(|payoff| f64::from(*payoff)));
        by_columns.resize(table.len(), 0.0);
        for (row, payoffs) in by_rows.chunks_exact(n_columns).enumerate() {
            let column = by_columns[row..].iter_mut().step_by(n_rows);
            column.zip(payoffs).for_each(|(cell, payoff)| *cell = *payoff);
        }
        sum_columns(by_rows, n_columns, columns);
        columns.iter_mut().for_each(|sum| *sum /= n_rows as f64);
        sum_columns(by_columns, n_rows, rows);
        rows.iter_mut().for_each(|sum| *sum /= n_columns as f64);
        self.mean = self.rows.iter().sum::<f64>() / n_rows as f64;
    }

    /// How much a pair is worth a message; after [`Self::read`] of its table.
    fn score(&mut self, by: PairScore) -> f64 {
        let mean = self.mean;
        let Self { rows, columns, by_rows, by_columns, squares, .. } = self;
        let (n_rows, n_columns) = (rows.len(), columns.len());
        match by {
            PairScore::Coupling => {
                let cells = by_rows.chunks_exact(n_columns).zip(&*rows);
                let rests = cells.flat_map(|(payoffs, row)| {
                    let cells = payoffs.iter().zip(&*columns);
                    cells.map(move |(payoff, column)| payoff - row - column + mean)
                });
                rests.map(|rest| rest * rest).sum::<f64>() / by_rows.len() as f64
            }
            PairScore::Variance => {
                let mut largest = |table: &[f64], means: &[f64], n: usize| {
                    sum_squares(table, means, squares);
                    squares.iter().map(|sum| sum / n as f64).fold(0.0, f64::max)
                };
                let over_columns = largest(by_columns, rows, n_columns);
                over_columns.max(largest(by_rows, columns, n_rows))
            }
        }
    }
}

/// The sum of each column of a table, from its first row on.
fn sum_columns(table: &[f64], n_columns: usize, sums: &mut Vec<f64>) {
    sums.clear();
    sums.resize(n_columns, 0.0);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in table.chunks_exact(n_columns) {
                sums.iter_mut().zip(row).for_each(|(sum, payoff)| *sum += payoff);
            }
        },
    );
}

/// For each column of a table the sum of its squared distances from its mean, from its first row on.
fn sum_squares(table: &[f64], means: &[f64], sums: &mut Vec<f64>) {
    sums.clear();
    sums.resize(means.len(), 0.0);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in table.chunks_exact(means.len()) {
                for (sum, (payoff, mean)) in sums.iter_mut().zip(row.iter().zip(means)) {
                    *sum += (payoff - mean) * (payoff - mean);
                }
            }
        },
    );
}

impl Coordinator for Sparse {
    fn coordinate(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        action: &mut JointAction,
    ) -> Coordination {
        if self.keeps_all(graph, tables) {
            return self.coordinator.coordinate(graph, tables, action);
        }
        let answer = self.coordinator.coordinate(&self.graph, &self.tables, action);
        of_all_pairs(answer, tables.value(graph, action))
    }

    fn coordinate_from(
        &mut self,
        graph: &CoordinationGraph,
        tables: &FactorTables,
        start: &[usize],
        action: &mut JointAction,
    ) -> Coordination {
        if self.keeps_all(graph, tables) {
            return self.coordinator.coordinate_from(graph, tables, start, action);
        }
        let answer = self.coordinator.coordinate_from(&self.graph, &self.tables, start, action);
        of_all_pairs(answer, tables.value(graph, action))
    }
}

/// What an answer for the kept pairs says of all: what is proven of fewer is not proven of all.
fn of_all_pairs(answer: Coordination, value: f64) -> Coordination {
    Coordination { value, upper_bound: f64::INFINITY, converged: false, ..answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordination::{Exact, ExactOptions, MaxSum, MaxSumOptions, SolverOptions};

    /// A triangle: one pair coupled, one that only adds up, one indifferent.
    fn triangle() -> (CoordinationGraph, FactorTables) {
        let graph = CoordinationGraph::complete(3);
        let mut tables = FactorTables::zeros(&graph, 2);
        tables.region_mut(0).copy_from_slice(&[3.0, 0.0, 0.0, 2.0]);
        tables.region_mut(1).copy_from_slice(&[0.0, 4.0, 5.0, 9.0]);
        tables.region_mut(2).copy_from_slice(&[1.0, 1.0, 1.0, 1.0]);
        (graph, tables)
    }

    fn sparse(kept_pairs: f64, kept_by: PairScore, other_pairs: OtherPairs) -> Sparse {
        let options = SparseOptions { kept_pairs, kept_by, other_pairs };
        Sparse::new(options, Box::new(Exact::new(ExactOptions::default())))
    }

    #[test]
    fn scores_by_hand() {
        let (_, tables) = triangle();
        let mut marginals = Marginals::default();
        let mut score = |region: usize, by| {
            marginals.read(tables.region(region), 2);
            marginals.score(by)
        };
        // Row (3, 0): mean 1.5, variance 2.25; the others vary less.
        assert_eq!(score(0, PairScore::Variance), 2.25);
        // Column (0, 5): mean 2.5, variance 6.25.
        assert_eq!(score(1, PairScore::Variance), 6.25);
        assert_eq!(score(2, PairScore::Variance), 0.0);
        // Rests of ±1.25 everywhere.
        assert_eq!(score(0, PairScore::Coupling), 1.5625);
        assert_eq!(score(1, PairScore::Coupling), 0.0);
    }

    #[test]
    fn what_only_adds_up_needs_no_messages() {
        let (graph, tables) = triangle();
        let mut action = Vec::new();
        let mut coupled = sparse(0.3, PairScore::Coupling, OtherPairs::Additive);
        let answer = coupled.coordinate(&graph, &tables, &mut action);
        assert!(coupled.graph.regions().eq([[0, 1]]));
        // As on the whole graph: agent 0 to its second action for the second pair, agent 1 with it.
        assert_eq!((&action[..], answer.value), (&[1, 1, 1][..], 12.0));
        let mut exact = Exact::new(ExactOptions::default());
        assert_eq!(exact.coordinate(&graph, &tables, &mut action).value, 12.0);
    }

    #[test]
    fn the_pair_that_varies_most_is_kept() {
        let (graph, tables) = triangle();
        let mut action = Vec::new();
        let mut dropped = sparse(0.3, PairScore::Variance, OtherPairs::Dropped);
        let answer = dropped.coordinate(&graph, &tables, &mut action);
        assert!(dropped.graph.regions().eq([[0, 2]]));
        // Agent 1 hears of nobody and takes its first action; the value is that of all pairs.
        assert_eq!((&action[..], answer.value), (&[1, 0, 1][..], 10.0));
        assert!(!answer.proven());
    }

    #[test]
    fn a_start_is_handed_on() {
        let (graph, tables) = triangle();
        for (kept_pairs, start, best) in [(0.3, [0, 1, 0], [1, 0, 1]), (1.0, [1, 1, 1], [1, 1, 1])]
        {
            let unheard = MaxSumOptions { msg_iterations: 0, ..MaxSumOptions::default() };
            let mut dropped = sparse(kept_pairs, PairScore::Variance, OtherPairs::Dropped);
            dropped.coordinator = Box::new(MaxSum::new(unheard));
            let (mut action, mut unled) = (Vec::new(), Vec::new());
            let answer = dropped.coordinate_from(&graph, &tables, &start, &mut action);
            dropped.coordinate(&graph, &tables, &mut unled);
            // Each agent's best beside the start, by the kept pairs.
            assert_eq!((&action[..], &unled[..]), (&best[..], &[0, 0, 0][..]));
            assert_eq!(answer.value, tables.value(&graph, &action));
        }
    }

    #[test]
    fn a_forbidden_combination_is_never_dropped() {
        let (graph, mut tables) = triangle();
        tables.region_mut(2)[0] = f32::NEG_INFINITY;
        let mut action = Vec::new();
        let mut one = sparse(0.1, PairScore::Variance, OtherPairs::Additive);
        one.coordinate(&graph, &tables, &mut action);
        assert!(one.graph.regions().eq([[1, 2]]));
    }

    #[test]
    fn a_share_of_one_is_the_coordinator_itself() {
        let (graph, tables) = triangle();
        let [mut all, mut kept] = [Vec::new(), Vec::new()];
        let dense = SolverOptions::default();
        let mut options = dense.clone();
        options.kept_pairs = 0.99;
        let answers = [
            dense.build().coordinate(&graph, &tables, &mut all),
            options.build().coordinate(&graph, &tables, &mut kept),
        ];
        assert_eq!((all, answers[0]), (kept, answers[1]));
        options.kept_pairs = 0.0;
        assert!(options.check().unwrap_err().to_string().contains("kept_pairs"));
    }
}
