//! PID control of multipliers (Stooke, Achiam and Abbeel 2020): beside what ascent adds up, a
//! multiplier answers at once to the violation and to a rise of the cost, which damps oscillation.
//!
//! With violation Δ = J − limit of the smoothed cost J:
//! `I ← clamp(I + K_I (cost − limit), 0, λ_max)`, `λ = clamp(K_P Δ + I + K_D (J − J_before)₊, 0, λ_max)`.

use super::PidOptions;

/// What the control of one multiplier remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PidState {
    /// What violations have added up to; what ascent alone would play at.
    pub integral: f32,
    /// The smoothed cost; not a number before the first episode.
    pub smoothed: f32,
}

/// One step after an episode that cost this much; returns the multiplier. Violations are multiplied by
/// `scale`.
///
/// ```
/// use cgcmarl::multipliers::{PidOptions, pid::{PidState, controlled}};
/// let options = PidOptions { proportional: 2.0, integral: 0.5, derivative: 4.0, smoothing: 0.5 };
/// let mut state = PidState { integral: 0.25, smoothed: 1.0 };
/// // J = 1.5, Δ = 0.5, I = 0.25 + 0.5·1 and J rose by 0.5: 2·0.5 + 0.75 + 4·0.5.
/// assert_eq!(controlled(&options, &mut state, 2.0, 1.0, 1.0, 10.0), 3.75);
/// assert_eq!(state, PidState { integral: 0.75, smoothed: 1.5 });
/// ```
pub fn controlled(
    options: &PidOptions,
    state: &mut PidState,
    cost: f32,
    limit: f32,
    scale: f32,
    ceiling: f32,
) -> f32 {
    let before = if state.smoothed.is_nan() { cost } else { state.smoothed };
    let smoothed = before + options.smoothing * (cost - before);
    let integral = state.integral + options.integral * scale * (cost - limit);
    *state = PidState { integral: integral.clamp(0.0, ceiling), smoothed };
    let proportional = options.proportional * scale * (smoothed - limit);
    let derivative = options.derivative * scale * (smoothed - before).max(0.0);
    (proportional + state.integral + derivative).clamp(0.0, ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the cost of a plant that answers late falls below its limit, and where it ends.
    fn swing(options: &PidOptions) -> (f32, f32) {
        let mut state = PidState { integral: 0.0, smoothed: f32::NAN };
        let (mut cost, mut multiplier, mut lowest) = (1.0f32, 0.0f32, 0.0f32);
        for _ in 0..600 {
            cost += 0.05 * ((1.0 - 0.5 * multiplier).max(0.0) - cost);
            multiplier = controlled(options, &mut state, cost, 0.3, 1.0, 10.0);
            lowest = lowest.min(cost - 0.3);
        }
        (lowest, cost - 0.3)
    }

    #[test]
    fn proportional_control_damps_what_ascent_alone_overshoots() {
        let alone =
            PidOptions { proportional: 0.0, integral: 0.2, derivative: 0.0, smoothing: 1.0 };
        let damped = PidOptions { proportional: 2.0, ..alone };
        let (ascent, control) = (swing(&alone), swing(&damped));
        assert!(ascent.0 < -0.15 && control.0 > -0.06, "{ascent:?} {control:?}");
        assert!(ascent.1.abs() < 1e-3 && control.1.abs() < 1e-3, "{ascent:?} {control:?}");
    }

    #[test]
    fn without_its_other_parts_it_is_projected_ascent() {
        let options =
            PidOptions { proportional: 0.0, integral: 0.5, derivative: 0.0, smoothing: 0.1 };
        let (mut state, mut ascent) = (PidState { integral: 0.0, smoothed: f32::NAN }, 0.0);
        for cost in [0.4, 1.0, 0.0, 0.0, 3.0, 40.0] {
            let multiplier = controlled(&options, &mut state, cost, 0.2, 1.0, 10.0);
            ascent = super::super::ascent::ascended(ascent, 0.5, cost - 0.2, 10.0);
            assert_eq!(multiplier, ascent);
        }
        assert_eq!(ascent, 10.0);
    }
}
