//! The ring as the registry knows it: name, options, card, other team sizes, the exact optimum.

use super::{Capture, Regions, game};
use crate::{
    environment::{Environment, Reference, Spec, Task, View},
    error::{Error, Result, count},
    graph::JointAction,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toml::{Table, toml};

/// Name of the task.
pub(super) const NAME: &str = "capture";
/// Smallest ring in which two agents are apart in one way only, and largest that is solved quickly.
const TEAMS: std::ops::RangeInclusive<usize> = 5..=15;

/// Everything that defines a score on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaptureOptions {
    /// Agents, and targets.
    pub agents: usize,
    /// Which agents share a region.
    pub regions: Regions,
    /// Steps of one episode; at each the targets are dealt anew.
    pub horizon: usize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self { agents: 6, regions: Regions::Triplets, horizon: 10 }
    }
}

impl CaptureOptions {
    pub(super) fn validate(&self) -> Result<()> {
        Spec::check_team(self.agents, TEAMS)?;
        count("horizon", self.horizon as u64, 1..=100_000)
    }
}

/// The task.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaptureTask;

impl Task for CaptureTask {
    type Options = CaptureOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "three agents at once take a target; whoever acts on it without both others acts in vain"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("agents", "agents on the ring, and targets between them"),
            ("regions", "`pairs`, `triplets` or `mixed`: which agents share a table"),
            ("horizon", "steps of one episode; at each the targets are dealt anew"),
        ]
    }

    fn build(&self, options: &CaptureOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(Capture::new(options)?))
    }

    fn card(&self, options: &CaptureOptions) -> Value {
        json!({
            "options": options,
            "rules": "target m is taken when agents m, m + 1 and m + 2 all act on it; each step a \
                target is worth 0 (not there), 1 or 2",
            "reward": "what the targets taken are worth",
        })
    }

    fn with_agents(&self, options: &CaptureOptions, agents: usize) -> Result<CaptureOptions> {
        if !TEAMS.contains(&agents) {
            return Err(Error::setting("agents", agents, format!("must be in {TEAMS:?}")));
        }
        Ok(CaptureOptions { agents, ..options.clone() })
    }

    fn references(&self, _options: &CaptureOptions) -> Result<Vec<Reference>> {
        Ok(vec![Reference::rule("optimum", optimum)])
    }

    fn recipe(
        &self,
        _options: &CaptureOptions,
        algorithm: &str,
        _preset: &str,
        _teams: &[usize],
    ) -> Table {
        let training = toml! {
            [training]
            total_steps = 60_000
        };
        if algorithm != "cg_cmarl" {
            return training;
        }
        // A step decides nothing about the next, so nothing is discounted from there.
        toml! {
            [training]
            total_steps = 60_000

            [cg_cmarl.network]
            hidden = [64, 64]

            [cg_cmarl.learning]
            gamma = 0.0
            error = "regional"
            next_action = "regional"
            random_order = false
            buffer_size = 200_000

            [cg_cmarl.acting]
            solver = "exact"

            [cg_cmarl.exploration]
            start = 1.0
            end = 0.1
            steps = 40_000
        }
    }
}

/// The best joint action of a state: the targets worth most of those that share no agent.
fn optimum(view: &dyn View, state: &[f32], action: &mut JointAction) {
    *action = game::best(&state[..view.spec().n_agents()]).1;
}
