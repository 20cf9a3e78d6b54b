//! A ring buffer of transitions: a state and the next one, what was done and what it brought.

use crate::{checkpoint::Checkpoint, error::Result, rng::Rng};
use std::borrow::Cow;

/// Widths of one row of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Width of a state.
    pub state: usize,
    /// Number of agents.
    pub agents: usize,
    /// Number of actions that the agent with the most has.
    pub actions: usize,
    /// Numbers kept of the outcome (rewards, costs), padded to the widest graph.
    pub outcome: usize,
}

/// Flat rows in a ring; row `i` of every array belongs together.
#[derive(Clone, Debug)]
pub struct Replay {
    shape: RowShape,
    capacity: usize,
    len: usize,
    next: usize,
    states: Vec<f32>,
    next_states: Vec<f32>,
    actions: Vec<u16>,
    outcomes: Vec<f32>,
    terminal: Vec<u8>,
}

/// One transition: with actions as agents choose them, or as they are remembered.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, A = u16> {
    /// The state before.
    pub state: &'a [f32],
    /// The state after.
    pub next_state: &'a [f32],
    /// One action per agent.
    pub actions: &'a [A],
    /// What it brought.
    pub outcome: &'a [f32],
    /// Whether the future has no value.
    pub terminal: bool,
}

impl Replay {
    /// An empty memory of `capacity` rows; memory is taken as it fills.
    pub fn new(shape: RowShape, capacity: usize) -> Self {
        assert!(shape.actions <= 1 << 16, "{} actions, but at most 65536 fit", shape.actions);
        Self {
            shape,
            capacity,
            len: 0,
            next: 0,
            states: Vec::new(),
            next_states: Vec::new(),
            actions: Vec::new(),
            outcomes: Vec::new(),
            terminal: Vec::new(),
        }
    }

    /// Reserves all memory at once, so that pushing never allocates; the system hands it out as it
    /// fills.
    pub fn reserve(&mut self) {
        let RowShape { state, agents, outcome, .. } = self.shape;
        self.states.reserve_exact(self.capacity * state - self.states.len());
        self.next_states.reserve_exact(self.capacity * state - self.next_states.len());
        self.actions.reserve_exact(self.capacity * agents - self.actions.len());
        self.outcomes.reserve_exact(self.capacity * outcome - self.outcomes.len());
        self.terminal.reserve_exact(self.capacity - self.terminal.len());
    }

    /// Rows held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Remembers a transition, forgetting the oldest when full.
    pub fn push(&mut self, row: Row<'_, usize>) {
        let RowShape { state, agents, actions, outcome } = self.shape;
        if self.len < self.capacity {
            self.len += 1;
            self.states.resize(self.len * state, 0.0);
            self.next_states.resize(self.len * state, 0.0);
            self.actions.resize(self.len * agents, 0);
            self.outcomes.resize(self.len * outcome, 0.0);
            self.terminal.resize(self.len, 0);
        }
        let i = self.next;
        self.next = (i + 1) % self.capacity;
        self.states[i * state..][..state].copy_from_slice(row.state);
        self.next_states[i * state..][..state].copy_from_slice(row.next_state);
        assert_eq!(row.actions.len(), agents, "one action per agent");
        for (place, &action) in self.actions[i * agents..].iter_mut().zip(row.actions) {
            assert!(action < actions, "action {action} of {actions}");
            *place = action as u16;
        }
        self.outcomes[i * outcome..][..row.outcome.len()].copy_from_slice(row.outcome);
        self.terminal[i] = u8::from(row.terminal);
    }

    /// One remembered transition.
    pub fn row(&self, i: usize) -> Row<'_> {
        let RowShape { state, agents, outcome, .. } = self.shape;
        Row {
            state: &self.states[i * state..][..state],
            next_state: &self.next_states[i * state..][..state],
            actions: &self.actions[i * agents..][..agents],
            outcome: &self.outcomes[i * outcome..][..outcome],
            terminal: self.terminal[i] != 0,
        }
    }

    /// Whether it is as so many transitions leave it.
    pub fn is_after(&self, n_pushed: u64) -> bool {
        let capacity = self.capacity as u64;
        self.len as u64 == n_pushed.min(capacity) && self.next as u64 == n_pushed % capacity
    }

    /// A uniform draw.
    pub fn sample(&self, rng: &mut Rng) -> usize {
        rng.below(self.len)
    }

    /// Whether actions are saved in one byte.
    fn is_narrow(&self) -> bool {
        self.shape.actions <= 1 << 8
    }

    /// Writes the arrays as they are, with the ring's position, under names with a prefix.
    pub fn save<'a>(&'a self, prefix: &str, checkpoint: &mut Checkpoint<'a>) {
        let name = |name: &str| format!("{prefix}{name}");
        let RowShape { state, agents, outcome, .. } = self.shape;
        checkpoint.push(name("replay.states"), &[self.len, state], &self.states[..]);
        checkpoint.push(name("replay.afters"), &[self.len, state], &self.next_states[..]);
        if self.is_narrow() {
            let narrow: Vec<u8> = self.actions.iter().map(|&action| action as u8).collect();
            checkpoint.push(name("replay.actions"), &[self.len, agents], narrow);
        } else {
            checkpoint.push(name("replay.actions"), &[self.len, agents], &self.actions[..]);
        }
        checkpoint.push(name("replay.outcomes"), &[self.len, outcome], &self.outcomes[..]);
        checkpoint.push(name("replay.terminal"), &[self.len], &self.terminal[..]);
        checkpoint.set(&name("replay_next"), self.next);
    }

    /// Puts saved arrays back; refuses what no training leaves.
    pub fn load(&mut self, prefix: &str, checkpoint: &Checkpoint) -> Result<()> {
        let name = |name: &str| format!("{prefix}{name}");
        let RowShape { state, agents, outcome, .. } = self.shape;
        let (next, terminal): (usize, &[u8]) =
            (checkpoint.entry(&name("replay_next"))?, checkpoint.get(&name("replay.terminal"))?);
        let len = terminal.len();
        if len > self.capacity {
            return Err(checkpoint.mismatch("holds more replay rows than `buffer_size` allows"));
        }
        // The ring begins anew only once it is full.
        if next >= self.capacity || (len < self.capacity && next != len) {
            let text = format!(
                "has `replay_next` at {next} with {len} replay rows, where `buffer_size` allows {}",
                self.capacity
            );
            return Err(checkpoint.mismatch(&text));
        }
        if terminal.iter().any(|&flag| flag > 1) {
            return Err(checkpoint.mismatch("holds `replay.terminal` that is neither 0 nor 1"));
        }
        self.states = checkpoint.get_shaped(&name("replay.states"), &[len, state])?.to_vec();
        self.next_states = checkpoint.get_shaped(&name("replay.afters"), &[len, state])?.to_vec();
        self.actions =
            self.saved_actions(checkpoint, &name("replay.actions"), &[len, agents])?.into_owned();
        self.outcomes = checkpoint.get_shaped(&name("replay.outcomes"), &[len, outcome])?.to_vec();
        self.terminal = terminal.to_vec();
        self.reserve();
        (self.len, self.next) = (len, next);
        Ok(())
    }

    fn saved_actions<'a>(
        &self,
        checkpoint: &'a Checkpoint,
        name: &str,
        shape: &[usize],
    ) -> Result<Cow<'a, [u16]>> {
        let saved: Cow<[u16]> = if self.is_narrow() {
            let narrow: &[u8] = checkpoint.get_shaped(name, shape)?;
            narrow.iter().copied().map(u16::from).collect()
        } else {
            checkpoint.get_shaped(name, shape)?.into()
        };
        let n_actions = self.shape.actions;
        match saved.iter().find(|&&action| usize::from(action) >= n_actions) {
            None => Ok(saved),
            Some(action) => {
                let text = format!("remembers action {action}, but there are only {n_actions}");
                Err(checkpoint.mismatch(&text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(n_actions: usize, actions: &[usize]) -> Replay {
        let shape = RowShape { state: 1, agents: 1, actions: n_actions, outcome: 1 };
        let mut replay = Replay::new(shape, 3);
        for (i, action) in actions.iter().enumerate() {
            let value = [i as f32];
            replay.push(Row {
                state: &value,
                next_state: &value,
                actions: std::slice::from_ref(action),
                outcome: &value,
                terminal: i == 4,
            });
        }
        replay
    }

    fn held(replay: &Replay) -> Vec<u16> {
        (0..replay.len()).map(|i| replay.row(i).actions[0]).collect()
    }

    #[test]
    fn the_oldest_row_is_forgotten_first() {
        let replay = filled(5, &[0, 1, 2, 3, 4]);
        assert_eq!(held(&replay), [3, 4, 2]);
        assert!(replay.row(1).terminal && !replay.row(0).terminal);
        assert!(replay.is_after(5) && !replay.is_after(4) && !replay.is_after(2));
    }

    #[test]
    fn any_number_of_actions_is_saved_and_loaded() {
        for (n_actions, kind) in [(256, "u8"), (257, "u16"), (65_536, "u16")] {
            let replay = filled(n_actions, &[n_actions - 1, 0, n_actions / 2, 1]);
            let mut checkpoint = Checkpoint::new(0, json!({}));
            replay.save("", &mut checkpoint);
            let saved = checkpoint.tensors().iter().find(|t| t.name == "replay.actions").unwrap();
            assert_eq!(saved.values.type_name(), kind);
            let mut loaded = filled(n_actions, &[]);
            loaded.load("", &checkpoint).unwrap();
            assert_eq!(held(&loaded), held(&replay));
            assert_eq!(held(&loaded)[1..], [0, (n_actions / 2) as u16]);
        }
    }

    #[test]
    #[should_panic(expected = "action 300 of 300")]
    fn an_action_that_does_not_exist_is_not_remembered() {
        filled(300, &[299, 300]);
    }

    #[test]
    fn what_no_training_leaves_is_refused() {
        let refusal = |n_actions: usize, change: &dyn Fn(&mut Checkpoint)| {
            let replay = filled(5, &[4, 4]);
            let mut checkpoint = Checkpoint::new(0, json!({}));
            replay.save("", &mut checkpoint);
            change(&mut checkpoint);
            filled(n_actions, &[]).load("", &checkpoint).unwrap_err().to_string()
        };
        let error = refusal(4, &|_| {});
        assert!(error.contains("remembers action 4, but there are only 4"), "{error}");
        for next in [0, 1, 3, usize::MAX] {
            let error = refusal(5, &|checkpoint| checkpoint.set("replay_next", next));
            assert!(error.contains(&format!("`replay_next` at {next} with 2 replay")), "{error}");
        }
    }
}
