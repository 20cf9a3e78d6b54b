//! Episodes recorded from the MPE2 package: their file, and how far a replay is from them.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Largest deviation that counts as equal, in double precision.
pub const TOLERANCE: f64 = 1e-9;
/// Largest deviation of observations, which are single precision.
pub const OBSERVATION_TOLERANCE: f64 = 5e-6;
/// The one format that is read.
const FORMAT: &str = "mpe2-golden-1";
/// Distance of the second recorded pair count.
pub(crate) const NEAR: f64 = 0.2;

/// How far the replay of one group of episodes is from its recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupDeviation {
    /// The environment that was recorded.
    pub task: String,
    /// Team size.
    pub agents: usize,
    /// Radius of an agent.
    pub radius: f64,
    /// Whether contact forces were on.
    pub contact: bool,
    /// Episodes replayed.
    pub episodes: usize,
    /// Steps replayed.
    pub steps: usize,
    /// Largest deviation of a coordinate of a position.
    pub position: f64,
    /// Largest deviation of a coordinate of a velocity.
    pub velocity: f64,
    /// Largest deviation of a global, local or mixed reward.
    pub reward: f64,
    /// Largest deviation of a distance that is rewarded.
    pub distance: f64,
    /// Largest deviation of an agent's observation.
    pub observation: f64,
    /// Steps with another number of pairs closer than two radii, or closer than 0.2.
    pub pair_mismatches: usize,
    /// Steps at which only one of the two episodes ended.
    pub ending_mismatches: usize,
}

impl GroupDeviation {
    /// Largest of the deviations that must stay below [`TOLERANCE`].
    pub fn largest(&self) -> f64 {
        [self.velocity, self.reward, self.distance].into_iter().fold(self.position, f64::max)
    }

    /// Whether replay and recording are equal.
    pub fn passes(&self) -> bool {
        self.largest() <= TOLERANCE
            && self.observation <= OBSERVATION_TOLERANCE
            && self.pair_mismatches + self.ending_mismatches == 0
    }
}

/// A file of recorded episodes.
#[derive(Debug, Deserialize)]
pub struct Recording {
    #[serde(skip)]
    path: PathBuf,
    format: String,
    /// Share of the local reward in what the agents were paid.
    pub local_ratio: f64,
    groups: Vec<Value>,
}

impl Recording {
    /// Reads a recording, plain JSON or compressed with gzip.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read(path)?;
        let wrong = |error: &serde_json::Error| {
            Error::format(path, Some(error.line()), format!("not a recording: {error}"))
        };
        let mut recording: Self = serde_json::from_slice(&text).map_err(|e| wrong(&e))?;
        if recording.format != FORMAT {
            let message = format!("format is `{}`, expected `{FORMAT}`", recording.format);
            return Err(Error::format(path, None, message));
        }
        recording.path = path.into();
        Ok(recording)
    }

    /// Replays each group of one environment by `check`.
    pub(crate) fn replay<G: for<'de> Deserialize<'de>>(
        &self,
        task: &str,
        check: impl Fn(&G) -> std::result::Result<GroupDeviation, String>,
    ) -> Result<Vec<GroupDeviation>> {
        let mut deviations = Vec::new();
        for (index, value) in self.groups.iter().enumerate() {
            if value.get("env").and_then(Value::as_str) != Some(task) {
                continue;
            }
            let named = |message: String| {
                Error::format(&self.path, None, format!("group {index}: {message}"))
            };
            let group = G::deserialize(value).map_err(|e| named(e.to_string()))?;
            deviations.push(check(&group).map_err(named)?);
        }
        Ok(deviations)
    }

    /// Refuses a recording of which nothing was replayed.
    pub fn check_found(&self, deviations: &[GroupDeviation], tasks: &[&str]) -> Result<()> {
        if deviations.is_empty() {
            let tasks: Vec<_> = tasks.iter().map(|task| format!("`{task}`")).collect();
            let message = format!("no group with env {}", tasks.join(" or "));
            return Err(Error::format(&self.path, None, message));
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    decoder.read_to_end(&mut text).map_err(Error::file(path))?;
    Ok(text)
}

/// Raises the largest deviation seen; one that is not a number counts as infinite.
pub(crate) fn widen(largest: &mut f64, ours: f64, theirs: f64) {
    let deviation = (ours - theirs).abs();
    *largest = largest.max(if deviation.is_nan() { f64::INFINITY } else { deviation });
}
