//! What a learner has counted, read back from a checkpoint: refused where no training can have counted so.

use crate::{
    checkpoint::Checkpoint,
    error::Result,
    rng::{Rng, RngPosition},
};

/// Steps that a learner observed and updates that it made; `due` tells how many of these belong to
/// how many of those. Wild ones would keep a learner busy for ever.
pub(super) fn load_counters(
    checkpoint: &Checkpoint,
    prefix: &str,
    due: impl Fn(u64) -> std::ops::RangeInclusive<u64>,
) -> Result<(u64, u64)> {
    let steps = checkpoint.count(&format!("{prefix}learner_steps"))?;
    let updates = checkpoint.count(&format!("{prefix}updates"))?;
    if steps > checkpoint.step {
        let text = format!("is of step {}, but its learner saw {steps}", checkpoint.step);
        return Err(checkpoint.mismatch(&text));
    }
    if !due(steps).contains(&updates) {
        let text = format!(
            "counts {updates} updates after {steps} steps, which this configuration does not make"
        );
        return Err(checkpoint.mismatch(&text));
    }
    Ok((steps, updates))
}

/// Updates that are due after some steps: one for every `per_update` of those behind the start.
pub(super) fn due(steps: u64, start: u64, per_update: f64) -> u64 {
    (steps.saturating_sub(start) as f64 / per_update) as u64
}

/// Moves a random stream to where it stood; refuses the place of another stream.
pub(super) fn load_rng(checkpoint: &Checkpoint, key: &str, rng: &mut Rng) -> Result<()> {
    let position: RngPosition = checkpoint.entry(key)?;
    if !position.is_of(rng) {
        return Err(checkpoint.mismatch(&format!("holds `{key}` of another random stream")));
    }
    *rng = Rng::at(&position);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};
    use serde_json::json;

    #[test]
    fn counters_that_do_not_belong_together_are_refused() {
        let load = |learner_steps: u64, updates: u64| {
            let state = json!({"learner_steps": learner_steps, "updates": updates});
            load_counters(&Checkpoint::new(1000, state), "", |steps| {
                due(steps, 200, 20.0)..=due(steps, 200, 20.0)
            })
        };
        assert_eq!(load(1000, 40).unwrap(), (1000, 40));
        assert_eq!(load(100, 0).unwrap(), (100, 0));
        for (steps, updates, text) in [
            (u64::MAX >> 1, 40, "`learner_steps`"),
            (1001, 40, "its learner saw 1001"),
            (1000, 39, "39 updates after 1000 steps"),
            (1000, 41, "41 updates after 1000 steps"),
        ] {
            let error = load(steps, updates).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_stream_goes_on_where_it_stood_and_nowhere_else() {
        let streams = Streams::new(3);
        let mut drawn = streams.rng(Purpose::Replay, 0);
        drawn.next_u64();
        let mut checkpoint = Checkpoint::new(0, json!({}));
        checkpoint.set("replay_rng", drawn.position());
        let mut rng = streams.rng(Purpose::Replay, 0);
        load_rng(&checkpoint, "replay_rng", &mut rng).unwrap();
        assert_eq!(rng.next_u64(), drawn.next_u64());
        let mut other = streams.rng(Purpose::Episode, 0);
        let error = load_rng(&checkpoint, "replay_rng", &mut other).unwrap_err().to_string();
        assert!(error.contains("`replay_rng` of another random stream"), "{error}");
    }
}
