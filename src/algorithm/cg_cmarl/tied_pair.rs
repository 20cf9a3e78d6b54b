//! The table of a pair from the terms of a tied head, row by row and vectorised.

use super::head::{Head, MAX_GRID_ACTIONS};

impl Head {
    /// What one member adds for each of its actions, on top of `base`: E\[a\] + X\[x\] + Y\[y\].
    #[inline(always)]
    fn alone(&self, terms: &[f32], slot: usize, base: f32, sums: &mut [f32]) {
        let g = self.grid;
        let (by_action, axes) = terms[self.member_start(slot)..].split_at(self.n_actions);
        let (by_x, by_y) = axes.split_at(g);
        let lines = sums.chunks_exact_mut(g).zip(by_action.chunks_exact(g)).zip(by_x);
        for ((sums, by_action), x) in lines {
            for ((sum, a), y) in sums.iter_mut().zip(by_action).zip(by_y) {
                *sum = base + (a + (x + y));
            }
        }
    }

    /// The table of a pair, row by row: a = (x, y) of the first member takes D\[b − a\], which is D's
    /// lines g − 1 − x, …, 2g − 2 − x, each from column g − 1 − y on. The columns that a y can reach
    /// are cut out once; the lines of an x are then one stretch of them.
    #[inline(always)]
    pub(super) fn expand_tied_pair(&self, terms: &[f32], table: &mut [f32]) {
        let (n, g, span) = (self.n_actions, self.grid, 2 * self.grid - 1);
        let offsets = &terms[self.pair_start(0, 1)..][..self.n_offsets()];
        let (mut firsts, mut seconds) = ([0.0; MAX_GRID_ACTIONS], [0.0; MAX_GRID_ACTIONS]);
        self.alone(terms, 0, terms[0], &mut firsts[..n]);
        self.alone(terms, 1, 0.0, &mut seconds[..n]);
        let mut reachable = [0.0; 2 * MAX_GRID_ACTIONS];
        for y in 0..g {
            let first_column = g - 1 - y;
            for (cut, line) in reachable.chunks_exact_mut(g).zip(offsets.chunks_exact(span)) {
                copy_line(&line[first_column..][..g], cut);
            }
            for x in 0..g {
                let a = x * g + y;
                let first_line = g - 1 - x;
                let row = &mut table[a * n..][..n];
                let offsets = &reachable[first_line * g..];
                match (row.first_chunk_mut(), offsets.first_chunk()) {
                    (Some(row), Some(offsets)) if n == 25 => {
                        add_row(row, firsts[a], &seconds, offsets);
                    }
                    _ => add_entries(row, firsts[a], &seconds, offsets),
                }
            }
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
fn add_row(
    row: &mut [f32; 25],
    first: f32,
    seconds: &[f32; MAX_GRID_ACTIONS],
    offsets: &[f32; 25],
) {
    add_entries(row, first, seconds, offsets);
}

#[inline(always)]
fn add_entries(row: &mut [f32], first: f32, seconds: &[f32], offsets: &[f32]) {
    for ((entry, second), offset) in row.iter_mut().zip(seconds).zip(offsets) {
        *entry = first + second + offset;
    }
}
