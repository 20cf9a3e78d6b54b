//! Named random streams: every draw can be traced to (seed, purpose, index).

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng},
};

/// Who draws. Adding a purpose never disturbs the streams of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial network weights.
    Initialisation = 1,
    /// Start states of training episodes; index = episode.
    Episode = 2,
    /// Exploration and behaviour multipliers; index = episode.
    Exploration = 3,
    /// Mini-batch sampling.
    Replay = 4,
    /// Start states of evaluation episodes; index = episode, the same for every operating point.
    Evaluation = 5,
    /// Actions of the random policy; index = episode.
    RandomPolicy = 6,
    /// Resampling for confidence intervals.
    Bootstrap = 7,
    /// Made-up problems of tests, benchmarks and exact checks.
    Problem = 8,
    /// What happens by chance inside training episodes; index = episode.
    Dynamics = 9,
    /// What happens by chance inside evaluation episodes; index = episode.
    EvaluationDynamics = 10,
    /// What happens by chance after a moment that is gone on from; index = episode and step.
    PlaybackDynamics = 11,
    /// What a controller draws after such a moment; index = episode and step.
    PlaybackAction = 12,
    /// Which links and messages between agents fail; index = team and exchange.
    Gossip = 13,
    /// Start states on which a multiplier is certified; index = episode.
    Certificate = 20,
    /// What happens by chance inside the episodes of a certificate; index = episode.
    CertificateDynamics = 21,
}

/// The root of all randomness of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// All streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed of the run.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The generator of one purpose and index, independent of every other.
    pub fn rng(self, purpose: Purpose, index: u64) -> Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&index.to_le_bytes());
        Rng(ChaCha8Rng::from_seed(key))
    }
}

/// A `ChaCha8` generator with the few draws this crate makes.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform in 0..n, without bias that matters below 2^32.
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0 && u32::try_from(n).is_ok(), "below({n})");
        (((self.next_u64() >> 32) * n as u64) >> 32) as usize
    }

    /// A standard normal draw (Box-Muller, one of the two).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Where the stream stands: enough to continue it exactly.
    pub fn position(&self) -> RngPosition {
        RngPosition { key: self.0.get_seed(), word: self.0.get_word_pos() as u64 }
    }

    /// The stream that continues at a position.
    pub fn at(position: &RngPosition) -> Self {
        let mut rng = ChaCha8Rng::from_seed(position.key);
        rng.set_word_pos(u128::from(position.word));
        Self(rng)
    }
}

/// A saved place in a random stream.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RngPosition {
    key: [u8; 32],
    word: u64,
}

impl RngPosition {
    /// Whether it is a place in this stream.
    pub fn is_of(&self, rng: &Rng) -> bool {
        self.key == rng.0.get_seed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let draw = |seed, purpose, index| Streams::new(seed).rng(purpose, index).next_u64();
        assert_eq!(draw(1, Purpose::Episode, 0), draw(1, Purpose::Episode, 0));
        assert_ne!(draw(1, Purpose::Episode, 0), draw(2, Purpose::Episode, 0));
        assert_ne!(draw(1, Purpose::Episode, 0), draw(1, Purpose::Episode, 1));
        assert_ne!(draw(1, Purpose::Episode, 0), draw(1, Purpose::Replay, 0));
    }

    #[test]
    fn a_saved_position_continues_the_stream() {
        let mut rng = Streams::new(3).rng(Purpose::Replay, 0);
        let _ = (0..17).map(|_| rng.next_u64()).max();
        let mut copy = Rng::at(&rng.position());
        assert_eq!(rng.next_u64(), copy.next_u64());
    }

    #[test]
    fn draws_have_the_moments_they_should() {
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let n = 20_000;
        let normals: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        assert!((0..1000).all(|_| rng.below(7) < 7));
    }
}
