//! How a region's table of joint actions is made from the outputs of a head.
//!
//! `free`: one output per joint action, the paper's |A|^|R|. `tied`: a sum of few shared terms on a
//! force grid: V + Σ_i E_i\[a_i\] + Σ_i (X_i\[x_i\] + Y_i\[y_i\]) + Σ_{i<k} D_ik\[a_k − a_i\],
//! where a = (x, y) on the grid.

use crate::nn::vectorised;
use serde::{Deserialize, Serialize};

/// Which outputs a head has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// One output per joint action.
    Free,
    /// Shared terms on a force grid.
    Tied,
}

/// Most actions of a force grid: 9 × 9.
const MAX_GRID_ACTIONS: usize = 81;

/// The terms of one head for regions of a fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    kind: HeadKind,
    n_actions: usize,
    grid: usize,
    region_size: usize,
}

impl Head {
    /// The head of regions with `region_size` members; `tied` needs a force grid.
    pub fn new(
        kind: HeadKind,
        n_actions: usize,
        grid: Option<usize>,
        region_size: usize,
    ) -> Option<Self> {
        match (kind, grid) {
            (HeadKind::Free, _) => Some(Self { kind, n_actions, grid: 0, region_size }),
            (HeadKind::Tied, Some(grid)) if n_actions <= MAX_GRID_ACTIONS => {
                Some(Self { kind, n_actions, grid, region_size })
            }
            (HeadKind::Tied, _) => None,
        }
    }

    /// Entries of a region's table.
    pub fn n_entries(&self) -> usize {
        self.n_actions.pow(self.region_size as u32)
    }

    /// Outputs of the head.
    pub fn n_terms(&self) -> usize {
        match self.kind {
            HeadKind::Free => self.n_entries(),
            HeadKind::Tied => {
                let m = self.region_size;
                1 + m * (self.n_actions + 2 * self.grid) + m * (m - 1) / 2 * self.n_offsets()
            }
        }
    }

    /// Terms that one joint action adds up.
    pub fn n_selected(&self) -> usize {
        match self.kind {
            HeadKind::Free => 1,
            HeadKind::Tied => {
                1 + 3 * self.region_size + self.region_size * (self.region_size - 1) / 2
            }
        }
    }

    /// Writes which terms the joint action `actions` of a region adds up.
    pub fn select(&self, actions: &[usize], terms: &mut [usize]) {
        debug_assert_eq!(actions.len(), self.region_size);
        match self.kind {
            HeadKind::Free => terms[0] = actions.iter().fold(0, |i, a| i * self.n_actions + a),
            HeadKind::Tied => self.select_tied(actions, terms),
        }
    }

    /// Writes the region's table from the head's outputs.
    pub fn expand(&self, terms: &[f32], table: &mut [f32]) {
        match (self.kind, self.region_size) {
            (HeadKind::Free, _) => table.copy_from_slice(terms),
            (HeadKind::Tied, 2) => vectorised(
                #[inline(always)]
                || self.expand_tied_pair(terms, table),
            ),
            (HeadKind::Tied, _) => self.expand_tied(terms, table),
        }
    }

    /// Averages the terms of a pair with those of the same pair seen in reverse order.
    pub fn average_orders(&self, terms: &mut [f32], reversed: &[f32]) {
        assert_eq!(self.region_size, 2, "only pairs have a reverse order");
        let mut blend = |to: usize, from: usize| terms[to] = 0.5 * (terms[to] + reversed[from]);
        let n = self.n_actions;
        if self.kind == HeadKind::Free {
            (0..n * n).for_each(|entry| blend(entry, entry % n * n + entry / n));
            return;
        }
        blend(0, 0);
        let (first, second, pair) = (self.agent_start(0), self.agent_start(1), self.pair_start(0));
        (0..second - first).for_each(|i| blend(first + i, second + i));
        (0..second - first).for_each(|i| blend(second + i, first + i));
        (0..self.n_offsets()).for_each(|i| blend(pair + i, pair + self.n_offsets() - 1 - i));
    }

    /// Turns the terms of a pair into those of the same pair in reverse order.
    pub fn reverse(&self, terms: &mut [f32]) {
        assert_eq!(self.region_size, 2, "only pairs have a reverse order");
        let n = self.n_actions;
        if self.kind == HeadKind::Free {
            for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
                terms.swap(a * n + b, b * n + a);
            }
            return;
        }
        let (first, second, pair) = (self.agent_start(0), self.agent_start(1), self.pair_start(0));
        let (one, other) = terms.split_at_mut(second);
        one[first..].swap_with_slice(&mut other[..second - first]);
        terms[pair..pair + self.n_offsets()].reverse();
    }

    /// Whether each output is an entry of the table.
    pub fn is_free(&self) -> bool {
        self.kind == HeadKind::Free
    }

    fn n_offsets(&self) -> usize {
        (2 * self.grid - 1) * (2 * self.grid - 1)
    }

    /// Number of the term D[b − a].
    fn offset(&self, a: usize, b: usize) -> usize {
        let (g, span) = (self.grid, 2 * self.grid - 1);
        let (dx, dy) = (b / g + g - 1 - a / g, b % g + g - 1 - a % g);
        dx * span + dy
    }

    fn agent_start(&self, slot: usize) -> usize {
        1 + slot * (self.n_actions + 2 * self.grid)
    }

    fn pair_start(&self, pair: usize) -> usize {
        self.agent_start(self.region_size) + pair * self.n_offsets()
    }

    fn select_tied(&self, actions: &[usize], terms: &mut [usize]) {
        terms[0] = 0;
        let mut next = 1;
        for (slot, &a) in actions.iter().enumerate() {
            let start = self.agent_start(slot);
            let axes = start + self.n_actions;
            terms[next] = start + a;
            terms[next + 1] = axes + a / self.grid;
            terms[next + 2] = axes + self.grid + a % self.grid;
            next += 3;
        }
        let mut pair = 0;
        for i in 0..actions.len() {
            for k in i + 1..actions.len() {
                terms[next] = self.pair_start(pair) + self.offset(actions[i], actions[k]);
                next += 1;
                pair += 1;
            }
        }
    }

    /// What one member adds for each of its actions, on top of `base`.
    #[inline(always)]
    fn alone(&self, terms: &[f32], slot: usize, base: f32, sums: &mut [f32]) {
        let g = self.grid;
        let (own, axes) = terms[self.agent_start(slot)..].split_at(self.n_actions);
        for (x, (sums, own)) in sums.chunks_exact_mut(g).zip(own.chunks_exact(g)).enumerate() {
            for (y, (sum, own)) in sums.iter_mut().zip(own).enumerate() {
                *sum = base + (own + axes[x] + axes[g + y]);
            }
        }
    }

    /// Row a = (x, y) of the table takes its offsets from D[· − x, · − y]: for a fixed y they are
    /// a stretch of D's lines cut to those b can reach, which is laid out once for all x.
    #[inline(always)]
    fn expand_tied_pair(&self, terms: &[f32], table: &mut [f32]) {
        let (n, g, span) = (self.n_actions, self.grid, 2 * self.grid - 1);
        let offsets = &terms[self.pair_start(0)..][..self.n_offsets()];
        let (mut firsts, mut seconds) = ([0.0; MAX_GRID_ACTIONS], [0.0; MAX_GRID_ACTIONS]);
        self.alone(terms, 0, terms[0], &mut firsts[..n]);
        self.alone(terms, 1, 0.0, &mut seconds[..n]);
        let mut lines = [0.0; 2 * MAX_GRID_ACTIONS];
        for y in 0..g {
            for (line, whole) in lines.chunks_exact_mut(g).zip(offsets.chunks_exact(span)) {
                copy_line(&whole[g - 1 - y..][..g], line);
            }
            for x in 0..g {
                let a = x * g + y;
                let row = &mut table[a * n..][..n];
                let line = &lines[(g - 1 - x) * g..];
                match (row.first_chunk_mut(), line.first_chunk()) {
                    (Some(row), Some(line)) if n == 25 => add_row(row, firsts[a], &seconds, line),
                    _ => add_entries(row, firsts[a], &seconds, line),
                }
            }
        }
    }

    fn expand_tied(&self, terms: &[f32], table: &mut [f32]) {
        let mut actions = vec![0; self.region_size];
        let mut selected = vec![0; self.n_selected()];
        for (entry, cell) in table.iter_mut().enumerate() {
            let mut rest = entry;
            for action in actions.iter_mut().rev() {
                *action = rest % self.n_actions;
                rest /= self.n_actions;
            }
            self.select_tied(&actions, &mut selected);
            *cell = selected.iter().map(|&term| terms[term]).sum();
        }
    }
}

/// Copies a line; the usual one without a call.
#[inline(always)]
fn copy_line(from: &[f32], to: &mut [f32]) {
    if let (Ok(from), Ok(to)) = (<&[f32; 5]>::try_from(from), <&mut [f32; 5]>::try_from(&mut *to)) {
        *to = *from;
    } else {
        to.copy_from_slice(from);
    }
}

/// One row of a table, unrolled for the usual grid of 5 × 5.
#[inline(always)]
fn add_row(row: &mut [f32; 25], first: f32, seconds: &[f32; MAX_GRID_ACTIONS], line: &[f32; 25]) {
    add_entries(row, first, seconds, line);
}

#[inline(always)]
fn add_entries(row: &mut [f32], first: f32, seconds: &[f32], line: &[f32]) {
    for ((entry, second), offset) in row.iter_mut().zip(seconds).zip(line) {
        *entry = first + second + offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_by_selection(head: &Head, terms: &[f32]) -> Vec<f32> {
        let mut table = vec![0.0; head.n_entries()];
        head.expand_tied(terms, &mut table);
        table
    }

    #[test]
    fn the_tied_pair_has_152_terms() {
        let head = Head::new(HeadKind::Tied, 25, Some(5), 2).unwrap();
        assert_eq!((head.n_terms(), head.n_selected(), head.n_entries()), (152, 8, 625));
    }

    #[test]
    fn expansion_agrees_with_selection() {
        let head = Head::new(HeadKind::Tied, 25, Some(5), 2).unwrap();
        let terms: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut table = vec![0.0; head.n_entries()];
        head.expand(&terms, &mut table);
        let expected = table_by_selection(&head, &terms);
        assert!(table.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn reversing_mirrors_the_table_and_averaging_blends_both() {
        for kind in [HeadKind::Free, HeadKind::Tied] {
            let head = Head::new(kind, 9, Some(3), 2).unwrap();
            let terms: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.37).sin()).collect();
            let reversed: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.9).cos()).collect();
            let expand = |terms: &[f32]| {
                let mut table = vec![0.0; 81];
                head.expand(terms, &mut table);
                table
            };
            let mut turned = terms.clone();
            head.reverse(&mut turned);
            let (table, mirrored) = (expand(&terms), expand(&turned));
            for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
                assert!((table[a * 9 + b] - mirrored[b * 9 + a]).abs() < 1e-5, "{kind:?} {a} {b}");
            }
            let mut averaged = terms.clone();
            head.average_orders(&mut averaged, &reversed);
            let (table, forth, back) = (expand(&averaged), expand(&terms), expand(&reversed));
            for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
                let expected = 0.5 * (forth[a * 9 + b] + back[b * 9 + a]);
                assert!((table[a * 9 + b] - expected).abs() < 1e-5, "{kind:?} {a} {b}");
            }
        }
    }

    #[test]
    fn a_free_head_selects_the_row_major_entry() {
        let head = Head::new(HeadKind::Free, 3, None, 3).unwrap();
        let mut term = [0];
        head.select(&[2, 0, 1], &mut term);
        assert_eq!((term[0], head.n_terms()), (19, 27));
    }

    #[test]
    fn a_tied_head_needs_a_grid() {
        assert!(Head::new(HeadKind::Tied, 5, None, 2).is_none());
    }
}
