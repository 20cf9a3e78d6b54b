//! Which actions the agents of some states may take; all of them where a task forbids nothing.

use super::AgentFrames;
use crate::{argmax::argmax, environment::View, graph::JointAction, rng::Rng};

/// One row per agent of each state, state by state.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionMasks {
    n_actions: usize,
    allowed: Vec<bool>,
    forbids: bool,
}

impl ActionMasks {
    /// Forgets all states.
    pub(super) fn clear(&mut self) {
        self.allowed.clear();
        self.forbids = false;
    }

    /// Looks at one more state.
    pub(super) fn push(&mut self, view: &dyn View, state: &[f32]) {
        let spec = view.spec();
        self.n_actions = spec.n_actions();
        for (agent, own) in spec.agents.iter().enumerate() {
            let start = self.allowed.len();
            self.allowed.resize(start + own.n_actions, true);
            let allowed = &mut self.allowed[start..];
            view.action_mask(state, agent, allowed);
            assert!(allowed.contains(&true), "agent {agent} may do nothing in state {state:?}");
            self.forbids |= own.n_actions < self.n_actions || allowed.contains(&false);
            self.allowed.resize(start + self.n_actions, false);
        }
    }

    /// Looks at these states instead of those before.
    pub(super) fn read(&mut self, view: &dyn View, states: &[f32]) {
        self.clear();
        states.chunks_exact(view.spec().state_width).for_each(|state| self.push(view, state));
    }

    /// Names what was read as the agents do in their frames.
    pub(super) fn name(&mut self, frames: &AgentFrames) {
        if !(self.forbids && frames.turned()) {
            return;
        }
        let mut named = vec![false; self.n_actions];
        for (row, allowed) in self.allowed.chunks_exact_mut(self.n_actions).enumerate() {
            for (action, &allowed) in allowed.iter().enumerate() {
                named[frames.named(row, action)] = allowed;
            }
            allowed.copy_from_slice(&named);
        }
    }

    /// Whether anything is forbidden to anybody.
    pub(super) fn forbids(&self) -> bool {
        self.forbids
    }

    /// What the agent of a row may do, unless everybody may do everything.
    pub(super) fn row(&self, row: usize) -> Option<&[bool]> {
        self.forbids.then(|| &self.allowed[row * self.n_actions..][..self.n_actions])
    }

    /// What all agents of a state may do, unless everybody may do everything.
    pub(super) fn state(&self, state: usize, n_agents: usize) -> Option<&[bool]> {
        let width = n_agents * self.n_actions;
        self.forbids.then(|| &self.allowed[state * width..][..width])
    }

    /// Writes minus infinity for what the agent of a row may not do.
    pub(super) fn forbid(&self, row: usize, values: &mut [f32]) {
        for (value, allowed) in values.iter_mut().zip(self.row(row).into_iter().flatten()) {
            if !allowed {
                *value = f32::NEG_INFINITY;
            }
        }
    }

    /// Draws an action of those the agent of a row may take.
    fn draw(&self, row: usize, rng: &mut Rng) -> usize {
        let Some(allowed) = self.row(row) else { return rng.below(self.n_actions) };
        let open = || (0..allowed.len()).filter(|&action| allowed[action]);
        open().nth(rng.below(open().count())).unwrap_or_default()
    }

    /// Replaces a share of the actions taken in these states by actions drawn at random.
    pub(super) fn explore(&self, share: f32, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let mut row = 0;
        for (actions, rng) in actions.iter_mut().zip(rngs) {
            for action in actions {
                if rng.uniform() < f64::from(share) {
                    *action = self.draw(row, rng);
                }
                row += 1;
            }
        }
    }

    /// The best action that the agent of a row may take; `values` is scratch afterwards.
    pub(super) fn best(&self, row: usize, values: &mut [f32]) -> usize {
        self.forbid(row, values);
        argmax(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::checks::Masked,
        environment::{Environment, matrix_game::MatrixGame},
        rng::{Purpose, Streams},
    };

    fn masks_of(game: &dyn Environment) -> ActionMasks {
        let mut masks = ActionMasks::default();
        masks.read(game.view(), &[0.0, 0.5]);
        masks
    }

    #[test]
    fn nothing_is_forbidden_where_a_task_says_nothing() {
        let masks = masks_of(&MatrixGame::climbing().unwrap());
        assert!(!masks.forbids() && masks.row(3).is_none());
    }

    #[test]
    fn a_draw_is_uniform_among_what_is_allowed() {
        let forbidden = |_: &[f32], agent| if agent == 0 { &[0][..] } else { &[] };
        let masks = masks_of(&Masked::new(MatrixGame::climbing().unwrap(), forbidden));
        assert_eq!(masks.row(2).unwrap(), [false, true, true]);
        assert_eq!(masks.row(3).unwrap(), [true; 3]);
        let mut counts = [[0_usize; 3]; 2];
        let mut rngs = [Streams::new(1).rng(Purpose::Exploration, 0)];
        for _ in 0..3000 {
            let mut actions = [vec![9, 9]];
            masks.explore(1.0, &mut rngs, &mut actions);
            actions[0].iter().zip(&mut counts).for_each(|(&action, counts)| counts[action] += 1);
        }
        for (counts, expected) in counts.iter().zip([[0, 1500, 1500], [1000; 3]]) {
            let near = counts.iter().zip(expected).all(|(n, expected)| n.abs_diff(expected) < 120);
            assert!(near && (counts[0] == 0) == (expected[0] == 0), "{counts:?} {expected:?}");
        }
    }

    #[test]
    fn an_agent_with_fewer_actions_has_only_those() {
        let game = Masked::new(MatrixGame::climbing().unwrap(), |_, _| &[]).with_counts(&[3, 2]);
        let masks = masks_of(&game);
        assert_eq!(masks.row(1).unwrap(), [true, true, false]);
        assert_eq!(masks.best(1, &mut [0.0, 1.0, 5.0]), 1);
    }
}
