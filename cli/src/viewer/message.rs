//! What a page may send, and the limits it must keep.

use serde::{Deserialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// Largest team on the page; the library itself takes more.
pub(crate) const MOST_AGENTS: usize = 30;
/// Largest multiplier.
const MOST_MULTIPLIER: f32 = 100.0;
/// Most numbers of a list.
const MOST_NUMBERS: usize = 4096;
/// No number of a snapshot is larger than this.
const LARGEST: f64 = 1e6;
/// Most episodes of one measurement.
const MOST_EPISODES: usize = 25;
/// Start states and steps are numbered below this.
const LAST: u64 = 1_000_000;

/// Which policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Side {
    /// The run that is viewed.
    #[default]
    Run,
    /// The run beside it.
    Compare,
    /// A reference of the task, by its name.
    Reference(String),
}

/// The conditions that are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conditions {
    pub(crate) agents: usize,
    /// The task's options that a page may change, each by one of its words.
    #[serde(default)]
    pub(crate) options: BTreeMap<String, String>,
}

/// A start state, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    pub(crate) conditions: Conditions,
    pub(crate) episode: u64,
}

/// How a moment looks, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Show {
    pub(crate) conditions: Conditions,
    pub(crate) snapshot: Vec<f64>,
    /// The handle of what was moved by hand, which stands still there.
    #[serde(default)]
    pub(crate) moved: Option<usize>,
}

/// One step from here, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(default)]
    pub(crate) policy: Side,
    pub(crate) conditions: Conditions,
    pub(crate) multipliers: Vec<f32>,
    pub(crate) episode: u64,
    pub(crate) step: u64,
    pub(crate) snapshot: Vec<f64>,
}

/// A few episodes from fixed start states, please.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    #[serde(default)]
    pub(crate) policy: Side,
    pub(crate) conditions: Conditions,
    pub(crate) multipliers: Vec<f32>,
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

impl Limits for Conditions {
    fn check(&self) -> Result<(), String> {
        if (1..=MOST_AGENTS).contains(&self.agents) {
            return Ok(());
        }
        Err(format!("invalid `agents`: {} (1 to {MOST_AGENTS} on this page)", self.agents))
    }
}

impl Limits for Start {
    fn check(&self) -> Result<(), String> {
        self.conditions.check()?;
        check_number("episode", self.episode)
    }
}

impl Limits for Show {
    fn check(&self) -> Result<(), String> {
        self.conditions.check()?;
        check_snapshot(&self.snapshot)
    }
}

impl Limits for Step {
    fn check(&self) -> Result<(), String> {
        self.conditions.check()?;
        check_multipliers(&self.multipliers)?;
        check_number("episode", self.episode)?;
        check_number("step", self.step)?;
        check_snapshot(&self.snapshot)
    }
}

impl Limits for Measure {
    fn check(&self) -> Result<(), String> {
        self.conditions.check()?;
        check_multipliers(&self.multipliers)?;
        check_number("first", self.first)?;
        if (1..=MOST_EPISODES).contains(&self.episodes) {
            return Ok(());
        }
        Err(format!("invalid `episodes`: {} (1 to {MOST_EPISODES} at a time)", self.episodes))
    }
}

fn check_snapshot(snapshot: &[f64]) -> Result<(), String> {
    if snapshot.len() > MOST_NUMBERS {
        let n = snapshot.len();
        return Err(format!("invalid `snapshot`: {n} numbers (at most {MOST_NUMBERS})"));
    }
    match snapshot.iter().find(|number| !(-LARGEST..=LARGEST).contains(*number)) {
        Some(number) => Err(format!("invalid `snapshot`: {number} (from -{LARGEST} to {LARGEST})")),
        None => Ok(()),
    }
}

fn check_multipliers(multipliers: &[f32]) -> Result<(), String> {
    if multipliers.len() > MOST_NUMBERS {
        let n = multipliers.len();
        return Err(format!("invalid `multipliers`: {n} numbers (one per constraint)"));
    }
    match multipliers.iter().find(|number| !(0.0..=MOST_MULTIPLIER).contains(*number)) {
        Some(number) => Err(format!("invalid `multipliers`: {number} (0 to {MOST_MULTIPLIER})")),
        None => Ok(()),
    }
}

fn check_number(name: &str, number: u64) -> Result<(), String> {
    if number < LAST {
        return Ok(());
    }
    Err(format!("invalid `{name}`: {number} (numbered below {LAST})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(change: impl FnOnce(&mut serde_json::Value)) -> Result<Step, String> {
        let mut message = json!({
            "policy": {"reference": "oracle"},
            "conditions": {"agents": 2, "options": {"kind": "plain"}},
            "multipliers": [0.5],
            "episode": 3,
            "step": 4,
            "snapshot": [0.0, 0.5, 1.0, -1.0],
        });
        change(&mut message);
        read(message.to_string().as_bytes())
    }

    #[test]
    fn a_proper_message_is_read() {
        let message = step(|_| {}).unwrap();
        assert_eq!((message.multipliers, message.step), (vec![0.5], 4));
        assert_eq!(message.policy, Side::Reference("oracle".into()));
        assert_eq!(step(|m| m["policy"] = json!("compare")).unwrap().policy, Side::Compare);
    }

    #[test]
    fn every_limit_is_kept_and_named() {
        let error = |change: fn(&mut serde_json::Value)| step(change).unwrap_err();
        for (error, word) in [
            (error(|m| m["multipliers"][0] = json!(-1)), "`multipliers`: -1"),
            (error(|m| m["multipliers"] = json!("x")), "expected a sequence"),
            (error(|m| m["multipliers"][0] = json!(1e300)), "number out of range"),
            (error(|m| m["multipliers"] = json!(vec![0.5; 5000])), "`multipliers`: 5000 numbers"),
            (error(|m| m["conditions"]["agents"] = json!(1000)), "`agents`: 1000"),
            (error(|m| m["conditions"]["agents"] = json!(0)), "`agents`: 0"),
            (error(|m| m["snapshot"][1] = json!(1e9)), "`snapshot`: 1000000000"),
            (error(|m| m["snapshot"][1] = json!(null)), "invalid type: null"),
            (error(|m| m["snapshot"] = json!(vec![0.5; 5000])), "`snapshot`: 5000 numbers"),
            (error(|m| m["episode"] = json!(u64::MAX)), "`episode`"),
            (error(|m| m["step"] = json!(1_000_000)), "`step`: 1000000"),
            (error(|m| m["policy"] = json!("stranger")), "unknown variant `stranger`"),
            (error(|m| m["surprise"] = json!(1)), "unknown field `surprise`"),
            (error(|m| *m = json!([])), "invalid message"),
        ] {
            assert!(error.contains(word), "{error}");
        }
    }
}
