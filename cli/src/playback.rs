//! Episodes watched from inside: what a policy decides at each step, what its regions said, what came of it.

use cgcmarl::{
    algorithm::CgCmarlPolicy,
    coordination::{Coordinator, MaxSum, MaxSumOptions},
    environment::{
        Environment, Outcome, oracle::Oracle, simple_spread::SimpleSpread,
        spread_options::SimpleSpreadOptions,
    },
    episode::{Player, Scene},
    experiment::Model,
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Who decides.
enum Controller {
    /// A trained policy; the second coordinator repeats its messages to show them.
    Trained(Box<(CgCmarlPolicy, MaxSum)>),
    /// A trained baseline, with the one trade-off it was trained for.
    Baseline(Box<dyn Player>),
    /// The planner that sees all.
    Oracle(Box<Oracle>),
}

/// One environment with one policy in it.
pub(crate) struct Playback {
    environment: SimpleSpread,
    controller: Controller,
    state: Vec<f32>,
    action: Vec<usize>,
    outcome: Outcome,
}

/// Where everything is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Situation {
    /// Agents.
    pub(crate) positions: Vec<[f64; 2]>,
    /// How fast they move.
    pub(crate) velocities: Vec<[f64; 2]>,
    /// Landmarks.
    pub(crate) landmarks: Vec<[f64; 2]>,
}

/// What one step brought.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepReport {
    /// Where everything is now.
    #[serde(flatten)]
    pub(crate) situation: Situation,
    /// The regions and how firmly each spoke.
    pub(crate) edges: Vec<Edge>,
    /// Pairs closer than two radii.
    pub(crate) collisions: u32,
    /// Fraction of landmarks covered within 0.1, 0.15 and 0.2.
    pub(crate) coverage: [f32; 3],
    /// Milliseconds from the state to the joint action.
    pub(crate) decision_ms: f64,
}

/// A region of the coordination graph at one decision.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Edge {
    members: Vec<usize>,
    strength: f32,
}

/// A whole episode, as a page or a picture replays it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Trace {
    /// The multiplier, where the policy has one.
    pub(crate) multiplier: Option<f32>,
    /// Number of the start state.
    pub(crate) episode: u64,
    /// Landmarks, fixed throughout.
    pub(crate) landmarks: Vec<[f64; 2]>,
    /// Agents before the first step and after each.
    pub(crate) frames: Vec<Vec<[f64; 2]>>,
    /// Overlapping pairs after each step.
    pub(crate) collisions: Vec<u32>,
    /// Coverage within 0.1 at the end.
    pub(crate) coverage: f32,
}

/// What an episode has come to after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    n_steps: usize,
    collisions: u32,
    coverage: f32,
}

impl Tally {
    /// Coverage within 0.1 and collisions per step.
    pub(crate) fn score(self) -> (f64, f64) {
        (f64::from(self.coverage), f64::from(self.collisions) / self.n_steps as f64)
    }
}

impl Playback {
    /// A trained model in an environment of its kind.
    pub(crate) fn trained(
        model: &Model,
        options: &SimpleSpreadOptions,
    ) -> cgcmarl::error::Result<Self> {
        if !model.has_multipliers() {
            let mut points = model.operating_points(options, &[])?;
            let policy = points.remove(0).policy;
            return Self::new(options, |_| Controller::Baseline(policy));
        }
        let learner = model.learner(options)?;
        let acting = &model.config.cg_cmarl.acting;
        let messages = MaxSum::new(MaxSumOptions {
            msg_iterations: acting.msg_iterations,
            damping: acting.damping,
            ..MaxSumOptions::default()
        });
        let policy = learner.policy(vec![0.0; options.constraints.len()]);
        Self::new(options, |_| Controller::Trained(Box::new((policy, messages))))
    }

    /// The oracle in an environment.
    pub(crate) fn oracle(options: &SimpleSpreadOptions) -> cgcmarl::error::Result<Self> {
        Self::new(options, |environment| Controller::Oracle(Box::new(Oracle::new(environment))))
    }

    fn new(
        options: &SimpleSpreadOptions,
        controller: impl FnOnce(&SimpleSpread) -> Controller,
    ) -> cgcmarl::error::Result<Self> {
        let environment = SimpleSpread::new(options)?;
        let spec = environment.view().spec();
        Ok(Self {
            state: vec![0.0; spec.state_width],
            action: vec![0; spec.n_agents],
            outcome: Outcome::default(),
            controller: controller(&environment),
            environment,
        })
    }

    /// Moves everything; the episode begins anew.
    pub(crate) fn place(&mut self, situation: &Situation) {
        let Situation { positions, velocities, landmarks } = situation;
        self.environment.place(positions, velocities, landmarks);
    }

    /// Draws the start state of an evaluation episode.
    pub(crate) fn reset(&mut self, start_seed: u64, episode: u64) {
        self.environment.reset(&mut Streams::new(start_seed).rng(Purpose::Evaluation, episode));
    }

    /// Where everything is.
    pub(crate) fn situation(&self) -> Situation {
        Situation {
            positions: self.environment.positions().iter().collect(),
            velocities: self.environment.velocities().iter().collect(),
            landmarks: self.environment.landmarks().iter().collect(),
        }
    }

    /// Decides at a trade-off and plays the decision.
    pub(crate) fn step(&mut self, multiplier: f32) -> StepReport {
        let begun = Instant::now();
        self.decide(multiplier);
        let decision_ms = milliseconds(begun);
        let edges = self.edges();
        self.environment.step(&self.action, &mut self.outcome);
        let metrics = self.outcome.metrics;
        StepReport {
            situation: self.situation(),
            edges,
            collisions: metrics.collisions,
            coverage: metrics.coverage,
            decision_ms,
        }
    }

    fn decide(&mut self, multiplier: f32) {
        self.environment.write_state(&mut self.state);
        match &mut self.controller {
            Controller::Trained(trained) => {
                let policy = &mut trained.0;
                policy.set_multiplier(multiplier);
                policy.decide(self.environment.view(), &self.state, &mut self.action);
            }
            Controller::Baseline(policy) => {
                let moment = Scene { view: self.environment.view(), states: &self.state };
                // A trained policy draws nothing.
                let mut rngs = [Streams::new(0).rng(Purpose::RandomPolicy, 0)];
                policy.act(moment, &mut rngs, std::slice::from_mut(&mut self.action));
            }
            Controller::Oracle(oracle) => oracle.act(&self.state, &mut self.action),
        }
    }

    /// What the regions said to the last decision: its tables once more, with the messages kept.
    fn edges(&mut self) -> Vec<Edge> {
        let Controller::Trained(trained) = &mut self.controller else { return vec![] };
        let (policy, messages) = trained.as_mut();
        let (graph, tables, _) =
            policy.decide(self.environment.view(), &self.state, &mut self.action);
        messages.coordinate(graph, tables, &mut Vec::new());
        let edge =
            |(region, strength): (&[usize], f32)| Edge { members: region.to_vec(), strength };
        graph.regions().zip(messages.strengths()).map(edge).collect()
    }

    /// Plays one evaluation episode and tells its coverage within 0.1 and its collisions per step.
    pub(crate) fn score(&mut self, start_seed: u64, episode: u64, multiplier: f32) -> (f64, f64) {
        self.reset(start_seed, episode);
        let mut tally = Tally::default();
        while self.score_step(multiplier, &mut tally) {}
        tally.score()
    }

    /// Plays one step of an episode that is scored; whether another follows.
    pub(crate) fn score_step(&mut self, multiplier: f32, tally: &mut Tally) -> bool {
        self.decide(multiplier);
        self.environment.step(&self.action, &mut self.outcome);
        tally.n_steps += 1;
        tally.collisions += self.outcome.metrics.collisions;
        tally.coverage = self.outcome.metrics.coverage[0];
        tally.n_steps < self.environment.options().horizon
    }

    /// Radius of an agent.
    pub(crate) fn radius(&self) -> f64 {
        self.environment.options().radius.unwrap_or_default()
    }

    /// Plays one evaluation episode at a trade-off; positions are kept to four decimals.
    pub(crate) fn trace(
        &mut self,
        start_seed: u64,
        episode: u64,
        multiplier: Option<f32>,
    ) -> Trace {
        self.reset(start_seed, episode);
        let start = self.situation();
        let horizon = self.environment.options().horizon;
        let mut trace = Trace {
            multiplier,
            episode,
            landmarks: rounded(&start.landmarks),
            frames: vec![rounded(&start.positions)],
            collisions: vec![],
            coverage: 0.0,
        };
        for _ in 0..horizon {
            let report = self.step(multiplier.unwrap_or_default());
            trace.frames.push(rounded(&report.situation.positions));
            trace.collisions.push(report.collisions);
            trace.coverage = report.coverage[0];
        }
        trace
    }
}

fn milliseconds(begun: Instant) -> f64 {
    (begun.elapsed().as_secs_f64() * 1e5).round() / 100.0
}

fn rounded(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    points.iter().map(|point| point.map(|x| (x * 1e4).round() / 1e4)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_episode_is_the_same_every_time_and_the_oracle_covers() {
        let options = SimpleSpreadOptions::default();
        let mut playback = Playback::oracle(&options).unwrap();
        let trace = playback.trace(1, 0, None);
        assert_eq!((trace.frames.len(), trace.collisions.len()), (26, 25));
        assert_eq!(trace.coverage, 1.0);
        assert_eq!(playback.trace(1, 0, None).frames, trace.frames);
    }

    #[test]
    fn a_step_from_a_placed_situation_goes_on_exactly() {
        let mut playback = Playback::oracle(&SimpleSpreadOptions::default()).unwrap();
        playback.reset(1, 3);
        let first = playback.step(0.0);
        let second = playback.step(0.0);
        let text = serde_json::to_string(&first.situation).unwrap();
        playback.place(&serde_json::from_str(&text).unwrap());
        assert_eq!(playback.step(0.0).situation.positions, second.situation.positions);
    }

    #[test]
    fn an_episode_scores_the_same_with_others_in_between() {
        let mut playback = Playback::oracle(&SimpleSpreadOptions::default()).unwrap();
        let whole = playback.score(1, 2, 0.0);
        playback.reset(1, 2);
        let mut tally = Tally::default();
        while playback.score_step(0.0, &mut tally) {
            let situation = playback.situation();
            playback.reset(1, 7);
            playback.step(0.0);
            playback.place(&situation);
        }
        assert_eq!(tally.score(), whole);
    }
}
