//! Episodes watched from inside: what a policy decides at each step, what its regions said, what came of it.

mod controller;
mod trace;

pub(crate) use controller::reference_names;
pub(crate) use trace::Trace;

use cgcmarl::{
    Model, Result,
    environment::{Batch, Drawing, Scenario, Spec},
    episode::{Controller, Suspended},
    graph::JointAction,
    rng::Rng,
    run::{Moment, Played},
};
use controller::Chosen;
use serde::Serialize;
use std::time::Instant;

/// One episode with one policy in it.
pub(crate) struct Playback {
    played: Played,
    controller: Chosen,
}

/// A moment: what it goes on from, and how it looks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Look {
    /// Everything about it.
    pub(crate) snapshot: Vec<f64>,
    /// Its shapes.
    pub(crate) drawing: Drawing,
}

/// What one step brought.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepReport {
    /// The moment after it.
    #[serde(flatten)]
    pub(crate) look: Look,
    /// The regions and how firmly each spoke.
    pub(crate) edges: Vec<Edge>,
    /// The step's value of every reported metric.
    pub(crate) metrics: Vec<f64>,
    /// Whether the episode ended with it.
    pub(crate) over: bool,
    /// Milliseconds from the state to the joint action.
    pub(crate) decision_ms: f64,
}

/// A region of the coordination graph at one decision.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Edge {
    pub(crate) members: Vec<usize>,
    pub(crate) strength: f32,
}

impl Playback {
    /// A trained model in a scenario of its task.
    pub(crate) fn trained(model: &Model, scenario: &Scenario) -> Result<Self> {
        Self::new(scenario, Chosen::trained(model, scenario)?)
    }

    /// One of the policies that are played beside every front.
    pub(crate) fn reference(name: &str, scenario: &Scenario) -> Result<Self> {
        Self::new(scenario, Chosen::reference(name, scenario)?)
    }

    fn new(scenario: &Scenario, controller: Chosen) -> Result<Self> {
        Ok(Self { played: Played::start(scenario, 0, 0)?, controller })
    }

    /// Begins an evaluation episode.
    pub(crate) fn begin(&mut self, start_seed: u64, episode: u64) {
        self.played.begin(start_seed, episode);
    }

    /// Goes on from a snapshot; refuses what is none.
    pub(crate) fn restore(&mut self, snapshot: &[f64], moment: Moment) -> Result<()> {
        self.played.restore(snapshot, moment)
    }

    /// Lets what a handle holds stand still.
    pub(crate) fn stop(&mut self, handle: usize, moment: Moment) -> Result<()> {
        let Look { mut snapshot, drawing } = self.look();
        let held = drawing.shapes.iter().filter(|shape| shape.handle == Some(handle));
        for velocity in held.filter_map(|shape| shape.velocity) {
            snapshot.iter_mut().skip(velocity).take(2).for_each(|speed| *speed = 0.0);
        }
        self.restore(&snapshot, moment)
    }

    /// The present moment.
    pub(crate) fn look(&self) -> Look {
        let environment = self.played.environment();
        Look { snapshot: environment.snapshot(), drawing: environment.draw() }
    }

    /// Sizes, measures and names.
    pub(crate) fn spec(&self) -> &Spec {
        self.played.spec()
    }

    /// Decides at a trade-off and plays the decision.
    pub(crate) fn step(&mut self, multipliers: &[f32]) -> StepReport {
        let state = self.played.state();
        let edges = self.controller.edges(self.played.environment().view(), &state, multipliers);
        let (goes_on, decision_ms) = self.advance(multipliers);
        StepReport {
            look: self.look(),
            edges,
            metrics: self.played.outcome().reported(self.spec()),
            over: !goes_on,
            decision_ms,
        }
    }

    /// Plays one decision; tells whether the episode goes on, and how long the decision took.
    fn advance(&mut self, multipliers: &[f32]) -> (bool, f64) {
        self.controller.set_multipliers(multipliers);
        let mut timed = Timed { controller: &mut self.controller, milliseconds: 0.0 };
        let goes_on = self.played.step(&mut timed);
        (goes_on, timed.milliseconds)
    }

    /// Plays one evaluation episode and tells the value of every reported metric.
    pub(crate) fn score(&mut self, start_seed: u64, episode: u64, multipliers: &[f32]) -> Vec<f64> {
        self.begin(start_seed, episode);
        while self.score_step(multipliers) {}
        self.metrics()
    }

    /// Plays one step of an episode that is scored; whether another follows.
    pub(crate) fn score_step(&mut self, multipliers: &[f32]) -> bool {
        self.advance(multipliers).0
    }

    /// What the episode that is over came to: the value of every reported metric.
    pub(crate) fn metrics(&self) -> Vec<f64> {
        self.played.summary().metrics.clone()
    }

    /// The episode as it stands, to be gone on with when another was played meanwhile.
    pub(crate) fn suspend(&self) -> Option<Suspended> {
        self.played.suspend()
    }

    /// Goes on with an episode.
    pub(crate) fn resume(&mut self, suspended: Suspended) -> Result<()> {
        self.played.resume(suspended)
    }

    /// Plays one evaluation episode and keeps how it looked.
    pub(crate) fn trace(&mut self, start_seed: u64, episode: u64, multipliers: &[f32]) -> Trace {
        self.begin(start_seed, episode);
        let mut drawings = vec![self.look().drawing];
        loop {
            let (goes_on, _) = self.advance(multipliers);
            drawings.push(self.look().drawing);
            if !goes_on {
                return Trace { episode, drawings, metrics: self.metrics() };
            }
        }
    }
}

/// A controller whose decisions are timed.
struct Timed<'a> {
    controller: &'a mut Chosen,
    milliseconds: f64,
}

impl Controller for Timed<'_> {
    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let begun = Instant::now();
        self.controller.act(batch, rngs, actions);
        self.milliseconds = (begun.elapsed().as_secs_f64() * 1e5).round() / 100.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playback(name: &str) -> Playback {
        Playback::reference(name, &Scenario::of("simple_spread").unwrap()).unwrap()
    }

    #[test]
    fn an_episode_is_the_same_every_time_and_the_oracle_covers() {
        for name in ["oracle", "random"] {
            let mut playback = playback(name);
            let trace = playback.trace(1, 0, &[]);
            assert_eq!(trace.drawings.len(), 26);
            assert_eq!(playback.trace(1, 0, &[]).drawings, trace.drawings);
            let score = playback.score(1, 0, &[]);
            assert_eq!(score, trace.metrics);
            assert_eq!(score[0] == 1.0, name == "oracle");
        }
    }

    #[test]
    fn an_episode_scores_the_same_with_others_in_between() {
        let mut playback = playback("random");
        let whole = playback.score(1, 2, &[]);
        playback.begin(1, 2);
        while playback.score_step(&[]) {
            let suspended = playback.suspend().unwrap();
            playback.score(1, 7, &[]);
            playback.resume(suspended).unwrap();
        }
        assert_eq!(playback.metrics(), whole);
        assert!(playback.suspend().is_none(), "an episode that is over does not go on");
    }

    #[test]
    fn a_step_from_a_snapshot_that_was_sent_goes_on_exactly() {
        let mut playback = playback("oracle");
        playback.begin(1, 3);
        let first = playback.step(&[]);
        let second = playback.step(&[]);
        let text = serde_json::to_string(&first.look.snapshot).unwrap();
        let snapshot: Vec<f64> = serde_json::from_str(&text).unwrap();
        let moment = Moment { start_seed: 1, episode: 3, step: 1 };
        playback.restore(&snapshot, moment).unwrap();
        assert_eq!(playback.step(&[]).look.snapshot, second.look.snapshot);
        assert!(!second.over && second.metrics.len() == playback.spec().reported().len());
    }

    #[test]
    fn a_reference_that_is_none_is_refused_with_those_that_are() {
        let error = Playback::reference("nobody", &Scenario::of("simple_spread").unwrap());
        let error = error.err().unwrap().to_string();
        assert!(error.contains("nobody") && error.contains("`oracle`, `random`"), "{error}");
    }
}
