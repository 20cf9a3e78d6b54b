//! Episodes from the start states of every sweep, played a turn at a time.

use super::{message::Measure, work::TURN};
use crate::playback::Playback;
use cgcmarl::episode::Suspended;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// After this a measurement answers with the episodes it has; a page asks again for the others.
const ENOUGH: Duration = Duration::from_millis(250);

/// A measurement between two turns: it keeps no policy, so that a hundred that wait cost nothing.
pub(crate) struct Measurement {
    message: Measure,
    begun: Instant,
    scores: Vec<Vec<f64>>,
    interrupted: Option<Suspended>,
}

impl Measurement {
    /// One that was asked for just now.
    pub(crate) fn new(message: Measure) -> Self {
        Self { message, begun: Instant::now(), scores: vec![], interrupted: None }
    }

    /// What is measured.
    pub(crate) fn message(&self) -> &Measure {
        &self.message
    }

    /// The episodes: those that were asked for, or as many as time allowed, at least one.
    pub(crate) fn answer(&self) -> Value {
        json!({ "episodes": self.scores })
    }

    /// Plays for a turn; whether that was the last one.
    pub(crate) fn advance(
        &mut self,
        playback: &mut Playback,
        start_seed: u64,
    ) -> cgcmarl::Result<bool> {
        let turn = Instant::now();
        while !self.is_done() {
            self.enter(playback, start_seed)?;
            while playback.score_step(&self.message.multipliers) {
                if turn.elapsed() > TURN {
                    self.interrupted = playback.suspend();
                    return Ok(false);
                }
            }
            self.scores.push(playback.metrics());
        }
        Ok(true)
    }

    /// Goes on with the episode that was interrupted, or begins the next one.
    fn enter(&mut self, playback: &mut Playback, start_seed: u64) -> cgcmarl::Result<()> {
        match self.interrupted.take() {
            Some(suspended) => playback.resume(suspended)?,
            None => playback.begin(start_seed, self.message.first + self.scores.len() as u64),
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        let n = self.scores.len();
        n == self.message.episodes || (n > 0 && self.begun.elapsed() > ENOUGH)
    }
}
