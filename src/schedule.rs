//! Decays: a value that moves from one number to another over a number of steps.

use crate::error::{Result, within};
use serde::{Deserialize, Serialize};

/// A straight line from `start` to `end` over `steps` steps, constant afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// Value at step 0.
    pub start: f32,
    /// Value from `steps` on.
    pub end: f32,
    /// Length of the decay.
    pub steps: u64,
}

impl Linear {
    /// The value at a step (for the paper's exploration: `max(0.05, 0.9 - 0.85 t / T_decay)`).
    ///
    /// ```
    /// let noise = cgcmarl::schedule::Linear { start: 0.9, end: 0.05, steps: 100 };
    /// assert!((noise.at(50) - 0.475).abs() < 1e-6);
    /// assert_eq!(noise.at(1000), 0.05);
    /// ```
    pub fn at(&self, step: u64) -> f32 {
        if step >= self.steps {
            return self.end;
        }
        let share = (step as f64 / self.steps as f64) as f32;
        self.start + (self.end - self.start) * share
    }

    /// Refuses values outside 0 to `most`; `key` is how users call the schedule.
    pub fn check(&self, key: &str, most: f64) -> Result<()> {
        within(&format!("{key}.start"), self.start, 0.0..=most)?;
        within(&format!("{key}.end"), self.end, 0.0..=most)
    }

    /// What is left of it after some steps.
    #[must_use]
    pub fn after(&self, steps: u64) -> Self {
        Self { start: self.at(steps), end: self.end, steps: self.steps.saturating_sub(steps) }
    }
}
