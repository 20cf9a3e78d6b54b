//! Exact answers to small problems: all but two agents by best-first enumeration with bounds, the
//! last two at once along the rows of their table.
//!
//! With agents `0..d` decided, every other agent `k` keeps its row
//! `r_k = u_k + Σ_{i<d} Q_ik(a_i, ·)`, and no completion is worth more than
//! `value + Σ_k max r_k + Σ_{k<l} max Q_kl`.

use super::pair_messages::{PRUNED, message_to_second};
use crate::coordination::FactorTables;
use crate::coordination::message_passing::kernel::{Chunk, LANES, Number, chunks_of, row_max};
use crate::graph::{CoordinationGraph, JointAction};
use pulp::Simd;

/// Chunks that an enumeration without any pruning may read; four agents with 25 actions need
/// 31,250.
const MOST_CHUNKS: usize = 1 << 15;

/// Buffers of the enumeration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Enumeration {
    n_actions: Vec<usize>,
    /// First chunk of each agent's row within a level.
    starts: Vec<usize>,
    /// Rows of all agents, one level for each number of decided agents.
    rows: Vec<Chunk<f64>>,
    /// The table of agents `i < j` starts at `pair_starts[i * n + j]`; its largest payoff.
    pair_starts: Vec<usize>,
    pairs: Vec<Chunk<f64>>,
    pair_max: Vec<f64>,
    /// What all pairs among the agents after each may add at most.
    rest: Vec<f64>,
    /// Payoff of the decided agents, and the next candidate, at each level.
    values: Vec<f64>,
    cursors: Vec<usize>,
    /// The candidates at each level, best first.
    candidates: Vec<Vec<Candidate>>,
    action: Vec<usize>,
    best_columns: Vec<Chunk<f64>>,
}

/// An action of the next agent and a bound on every joint action with it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bound: f64,
    action: usize,
}

/// Whether the enumeration is sure to be short: regions of at most two agents, few joint actions.
pub(crate) fn is_enumerable(graph: &CoordinationGraph, n_actions: &[usize]) -> bool {
    let [heads @ .., first, second] = n_actions else { return false };
    heads
        .iter()
        .try_fold(first * chunks_of(*second), |work, &n| {
            work.checked_mul(n).filter(|&work| work <= MOST_CHUNKS)
        })
        .is_some()
        && graph.regions().all(|members| members.len() <= 2)
}

/// One enumeration, compiled for each instruction set; answers with the number of tables that
/// were searched.
pub(crate) struct Enumerate<'a> {
    pub enumeration: &'a mut Enumeration,
    pub graph: &'a CoordinationGraph,
    pub tables: &'a FactorTables,
    pub action: &'a mut JointAction,
}

impl pulp::WithSimd for Enumerate<'_> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        self.enumeration.load(self.graph, self.tables);
        self.enumeration.search(simd, self.action)
    }
}

impl Enumeration {
    /// Takes the payoffs of a problem; regions over the same agents are added up.
    #[inline(always)]
    fn load(&mut self, graph: &CoordinationGraph, tables: &FactorTables) {
        let n = graph.n_agents();
        self.n_actions.clear();
        self.n_actions.extend_from_slice(tables.n_actions());
        self.fit(n);
        for agent in 0..n {
            let row = self.rows[self.starts[agent]..self.starts[agent + 1]].as_flattened_mut();
            let payoffs = tables.agent(agent);
            row[..payoffs.len()].iter_mut().zip(payoffs).for_each(|(to, &x)| *to = f64::from(x));
            row[payoffs.len()..].fill(PRUNED);
        }
        for (region, members) in graph.regions().enumerate() {
            let table = tables.region(region);
            match *members {
                [agent] => {
                    let row = self.rows[self.starts[agent]..].as_flattened_mut();
                    row.iter_mut().zip(table).for_each(|(to, &x)| *to += f64::from(x));
                }
                [i, j] => self.add_pair(i, j, table),
                _ => {}
            }
        }
        self.rest.clear();
        self.rest.resize(n, 0.0);
        for i in 0..n {
            for j in i + 1..n {
                let pair = self.pair(i, j).as_flattened().chunks_exact(self.row_width(j));
                let columns = pair.map(|row| row[..self.n_actions[j]].iter().copied());
                let best =
                    columns.flatten().fold(PRUNED, |best, x| if x > best { x } else { best });
                self.pair_max[i * n + j] = best;
                self.rest[..i].iter_mut().for_each(|rest| *rest += best);
            }
        }
    }

    /// Takes the shape of a problem, with pairs of zeros.
    fn fit(&mut self, n: usize) {
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        self.starts.extend(self.n_actions.iter().map(|&n| {
            end += chunks_of(n);
            end
        }));
        self.rows.resize(end * (n - 1), [0.0; LANES]);
        self.pair_starts.clear();
        self.pair_starts.resize(n * n, 0);
        let mut end = 0;
        for i in 0..n {
            for j in i + 1..n {
                self.pair_starts[i * n + j] = end;
                end += self.n_actions[i] * chunks_of(self.n_actions[j]);
            }
        }
        self.pairs.clear();
        self.pairs.resize(end, [0.0; LANES]);
        self.pair_max.resize(n * n, 0.0);
        self.values.resize(n, 0.0);
        self.cursors.resize(n, 0);
        self.candidates.resize_with(n.max(self.candidates.len()), Vec::new);
        self.action.resize(n, 0);
        self.best_columns.resize(chunks_of(self.n_actions[n - 1]), [0.0; LANES]);
    }

    /// Adds the table of a region over two agents.
    #[inline(always)]
    fn add_pair(&mut self, i: usize, j: usize, table: &[f32]) {
        let n = self.n_actions.len();
        let start = self.pair_starts[i.min(j) * n + i.max(j)];
        let width = self.row_width(i.max(j));
        let pair = self.pairs[start..].as_flattened_mut();
        for (a, row) in table.chunks_exact(self.n_actions[j]).enumerate() {
            if i < j {
                let to = pair[a * width..].iter_mut();
                to.zip(row).for_each(|(to, &x)| *to += f64::from(x));
            } else {
                let to = pair[a..].iter_mut().step_by(width);
                to.zip(row).for_each(|(to, &x)| *to += f64::from(x));
            }
        }
    }

    /// Numbers in a padded row of an agent.
    #[inline(always)]
    fn row_width(&self, agent: usize) -> usize {
        chunks_of(self.n_actions[agent]) * LANES
    }

    /// The table of agents `i < j`.
    #[inline(always)]
    fn pair(&self, i: usize, j: usize) -> &[Chunk<f64>] {
        let start = self.pair_starts[i * self.n_actions.len() + j];
        &self.pairs[start..][..self.n_actions[i] * chunks_of(self.n_actions[j])]
    }

    /// The row of an agent after `level` decisions.
    #[inline(always)]
    fn row(&self, level: usize, agent: usize) -> &[Chunk<f64>] {
        let start = level * self.starts[self.n_actions.len()];
        &self.rows[start + self.starts[agent]..start + self.starts[agent + 1]]
    }

    /// What rounding may have hidden: payoffs are `f32`, sums are `f64`.
    pub(crate) fn rounding(&self) -> f64 {
        let last = self.starts[self.n_actions.len()];
        let alone = self.rows[..last].as_flattened().iter();
        let size = alone.chain(&self.pair_max).filter(|x| x.is_finite()).map(|x| x.abs());
        1e-14 * (1.0 + size.sum::<f64>())
    }

    /// Writes the best joint action (all zeros when every one is forbidden).
    #[inline(always)]
    fn search<S: Simd>(&mut self, simd: S, answer: &mut JointAction) -> usize {
        let n = self.n_actions.len();
        answer.clear();
        answer.resize(n, 0);
        let mut best = PRUNED;
        let mut tails = 0;
        self.values[0] = 0.0;
        if n == 2 {
            self.finish(simd, &mut best, answer);
            return 1;
        }
        self.rank(simd, 0);
        let mut level = 0;
        loop {
            let next = self.candidates[level].get(self.cursors[level]).copied();
            let Some(Candidate { action, .. }) = next.filter(|next| next.bound > best) else {
                if level == 0 {
                    return tails;
                }
                level -= 1;
                continue;
            };
            self.cursors[level] += 1;
            self.decide(simd, level, action);
            if level + 3 == n {
                self.finish(simd, &mut best, answer);
                tails += 1;
            } else {
                level += 1;
                self.rank(simd, level);
            }
        }
    }

    /// Sorts the actions of the next agent by what they can lead to.
    #[inline(always)]
    fn rank<S: Simd>(&mut self, simd: S, level: usize) {
        let n = self.n_actions.len();
        let mut candidates = std::mem::take(&mut self.candidates[level]);
        candidates.clear();
        for action in 0..self.n_actions[level] {
            let own = self.row(level, level).as_flattened()[action];
            let mut bound = self.values[level] + self.rest[level] + own;
            for agent in level + 1..n {
                let row = f64::vectors::<S>(self.row(level, agent).as_flattened());
                let width = chunks_of(self.n_actions[agent]);
                let pair = &self.pair(level, agent)[action * width..][..width];
                let pair = f64::vectors::<S>(pair.as_flattened());
                let lowest = simd.splat_f64s(PRUNED);
                let best = row
                    .iter()
                    .zip(pair)
                    .fold(lowest, |best, (&x, &y)| simd.max_f64s(simd.add_f64s(x, y), best));
                bound += simd.reduce_max_f64s(best);
            }
            candidates.push(Candidate { bound, action });
        }
        candidates
            .sort_unstable_by(|x, y| y.bound.total_cmp(&x.bound).then(x.action.cmp(&y.action)));
        self.candidates[level] = candidates;
        self.cursors[level] = 0;
    }

    /// Lets the next agent take an action and adds what it earns with the later ones to their rows.
    #[inline(always)]
    fn decide<S: Simd>(&mut self, simd: S, level: usize, action: usize) {
        let n = self.n_actions.len();
        let stride = self.starts[n];
        self.action[level] = action;
        self.values[level + 1] = self.values[level] + self.row(level, level).as_flattened()[action];
        let (old, new) = self.rows.split_at_mut((level + 1) * stride);
        let old = &old[level * stride..];
        for agent in level + 1..n {
            let width = chunks_of(self.n_actions[agent]);
            let start = self.pair_starts[level * n + agent] + action * width;
            let chunks = self.starts[agent]..self.starts[agent] + width;
            let pair = f64::vectors::<S>(self.pairs[start..start + width].as_flattened());
            let old = f64::vectors::<S>(old[chunks.clone()].as_flattened());
            let new = f64::vectors_mut::<S>(new[chunks].as_flattened_mut());
            for ((new, &x), &y) in new.iter_mut().zip(old).zip(pair) {
                *new = simd.add_f64s(x, y);
            }
        }
    }

    /// The best actions of the last two agents, given all others.
    #[inline(always)]
    fn finish<S: Simd>(&mut self, simd: S, best: &mut f64, answer: &mut JointAction) {
        let n = self.n_actions.len();
        let level = n - 2;
        let (i, j) = (n - 2, n - 1);
        let mut columns = std::mem::take(&mut self.best_columns);
        let first = &self.row(level, i).as_flattened()[..self.n_actions[i]];
        let table = self.pair(i, j);
        message_to_second(simd, table, first, &mut columns);
        let second = f64::vectors::<S>(self.row(level, j).as_flattened());
        let sums = f64::vectors_mut::<S>(columns.as_flattened_mut());
        sums.iter_mut().zip(second).for_each(|(x, &y)| *x = simd.add_f64s(*x, y));
        let value = self.values[level] + row_max(simd, &columns);
        if value > *best {
            *best = value;
            answer[..level].copy_from_slice(&self.action[..level]);
            answer[j] = largest(columns.as_flattened().iter().copied());
            let column = table.as_flattened()[answer[j]..].iter().step_by(self.row_width(j));
            answer[i] = largest(column.zip(first).map(|(&x, &y)| x + y));
        }
        self.best_columns = columns;
    }
}

/// The first of the largest.
fn largest(values: impl Iterator<Item = f64>) -> usize {
    values.enumerate().fold((0, PRUNED), |best, (a, x)| if x > best.1 { (a, x) } else { best }).0
}
