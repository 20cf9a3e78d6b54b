//! Agents that wait for their turn, each at most once.

/// First in, first out.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentQueue {
    agents: Vec<usize>,
    is_waiting: Vec<bool>,
    /// How many of `agents` had their turn.
    n_done: usize,
}

impl AgentQueue {
    /// Lets every agent wait, in order.
    pub(super) fn fill(&mut self, n_agents: usize) {
        self.n_done = 0;
        self.agents.clear();
        self.agents.extend(0..n_agents);
        self.is_waiting.clear();
        self.is_waiting.resize(n_agents, true);
    }

    /// Lets an agent wait, unless it does.
    #[inline(always)]
    pub(super) fn push(&mut self, agent: usize) {
        if !self.is_waiting[agent] {
            self.is_waiting[agent] = true;
            self.agents.push(agent);
        }
    }

    /// The agent that has waited longest.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        let Some(&agent) = self.agents.get(self.n_done) else {
            self.n_done = 0;
            self.agents.clear();
            return None;
        };
        self.n_done += 1;
        self.is_waiting[agent] = false;
        Some(agent)
    }

    /// Sends everyone away.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        for &agent in &self.agents[self.n_done..] {
            self.is_waiting[agent] = false;
        }
        self.n_done = 0;
        self.agents.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_take_turns_and_wait_once() {
        let mut queue = AgentQueue::default();
        queue.fill(3);
        queue.push(0);
        assert_eq!(queue.pop(), Some(0));
        queue.push(0);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop(), queue.pop()],
            [Some(1), Some(2), Some(0), None]
        );
        queue.push(2);
        queue.clear();
        assert_eq!(queue.pop(), None);
        queue.push(2);
        assert_eq!(queue.pop(), Some(2));
    }
}
