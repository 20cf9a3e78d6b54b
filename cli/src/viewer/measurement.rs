//! Episodes from the start states of every sweep, played a turn at a time.

use super::{message::Measure, work::TURN};
use crate::playback::{Playback, Situation, Tally};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// After this a measurement answers with the episodes it has; a page asks again for the others.
const ENOUGH: Duration = Duration::from_millis(250);

/// A measurement between two turns: it keeps no policy, so that a hundred that wait cost nothing.
pub(crate) struct Measurement {
    message: Measure,
    begun: Instant,
    scores: Vec<[f64; 2]>,
    interrupted: Option<(Situation, Tally)>,
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
    pub(crate) fn advance(&mut self, playback: &mut Playback, start_seed: u64) -> bool {
        let turn = Instant::now();
        while !self.is_done() {
            let mut tally = self.enter(playback, start_seed);
            while playback.score_step(self.message.multiplier, &mut tally) {
                if turn.elapsed() > TURN {
                    self.interrupted = Some((playback.situation(), tally));
                    return false;
                }
            }
            self.scores.push(tally.score().into());
        }
        true
    }

    /// Goes on with the episode that was interrupted, or begins the next one.
    fn enter(&mut self, playback: &mut Playback, start_seed: u64) -> Tally {
        let Some((situation, tally)) = self.interrupted.take() else {
            playback.reset(start_seed, self.message.first + self.scores.len() as u64);
            return Tally::default();
        };
        playback.place(&situation);
        tally
    }

    fn is_done(&self) -> bool {
        let n = self.scores.len();
        n == self.message.episodes || (n > 0 && self.begun.elapsed() > ENOUGH)
    }
}
