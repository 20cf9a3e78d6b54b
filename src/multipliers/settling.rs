//! What the course of a multiplier says about its limit: slack, kept, or out of reach.
//!
//! Ascent adds up violations, so a multiplier that stays where it is keeps its limit on average, one
//! that rests at zero needs no price, and one that is at its bound or rises to the end was never paid
//! enough: as far as could be played, no policy keeps that limit.

use serde::{Deserialize, Serialize};

/// How a multiplier settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settling {
    /// At zero: the limit is kept for nothing.
    Slack,
    /// Between zero and its bound, and no longer rising.
    Settled,
    /// Still rising: more episodes may find a price, or none does.
    Rising,
    /// At its bound: no price up to it keeps the limit.
    AtBound,
}

/// Parts of the course whose means are compared.
const PARTS: usize = 4;
/// A multiplier rises where its means rise from the second part on, the last by this share.
const RISE: f64 = 0.15;
/// Share of its bound from which on a mean counts as the bound: costs that come and go hold it below.
const BOUND: f64 = 0.9;
/// Share of its bound up to which a mean counts as zero.
const ZERO: f64 = 1e-4;

impl Settling {
    /// Reads the course of a multiplier, oldest first, that never exceeds `ceiling`; `None` of too few.
    ///
    /// ```
    /// use cgcmarl::multipliers::Settling;
    /// let rising: Vec<f64> = (0..100).map(f64::from).collect();
    /// assert_eq!(Settling::of(&rising, 1000.0), Some(Settling::Rising));
    /// assert_eq!(Settling::of(&rising.iter().map(|v| v.min(40.0)).collect::<Vec<_>>(), 40.0), Some(Settling::AtBound));
    /// assert_eq!(Settling::of(&[0.0; 20], 10.0), Some(Settling::Slack));
    /// ```
    pub fn of(course: &[f64], ceiling: f64) -> Option<Self> {
        let part = course.len() / PARTS;
        if part == 0 {
            return None;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let part = |back: usize| mean(&course[course.len() - (back + 1) * part..][..part]);
        let (earlier, before, last) = (part(2), part(1), part(0));
        Some(if last >= BOUND * ceiling {
            Self::AtBound
        } else if last <= ZERO * ceiling {
            Self::Slack
        } else if earlier < before && last > (1.0 + RISE) * before {
            Self::Rising
        } else {
            Self::Settled
        })
    }

    /// In words, of a limit.
    pub fn told(self) -> &'static str {
        match self {
            Self::Slack => "the limit is kept without a price",
            Self::Settled => "the multiplier has settled",
            Self::Rising => {
                "the multiplier still rises: more episodes may keep the limit, or nothing does"
            }
            Self::AtBound => "the multiplier is at its bound: no price up to it keeps the limit",
        }
    }
}

/// After how many of these costs the mean so far stays within `tolerance` of the limit, as a share of
/// it; `None` where it is above in the end.
///
/// ```
/// use cgcmarl::multipliers::settling::kept_from;
/// assert_eq!(kept_from(&[3.0, 1.0, 0.5, 0.5], 1.5, 0.0), Some(2));
/// assert_eq!(kept_from(&[0.0, 9.0], 1.0, 0.1), None);
/// ```
pub fn kept_from(costs: &[f64], limit: f64, tolerance: f64) -> Option<usize> {
    let mut sum = 0.0;
    let mut last_above = None;
    for (index, cost) in costs.iter().enumerate() {
        sum += cost;
        if sum > (1.0 + tolerance) * limit * (index + 1) as f64 {
            last_above = Some(index);
        }
    }
    let from = last_above.map_or(0, |index| index + 1);
    (from < costs.len()).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multipliers::ascent::ascended;

    /// Ascent against a cost that a multiplier brings from 1 down to a floor of 0.2, and that falls
    /// on every fourth episode alone.
    fn course(limit: f32, episodes: usize) -> Vec<f64> {
        let mut multiplier = 0.0;
        (0..episodes)
            .map(|episode| {
                let mean = 0.2 + 0.8 / (1.0 + 2.0 * multiplier);
                let cost = if episode % 4 == 0 { 4.0 * mean } else { 0.0 };
                multiplier = ascended(multiplier, 0.05, cost - limit, 10.0);
                f64::from(multiplier)
            })
            .collect()
    }

    #[test]
    fn feasible_and_infeasible_limits_are_told_apart() {
        assert_eq!(Settling::of(&course(0.5, 4000), 10.0), Some(Settling::Settled));
        assert_eq!(Settling::of(&course(4.5, 4000), 10.0), Some(Settling::Slack));
        assert_eq!(Settling::of(&course(0.1, 8000), 10.0), Some(Settling::AtBound));
        assert_eq!(Settling::of(&course(0.1, 400), 10.0), Some(Settling::Rising));
        assert_eq!(Settling::of(&[1.0, 2.0], 10.0), None);
    }
}
