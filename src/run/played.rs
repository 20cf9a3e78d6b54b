//! One episode played step by step, to be looked at in between, and gone on from any moment of it.

use super::vectorise;
use crate::{
    environment::{Environment, Outcome, Scenario, Spec},
    episode::{Controller, EpisodeStreams, Summary, Suspended, VectorEnvironment},
    error::Result,
    evaluation::{RandomPolicy, evaluation_streams},
    rng::{Purpose, Streams},
};

/// One evaluation episode that is played step by step, to be looked at in between.
pub struct Played {
    environments: VectorEnvironment,
}

/// Where in which episode something is gone on from: whatever happens by chance there depends on
/// nothing else, so that the same moment goes on in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seed of the start states.
    pub start_seed: u64,
    /// Number of the episode.
    pub episode: u64,
    /// Steps played before.
    pub step: u64,
}

/// Most steps that are told apart.
const MOST_STEPS: u64 = 1 << 24;

impl Moment {
    fn streams(self) -> EpisodeStreams {
        EpisodeStreams {
            streams: Streams::new(self.start_seed),
            start: Purpose::Evaluation,
            dynamics: Purpose::PlaybackDynamics,
            act: Purpose::PlaybackAction,
            first: self.episode.wrapping_mul(MOST_STEPS).wrapping_add(self.step % MOST_STEPS),
        }
    }
}

impl Played {
    /// The start of an evaluation episode.
    pub fn start(scenario: &Scenario, start_seed: u64, episode: u64) -> Result<Self> {
        let mut played = Self { environments: vectorise(scenario, 1)? };
        played.begin(start_seed, episode);
        Ok(played)
    }

    /// Begins another evaluation episode.
    pub fn begin(&mut self, start_seed: u64, episode: u64) {
        let streams = evaluation_streams(start_seed, episode);
        self.environments.start(&mut RandomPolicy::default(), streams, 1);
    }

    /// Goes on from a snapshot of the same environment; refuses what is none.
    pub fn restore(&mut self, snapshot: &[f64], moment: Moment) -> Result<()> {
        self.environments.restore(snapshot, moment.streams())
    }

    /// The episode as it stands, to be gone on with later; nothing where it is over.
    pub fn suspend(&self) -> Option<Suspended> {
        self.environments.suspend()
    }

    /// Goes on with an episode of the same environment.
    pub fn resume(&mut self, suspended: Suspended) -> Result<()> {
        self.environments.resume(suspended)
    }

    /// Lets a controller act once; tells whether the episode goes on.
    pub fn step(&mut self, controller: &mut dyn Controller) -> bool {
        self.environments.is_running() && self.environments.step(controller)
    }

    /// The environment as it is now.
    pub fn environment(&self) -> &dyn Environment {
        self.environments.environment(0)
    }

    /// Sizes, measures and names.
    pub fn spec(&self) -> &Spec {
        self.environments.spec()
    }

    /// The present state.
    pub fn state(&self) -> Vec<f32> {
        let mut state = vec![0.0; self.spec().state_width];
        self.environment().write_state(&mut state);
        state
    }

    /// What the last step brought.
    pub fn outcome(&self) -> &Outcome {
        self.environments.outcome()
    }

    /// What the episode amounts to; sums are means once it is over.
    pub fn summary(&self) -> &Summary {
        self.environments.summary(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played() -> Played {
        Played::start(&Scenario::of("simple_spread").unwrap(), 1, 3).unwrap()
    }

    #[test]
    fn a_moment_goes_on_in_the_same_way_however_it_was_reached() {
        let mut played = played();
        let mut random = RandomPolicy::default();
        for _ in 0..4 {
            played.step(&mut random);
        }
        let (snapshot, moment) =
            (played.environment().snapshot(), Moment { start_seed: 1, episode: 3, step: 4 });
        let mut go_on = |played: &mut Played, moment| {
            played.restore(&snapshot, moment).unwrap();
            assert!(played.step(&mut random));
            played.step(&mut random);
            played.environment().snapshot()
        };
        let once = go_on(&mut played, moment);
        assert_eq!(go_on(&mut self::played(), moment), once);
        assert_ne!(go_on(&mut played, Moment { step: 5, ..moment }), once);
        assert!(played.restore(&[0.0], moment).is_err());
    }

    #[test]
    fn the_steps_metrics_add_up_to_the_episodes() {
        let mut played = played();
        let mut random = RandomPolicy::default();
        let mut sums = vec![0.0; played.spec().reported().len()];
        let mut steps = 0.0;
        loop {
            let goes_on = played.step(&mut random);
            let values = played.outcome().reported(played.spec());
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            steps += 1.0;
            if !goes_on {
                break;
            }
        }
        for (index, metric) in played.spec().reported().iter().enumerate() {
            let expected = match metric.reduce {
                crate::environment::Reduce::Mean => sums[index] / steps,
                crate::environment::Reduce::Sum => sums[index],
                _ => continue,
            };
            let found = played.summary().metrics[index];
            assert!((found - expected).abs() < 1e-4, "{}: {found} {expected}", metric.name);
        }
    }
}
