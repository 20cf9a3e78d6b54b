//! The only loop that steps environments, for training and evaluation alike: many side by side.

use crate::{
    environment::{Ending, Environment, Outcome, StepMetrics, View},
    graph::JointAction,
    rng::Rng,
};

/// What a player sees before it acts: one state row per environment.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// How to look at a state.
    pub view: &'a dyn View,
    /// State rows, one per environment.
    pub states: &'a [f32],
}

impl Scene<'_> {
    /// Number of environments side by side.
    pub fn len(&self) -> usize {
        self.states.len() / self.view.spec().state_width
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The state of one environment.
    pub fn state(&self, slot: usize) -> &[f32] {
        let width = self.view.spec().state_width;
        &self.states[slot * width..][..width]
    }
}

/// Takes part in episodes. A frozen policy only acts; a learner also observes.
pub trait Player: Send {
    /// An episode begins in environment `slot`.
    fn begin(&mut self, _slot: usize, _rng: &mut Rng) {}
    /// Writes one joint action per environment; `rngs` holds one stream per running episode.
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]);
}

/// One step as a learner hears of it.
#[derive(Clone, Copy)]
pub struct Transition<'a> {
    /// Which of the environments side by side.
    pub slot: usize,
    /// How to look at a state.
    pub view: &'a dyn View,
    /// What was there.
    pub before: &'a [f32],
    /// What was done.
    pub action: &'a [usize],
    /// What it brought.
    pub outcome: &'a Outcome,
    /// What is there now.
    pub after: &'a [f32],
}

/// What one episode amounted to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Sum of team rewards.
    pub team_return: f64,
    /// Coverage at the last step, within 0.1, 0.15 and 0.2.
    pub coverage: [f32; 3],
    /// Mean number of overlapping pairs per step.
    pub collisions: f64,
    /// Mean number of overlapping pairs per step that no action could avoid.
    pub floor: f64,
    /// Mean cost per step: row = agent, column = constraint.
    pub agent_costs: Vec<f32>,
    /// Steps played.
    pub steps: u32,
}
