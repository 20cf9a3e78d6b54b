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
    tables: FactorTables,
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
            coordinator,
            both_orders: both_orders && spec.region_size == 2,
            graph,
            counts: Vec::new(),
            rows: Vec::new(),
            reversed: Vec::new(),
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
        let terms = stage.network.terms(stage.parameters, &self.rows, n_rows, &mut self.network);
        let orders = 1 + usize::from(self.both_orders);
        let n_constraints = stage.network.n_heads() - 1;
        let width = stage.network.n_heads() * stage.network.head().n_terms();
        let spec = stage.view.spec();
        let mut start = 0;
        for (slot, action) in actions.iter_mut().enumerate() {
            let len = self.counts[slot] * orders * width;
            let terms = &mut terms[start..start + len];
            start += len;
            stage
                .view
                .graph(&states[slot * spec.state_width..][..spec.state_width], &mut self.graph);
            self.tables.fit(&self.graph);
            let multipliers = &multipliers[slot * n_constraints..][..n_constraints];
            fill_tables(stage.network, terms, multipliers, self.both_orders, &mut self.tables);
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
        let terms = stage.network.terms(stage.parameters, &self.rows, n_rows, &mut self.network);
        stage.view.graph(state, &mut self.graph);
        self.tables.fit(&self.graph);
        fill_tables(stage.network, terms, multipliers, self.both_orders, &mut self.tables);
        let answer = self.coordinator.coordinate(&self.graph, &self.tables, action);
        (&self.graph, &self.tables, answer)
    }

    /// Writes the input rows of all regions of all states; a state's second half is in reverse order.
    fn gather(&mut self, stage: Stage<'_>, states: &[f32], multipliers: &[f32]) -> usize {
        let Stage { network, view, .. } = stage;
        let (stride, n_constraints) = (network.n_inputs(), network.n_heads() - 1);
        let orders = 1 + usize::from(self.both_orders);
        self.counts.clear();
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
            for row in rows.chunks_exact_mut(stride) {
                network.write_multipliers(row, multipliers);
            }
            n_rows += orders * n_regions;
        }
        n_rows
    }
}

/// Writes `Q_aug` of every region (Eq. augmented-q): the heads' terms are combined, then expanded.
pub(super) fn fill_tables(
    network: &TwoHead,
    terms: &mut [f32],
    multipliers: &[f32],
    both_orders: bool,
    tables: &mut FactorTables,
) {
    let head = network.head();
    let (n_terms, n_entries) = (head.n_terms(), head.n_entries());
    let width = network.n_heads() * n_terms;
    for row in terms.chunks_exact_mut(width) {
        let (primary, costs) = row.split_at_mut(n_terms);
        for (cost, &multiplier) in costs.chunks_exact(n_terms).zip(multipliers) {
            super::augment(primary, cost, multiplier);
        }
    }
    let n_regions = terms.len() / width / (1 + usize::from(both_orders));
    let (forth, back) = terms.split_at_mut(n_regions * width);
    let cells = tables.regions_mut().chunks_exact_mut(n_entries);
    for (region, (row, table)) in forth.chunks_exact_mut(width).zip(cells).enumerate() {
        if both_orders {
            head.average_orders(&mut row[..n_terms], &back[region * width..][..n_terms]);
        }
        head.expand(&row[..n_terms], table);
    }
}
