//! How a region's table of joint actions is made from the outputs of a head.
//!
//! `free`: one output per joint action, the paper's |A|^|R|. `tied`: a sum of few shared terms on a
//! force grid: V + Σ_i E_i\[a_i\] + Σ_i (X_i\[x_i\] + Y_i\[y_i\]) + Σ_{i<k} D_ik\[a_k − a_i\],
//! where a = (x, y) on the grid. Regions may differ in size: in a smaller one than the largest the
//! members that are missing take action 0 (`free`), or add nothing (`tied`).

use crate::nn::{Selection, vectorised};
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
pub(super) const MAX_GRID_ACTIONS: usize = 81;

/// Stands for the action of a member that a region smaller than the largest does not have.
pub(super) const ABSENT: usize = usize::MAX;

/// The terms of one head for regions of up to a number of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    kind: HeadKind,
    pub(super) n_actions: usize,
    pub(super) grid: usize,
    region_size: usize,
}

impl Head {
    /// The head of regions with at most `region_size` members; `tied` needs a force grid.
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

    /// Members of the largest region.
    pub fn region_size(&self) -> usize {
        self.region_size
    }

    /// Entries of the table of a region with so many members.
    pub fn n_entries(&self, size: usize) -> usize {
        self.n_actions.pow(size as u32)
    }

    /// Outputs of the head.
    pub fn n_terms(&self) -> usize {
        match self.kind {
            HeadKind::Free => self.n_entries(self.region_size),
            HeadKind::Tied => {
                self.member_start(self.region_size) + self.n_pairs() * self.n_offsets()
            }
        }
    }

    /// Most terms that one joint action adds up.
    pub fn n_selected(&self) -> usize {
        match self.kind {
            HeadKind::Free => 1,
            HeadKind::Tied => 1 + 3 * self.region_size + self.n_pairs(),
        }
    }

    /// Writes which terms the joint action of a region adds up, one action per member; the rest is
    /// [`Selection::NONE`].
    pub fn select(&self, actions: &[usize], terms: &mut [usize]) {
        debug_assert!(actions.len() <= self.region_size, "{actions:?}");
        match self.kind {
            HeadKind::Free => {
                let entry = actions.iter().fold(0, |i, a| i * self.n_actions + a);
                terms[0] = entry * self.n_entries(self.region_size - actions.len());
            }
            HeadKind::Tied => self.select_tied(actions, terms),
        }
    }

    /// Writes the table of a region with `size` members from the head's outputs.
    pub fn expand(&self, size: usize, terms: &[f32], table: &mut [f32]) {
        match (self.kind, size) {
            (HeadKind::Free, _) if size == self.region_size => table.copy_from_slice(terms),
            (HeadKind::Free, _) => {
                let corner = terms.iter().step_by(self.n_entries(self.region_size - size));
                table.iter_mut().zip(corner).for_each(|(cell, term)| *cell = *term);
            }
            (HeadKind::Tied, 2) => vectorised(
                #[inline(always)]
                || self.expand_tied_pair(terms, table),
            ),
            (HeadKind::Tied, _) => self.expand_tied(size, terms, table),
        }
    }

    /// For each output of a tied head, the output that means the same where every action `a` is called
    /// `action(a)` and, of a pair, the members have changed places; none where an action's new name
    /// does not turn or mirror the grid.
    pub(super) fn posed_outputs(
        &self,
        action: impl Fn(usize) -> usize,
        reversed: bool,
    ) -> Option<Vec<u32>> {
        let mut outputs = vec![u32::MAX; self.n_terms()];
        let mut put = |output: usize, posed: usize| {
            let known = std::mem::replace(&mut outputs[output], posed as u32);
            known == u32::MAX || known == posed as u32
        };
        let (n, g, size) = (self.n_actions, self.grid, self.region_size);
        let reversed = reversed && size == 2;
        // Whether actions in one column of the grid end up in one line of it.
        let exchanged = g > 1 && action(0) / g != action(1) / g;
        let mut agrees = put(0, 0);
        for slot in 0..size {
            let start = self.member_start(slot);
            let posed = self.member_start(if reversed { 1 - slot } else { slot });
            for a in 0..n {
                let (x, y) = (action(a) / g, action(a) % g);
                let (x, y) = if exchanged { (g + y, x) } else { (x, g + y) };
                agrees &= put(start + a, posed + action(a));
                agrees &= put(start + n + a / g, posed + n + x);
                agrees &= put(start + n + g + a % g, posed + n + y);
            }
        }
        for (i, k) in (0..size).flat_map(|i| (i + 1..size).map(move |k| (i, k))) {
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                let (x, y) = (action(a), action(b));
                let posed = if reversed { self.offset(y, x) } else { self.offset(x, y) };
                let start = self.pair_start(i, k);
                agrees &= put(start + self.offset(a, b), start + posed);
            }
        }
        agrees.then_some(outputs)
    }

    /// Whether each output is an entry of the table.
    pub fn is_free(&self) -> bool {
        self.kind == HeadKind::Free
    }

    fn n_pairs(&self) -> usize {
        self.region_size * self.region_size.saturating_sub(1) / 2
    }

    pub(super) fn n_offsets(&self) -> usize {
        (2 * self.grid - 1) * (2 * self.grid - 1)
    }

    /// Number of the term D[b − a].
    fn offset(&self, a: usize, b: usize) -> usize {
        let (g, span) = (self.grid, 2 * self.grid - 1);
        let (dx, dy) = (b / g + g - 1 - a / g, b % g + g - 1 - a % g);
        dx * span + dy
    }

    /// Where the terms of a member begin.
    pub(super) fn member_start(&self, slot: usize) -> usize {
        1 + slot * (self.n_actions + 2 * self.grid)
    }

    /// Where the terms D of two members begin, which lie in the order (0, 1), (0, 2), …, (1, 2), ….
    pub(super) fn pair_start(&self, first: usize, second: usize) -> usize {
        let before = first * (2 * self.region_size - first - 1) / 2;
        self.member_start(self.region_size) + (before + second - first - 1) * self.n_offsets()
    }

    fn select_tied(&self, actions: &[usize], terms: &mut [usize]) {
        terms.fill(Selection::NONE);
        terms[0] = 0;
        let mut next = 1;
        for (slot, &a) in actions.iter().enumerate() {
            let start = self.member_start(slot);
            let axes = start + self.n_actions;
            terms[next] = start + a;
            terms[next + 1] = axes + a / self.grid;
            terms[next + 2] = axes + self.grid + a % self.grid;
            next += 3;
        }
        for (i, &a) in actions.iter().enumerate() {
            for (k, &b) in actions.iter().enumerate().skip(i + 1) {
                terms[next] = self.pair_start(i, k) + self.offset(a, b);
                next += 1;
            }
        }
    }

    /// The table of a region of any size, entry by entry.
    fn expand_tied(&self, size: usize, terms: &[f32], table: &mut [f32]) {
        let mut actions = vec![0; size];
        let mut selected = vec![0; self.n_selected()];
        for (entry, cell) in table.iter_mut().enumerate() {
            write_actions(entry, self.n_actions, &mut actions);
            self.select_tied(&actions, &mut selected);
            let selected = selected.iter().take_while(|term| **term != Selection::NONE);
            *cell = selected.map(|&term| terms[term]).sum();
        }
    }
}

/// Writes the joint action of an entry of a table, one action per member: the last runs fastest.
pub(super) fn write_actions(mut entry: usize, n_actions: usize, actions: &mut [usize]) {
    for action in actions.iter_mut().rev() {
        *action = entry % n_actions;
        entry /= n_actions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_by_selection(head: &Head, terms: &[f32]) -> Vec<f32> {
        let mut table = vec![0.0; head.n_entries(2)];
        head.expand_tied(2, terms, &mut table);
        table
    }

    #[test]
    fn the_tied_pair_has_152_terms() {
        let head = Head::new(HeadKind::Tied, 25, Some(5), 2).unwrap();
        assert_eq!((head.n_terms(), head.n_selected(), head.n_entries(2)), (152, 8, 625));
    }

    #[test]
    fn expansion_agrees_with_selection() {
        let head = Head::new(HeadKind::Tied, 25, Some(5), 2).unwrap();
        let terms: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut table = vec![0.0; head.n_entries(2)];
        head.expand(2, &terms, &mut table);
        let expected = table_by_selection(&head, &terms);
        assert!(table.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn a_free_head_selects_the_row_major_entry() {
        let head = Head::new(HeadKind::Free, 3, None, 3).unwrap();
        let mut term = [0];
        head.select(&[2, 0, 1], &mut term);
        assert_eq!((term[0], head.n_terms()), (19, 27));
    }

    /// Of a region with fewer members than the largest, for every joint action.
    #[test]
    fn a_smaller_region_is_selected_as_it_is_expanded() {
        for kind in [HeadKind::Free, HeadKind::Tied] {
            let head = Head::new(kind, 4, Some(2), 4).unwrap();
            let terms: Vec<f32> = (0..head.n_terms()).map(|i| (i as f32 * 0.37).sin()).collect();
            let mut selected = vec![0; head.n_selected()];
            for size in 1..=4 {
                let (mut table, mut actions) = (vec![0.0; head.n_entries(size)], vec![0; size]);
                head.expand(size, &terms, &mut table);
                for (entry, value) in table.iter().enumerate() {
                    write_actions(entry, 4, &mut actions);
                    head.select(&actions, &mut selected);
                    let selected = selected.iter().take_while(|&&term| term != Selection::NONE);
                    let sum: f32 = selected.map(|&term| terms[term]).sum();
                    assert!((sum - value).abs() < 1e-5, "{kind:?} {actions:?}: {sum} {value}");
                }
            }
        }
    }

    #[test]
    fn a_smaller_region_is_a_corner_of_a_free_table_and_a_shorter_tied_sum() {
        let head = Head::new(HeadKind::Free, 3, None, 3).unwrap();
        let (terms, mut table) = ((0..27).map(|i| i as f32).collect::<Vec<_>>(), [0.0; 9]);
        head.expand(2, &terms, &mut table);
        assert_eq!(table, [0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 24.0]);
        let head = Head::new(HeadKind::Tied, 4, Some(2), 3).unwrap();
        let mut selected = vec![0; head.n_selected()];
        head.select(&[3, 1], &mut selected);
        let mut kept = selected.into_iter().filter(|&term| term != Selection::NONE);
        // V; action, x and y of each member; the offset (−1, 0) of the first pair, behind 1 + 3 · 8.
        let expected = [0, 1 + 3, 5 + 1, 7 + 1, 9 + 1, 13, 15 + 1, 25 + 1];
        assert!(kept.by_ref().eq(expected), "{:?}", kept.collect::<Vec<_>>());
    }

    #[test]
    fn a_tied_head_needs_a_grid() {
        assert!(Head::new(HeadKind::Tied, 5, None, 2).is_none());
    }
}
