//! Which multiplier a command plays at: the one given, else the one chosen for the run, else 1.

use super::output::remark;
use cgcmarl::run_dir::RunDir;

/// What commands play at where nothing was given or chosen.
const DEFAULT: f32 = 1.0;

/// The multiplier to play at; one that `choose` left in the run is announced.
pub(crate) fn resolve(given: Option<f32>, run: &RunDir) -> anyhow::Result<f32> {
    if let Some(multiplier) = given {
        anyhow::ensure!(
            multiplier.is_finite() && multiplier >= 0.0,
            "invalid value for `--multiplier`: {multiplier} (must be zero or more)"
        );
        return Ok(multiplier);
    }
    let Some(choice) = run.choice()? else { return Ok(DEFAULT) };
    remark(&format!(
        "at λ={}, chosen for this run: collisions per step below {} with {} % confidence",
        choice.multiplier,
        choice.limit.max_collisions,
        100.0 * choice.limit.confidence
    ));
    Ok(choice.multiplier as f32)
}
