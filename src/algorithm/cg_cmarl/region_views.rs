//! The equivalent ways to see a region, over which a trained policy averages its table.

use super::network::TwoHead;
use crate::{
    algorithm::state_tables::StateTables,
    environment::{Pose, View},
    graph::CoordinationGraph,
};

/// Over which of its equivalent views a region's table is averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Averaging {
    /// The two orders of a pair's members.
    pub orders: bool,
    /// The first so many frames of a region; one for its first alone.
    pub frames: usize,
}

impl Averaging {
    /// A region is seen once.
    pub const NONE: Self = Self { orders: false, frames: 1 };
}

/// The equivalent views of a region: every frame, and in each both orders.
pub(super) struct RegionViews {
    orders: usize,
    frames: usize,
    mean: Vec<f32>,
}

impl RegionViews {
    pub(super) fn new(view: &dyn View, averaging: Averaging) -> Self {
        let orders = 1 + usize::from(averaging.orders && view.spec().region_size == 2);
        let frames = averaging.frames.min(view.n_frames()).max(1);
        Self { orders, frames, mean: Vec::new() }
    }

    /// Number of views.
    pub(super) fn len(&self) -> usize {
        self.orders * self.frames
    }

    /// Adds the poses of all regions of a state in one of the views.
    pub(super) fn push_poses(
        &self,
        index: usize,
        view: &dyn View,
        state: &[f32],
        graph: &CoordinationGraph,
        poses: &mut Vec<Pose>,
    ) {
        let (frame, second) = (index / self.orders, index % self.orders == 1);
        // An agent alone among pairs has one order: nothing was learned of the place of its partner.
        let seen = |members: &[usize]| (frame, second && members.len() == 2);
        poses.extend(graph.regions().map(|own| Pose::of(view, state, own, seen(own))));
    }

    /// Writes the table of every region: the mean over its views, whose poses and terms lie one view
    /// of all regions after the other.
    pub(super) fn fill_tables(
        &mut self,
        network: &TwoHead,
        poses: &[Pose],
        terms: &[f32],
        problem: &mut StateTables,
    ) {
        let (n_terms, n_regions) = (network.head().n_terms(), problem.graph.n_regions());
        for (region, members) in problem.graph.regions().enumerate() {
            let views = (0..self.len()).map(|view| {
                let row = view * n_regions + region;
                (poses[row], &terms[row * n_terms..][..n_terms])
            });
            let size = members.len();
            network.posed().average(size, views, &mut self.mean);
            network.posed().expand(size, &self.mean, problem.tables.region_mut(region));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::{
            cg_cmarl::{
                ActingContext, Actor, HeadKind,
                tests::{Case, sample},
            },
            checks::Masked,
        },
        coordination::Exact,
        environment::{Environment, matrix_game::MatrixGame},
        rng::{Purpose, Streams},
    };

    /// Of what its network says of a partner's place, nothing was ever learned.
    #[test]
    fn an_agent_alone_among_pairs_has_one_order() {
        let graph = CoordinationGraph::new(3, &[vec![2], vec![0, 1]]).unwrap();
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let game = MatrixGame::random(graph, 4, 1, 2, &mut rng).unwrap();
        let game = Masked::new(game, |_, _| &[]).with_grid(2);
        for head in [HeadKind::Free, HeadKind::Tied] {
            let case = Case::new(game.view(), head, [&[0.0], &[0.5]], sample(&[0.7]));
            let (network, parameters) = (&case.network, &case.online[..]);
            let context = ActingContext { network, parameters, view: game.view(), noise: None };
            let tables = |averaging| {
                let mut actor = Actor::new(game.view(), Box::<Exact>::default(), averaging);
                let (_, tables, _) = actor.decide(context, &[0.0], &[0.7], &mut Vec::new());
                [0, 1].map(|region| tables.region(region).to_vec())
            };
            let [alone, pair] = tables(Averaging { orders: true, frames: 1 });
            let [expected, once] = tables(Averaging::NONE);
            assert_eq!(alone, expected, "{head:?}");
            assert_ne!(pair, once, "{head:?}");
        }
    }
}
