//! The equivalent ways to see a region, over which a trained policy averages its table.

use super::head::{Head, write_actions};
use crate::{algorithm::state_tables::StateTables, environment::View};

/// Over which of its equivalent views a region's table is averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Averaging {
    /// The two orders of a pair's members.
    pub orders: bool,
    /// The first so many symmetries of the task; one for the state as it is.
    pub symmetries: usize,
}

impl Averaging {
    /// A region is seen once.
    pub const NONE: Self = Self { orders: false, symmetries: 1 };
}

/// The equivalent views of a region: every symmetry, and under each both orders.
pub(super) struct RegionViews {
    orders: usize,
    /// For each symmetry, region size (from 1) and entry of a table: the entry that means the same
    /// under the symmetry.
    transformed_entries: Vec<Vec<Vec<usize>>>,
    mean: Vec<f32>,
    table: Vec<f32>,
}

impl RegionViews {
    pub(super) fn new(view: &dyn View, averaging: Averaging) -> Self {
        let spec = view.spec();
        let orders = 1 + usize::from(averaging.orders && spec.region_size == 2);
        let n_symmetries = averaging.symmetries.min(view.n_symmetries()).max(1);
        let sizes = 1..if n_symmetries > 1 { spec.region_size + 1 } else { 1 };
        let transformed_entries = (0..n_symmetries)
            .map(|symmetry| sizes.clone().map(|size| entries(view, symmetry, size)).collect())
            .collect();
        Self { orders, transformed_entries, mean: Vec::new(), table: Vec::new() }
    }

    /// Number of views.
    pub(super) fn len(&self) -> usize {
        self.orders * self.transformed_entries.len()
    }

    /// Symmetry of a view, and whether members are in reverse order.
    pub(super) fn describe(&self, index: usize) -> (usize, bool) {
        (index / self.orders, index % self.orders == 1)
    }

    /// Writes the table of every region: the mean over its views, whose terms lie one view of all
    /// regions after the other.
    pub(super) fn fill_tables(&mut self, head: &Head, terms: &[f32], problem: &mut StateTables) {
        let n_terms = head.n_terms();
        let n_symmetries = self.transformed_entries.len();
        let per_view = problem.graph.n_regions() * n_terms;
        self.mean.resize(n_terms, 0.0);
        for symmetry in 0..n_symmetries {
            let terms = &terms[symmetry * self.orders * per_view..][..self.orders * per_view];
            let (forth, back) = terms.split_at(per_view);
            for (region, members) in problem.graph.regions().enumerate() {
                let mut terms = &forth[region * n_terms..][..n_terms];
                if self.orders == 2 && members.len() == 2 {
                    head.average_orders(
                        terms,
                        &back[region * n_terms..][..n_terms],
                        &mut self.mean,
                    );
                    terms = &self.mean;
                }
                let table = problem.tables.region_mut(region);
                if symmetry == 0 {
                    head.expand(members.len(), terms, table);
                    continue;
                }
                self.table.resize(table.len(), 0.0);
                head.expand(members.len(), terms, &mut self.table);
                let entries = &self.transformed_entries[symmetry][members.len() - 1];
                table.iter_mut().zip(entries).for_each(|(sum, &entry)| *sum += self.table[entry]);
            }
        }
        if n_symmetries > 1 {
            let share = 1.0 / n_symmetries as f32;
            problem.tables.regions_mut().iter_mut().for_each(|entry| *entry *= share);
        }
    }
}

/// For each entry of the table of so many members, the one that means the same under a symmetry.
fn entries(view: &dyn View, symmetry: usize, size: usize) -> Vec<usize> {
    let n_actions = view.spec().n_actions();
    let mut actions = vec![0; size];
    let mut transformed = |entry| {
        write_actions(entry, n_actions, &mut actions);
        actions.iter().fold(0, |index, &a| index * n_actions + view.transform_action(symmetry, a))
    };
    (0..n_actions.pow(size as u32)).map(&mut transformed).collect()
}
