//! What a page may send, and the limits it must keep.

use crate::playback::Situation;
use serde::{Deserialize, de::DeserializeOwned};

/// Largest team on the page; the library itself takes more.
pub(crate) const MOST_AGENTS: usize = 30;
/// Largest multiplier.
pub(crate) const MOST_MULTIPLIER: f32 = 100.0;
/// Nothing lies farther out than this on either axis; velocities keep to it too.
const FARTHEST: f64 = 10.0;
/// Most episodes of one measurement.
const MOST_EPISODES: usize = 25;
/// Start states are numbered below this.
const LAST_START: u64 = 1_000_000;

/// Which policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    /// The run that is viewed.
    #[default]
    Run,
    /// The one beside it.
    Compare,
}

/// The world that is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct World {
    pub(crate) agents: usize,
    pub(crate) layout: String,
    pub(crate) contact: bool,
}

/// A start state, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) world: World,
    pub(crate) episode: u64,
}

/// One step from here, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(default)]
    pub(crate) policy: Side,
    pub(crate) world: World,
    pub(crate) multiplier: f32,
    pub(crate) situation: Situation,
}

/// A few episodes from fixed start states, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    #[serde(default)]
    pub(crate) policy: Side,
    pub(crate) world: World,
    pub(crate) multiplier: f32,
    pub(crate) first: u64,
    pub(crate) episodes: usize,
}

/// A message that keeps its limits.
pub(crate) trait Limits {
    /// What is wrong with it.
    fn check(&self) -> Result<(), String>;
}

/// Reads a message; the error says what is wrong with it and where.
pub(crate) fn read<T: DeserializeOwned + Limits>(body: &[u8]) -> Result<T, String> {
    let message: T =
        serde_json::from_slice(body).map_err(|error| format!("invalid message: {error}"))?;
    message.check()?;
    Ok(message)
}

impl Limits for World {
    fn check(&self) -> Result<(), String> {
        if (2..=MOST_AGENTS).contains(&self.agents) {
            return Ok(());
        }
        Err(format!("invalid `agents`: {} (2 to {MOST_AGENTS} on this page)", self.agents))
    }
}

impl Limits for Start {
    fn check(&self) -> Result<(), String> {
        self.world.check()?;
        below_last(self.episode)
    }
}

impl Limits for Step {
    fn check(&self) -> Result<(), String> {
        self.world.check()?;
        check_multiplier(self.multiplier)?;
        let Situation { positions, velocities, landmarks } = &self.situation;
        let lists =
            [("positions", positions), ("velocities", velocities), ("landmarks", landmarks)];
        for (name, points) in lists {
            let n = self.world.agents;
            if points.len() != n {
                return Err(format!("invalid `{name}`: {} points for {n} agents", points.len()));
            }
            let outside = points.iter().flatten().find(|x| !(-FARTHEST..=FARTHEST).contains(*x));
            if let Some(x) = outside {
                return Err(format!("invalid `{name}`: {x} (from -{FARTHEST} to {FARTHEST})"));
            }
        }
        Ok(())
    }
}

impl Limits for Measure {
    fn check(&self) -> Result<(), String> {
        self.world.check()?;
        check_multiplier(self.multiplier)?;
        below_last(self.first)?;
        if (1..=MOST_EPISODES).contains(&self.episodes) {
            return Ok(());
        }
        Err(format!("invalid `episodes`: {} (1 to {MOST_EPISODES} at a time)", self.episodes))
    }
}

fn check_multiplier(multiplier: f32) -> Result<(), String> {
    if (0.0..=MOST_MULTIPLIER).contains(&multiplier) {
        return Ok(());
    }
    Err(format!("invalid `multiplier`: {multiplier} (0 to {MOST_MULTIPLIER})"))
}

fn below_last(episode: u64) -> Result<(), String> {
    if episode < LAST_START {
        return Ok(());
    }
    Err(format!("invalid start state: {episode} (numbered below {LAST_START})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(change: impl FnOnce(&mut serde_json::Value)) -> Result<Step, String> {
        let points = [[0.0, 0.5], [1.0, -1.0]];
        let mut message = json!({
            "world": {"agents": 2, "layout": "random", "contact": false},
            "multiplier": 0.5,
            "situation": {"positions": points, "velocities": points, "landmarks": points},
        });
        change(&mut message);
        read(message.to_string().as_bytes())
    }

    #[test]
    fn a_proper_message_is_read() {
        assert_eq!(step(|_| {}).unwrap().multiplier, 0.5);
    }

    #[test]
    fn every_limit_is_kept_and_named() {
        let error = |change: fn(&mut serde_json::Value)| step(change).unwrap_err();
        for (error, word) in [
            (error(|m| m["multiplier"] = json!(-1)), "`multiplier`: -1"),
            (error(|m| m["multiplier"] = json!("x")), "expected f32"),
            (error(|m| m["multiplier"] = json!(1e300)), "number out of range"),
            (error(|m| m["world"]["agents"] = json!(1000)), "`agents`: 1000"),
            (error(|m| m["world"]["agents"] = json!(3)), "2 points for 3 agents"),
            (error(|m| m["situation"]["landmarks"][1][0] = json!(1e9)), "`landmarks`"),
            (error(|m| m["surprise"] = json!(1)), "unknown field `surprise`"),
            (error(|m| *m = json!([])), "invalid message"),
        ] {
            assert!(error.contains(word), "{error}");
        }
    }
}
