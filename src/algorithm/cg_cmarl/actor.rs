//! From states to joint actions: rows, network, augmented tables, noise, message passing.

use super::{
    exploration::TableNoise,
    network::{TwoHead, TwoHeadWorkspace},
    pass::Pass,
    region_views::{Averaging, RegionViews},
};
use crate::{
    algorithm::{action_masks::ActionMasks, state_tables::StateTables},
    coordination::{Coordination, Coordinator, FactorTables},
    environment::{Pose, View},
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};

/// Rows that one product of the network works on, at the least where there are as many.
const ROWS_PER_SHARD: usize = 128;

/// Rows that are worth a shard of their own, where there are few.
const FEWEST_ROWS: usize = 12;

/// How many of some states, of so many rows each, go through the network together: few enough for
/// two threads, or for an even number of shards. Depends on the states only, so that the number of
/// threads never changes a result.
pub(super) fn states_per_shard(n_states: usize, n_rows: usize) -> usize {
    let states = |rows: usize| rows.div_ceil(n_rows.max(1));
    let n_shards = n_states.div_ceil(states(ROWS_PER_SHARD)).next_multiple_of(2);
    n_states.div_ceil(n_shards).max(states(FEWEST_ROWS)).max(1)
}

/// What an actor needs to know of the moment.
#[derive(Clone, Copy)]
pub struct ActingContext<'a> {
    /// The network's shape.
    pub network: &'a TwoHead,
    /// The network's numbers.
    pub parameters: &'a [f32],
    /// How to look at a state.
    pub view: &'a dyn View,
    /// The exploration noise and its scale, where there is any.
    pub noise: Option<(&'a TableNoise, f32)>,
}

/// Chooses joint actions for a few states at a time; owns every buffer that takes.
pub struct Actor {
    coordinator: Box<dyn Coordinator>,
    region_views: RegionViews,
    problem: StateTables,
    masks: ActionMasks,
    rows: StateRows,
    network: TwoHeadWorkspace,
}

/// The input rows of all regions of some states: a state's views one after the other.
#[derive(Default)]
struct StateRows {
    inputs: Vec<f32>,
    multipliers: Vec<f32>,
    n_rows: usize,
    /// Where the rows of each state begin.
    starts: Vec<usize>,
    /// How each row sees its region.
    poses: Vec<Pose>,
}

impl Actor {
    /// An actor.
    pub fn new(view: &dyn View, coordinator: Box<dyn Coordinator>, averaging: Averaging) -> Self {
        Self {
            coordinator,
            region_views: RegionViews::new(view, averaging),
            problem: StateTables::new(view.spec()),
            masks: ActionMasks::default(),
            rows: StateRows::default(),
            network: TwoHeadWorkspace::default(),
        }
    }

    /// Writes the joint action of each state; `multipliers` holds one row per state (one number per
    /// constraint, or those of every agent, of which a region takes the mean over its members), `rngs`
    /// one stream per state where there is noise.
    pub fn choose(
        &mut self,
        context: ActingContext<'_>,
        states: &[f32],
        multipliers: &[f32],
        rngs: &mut [Rng],
        actions: &mut [JointAction],
    ) {
        self.evaluate(context, states, multipliers);
        let states = states.chunks_exact(context.view.spec().state_width);
        for (index, (state, action)) in states.zip(actions).enumerate() {
            self.fill_tables(context, index, state);
            if let Some((noise, scale)) = context.noise {
                noise.add(self.problem.tables.regions_mut(), scale, &mut rngs[index]);
            }
            self.problem.solve(self.coordinator.as_mut(), action);
        }
    }

    /// The tables of one state and their solution, for those who look inside a decision.
    pub fn decide(
        &mut self,
        context: ActingContext<'_>,
        state: &[f32],
        multipliers: &[f32],
        action: &mut JointAction,
    ) -> (&CoordinationGraph, &FactorTables, Coordination) {
        self.evaluate(context, state, multipliers);
        self.fill_tables(context, 0, state);
        let answer = self.problem.solve(self.coordinator.as_mut(), action);
        (&self.problem.graph, &self.problem.tables, answer)
    }

    /// Runs the network on all regions of all states, and looks what their agents may do.
    fn evaluate(&mut self, context: ActingContext<'_>, states: &[f32], multipliers: &[f32]) {
        let ActingContext { network, parameters, view, .. } = context;
        let n_states = states.len() / view.spec().state_width;
        let width = multipliers.len() / n_states.max(1);
        self.masks.read(view, states);
        self.rows.clear();
        for (index, state) in states.chunks_exact(view.spec().state_width).enumerate() {
            view.graph(state, &mut self.problem.graph);
            let multipliers = &multipliers[index * width..][..width];
            self.rows.push(context, &self.problem.graph, &self.region_views, state, multipliers);
        }
        let StateRows { inputs, n_rows, multipliers, .. } = &self.rows;
        network.terms(parameters, Pass::of(inputs, *n_rows), multipliers, &mut self.network);
    }

    /// Fills the tables of one of the states evaluated last.
    fn fill_tables(&mut self, context: ActingContext<'_>, index: usize, state: &[f32]) {
        let (network, n_terms) = (context.network, context.network.head().n_terms());
        self.problem.follow(context.view, state);
        let n_rows = self.region_views.len() * self.problem.graph.n_regions();
        let first = self.rows.starts[index];
        let poses = &self.rows.poses[first..][..n_rows];
        let terms = &self.network.last_terms()[first * n_terms..][..n_rows * n_terms];
        self.region_views.fill_tables(network, poses, terms, &mut self.problem);
        self.problem.forbid_only(&self.masks, index);
    }
}

impl StateRows {
    fn clear(&mut self) {
        self.multipliers.clear();
        self.starts.clear();
        self.poses.clear();
        self.n_rows = 0;
    }

    /// Adds the rows of one state.
    fn push(
        &mut self,
        context: ActingContext<'_>,
        graph: &CoordinationGraph,
        views: &RegionViews,
        state: &[f32],
        multipliers: &[f32],
    ) {
        let ActingContext { network, view, .. } = context;
        let (stride, n_regions) = (network.n_inputs(), graph.n_regions());
        let first = self.n_rows;
        self.starts.push(first);
        self.n_rows += views.len() * n_regions;
        let end = self.n_rows * stride;
        if self.inputs.len() < end {
            self.inputs.resize(end, 0.0);
        }
        let rows = &mut self.inputs[first * stride..end];
        for (index, rows) in rows.chunks_exact_mut((n_regions * stride).max(1)).enumerate() {
            let start = self.poses.len();
            views.push_poses(index, view, state, graph, &mut self.poses);
            view.region_rows(state, graph, &self.poses[start..], rows, stride);
        }
        if multipliers.len() == network.n_constraints() {
            network.write_multipliers(rows, multipliers);
            for _ in first..self.n_rows {
                self.multipliers.extend_from_slice(multipliers);
            }
            return;
        }
        let regions = graph.regions().cycle();
        for (row, members) in rows.chunks_exact_mut(stride).zip(regions) {
            let start = self.multipliers.len();
            push_mean(multipliers, network.n_constraints(), members, &mut self.multipliers);
            network.write_multipliers(row, &self.multipliers[start..]);
        }
    }
}

/// Adds the mean over a region's members of their own multipliers, which lie agent by agent.
fn push_mean(own: &[f32], n_constraints: usize, members: &[usize], means: &mut Vec<f32>) {
    means.extend((0..n_constraints).map(|j| {
        let paid = members.iter().map(|agent| own[agent * n_constraints + j]);
        paid.sum::<f32>() / members.len() as f32
    }));
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

    #[test]
    fn states_are_shared_evenly_where_they_are_enough() {
        for (n_states, n_rows, share) in
            [(1, 45, 1), (8, 3, 4), (6, 3, 4), (8, 15, 4), (8, 45, 2), (500, 3, 42), (8, 0, 12)]
        {
            assert_eq!(states_per_shard(n_states, n_rows), share, "{n_states} of {n_rows} rows");
        }
    }

    /// Tables of a state under a symmetry, entries as they are named without it.
    fn tables(averaging: Averaging, symmetry: usize) -> Vec<f32> {
        tables_at(averaging, symmetry, &[0.5])
    }

    /// The same at these multipliers.
    fn tables_at(averaging: Averaging, symmetry: usize, multipliers: &[f32]) -> Vec<f32> {
        let environment = SimpleSpread::new(&SimpleSpreadOptions::default()).unwrap();
        let view = environment.view();
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        let network = TwoHead::for_view(&NetworkOptions::default(), view).unwrap();
        let parameters = network.layout().initialise(&mut rng);
        let mut state: Vec<f32> =
            (0..view.spec().state_width).map(|_| rng.normal() as f32).collect();
        view.transform_state(symmetry, &mut state);
        let context =
            ActingContext { network: &network, parameters: &parameters, view, noise: None };
        let mut actor = Actor::new(view, SolverOptions::default().build(), averaging);
        let mut action = vec![0; view.spec().n_agents()];
        let (graph, tables, _) = actor.decide(context, &state, multipliers, &mut action);
        let named = |table: &[f32]| {
            let pairs = (0..25).flat_map(|a| (0..25).map(move |b| [a, b]));
            let entry = pairs.map(|pair| pair.map(|a| view.transform_action(symmetry, a)));
            entry.map(|[a, b]| table[a * 25 + b]).collect::<Vec<_>>()
        };
        (0..graph.n_regions()).flat_map(|region| named(tables.region(region))).collect()
    }

    fn largest_difference(one: &[f32], other: &[f32]) -> f32 {
        one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn a_region_takes_the_mean_of_its_members_multipliers() {
        let mut means = vec![9.0];
        push_mean(&[1.0, 10.0, 3.0, 30.0, 8.0, 80.0], 2, &[0, 2], &mut means);
        assert_eq!(means, [9.0, 4.5, 45.0]);
        let alike = tables_at(Averaging { orders: true, frames: 4 }, 0, &[0.5; 3]);
        assert_eq!(alike, tables(Averaging { orders: true, frames: 4 }, 0));
        let own = tables_at(Averaging::NONE, 0, &[0.0, 1.0, 2.0]);
        // The regions are (0, 1), (0, 2) and (1, 2).
        for (region, multiplier) in [0.5, 1.0, 1.5].into_iter().enumerate() {
            let entries = region * 625..(region + 1) * 625;
            let common = tables_at(Averaging::NONE, 0, &[multiplier]);
            assert!(largest_difference(&own[entries.clone()], &common[entries]) < 1e-5, "{region}");
        }
    }

    #[test]
    fn averaged_over_all_symmetries_a_decision_follows_the_state() {
        let whole = Averaging { orders: true, frames: 8 };
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
        let two = tables(Averaging { orders: false, frames: 2 }, 0);
        let mean: Vec<f32> = of(0).iter().zip(of(1)).map(|(a, b)| 0.5 * (a + b)).collect();
        assert!(largest_difference(&two, &mean) < 1e-5);
    }
}
