//! One round of episodes as on-policy learners remember it, from the first step to the last.

use super::{PpoOptions, multiplier_input::write_multipliers, ppo::gae};
use crate::{
    algorithm::{AgentFrames, agent_row_width, write_wider_rows},
    environment::{Ending, Spec, View},
    episode::Transition,
};

/// How the agents of one environment acted at a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acted<'a> {
    /// What each agent saw.
    pub(super) seen: &'a [f32],
    /// The frame in which it saw that.
    pub(super) frames: &'a [usize],
    /// What each agent did, in its frame.
    pub(super) actions: &'a [usize],
    /// How probable each agent's action was.
    pub(super) log_probabilities: &'a [f32],
    /// What each agent could have done, where not everybody could do everything.
    pub(super) allowed: Option<&'a [bool]>,
}

/// What every agent saw, did and got in a round: trajectory by trajectory, step by step. There is one
/// trajectory for each environment and agent.
pub(super) struct Rollout {
    n_agents: usize,
    n_constraints: usize,
    n_actions: usize,
    identity: bool,
    agent_width: usize,
    state_width: usize,
    horizon: usize,
    /// Multipliers that the agents see, and those of each environment.
    n_multipliers: usize,
    multipliers: Vec<f32>,
    /// Width of a critic's row: what the agent sees, then the global state where it is shown.
    pub(super) width: usize,
    /// One critic row per step; its first part is the actor's.
    pub(super) rows: Vec<f32>,
    /// The critic rows after the last steps, one per trajectory.
    pub(super) last_rows: Vec<f32>,
    /// The frame in which each row was seen.
    frames: Vec<usize>,
    last_frames: AgentFrames,
    /// What was done.
    pub(super) actions: Vec<usize>,
    /// Its log-probability.
    pub(super) log_probabilities: Vec<f32>,
    /// What the agent was paid.
    pub(super) rewards: Vec<f32>,
    /// What the agent paid, one list per constraint.
    pub(super) costs: Vec<Vec<f32>>,
    /// What could be done at each place; empty while nothing was ever forbidden.
    allowed: Vec<bool>,
    last_states: Vec<f32>,
    lengths: Vec<usize>,
    endings: Vec<Ending>,
    n_running: usize,
}

impl Rollout {
    /// Memory for one episode in each of so many environments, whose agents see so many multipliers.
    pub(super) fn new(
        spec: &Spec,
        options: &PpoOptions,
        n_multipliers: usize,
        n_environments: usize,
    ) -> Self {
        let agent_width = agent_row_width(spec, options.identity) + n_multipliers;
        let n_trajectories = n_environments * spec.n_agents();
        let shown = if options.global_state { spec.state_width } else { 0 };
        let (n, width) = (n_trajectories * spec.horizon, agent_width + shown);
        Self {
            n_agents: spec.n_agents(),
            n_constraints: spec.n_constraints(),
            n_actions: spec.n_actions(),
            identity: options.identity,
            agent_width,
            state_width: spec.state_width,
            horizon: spec.horizon,
            n_multipliers,
            multipliers: vec![0.0; n_environments * n_multipliers],
            width,
            rows: vec![0.0; n * width],
            last_rows: vec![0.0; n_trajectories * width],
            frames: vec![0; n],
            last_frames: AgentFrames::default(),
            actions: vec![0; n],
            log_probabilities: vec![0.0; n],
            rewards: vec![0.0; n],
            costs: vec![vec![0.0; n]; spec.n_constraints()],
            allowed: Vec::new(),
            last_states: vec![0.0; n_environments * spec.state_width],
            lengths: vec![0; n_environments],
            endings: vec![Ending::Running; n_environments],
            n_running: 0,
        }
    }

    /// The multipliers of an environment, to change.
    pub(super) fn multipliers_mut(&mut self, slot: usize) -> &mut [f32] {
        &mut self.multipliers[slot * self.n_multipliers..][..self.n_multipliers]
    }

    /// The multipliers of all environments.
    pub(super) fn multipliers(&self) -> &[f32] {
        &self.multipliers
    }

    /// The multipliers at which a place was played.
    pub(super) fn multipliers_at(&self, place: usize) -> &[f32] {
        let slot = place / self.horizon / self.n_agents;
        &self.multipliers[slot * self.n_multipliers..][..self.n_multipliers]
    }

    /// An episode begins.
    pub(super) fn begin(&mut self, slot: usize) {
        self.lengths[slot] = 0;
        self.endings[slot] = Ending::Running;
        self.n_running += 1;
    }

    /// Remembers a step, with what each agent of its environment is paid and how it acted. True when
    /// it was the last of the round.
    pub(super) fn push(
        &mut self,
        transition: Transition<'_>,
        rewards: &[f32],
        acted: Acted<'_>,
    ) -> bool {
        let Transition { slot, state: before, outcome, next_state, .. } = transition;
        let (time, state_width) = (self.lengths[slot], self.state_width);
        assert!(time < self.horizon, "an episode of more than {} steps", self.horizon);
        for (agent, &reward) in rewards.iter().enumerate() {
            let place = (slot * self.n_agents + agent) * self.horizon + time;
            let row = &mut self.rows[place * self.width..][..self.width];
            let (seen, state) = row.split_at_mut(self.agent_width);
            seen.copy_from_slice(&acted.seen[agent * self.agent_width..][..self.agent_width]);
            state.copy_from_slice(&before[..state.len()]);
            self.frames[place] = acted.frames[agent];
            self.actions[place] = acted.actions[agent];
            self.log_probabilities[place] = acted.log_probabilities[agent];
            self.rewards[place] = reward;
            let paid = &outcome.agent_costs[agent * self.n_constraints..][..self.n_constraints];
            self.costs.iter_mut().zip(paid).for_each(|(costs, cost)| costs[place] = *cost);
            self.remember_allowed(place, agent, acted.allowed);
        }
        self.lengths[slot] += 1;
        self.endings[slot] = outcome.ending;
        if outcome.ending != Ending::Running {
            self.last_states[slot * state_width..][..state_width].copy_from_slice(next_state);
            self.n_running -= 1;
        }
        self.n_running == 0
    }

    fn remember_allowed(&mut self, place: usize, agent: usize, allowed: Option<&[bool]>) {
        if allowed.is_some() {
            self.allowed.resize(self.actions.len() * self.n_actions, true);
        }
        if self.allowed.is_empty() {
            return;
        }
        let kept = &mut self.allowed[place * self.n_actions..][..self.n_actions];
        match allowed {
            Some(all) => kept.copy_from_slice(&all[agent * self.n_actions..][..self.n_actions]),
            None => kept.fill(true),
        }
    }

    /// What the agent at a place could do, where something was forbidden.
    pub(super) fn allowed(&self, place: usize) -> Option<&[bool]> {
        self.allowed.get(place * self.n_actions..(place + 1) * self.n_actions)
    }

    /// Looks at the states after the last steps and lists the places that hold a step.
    pub(super) fn close(&mut self, view: &dyn View, seen: &mut Vec<f32>, places: &mut Vec<usize>) {
        let wider = (self.identity, self.n_multipliers);
        write_wider_rows(view, &self.last_states, wider, seen, &mut self.last_frames);
        if self.n_multipliers > 0 {
            let rows = seen.chunks_exact_mut(self.n_agents * self.agent_width);
            for (rows, multipliers) in rows.zip(self.multipliers.chunks_exact(self.n_multipliers)) {
                write_multipliers(multipliers, self.agent_width, rows);
            }
        }
        let rows = self.last_rows.chunks_exact_mut(self.width);
        for (index, (row, seen)) in rows.zip(seen.chunks_exact(self.agent_width)).enumerate() {
            row[..self.agent_width].copy_from_slice(seen);
            let state = &self.last_states[index / self.n_agents * self.state_width..];
            let shown = &mut row[self.agent_width..];
            shown.copy_from_slice(&state[..shown.len()]);
        }
        places.clear();
        let lengths = self.lengths.iter().flat_map(|n| std::iter::repeat_n(*n, self.n_agents));
        for (trajectory, length) in lengths.enumerate() {
            places.extend((0..length).map(|time| trajectory * self.horizon + time));
        }
        self.turn_states(view, places);
    }

    /// Shows critics the global state in the frame of the agent that they value.
    fn turn_states(&mut self, view: &dyn View, places: &[usize]) {
        let (width, seen) = (self.width, self.agent_width);
        if width == seen {
            return;
        }
        for &place in places.iter().filter(|&&place| self.frames[place] != 0) {
            view.transform_state(
                self.frames[place],
                &mut self.rows[place * width + seen..][..width - seen],
            );
        }
        let rows = self.last_rows.chunks_exact_mut(width);
        for (row, &frame) in rows.zip(&self.last_frames.symmetries).filter(|row| *row.1 != 0) {
            view.transform_state(frame, &mut row[seen..]);
        }
    }

    /// Advantages of everything done, for a stream of rewards and the values a critic gives; returns
    /// go on from a time limit by its `last_values`, and not from a true end.
    pub(super) fn advantages(
        &self,
        rewards: &[f32],
        values: &[f32],
        last_values: &[f32],
        (gamma, lambda): (f32, f32),
        advantages: &mut Vec<f32>,
    ) {
        advantages.resize(rewards.len(), 0.0);
        for (trajectory, last_value) in last_values.iter().enumerate() {
            let slot = trajectory / self.n_agents;
            let start = trajectory * self.horizon;
            let range = start..start + self.lengths[slot];
            let ends = self.endings[slot] == Ending::Terminal;
            let last_value = if ends { 0.0 } else { *last_value };
            let (rewards, values) = (&rewards[range.clone()], &values[range.clone()]);
            gae(rewards, values, last_value, gamma, lambda, &mut advantages[range]);
        }
    }

    /// What an agent pays per step, on average over the round.
    pub(super) fn mean_cost(&self, constraint: usize, places: &[usize]) -> f32 {
        let sum: f64 = places.iter().map(|&p| f64::from(self.costs[constraint][p])).sum();
        (sum / places.len() as f64) as f32
    }

    /// Copies the rows of some places: whole ones for a critic.
    pub(super) fn gather_critic_rows(&self, places: &[usize], rows: &mut Vec<f32>) {
        self.gather(places, self.width, rows);
    }

    /// Copies what the agents saw at some places.
    pub(super) fn gather_agent_rows(&self, places: &[usize], rows: &mut Vec<f32>) {
        self.gather(places, self.agent_width, rows);
    }

    fn gather(&self, places: &[usize], width: usize, rows: &mut Vec<f32>) {
        rows.clear();
        for place in places {
            rows.extend_from_slice(&self.rows[place * self.width..][..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, Outcome, matrix_game::MatrixGame};

    #[test]
    fn a_round_is_remembered_by_trajectory_and_a_true_end_is_worth_nothing() {
        let mut game = MatrixGame::worked_example().unwrap();
        let options = PpoOptions { identity: false, ..PpoOptions::default() };
        let mut rollout = Rollout::new(game.view().spec(), &options, 0, 2);
        let mut outcome = Outcome::default();
        (0..2).for_each(|slot| rollout.begin(slot));
        for (slot, action) in [[0, 0], [1, 1]].iter().enumerate() {
            game.reset(&mut crate::rng::Streams::new(0).rng(crate::rng::Purpose::Problem, 0));
            let mut chance = crate::rng::Streams::new(0).rng(crate::rng::Purpose::Dynamics, 0);
            game.step(action, &mut chance, &mut outcome);
            let (state, next_state) = (&[0.0][..], &[1.0][..]);
            let step = Transition { slot, state, action, outcome: &outcome, next_state };
            let seen = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
            let allowed = (slot == 1).then_some(&[false, true, true, true][..]);
            let (frames, log_probabilities) = (&[0; 2], &[-0.5, -0.7]);
            let acted = Acted { seen: &seen, frames, actions: action, log_probabilities, allowed };
            assert_eq!(rollout.push(step, &outcome.agent_rewards, acted), slot == 1);
        }
        assert_eq!(rollout.allowed(0), Some(&[true; 2][..]), "before anything was forbidden");
        assert_eq!(rollout.allowed(2), Some(&[false, true][..]));
        let (mut seen, mut places) = (Vec::new(), Vec::new());
        rollout.close(game.view(), &mut seen, &mut places);
        assert_eq!(places, [0, 1, 2, 3]);
        assert_eq!(rollout.last_rows[4..8], [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(rollout.rewards, [10.0, 10.0, 9.0, 9.0]);
        assert_eq!(rollout.mean_cost(0, &places), (2.5 + 2.5 + 0.5 + 0.5) / 4.0);
        let mut advantages = Vec::new();
        let (values, last_values) = ([1.0; 4], [100.0; 4]);
        rollout.advantages(&rollout.rewards, &values, &last_values, (0.9, 0.9), &mut advantages);
        assert_eq!(advantages, [9.0, 9.0, 8.0, 8.0]);
    }
}
