//! The random policy: every allowed action with the same probability, in any environment.

use crate::{environment::Batch, episode::Controller, graph::JointAction, rng::Rng};

/// Acts at random; what every front is read against.
#[derive(Clone, Debug, Default)]
pub struct RandomPolicy {
    allowed: Vec<bool>,
}

impl Controller for RandomPolicy {
    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let agents = &batch.view.spec().agents;
        for (index, (action, rng)) in actions.iter_mut().zip(rngs).enumerate() {
            action.clear();
            for (agent, spec) in agents.iter().enumerate() {
                self.allowed.clear();
                self.allowed.resize(spec.n_actions, true);
                batch.view.action_mask(batch.state(index), agent, &mut self.allowed);
                let n_allowed = self.allowed.iter().filter(|allowed| **allowed).count();
                let drawn = rng.below(n_allowed.max(1));
                let open = (0..spec.n_actions).filter(|&a| self.allowed[a]).nth(drawn);
                action.push(open.unwrap_or(0));
            }
        }
    }
}
