//! The payoffs of ordered pairs in DCG and CASEC, from max(F h_i + S h_j + b, 0): what an agent adds as a first
//! and as a second member is computed once, however many pairs it belongs to.

use super::{row_network::RowNetwork, table_variance::TableVariance};
use crate::nn::{
    Columns, Layout, Linear, Mlp, Selection, selected_backward, selected_values, vectorised,
};

/// The network with the rows of its last batch, one for each ordered pair.
pub(super) struct PairNetwork {
    /// F h and S h of every agent, side by side.
    members: RowNetwork,
    last: Linear,
    n_actions: usize,
    rank: usize,
    /// Who is first and who is second in each row.
    rows: Vec<[usize; 2]>,
    hidden: Vec<f32>,
    d_hidden: Vec<f32>,
    inputs: Columns,
    outputs: Columns,
    /// All outputs, or those of the actions taken.
    terms: Vec<f32>,
    d_terms: Vec<f32>,
    /// The gradient of all outputs that [`Self::sparseness`] asks for, until it is taken down.
    d_all: Vec<f32>,
    /// One table of payoffs, and how it varies.
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
        let [hidden, d_hidden, terms, d_terms, d_all, table] = [const { Vec::new() }; 6];
        Self {
            members: RowNetwork::new(members),
            last,
            n_actions,
            rank,
            rows: Vec::new(),
            hidden,
            d_hidden,
            inputs: Columns::default(),
            outputs: Columns::default(),
            terms,
            d_terms,
            d_all,
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
        let Self { last, inputs, outputs, hidden, terms, rows, .. } = self;
        inputs.read_rows(hidden, last.n_inputs, rows.len());
        last.forward(parameters, inputs, last.n_outputs, false, outputs);
        outputs.write_rows(terms);
    }

    /// Writes the payoffs of a pair for all joint actions, both orders together, times `share`.
    pub(super) fn write_table(&self, pair: usize, share: f32, table: &mut [f32]) {
        let (n, rank, width) = (self.n_actions, self.rank, self.last.n_outputs);
        let (forth, back) = self.terms[2 * pair * width..][..2 * width].split_at(width);
        vectorised(
            #[inline(always)]
            || {
                for (a, row) in table.chunks_exact_mut(n).enumerate() {
                    row.fill(0.0);
                    if rank == 0 {
                        for (b, cell) in row.iter_mut().enumerate() {
                            *cell = share * (forth[a * n + b] + back[b * n + a]);
                        }
                    }
                    for k in 0..rank {
                        let (left, right) = (forth[k * n + a], back[(rank + k) * n + a]);
                        let others = forth[(rank + k) * n..][..n].iter().zip(&back[k * n..][..n]);
                        for (cell, (f, b)) in row.iter_mut().zip(others) {
                            *cell += share * (left * f + right * b);
                        }
                    }
                }
            },
        );
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
        let mut terms = std::mem::take(&mut self.terms);
        terms.resize(self.selected.len(), 0.0);
        let last = self.last.parts(parameters);
        selected_values(last, &self.hidden, self.selection(), &mut terms);
        self.terms = terms;
    }

    /// The payoff of the actions taken by a pair, both orders together.
    pub(super) fn payoff(&self, pair: usize) -> f32 {
        let width = self.n_selected();
        let orders = self.terms[2 * pair * width..][..2 * width].chunks_exact(width);
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
        self.d_terms.clear();
        for (pair, &d) in d_payoffs.iter().enumerate() {
            for terms in self.terms[2 * pair * width..][..2 * width].chunks_exact(width) {
                if rank == 0 {
                    self.d_terms.push(d);
                }
                let (left, right) = terms.split_at(rank);
                self.d_terms.extend(right.iter().chain(left).take(2 * rank).map(|t| d * t));
            }
        }
        let mut d_hidden = std::mem::take(&mut self.d_hidden);
        d_hidden.resize(self.hidden.len(), 0.0);
        let weight = self.last.parts(parameters).0;
        let d_last = self.last.parts_mut(gradient);
        let hidden = (&self.hidden[..], &mut d_hidden[..]);
        selected_backward(weight, d_last, hidden, self.selection(), &self.d_terms);
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
        table.resize(n * n, 0.0);
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
                    add(d_forth, 1.0, d_rows);
                    add(d_back, 1.0, d_columns);
                }
                for k in 0..rank {
                    let (left, right) = (k * n..(k + 1) * n, (rank + k) * n..(rank + k + 1) * n);
                    for action in 0..n {
                        let row = &d_rows[action * n..][..n];
                        let column = &d_columns[action * n..][..n];
                        add(&mut d_forth[left.clone()], forth[right.start + action], column);
                        add(&mut d_forth[right.clone()], forth[left.start + action], row);
                        add(&mut d_back[left.clone()], back[right.start + action], row);
                        add(&mut d_back[right.clone()], back[left.start + action], column);
                    }
                }
            },
        );
    }

    /// Takes the gradient of all outputs down, and forgets it.
    fn backward_all(&mut self, parameters: &[f32], gradient: &mut [f32]) {
        let Self { last, inputs, outputs, hidden, d_hidden, d_all, rows, .. } = self;
        outputs.read_rows(d_all, last.n_outputs, rows.len());
        last.backward(gradient, hidden, outputs);
        last.backward_input(parameters, outputs, inputs);
        let d_rows = inputs.write_rows(d_all);
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

/// Adds `factor` × numbers to sums.
#[inline(always)]
fn add(sums: &mut [f32], factor: f32, numbers: &[f32]) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += factor * number);
}
