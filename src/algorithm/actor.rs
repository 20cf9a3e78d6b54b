//! From states to joint actions: rows, network, augmented tables, noise, message passing.

use super::{
    exploration::TableNoise,
    two_head::{TwoHead, TwoHeadWorkspace},
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

/// Chooses joint actions for a few states at a time; owns every buffer that takes.
pub struct Actor {
    coordinator: Box<dyn Coordinator>,
    both_orders: bool,
    graph: CoordinationGraph,
    counts: Vec<usize>,
    rows: Vec<f32>,
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
    /// Scale of the exploration noise; zero for none.
    pub noise_scale: f32,
    /// Source of the exploration noise.
    pub noise: &'a TableNoise,
}

impl Actor {
    /// An actor; `both_orders` averages a pair's table over the two orders of its members.
    pub fn new(view: &dyn View, coordinator: Box<dyn Coordinator>, both_orders: bool) -> Self {
        let spec = view.spec();
        let mut graph = CoordinationGraph::default();
        view.graph(&vec![0.0; spec.state_width], &mut graph);
        let tables = FactorTables::zeros(&graph, spec.n_actions);
        Self {
            fitted: graph.n_regions(),
            coordinator,
            both_orders: both_orders && spec.region_size == 2,
            graph,
            counts: Vec::new(),
            rows: Vec::new(),
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
        let width = (1 + usize::from(self.both_orders)) * network.head().n_terms();
        let state_width = view.spec().state_width;
        let mut start = 0;
        for (slot, action) in actions.iter_mut().enumerate() {
            let terms = &mut terms[start..start + self.counts[slot] * width];
            start += terms.len();
            view.graph(&states[slot * state_width..][..state_width], &mut self.graph);
            refit(&mut self.tables, &mut self.fitted, &self.graph);
            fill_tables(network, terms, self.both_orders, &mut self.tables);
            if stage.noise_scale > 0.0 {
                stage.noise.add(self.tables.regions_mut(), stage.noise_scale, &mut rngs[slot]);
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
        fill_tables(network, terms, self.both_orders, &mut self.tables);
        let answer = self.coordinator.coordinate(&self.graph, &self.tables, action);
        (&self.graph, &self.tables, answer)
    }

    /// Writes the input rows of all regions of all states; a state's second half is in reverse order.
    fn gather(&mut self, stage: Stage<'_>, states: &[f32], multipliers: &[f32]) -> usize {
        let Stage { network, view, .. } = stage;
        let (stride, n_constraints) = (network.n_inputs(), network.n_heads() - 1);
        let orders = 1 + usize::from(self.both_orders);
        self.counts.clear();
        self.row_multipliers.clear();
        let mut n_rows = 0;
        for (slot, state) in states.chunks_exact(view.spec().state_width).enumerate() {
            view.graph(state, &mut self.graph);
            let n_regions = self.graph.n_regions();
            self.counts.push(n_regions);
            let end = (n_rows + orders * n_regions) * stride;
            if self.rows.len() < end {
                self.rows.resize(end, 0.0);
            }
            let rows = &mut self.rows[n_rows * stride..end];
            let (forth, back) = rows.split_at_mut(n_regions * stride);
            view.region_rows(state, &self.graph, &[], forth, stride);
            if self.both_orders {
                self.reversed.resize(n_regions, true);
                view.region_rows(state, &self.graph, &self.reversed, back, stride);
            }
            let multipliers = &multipliers[slot * n_constraints..][..n_constraints];
            network.write_multipliers(rows, multipliers);
            for _ in 0..orders * n_regions {
                self.row_multipliers.extend_from_slice(multipliers);
            }
            n_rows += orders * n_regions;
        }
        n_rows
    }
}

/// Gives the tables the shape of a graph. Regions are all of one size, so that only their number
/// matters; every entry is written afterwards and no utility ever is.
pub(super) fn refit(tables: &mut FactorTables, fitted: &mut usize, graph: &CoordinationGraph) {
    if *fitted != graph.n_regions() {
        tables.fit(graph);
        *fitted = graph.n_regions();
    }
}

/// Writes the table of every region from its terms; those of the reverse order come behind.
fn fill_tables(network: &TwoHead, terms: &mut [f32], both_orders: bool, tables: &mut FactorTables) {
    let head = network.head();
    let n_terms = head.n_terms();
    let n_regions = terms.len() / n_terms / (1 + usize::from(both_orders));
    let (forth, back) = terms.split_at_mut(n_regions * n_terms);
    let cells = tables.regions_mut().chunks_exact_mut(head.n_entries());
    for (region, (row, table)) in forth.chunks_exact_mut(n_terms).zip(cells).enumerate() {
        if both_orders {
            head.average_orders(row, &back[region * n_terms..][..n_terms]);
        }
        head.expand(row, table);
    }
}
