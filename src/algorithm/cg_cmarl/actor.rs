//! From states to joint actions: rows, network, augmented tables, noise, message passing.

use super::{
    exploration::TableNoise,
    head::Head,
    network::{TwoHead, TwoHeadWorkspace},
};
use crate::{
    coordination::{Coordination, Coordinator, FactorTables},
    environment::View,
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};

/// Rows that one product of the network works on, at the least where there are as many.
const ROWS_PER_SHARD: usize = 128;

/// How many states go through the network together; depends on the graph only, so that the number
/// of threads never changes a result.
pub(super) fn states_per_shard(max_regions: usize) -> usize {
    ROWS_PER_SHARD.div_ceil(max_regions.max(1))
}

/// Over which of its equivalent sights a region's table is averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Averaging {
    /// The two orders of a pair's members.
    pub orders: bool,
    /// The first so many symmetries of the world; one for the world as it is.
    pub symmetries: usize,
}

impl Averaging {
    /// A region is seen once.
    pub const NONE: Self = Self { orders: false, symmetries: 1 };
}

/// Chooses joint actions for a few states at a time; owns every buffer that takes.
pub struct Actor {
    coordinator: Box<dyn Coordinator>,
    sights: Sights,
    graph: CoordinationGraph,
    counts: Vec<usize>,
    rows: Vec<f32>,
    turned: Vec<f32>,
    reversed: Vec<bool>,
    row_multipliers: Vec<f32>,
    tables: FactorTables,
    fitted: usize,
    network: TwoHeadWorkspace,
}

/// What an actor needs to know of the moment.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// The network's shape.
    pub network: &'a TwoHead,
    /// The network's numbers.
    pub parameters: &'a [f32],
    /// How to look at a state.
    pub view: &'a dyn View,
    /// The exploration noise and its scale, where there is any.
    pub noise: Option<(&'a TableNoise, f32)>,
}

impl Actor {
    /// An actor.
    pub fn new(view: &dyn View, coordinator: Box<dyn Coordinator>, averaging: Averaging) -> Self {
        let spec = view.spec();
        let graph = CoordinationGraph::empty(spec.n_agents());
        let tables = FactorTables::zeros(&graph, spec.n_actions());
        Self {
            fitted: graph.n_regions(),
            coordinator,
            sights: Sights::new(view, averaging),
            graph,
            counts: Vec::new(),
            rows: Vec::new(),
            turned: Vec::new(),
            reversed: Vec::new(),
            row_multipliers: Vec::new(),
            tables,
            network: TwoHeadWorkspace::default(),
        }
    }

    /// Writes the joint action of each state; `multipliers` holds one row per state.
    pub fn choose(
        &mut self,
        stage: Stage<'_>,
        states: &[f32],
        multipliers: &[f32],
        rngs: &mut [Rng],
        actions: &mut [JointAction],
    ) {
        let n_rows = self.gather(stage, states, multipliers);
        let Stage { network, parameters, view, .. } = stage;
        let Self { rows, row_multipliers, network: buffers, .. } = self;
        let terms = network.terms(parameters, rows, n_rows, row_multipliers, buffers);
        let width = self.sights.len() * network.head().n_terms();
        let state_width = view.spec().state_width;
        let mut start = 0;
        for (slot, action) in actions.iter_mut().enumerate() {
            let terms = &mut terms[start..start + self.counts[slot] * width];
            start += terms.len();
            view.graph(&states[slot * state_width..][..state_width], &mut self.graph);
            refit(&mut self.tables, &mut self.fitted, &self.graph);
            self.sights.fill_tables(network.head(), terms, &mut self.tables);
            if let Some((noise, scale)) = stage.noise {
                noise.add(self.tables.regions_mut(), scale, &mut rngs[slot]);
            }
            self.coordinator.coordinate(&self.graph, &self.tables, action);
        }
    }

    /// The tables of one state and their solution, for those who look inside a decision.
    pub fn decide(
        &mut self,
        stage: Stage<'_>,
        state: &[f32],
        multipliers: &[f32],
        action: &mut JointAction,
    ) -> (&CoordinationGraph, &FactorTables, Coordination) {
        let n_rows = self.gather(stage, state, multipliers);
        let Self { rows, row_multipliers, network: buffers, .. } = self;
        let network = stage.network;
        let terms = network.terms(stage.parameters, rows, n_rows, row_multipliers, buffers);
        stage.view.graph(state, &mut self.graph);
        refit(&mut self.tables, &mut self.fitted, &self.graph);
        self.sights.fill_tables(network.head(), terms, &mut self.tables);
        let answer = self.coordinator.coordinate(&self.graph, &self.tables, action);
        (&self.graph, &self.tables, answer)
    }

    /// Writes the input rows of all regions of all states: a state's sights one after the other.
    fn gather(&mut self, stage: Stage<'_>, states: &[f32], multipliers: &[f32]) -> usize {
        let Stage { network, view, .. } = stage;
        let (stride, n_constraints) = (network.n_inputs(), network.n_heads() - 1);
        self.counts.clear();
        self.row_multipliers.clear();
        let mut n_rows = 0;
        for (slot, state) in states.chunks_exact(view.spec().state_width).enumerate() {
            view.graph(state, &mut self.graph);
            let n_regions = self.graph.n_regions();
            let n_new = self.sights.len() * n_regions;
            self.counts.push(n_regions);
            self.reversed.resize(n_regions, true);
            let end = (n_rows + n_new) * stride;
            if self.rows.len() < end {
                self.rows.resize(end, 0.0);
            }
            let rows = &mut self.rows[n_rows * stride..end];
            for (sight, rows) in rows.chunks_exact_mut((n_regions * stride).max(1)).enumerate() {
                let (symmetry, reversed) = self.sights.describe(sight);
                self.turned.clear();
                self.turned.extend_from_slice(state);
                view.transform_state(symmetry, &mut self.turned);
                let reversed = if reversed { &self.reversed[..] } else { &[] };
                view.region_rows(&self.turned, &self.graph, reversed, rows, stride);
            }
            let multipliers = &multipliers[slot * n_constraints..][..n_constraints];
            network.write_multipliers(rows, multipliers);
            for _ in 0..n_new {
                self.row_multipliers.extend_from_slice(multipliers);
            }
            n_rows += n_new;
        }
        n_rows
    }
}

/// The equivalent sights of a region: every symmetry, and under each both orders.
struct Sights {
    orders: usize,
    /// For each symmetry and entry of a table: the entry that means the same under the symmetry.
    turned_entries: Vec<Vec<usize>>,
    table: Vec<f32>,
}

impl Sights {
    fn new(view: &dyn View, averaging: Averaging) -> Self {
        let spec = view.spec();
        let orders = 1 + usize::from(averaging.orders && spec.region_size == 2);
        let n_symmetries = averaging.symmetries.min(view.n_symmetries()).max(1);
        let n_entries =
            if n_symmetries > 1 { spec.n_actions().pow(spec.region_size as u32) } else { 0 };
        let turned_entry = |symmetry: usize, entry: usize| {
            let (mut rest, mut place, mut turned) = (entry, 1, 0);
            for _ in 0..spec.region_size {
                turned += place * view.transform_action(symmetry, rest % spec.n_actions());
                rest /= spec.n_actions();
                place *= spec.n_actions();
            }
            turned
        };
        let turned_entries = (0..n_symmetries)
            .map(|symmetry| (0..n_entries).map(|entry| turned_entry(symmetry, entry)).collect())
            .collect();
        Self { orders, turned_entries, table: vec![0.0; n_entries] }
    }

    fn len(&self) -> usize {
        self.orders * self.turned_entries.len()
    }

    /// Symmetry and order of a sight.
    fn describe(&self, sight: usize) -> (usize, bool) {
        (sight / self.orders, sight % self.orders == 1)
    }

    /// Writes the table of every region: the mean over its sights, whose terms lie one sight of all
    /// regions after the other.
    fn fill_tables(&mut self, head: &Head, terms: &mut [f32], tables: &mut FactorTables) {
        let (n_terms, n_entries) = (head.n_terms(), head.n_entries());
        let share = 1.0 / self.turned_entries.len() as f32;
        let per_symmetry = terms.len() / self.turned_entries.len();
        let tables = tables.regions_mut();
        for (symmetry, terms) in terms.chunks_exact_mut(per_symmetry.max(1)).enumerate() {
            let (forth, back) = terms.split_at_mut(per_symmetry / self.orders);
            let cells = tables.chunks_exact_mut(n_entries);
            for (region, (row, table)) in forth.chunks_exact_mut(n_terms).zip(cells).enumerate() {
                if self.orders == 2 {
                    head.average_orders(row, &back[region * n_terms..][..n_terms]);
                }
                if symmetry == 0 {
                    head.expand(row, table);
                    continue;
                }
                head.expand(row, &mut self.table);
                let turned = &self.turned_entries[symmetry];
                table.iter_mut().zip(turned).for_each(|(sum, &entry)| *sum += self.table[entry]);
            }
        }
        if share < 1.0 {
            tables.iter_mut().for_each(|entry| *entry *= share);
        }
    }
}

/// Gives the tables the shape of a graph. Regions are all of one size, so that only their number
/// matters; every entry is written afterwards and no utility ever is.
pub(in crate::algorithm) fn refit(
    tables: &mut FactorTables,
    fitted: &mut usize,
    graph: &CoordinationGraph,
) {
    if *fitted != graph.n_regions() {
        tables.fit(graph);
        *fitted = graph.n_regions();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::NetworkOptions,
        coordination::SolverOptions,
        environment::{
            Environment,
            simple_spread::{SimpleSpread, SimpleSpreadOptions},
        },
        rng::{Purpose, Streams},
    };

    /// Tables of a state under a symmetry, entries as they are named without it.
    fn tables(averaging: Averaging, symmetry: usize) -> Vec<f32> {
        let environment = SimpleSpread::new(&SimpleSpreadOptions::default()).unwrap();
        let view = environment.view();
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        let network = TwoHead::new(&NetworkOptions::default(), view.spec()).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let mut state: Vec<f32> =
            (0..view.spec().state_width).map(|_| rng.normal() as f32).collect();
        view.transform_state(symmetry, &mut state);
        let stage = Stage { network: &network, parameters: &parameters, view, noise: None };
        let mut actor = Actor::new(view, SolverOptions::default().build(), averaging);
        let mut action = vec![0; view.spec().n_agents()];
        let (graph, tables, _) = actor.decide(stage, &state, &[0.5], &mut action);
        let turned = Sights::new(view, Averaging { orders: false, symmetries: 8 }).turned_entries;
        let region =
            |region| turned[symmetry].iter().map(move |&entry| tables.region(region)[entry]);
        (0..graph.n_regions()).flat_map(region).collect()
    }

    fn largest_difference(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn averaged_over_all_symmetries_a_decision_turns_with_the_world() {
        let whole = Averaging { orders: true, symmetries: 8 };
        let straight = tables(whole, 0);
        for symmetry in 1..8 {
            assert!(largest_difference(&straight, &tables(whole, symmetry)) < 1e-5, "{symmetry}");
        }
        let once = tables(Averaging::NONE, 0);
        assert!(largest_difference(&once, &tables(Averaging::NONE, 5)) > 1e-3);
        assert!(largest_difference(&once, &straight) > 1e-3);
    }

    #[test]
    fn an_average_over_two_symmetries_is_the_mean_of_both_tables() {
        let of = |symmetry| tables(Averaging::NONE, symmetry);
        let two = tables(Averaging { orders: false, symmetries: 2 }, 0);
        let mean: Vec<f32> = of(0).iter().zip(of(1)).map(|(a, b)| 0.5 * (a + b)).collect();
        assert!(largest_difference(&two, &mean) < 1e-5);
    }
}
