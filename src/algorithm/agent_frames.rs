//! In which frames the agents of some states see the world: what a network says of an action is said in
//! its agent's frame, what is played and remembered is named as in the world.

use crate::{environment::View, graph::JointAction};

/// One symmetry for each agent of each state, state by state.
#[derive(Clone, Debug, Default)]
pub struct AgentFrames {
    pub(super) symmetries: Vec<usize>,
    /// For each symmetry and action of the world: its name in the frame.
    names: Vec<Vec<usize>>,
    /// For each symmetry and action of the frame: its name in the world.
    world_names: Vec<Vec<usize>>,
    turned: bool,
}

impl AgentFrames {
    /// After the symmetries were written: learns the names that actions have in them.
    pub(super) fn follow(&mut self, view: &dyn View) {
        self.turned = self.symmetries.iter().any(|&symmetry| symmetry != 0);
        let n_actions = view.spec().n_actions();
        if !self.turned || self.names.first().is_some_and(|names| names.len() == n_actions) {
            return;
        }
        let names = |symmetry| (0..n_actions).map(|a| view.transform_action(symmetry, a)).collect();
        self.names = (0..view.n_symmetries()).map(names).collect();
        self.world_names.clone_from(&self.names);
        for (world_names, names) in self.world_names.iter_mut().zip(&self.names) {
            names.iter().enumerate().for_each(|(action, &name)| world_names[name] = action);
        }
    }

    /// Whether anybody sees the world in another frame than its own.
    pub(super) fn turned(&self) -> bool {
        self.turned
    }

    /// The names of actions of the world in the frames of their agents.
    pub(super) fn name(&self, actions: &[usize], named: &mut Vec<usize>) {
        named.clear();
        if !self.turned {
            return named.extend_from_slice(actions);
        }
        let pairs = actions.iter().zip(&self.symmetries);
        named.extend(pairs.map(|(&action, &symmetry)| self.names[symmetry][action]));
    }

    /// What the agent of a row calls an action of the world.
    pub(super) fn named(&self, row: usize, action: usize) -> usize {
        if self.turned { self.names[self.symmetries[row]][action] } else { action }
    }

    /// What the world calls an action of the agent of a row.
    pub(super) fn world(&self, row: usize, action: usize) -> usize {
        if self.turned { self.world_names[self.symmetries[row]][action] } else { action }
    }

    /// Writes joint actions in the words of the world, given each agent's in its own.
    pub(super) fn write_joint(&self, named: &[usize], actions: &mut [JointAction]) {
        let n_agents = named.len() / actions.len().max(1);
        for (state, (action, named)) in
            actions.iter_mut().zip(named.chunks_exact(n_agents.max(1))).enumerate()
        {
            action.clear();
            let world = |(agent, &a): (usize, &usize)| self.world(state * n_agents + agent, a);
            action.extend(named.iter().enumerate().map(world));
        }
    }
}
