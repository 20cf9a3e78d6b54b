//! The coordination graph of one state and payoff tables of its shape, refitted from state to state.

use super::action_masks::ActionMasks;
use crate::{
    coordination::{Coordination, Coordinator, FactorTables},
    environment::{Spec, View},
    graph::{CoordinationGraph, JointAction},
};

/// A graph with its tables; every agent has as many actions as the one with most.
#[derive(Clone, Debug)]
pub(super) struct StateTables {
    pub(super) graph: CoordinationGraph,
    pub(super) tables: FactorTables,
    /// The graph that [`Self::keep`] chose from.
    whole: CoordinationGraph,
    sizes: Vec<usize>,
    masked: bool,
    /// Whether it is known that nothing is forbidden.
    allows_all: bool,
}

impl StateTables {
    /// Tables for no region yet.
    pub(super) fn new(spec: &Spec) -> Self {
        let graph = CoordinationGraph::empty(spec.n_agents());
        let tables = FactorTables::zeros(&graph, spec.n_actions());
        let whole = CoordinationGraph::default();
        Self { graph, tables, whole, sizes: Vec::new(), masked: false, allows_all: false }
    }

    /// Takes the graph of a state; what stood in the tables is no longer to be relied on.
    pub(super) fn follow(&mut self, view: &dyn View, state: &[f32]) {
        view.graph(state, &mut self.graph);
        self.fit();
    }

    /// [`Self::follow`], and itself.
    pub(super) fn followed(&mut self, view: &dyn View, state: &[f32]) -> &mut Self {
        self.follow(view, state);
        self
    }

    /// Keeps some of the regions only, in their order; tables as after [`Self::follow`].
    pub(super) fn keep(&mut self, regions: impl Iterator<Item = usize>) {
        std::mem::swap(&mut self.graph, &mut self.whole);
        self.graph.keep(&self.whole, regions);
        self.fit();
    }

    fn fit(&mut self) {
        self.allows_all = false;
        let sizes = self.graph.regions().map(<[usize]>::len);
        if !sizes.clone().eq(self.sizes.iter().copied()) {
            self.tables.fit(&self.graph);
            self.sizes.clear();
            self.sizes.extend(sizes);
        }
    }

    /// Forbids what the agents of one of the masks' states may not do, beside what their utilities
    /// say.
    pub(super) fn forbid(&mut self, masks: &ActionMasks, state: usize) {
        let n_agents = self.graph.n_agents();
        for agent in 0..n_agents {
            masks.forbid(state * n_agents + agent, self.tables.agent_mut(agent));
        }
    }

    /// [`Self::forbid`] where agents alone are worth nothing.
    pub(super) fn forbid_only(&mut self, masks: &ActionMasks, state: usize) {
        if self.masked {
            (0..self.graph.n_agents()).for_each(|agent| self.tables.agent_mut(agent).fill(0.0));
        }
        self.masked = masks.forbids();
        self.allows_all = !self.masked;
        if self.masked {
            self.forbid(masks, state);
        }
    }

    /// Writes the joint action that a coordinator finds best.
    pub(super) fn solve(
        &mut self,
        coordinator: &mut dyn Coordinator,
        action: &mut JointAction,
    ) -> Coordination {
        self.tell_what_is_allowed();
        coordinator.coordinate(&self.graph, &self.tables, action)
    }

    /// [`Self::solve`] from a joint action that is likely near the best.
    pub(super) fn solve_from(
        &mut self,
        coordinator: &mut dyn Coordinator,
        start: &[usize],
        action: &mut JointAction,
    ) -> Coordination {
        self.tell_what_is_allowed();
        coordinator.coordinate_from(&self.graph, &self.tables, start, action)
    }

    fn tell_what_is_allowed(&mut self) {
        if self.allows_all {
            self.tables.allow_all();
        }
    }
}
