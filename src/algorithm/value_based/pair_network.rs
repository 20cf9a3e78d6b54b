//! The payoffs of ordered pairs in DCG and CASEC, from max(F h_i + S h_j + b, 0): what an agent adds as a first
//! and as a second member is computed once, however many pairs it belongs to.

use super::{
    row_network::RowNetwork,
    table_variance::{TableVariance, WIDE, put},
};
use crate::nn::{
    Columns, Layout, Linear, Matrix, Mlp, RowLayer, Selection, Start, product, selected_backward,
    selected_values, vectorised,
};

/// The network with the rows of its last batch, one for each ordered pair.
pub(super) struct PairNetwork {
    /// F h and S h of every agent, side by side.
    members: RowNetwork,
    last: Linear,
    last_layer: RowLayer,
    n_actions: usize,
    rank: usize,
    /// Who is first and who is second in each row.
    rows: Vec<[usize; 2]>,
    hidden: Vec<f32>,
    d_hidden: Vec<f32>,
    /// All outputs, with [`WIDE`] numbers behind the last.
    terms: Vec<f32>,
    /// Those of the actions taken.
    taken: Vec<f32>,
    d_taken: Vec<f32>,
    /// The gradient of all outputs that [`Self::sparseness`] asks for, until it is taken down.
    d_all: Vec<f32>,
    d_columns: Columns,
    d_rows: Vec<f32>,
    /// One table of payoffs, with [`WIDE`] numbers behind the last, and how it varies.
    table: Vec<f32>,
    variance: TableVariance,
    selected: Vec<usize>,
}

impl PairNetwork {
    /// Reserves the parameters under `payoff`; a `rank` of 0 has one output per joint action.
    pub(super) fn new(
        layout: &mut Layout,
        (n_features, n_hidden): (usize, usize),
        (n_actions, rank): (usize, usize),
    ) -> Self {
        let members = Mlp::new(layout, "payoff", &[n_features, 2 * n_hidden], false);
        let n_terms = if rank == 0 { n_actions * n_actions } else { 2 * rank * n_actions };
        let last = Linear::new(layout, "payoff.1", n_hidden, n_terms);
        let [hidden, d_hidden, terms, taken, d_taken, d_all, d_rows, table] =
            [const { Vec::new() }; 8];
        Self {
            members: RowNetwork::new(members),
            last,
            last_layer: RowLayer::default(),
            n_actions,
            rank,
            rows: Vec::new(),
            hidden,
            d_hidden,
            terms,
            taken,
            d_taken,
            d_all,
            d_columns: Columns::default(),
            d_rows,
            table,
            variance: TableVariance::default(),
            selected: Vec::new(),
        }
    }

    /// Takes the features of all agents and the pairs among them, each in both orders.
    pub(super) fn forward(&mut self, parameters: &[f32], features: &[f32], pairs: &[[usize; 2]]) {
        let Self { members, rows, hidden, last, .. } = self;
        members.input.clear();
        members.input.extend_from_slice(features);
        members.forward(parameters);
        rows.clear();
        rows.extend(pairs.iter().flat_map(|&[i, j]| [[i, j], [j, i]]));
        let width = last.n_inputs;
        hidden.resize(rows.len() * width, 0.0);
        vectorised(
            #[inline(always)]
            || {
                for (hidden, [i, j]) in hidden.chunks_exact_mut(width).zip(&*rows) {
                    let first = &members.output[2 * i * width..][..width];
                    let second = &members.output[(2 * j + 1) * width..][..width];
                    for (sum, (first, second)) in hidden.iter_mut().zip(first.iter().zip(second)) {
                        *sum = (first + second).max(0.0);
                    }
                }
            },
        );
    }

    /// Fills what [`Self::write_table`] needs.
    pub(super) fn evaluate_all(&mut self, parameters: &[f32]) {
        let Self { last, last_layer, hidden, terms, rows, .. } = self;
        let len = rows.len() * last.n_outputs;
        if terms.len() < len + WIDE {
            terms.resize(len + WIDE, 0.0);
        }
        let hidden = Matrix::new(hidden, rows.len(), last.n_inputs);
        last_layer.forward(last.parts(parameters), hidden, &mut terms[..len]);
    }

    /// Writes the payoffs of a pair for all joint actions, both orders together, times `share`.
    pub(super) fn write_table(&self, pair: usize, share: f32, table: &mut [f32]) {
        let (n, width) = (self.n_actions, self.last.n_outputs);
        let (forth, back) = self.terms[2 * pair * width..][..2 * width + WIDE].split_at(width);
        vectorised(
            #[inline(always)]
            || match self.rank {
                0 => write_sums(table, n, share, (forth, back)),
                _ => self.write_factors(table, share, &self.terms[2 * pair * width..]),
            },
        );
    }

    /// [`Self::write_table`] for payoffs of some rank: up to [`WIDE`] numbers of a row at a time.
    #[inline(always)]
    fn write_factors(&self, table: &mut [f32], share: f32, terms: &[f32]) {
        let (n, rank, width) = (self.n_actions, self.rank, self.last.n_outputs);
        for first in (0..n).step_by(WIDE) {
            for a in 0..n {
                let mut cells = [0.0; WIDE];
                for k in 0..rank {
                    let (left, right) = (terms[k * n + a], terms[width + (rank + k) * n + a]);
                    let forth = &terms[(rank + k) * n + first..][..WIDE];
                    let back = &terms[width + k * n + first..][..WIDE];
                    for ((cell, f), b) in cells.iter_mut().zip(forth).zip(back) {
                        *cell += share * (left * f + right * b);
                    }
                }
                put(&mut table[a * n + first..], &cells, n - first, n);
            }
        }
    }

    /// Fills what [`Self::payoff`] needs: the outputs that the actions of all agents select.
    pub(super) fn evaluate_taken(&mut self, parameters: &[f32], actions: &[usize]) {
        let (n, rank) = (self.n_actions, self.rank);
        self.selected.clear();
        for [a, b] in self.rows.iter().map(|row| row.map(|agent| actions[agent])) {
            if rank == 0 {
                self.selected.push(a * n + b);
            }
            self.selected.extend((0..rank).map(|k| k * n + a));
            self.selected.extend((rank..2 * rank).map(|k| k * n + b));
        }
        let mut taken = std::mem::take(&mut self.taken);
        taken.resize(self.selected.len(), 0.0);
        let last = self.last.parts(parameters);
        selected_values(last, &self.hidden, self.selection(), &mut taken);
        self.taken = taken;
    }

    /// The payoff of the actions taken by a pair, both orders together.
    pub(super) fn payoff(&self, pair: usize) -> f32 {
        let width = self.n_selected();
        let orders = self.taken[2 * pair * width..][..2 * width].chunks_exact(width);
        let payoffs = orders.map(|terms| match self.rank {
            0 => terms[0],
            rank => (0..rank).map(|k| terms[k] * terms[rank + k]).sum(),
        });
        payoffs.sum()
    }

    /// Adds the gradient of the parameters, given that of every pair's payoff; returns the
    /// gradient of the agents' features.
    pub(super) fn backward(
        &mut self,
        parameters: &[f32],
        gradient: &mut [f32],
        d_payoffs: &[f32],
    ) -> &[f32] {
        let (width, rank) = (self.n_selected(), self.rank);
        self.d_taken.clear();
        for (pair, &d) in d_payoffs.iter().enumerate() {
            for terms in self.taken[2 * pair * width..][..2 * width].chunks_exact(width) {
                if rank == 0 {
                    self.d_taken.push(d);
                }
                let (left, right) = terms.split_at(rank);
                self.d_taken.extend(right.iter().chain(left).take(2 * rank).map(|t| d * t));
            }
        }
        let mut d_hidden = std::mem::take(&mut self.d_hidden);
        d_hidden.resize(self.hidden.len(), 0.0);
        let weight = self.last.parts(parameters).0;
        let d_last = self.last.parts_mut(gradient);
        let hidden = (&self.hidden[..], &mut d_hidden[..]);
        selected_backward(weight, d_last, hidden, self.selection(), &self.d_taken);
        self.d_hidden = d_hidden;
        if !self.d_all.is_empty() {
            self.backward_all(parameters, gradient);
        }
        self.add_to_members();
        self.members.backward(parameters, gradient, true);
        &self.members.d_input
    }

    /// `weight` × the mean, over ordered pairs and the first member's actions, of the payoff's variance
    /// over the second's actions; after [`Self::evaluate_all`]. Its gradient goes down with the next
    /// [`Self::backward`].
    pub(super) fn sparseness(&mut self, weight: f32) -> f32 {
        let (n, width) = (self.n_actions, self.last.n_outputs);
        let mut table = std::mem::take(&mut self.table);
        table.resize(n * n + WIDE, 0.0);
        self.d_all.clear();
        self.d_all.resize(self.rows.len() * width, 0.0);
        let scale = weight / (self.rows.len().max(1) * n) as f32;
        let mut varied = 0.0;
        for pair in 0..self.rows.len() / 2 {
            self.write_table(pair, 0.5, &mut table);
            varied += self.variance.read(&table, n, 0.5 * scale);
            self.add_table(pair);
        }
        self.table = table;
        scale * varied
    }

    /// Adds the gradient of a pair's variance to that of the outputs it was made from.
    fn add_table(&mut self, pair: usize) {
        let (n, rank, width) = (self.n_actions, self.rank, self.last.n_outputs);
        let both = 2 * pair * width..2 * (pair + 1) * width;
        let (forth, back) = self.terms[both.clone()].split_at(width);
        let (d_forth, d_back) = self.d_all[both].split_at_mut(width);
        let TableVariance { gradient: d_rows, gradient_by_columns: d_columns, .. } = &self.variance;
        vectorised(
            #[inline(always)]
            || {
                if rank == 0 {
                    add(d_forth, d_rows);
                    add(d_back, d_columns);
                }
                for k in 0..rank {
                    let (left, right) = (k * n..(k + 1) * n, (rank + k) * n..(rank + k + 1) * n);
                    let factors = [
                        &forth[right.clone()],
                        &forth[left.clone()],
                        &back[right.clone()],
                        &back[left.clone()],
                    ];
                    for first in (0..n).step_by(WIDE) {
                        let sums = weighted_sums(n, first, factors, (d_rows, d_columns));
                        let len = WIDE.min(n - first);
                        let (left, right) = (left.start + first, right.start + first);
                        d_forth[left..left + len].copy_from_slice(&sums[0][..len]);
                        d_forth[right..right + len].copy_from_slice(&sums[1][..len]);
                        d_back[left..left + len].copy_from_slice(&sums[2][..len]);
                        d_back[right..right + len].copy_from_slice(&sums[3][..len]);
                    }
                }
            },
        );
    }

    /// Takes the gradient of all outputs down, and forgets it.
    fn backward_all(&mut self, parameters: &[f32], gradient: &mut [f32]) {
        let Self { last, hidden, d_hidden, d_all, d_columns, d_rows, rows, .. } = self;
        d_columns.read_rows(d_all, last.n_outputs, rows.len());
        last.backward(gradient, hidden, d_columns);
        d_rows.resize(hidden.len(), 0.0);
        let weight = Matrix::new(last.parts(parameters).0, last.n_outputs, last.n_inputs);
        product(d_rows, Start::Zero, Matrix::new(d_all, rows.len(), last.n_outputs), weight, false);
        d_hidden.iter_mut().zip(d_rows).for_each(|(sum, d)| *sum += *d);
        d_all.clear();
    }

    /// Takes the gradient of every ordered pair to its members.
    fn add_to_members(&mut self) {
        let Self { members, rows, hidden, d_hidden, last, .. } = self;
        let width = last.n_inputs;
        members.d_output.clear();
        members.d_output.resize(members.output.len(), 0.0);
        let pairs = hidden.chunks_exact(width).zip(d_hidden.chunks_exact(width)).zip(&*rows);
        vectorised(
            #[inline(always)]
            || {
                for ((hidden, d_hidden), [i, j]) in pairs {
                    for start in [2 * i * width, (2 * j + 1) * width] {
                        let sums = members.d_output[start..][..width].iter_mut();
                        for (sum, (h, d)) in sums.zip(hidden.iter().zip(d_hidden)) {
                            *sum += if *h > 0.0 { *d } else { 0.0 };
                        }
                    }
                }
            },
        );
    }

    /// Outputs that one ordered pair's actions select.
    fn n_selected(&self) -> usize {
        (2 * self.rank).max(1)
    }

    fn selection(&self) -> Selection<'_> {
        Selection { outputs: &self.selected, n_outputs: 1, n_values: self.n_selected() }
    }
}

/// Writes `share` × the payoffs that both orders of a pair list one by one.
#[inline(always)]
fn write_sums(table: &mut [f32], n: usize, share: f32, (forth, back): (&[f32], &[f32])) {
    for (a, row) in table[..n * n].chunks_exact_mut(n).enumerate() {
        for (b, cell) in row.iter_mut().enumerate() {
            *cell = share * (forth[a * n + b] + back[b * n + a]);
        }
    }
}

/// Adds numbers to sums.
#[inline(always)]
fn add(sums: &mut [f32], numbers: &[f32]) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}

/// Of the columns from `first` on: the sums of a square table's columns and of its rows, of both again, each
/// row and column times its factor. The table, by rows and by columns, ends with [`WIDE`] numbers that do not count.
#[inline(always)]
fn weighted_sums(
    n: usize,
    first: usize,
    factors: [&[f32]; 4],
    (by_rows, by_columns): (&[f32], &[f32]),
) -> [[f32; WIDE]; 4] {
    let mut sums = [[0.0; WIDE]; 4];
    for action in 0..n {
        let row = &by_rows[action * n + first..][..WIDE];
        let column = &by_columns[action * n + first..][..WIDE];
        for ((sums, factors), numbers) in
            sums.iter_mut().zip(factors).zip([column, row, row, column])
        {
            let factor = factors[action];
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += factor * number);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Short rows, one that fills the registers, and rows of several pieces; entry by entry what the actions
    /// taken are worth.
    #[test]
    fn a_table_holds_what_each_joint_action_is_worth() {
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        for (n, rank) in [(3, 0), (40, 0), (3, 2), (25, 4), (32, 1), (33, 2), (70, 3)] {
            let mut layout = Layout::default();
            let mut network = PairNetwork::new(&mut layout, (4, 5), (n, rank));
            let parameters = layout.initialise(&mut rng);
            let features: Vec<f32> = (0..12).map(|_| rng.normal() as f32).collect();
            network.forward(&parameters, &features, &[[0, 2], [1, 2]]);
            network.evaluate_all(&parameters);
            let mut tables = [(); 2].map(|()| vec![f32::NAN; n * n]);
            tables.iter_mut().enumerate().for_each(|(pair, t)| network.write_table(pair, 0.5, t));
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                network.evaluate_taken(&parameters, &[a, a, b]);
                for (pair, table) in tables.iter().enumerate() {
                    let expected = 0.5 * network.payoff(pair);
                    let found = table[a * n + b];
                    assert!((found - expected).abs() < 1e-5, "{n} {rank} {a} {b}: {found}");
                }
            }
        }
    }
}
