//! A ring buffer of transitions: the state before and after, what was done and what it brought.

use crate::{checkpoint::Checkpoint, error::Result, rng::Rng};

/// Widths of one row of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Width of a state.
    pub state: usize,
    /// Number of agents.
    pub agents: usize,
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
    afters: Vec<f32>,
    actions: Vec<u8>,
    outcomes: Vec<f32>,
    terminal: Vec<u8>,
}

/// One remembered transition.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The state before.
    pub state: &'a [f32],
    /// The state after.
    pub after: &'a [f32],
    /// One action per agent.
    pub actions: &'a [u8],
    /// What it brought.
    pub outcome: &'a [f32],
    /// Whether the future has no value.
    pub terminal: bool,
}

impl Replay {
    /// An empty memory of `capacity` rows; memory is taken as it fills.
    pub fn new(shape: RowShape, capacity: usize) -> Self {
        Self {
            shape,
            capacity,
            len: 0,
            next: 0,
            states: Vec::new(),
            afters: Vec::new(),
            actions: Vec::new(),
            outcomes: Vec::new(),
            terminal: Vec::new(),
        }
    }

    /// Reserves all memory at once, so that pushing never allocates; the system hands it out as it
    /// fills.
    pub fn reserve(&mut self) {
        let RowShape { state, agents, outcome } = self.shape;
        self.states.reserve_exact(self.capacity * state - self.states.len());
        self.afters.reserve_exact(self.capacity * state - self.afters.len());
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
    pub fn push(&mut self, row: Row<'_>) {
        let RowShape { state, agents, outcome } = self.shape;
        if self.len < self.capacity {
            self.len += 1;
            self.states.resize(self.len * state, 0.0);
            self.afters.resize(self.len * state, 0.0);
            self.actions.resize(self.len * agents, 0);
            self.outcomes.resize(self.len * outcome, 0.0);
            self.terminal.resize(self.len, 0);
        }
        let i = self.next;
        self.next = (i + 1) % self.capacity;
        self.states[i * state..][..state].copy_from_slice(row.state);
        self.afters[i * state..][..state].copy_from_slice(row.after);
        self.actions[i * agents..][..agents].copy_from_slice(row.actions);
        self.outcomes[i * outcome..][..row.outcome.len()].copy_from_slice(row.outcome);
        self.terminal[i] = u8::from(row.terminal);
    }

    /// One remembered transition.
    pub fn row(&self, i: usize) -> Row<'_> {
        let RowShape { state, agents, outcome } = self.shape;
        Row {
            state: &self.states[i * state..][..state],
            after: &self.afters[i * state..][..state],
            actions: &self.actions[i * agents..][..agents],
            outcome: &self.outcomes[i * outcome..][..outcome],
            terminal: self.terminal[i] != 0,
        }
    }

    /// A uniform draw.
    pub fn sample(&self, rng: &mut Rng) -> usize {
        rng.below(self.len)
    }

    /// Writes the arrays as they are, with the ring's position.
    pub fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        let RowShape { state, agents, outcome } = self.shape;
        checkpoint.push("replay.states", &[self.len, state], &self.states[..]);
        checkpoint.push("replay.afters", &[self.len, state], &self.afters[..]);
        checkpoint.push("replay.actions", &[self.len, agents], &self.actions[..]);
        checkpoint.push("replay.outcomes", &[self.len, outcome], &self.outcomes[..]);
        checkpoint.push("replay.terminal", &[self.len], &self.terminal[..]);
        checkpoint.set("replay_next", self.next);
    }

    /// Puts saved arrays back.
    pub fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let RowShape { state, agents, outcome } = self.shape;
        let (next, terminal) =
            (checkpoint.entry("replay_next")?, checkpoint.get("replay.terminal")?);
        let len = terminal.len();
        if len > self.capacity || next >= self.capacity {
            return Err(checkpoint.misfit("holds more replay rows than `buffer_size` allows"));
        }
        self.states = checkpoint.get_shaped("replay.states", &[len, state])?.to_vec();
        self.afters = checkpoint.get_shaped("replay.afters", &[len, state])?.to_vec();
        self.actions = checkpoint.get_shaped("replay.actions", &[len, agents])?.to_vec();
        self.outcomes = checkpoint.get_shaped("replay.outcomes", &[len, outcome])?.to_vec();
        self.terminal = terminal.to_vec();
        self.reserve();
        (self.len, self.next) = (len, next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_row_is_forgotten_first() {
        let mut replay = Replay::new(RowShape { state: 1, agents: 1, outcome: 1 }, 3);
        for i in 0..5u8 {
            let value = [f32::from(i)];
            replay.push(Row {
                state: &value,
                after: &value,
                actions: &[i],
                outcome: &value,
                terminal: i == 4,
            });
        }
        let held: Vec<u8> = (0..replay.len()).map(|i| replay.row(i).actions[0]).collect();
        assert_eq!(held, [3, 4, 2]);
        assert!(replay.row(1).terminal && !replay.row(0).terminal);
    }
}
