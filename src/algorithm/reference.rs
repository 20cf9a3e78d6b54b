//! Players that learn nothing, against which the others are read: the oracle and pure chance.

use crate::{
    environment::oracle::Oracle,
    episode::{Player, Scene},
    graph::JointAction,
    rng::Rng,
};

impl Player for Oracle {
    fn act(&mut self, scene: Scene<'_>, _rngs: &mut [Rng], actions: &mut [JointAction]) {
        for (slot, action) in actions.iter_mut().enumerate() {
            action.resize(self.n_agents(), 0);
            Self::act(self, scene.state(slot), action);
        }
    }
}

/// Every action with the same probability, in any environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomPolicy;

impl Player for RandomPolicy {
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let spec = scene.view.spec();
        for (action, rng) in actions.iter_mut().zip(rngs) {
            action.clear();
            action.extend((0..spec.n_agents).map(|_| rng.below(spec.n_actions)));
        }
    }
}
