//! Watching a training from a test.

use cgcmarl::run::Watch;
use serde_json::Value;

/// Asks a training to stop at a step; the second number is where it stands.
pub(crate) struct StopAt(pub(crate) u64, pub(crate) u64);

impl StopAt {
    /// Lets it run to its end.
    pub(crate) fn never() -> Self {
        Self(u64::MAX, 0)
    }
}

impl Watch for StopAt {
    fn round(&mut self, steps: u64, _line: Option<&Value>) {
        self.1 = steps;
    }

    fn stop(&self) -> bool {
        self.1 >= self.0
    }
}
