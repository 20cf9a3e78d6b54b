//! What a trained network expects of a joint action: the sum over regions of every head's value, the
//! mean over the views that the policy averages over.

use super::{
    actor::ActingContext,
    head::ABSENT,
    network::TwoHeadWorkspace,
    region_views::{Averaging, RegionViews},
};
use crate::{
    environment::{View, in_order},
    graph::CoordinationGraph,
};

/// Adds up values, with every buffer that takes.
pub(super) struct TeamValue {
    views: RegionViews,
    graph: CoordinationGraph,
    rows: Vec<f32>,
    actions: Vec<usize>,
    values: Vec<f32>,
    workspace: TwoHeadWorkspace,
}

impl TeamValue {
    pub(super) fn new(view: &dyn View, averaging: Averaging) -> Self {
        Self {
            views: RegionViews::new(view, averaging),
            graph: CoordinationGraph::empty(view.spec().n_agents()),
            rows: Vec::new(),
            actions: Vec::new(),
            values: Vec::new(),
            workspace: TwoHeadWorkspace::default(),
        }
    }

    /// Σ_R Q_R of every head at one joint action, each region at the same multipliers.
    pub(super) fn of(
        &mut self,
        context: ActingContext<'_>,
        state: &[f32],
        multipliers: &[f32],
        action: &[usize],
    ) -> Vec<f64> {
        let ActingContext { network, parameters, view, .. } = context;
        let (stride, size) = (network.n_inputs(), network.head().region_size());
        view.graph(state, &mut self.graph);
        let n_regions = self.graph.n_regions();
        let mut sums = vec![0.0; network.n_heads()];
        for index in 0..self.views.len() {
            let mut poses = Vec::new();
            self.views.push_poses(index, view, state, &self.graph, &mut poses);
            self.rows.resize(n_regions * stride, 0.0);
            view.region_rows(state, &self.graph, &poses, &mut self.rows, stride);
            network.write_multipliers(&mut self.rows, multipliers);
            self.actions.clear();
            for (members, pose) in self.graph.regions().zip(&poses) {
                in_order(members, pose.reversed, |members| {
                    let own = |&agent: &usize| view.transform_action(pose.symmetry, action[agent]);
                    self.actions.extend(members.iter().map(own));
                });
                self.actions.resize(self.actions.len() + size - members.len(), ABSENT);
            }
            self.values.resize(n_regions * network.n_heads(), 0.0);
            let Self { rows, actions, values, workspace, .. } = self;
            network.values(parameters, rows, n_regions, actions, values, workspace);
            for (place, value) in self.values.iter().enumerate() {
                sums[place % network.n_heads()] += f64::from(*value);
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= self.views.len() as f64);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::cg_cmarl::{Actor, NetworkOptions, TwoHead, ValueKind},
        coordination::SolverOptions,
        environment::{
            Environment,
            simple_spread::{SimpleSpread, SimpleSpreadOptions},
        },
        rng::{Purpose, Streams},
    };

    /// What the heads add up to is what the coordinator maximised.
    #[test]
    fn heads_at_their_price_are_the_value_of_the_decision() {
        let environment = SimpleSpread::new(&SimpleSpreadOptions::default()).unwrap();
        let view = environment.view();
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        let state: Vec<f32> = (0..view.spec().state_width).map(|_| rng.normal() as f32).collect();
        for value in [ValueKind::Heads, ValueKind::TwoHead, ValueKind::Augmented] {
            let options = NetworkOptions { value, ..NetworkOptions::default() };
            let network = TwoHead::for_view(&options, view).unwrap();
            let parameters = network.layout().initialise(&mut rng);
            let context =
                ActingContext { network: &network, parameters: &parameters, view, noise: None };
            let averaging = Averaging { orders: true, frames: 3 };
            let mut actor = Actor::new(view, SolverOptions::default().build(), averaging);
            let mut action = Vec::new();
            let decided = actor.decide(context, &state, &[0.7], &mut action).2.value;
            let heads = TeamValue::new(view, averaging).of(context, &state, &[0.7], &action);
            let sum = heads[0] + heads.get(1).map_or(0.0, |cost| 0.7 * cost);
            assert!((sum - decided).abs() < 1e-4, "{value:?}: {heads:?} {decided}");
        }
    }
}
