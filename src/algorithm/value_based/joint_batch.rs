//! A batch of whole joint transitions: what the baselines with a memory learn from.

use crate::{
    environment::{Ending, Spec, View},
    episode::Transition,
    replay::{Replay, Row, RowShape},
    rng::Rng,
};

/// Joint transitions drawn from a memory, each seen under a symmetry of the task.
#[derive(Clone, Debug, Default)]
pub struct JointBatch {
    /// State rows before.
    pub states: Vec<f32>,
    /// State rows after.
    pub next_states: Vec<f32>,
    /// One action for each agent of each transition.
    pub actions: Vec<usize>,
    /// One reward for each agent of each transition.
    pub rewards: Vec<f32>,
    /// What the next value counts, one number for each transition.
    pub discounts: Vec<f32>,
}

impl JointBatch {
    /// A memory of joint transitions with a reward for each agent.
    pub fn memory(spec: &Spec, capacity: usize) -> Replay {
        let shape = RowShape {
            state: spec.state_width,
            agents: spec.n_agents(),
            actions: spec.n_actions(),
            outcome: spec.n_agents(),
        };
        let mut replay = Replay::new(shape, capacity.max(1));
        replay.reserve();
        replay
    }

    /// Puts one step into such a memory, with what each agent is paid; the time limit is an end like any
    /// other where it `ends`.
    pub fn remember(replay: &mut Replay, transition: Transition<'_>, rewards: &[f32], ends: bool) {
        let Transition { state, action, outcome, next_state, .. } = transition;
        replay.push(Row {
            state,
            next_state,
            actions: action,
            outcome: rewards,
            terminal: match outcome.ending {
                Ending::Running => false,
                Ending::Truncated => ends,
                Ending::Terminal => true,
            },
        });
    }

    /// Number of transitions.
    pub fn len(&self) -> usize {
        self.discounts.len()
    }

    /// Whether nothing was drawn.
    pub fn is_empty(&self) -> bool {
        self.discounts.is_empty()
    }

    /// The team's reward of a transition: the mean of its agents'.
    pub fn team_reward(&self, transition: usize) -> f32 {
        let n_agents = self.rewards.len() / self.len();
        let rewards = &self.rewards[transition * n_agents..][..n_agents];
        rewards.iter().sum::<f32>() / n_agents as f32
    }

    /// Draws `n` transitions, each under one of the first `n_symmetries` symmetries.
    pub fn draw(
        &mut self,
        replay: &Replay,
        view: &dyn View,
        rng: &mut Rng,
        (n, n_symmetries, gamma): (usize, usize, f32),
    ) {
        let Self { states, next_states, actions, rewards, discounts } = self;
        states.clear();
        next_states.clear();
        actions.clear();
        rewards.clear();
        discounts.clear();
        for _ in 0..n {
            let row = replay.row(replay.sample(rng));
            let symmetry = rng.below(n_symmetries);
            for (rows, state) in [(&mut *states, row.state), (&mut *next_states, row.next_state)] {
                let start = rows.len();
                rows.extend_from_slice(state);
                view.transform_state(symmetry, &mut rows[start..]);
            }
            let transformed =
                row.actions.iter().map(|&a| view.transform_action(symmetry, usize::from(a)));
            actions.extend(transformed);
            rewards.extend_from_slice(row.outcome);
            discounts.push(if row.terminal { 0.0 } else { gamma });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::small_spread,
        environment::{Environment, Outcome},
        rng::{Purpose, Streams},
    };

    /// The discount of a step that ends so.
    fn discount(ending: Ending, time_limit_ends: bool) -> f32 {
        let spread = small_spread();
        let view = spread.view();
        let mut replay = JointBatch::memory(view.spec(), 1);
        let state = vec![0.0; view.spec().state_width];
        let outcome = Outcome { ending, ..Outcome::default() };
        let (action, next_state) = (&[0; 3], &state[..]);
        let step = Transition { slot: 0, state: &state, action, outcome: &outcome, next_state };
        JointBatch::remember(&mut replay, step, &[0.0; 3], time_limit_ends);
        let mut batch = JointBatch::default();
        let mut rng = Streams::new(1).rng(Purpose::Replay, 0);
        batch.draw(&replay, view, &mut rng, (1, 1, 0.9));
        batch.discounts[0]
    }

    #[test]
    fn the_time_limit_ends_nothing_unless_it_is_told_to() {
        for (ending, goes_on, ends) in [
            (Ending::Running, 0.9, 0.9),
            (Ending::Truncated, 0.9, 0.0),
            (Ending::Terminal, 0.0, 0.0),
        ] {
            assert_eq!([false, true].map(|ends| discount(ending, ends)), [goes_on, ends]);
        }
    }
}
