//! The contract shared by CG-CMARL and the baselines, the algorithms themselves and their registry.

mod action_masks;
mod agent_rows;
pub mod cg_cmarl;
#[cfg(test)]
mod checks;
mod counters;
mod memory;
pub mod on_policy;
mod penalty;
#[cfg(test)]
mod reference;
mod registry;
mod state_tables;
pub mod value_based;
mod weights;

pub use agent_rows::{agent_row_width, write_agent_rows};
pub use cg_cmarl::{CgCmarl, CgCmarlOptions, CgCmarlPolicy};
pub use memory::Need;
pub use registry::{AnyAlgorithm, find, names};

use crate::{
    checkpoint::Checkpoint,
    environment::{Policy, Spec, View},
    episode::{Controller, Summary},
    error::{Error, Result},
    rng::Streams,
};
use serde::{Serialize, de::DeserializeOwned};
use toml::Table;

/// A learning algorithm with its options. To add one: its folder or file here, and its line in the
/// registry.
pub trait Algorithm: Send + Sync + 'static {
    /// Everything about it that users may set; written under its name.
    type Options: Default + Serialize + DeserializeOwned;

    /// The name users write.
    fn name(&self) -> &'static str;
    /// Named sets of defaults it has beside `default`.
    fn presets(&self) -> &'static [&'static str] {
        &[]
    }
    /// Options that a configuration leaves out unless they are set, by their path below its name.
    fn unset_options(&self) -> &'static [&'static str] {
        &[]
    }
    /// Settings of the whole configuration that suit it in an environment, before the task's own.
    fn recipe(&self, _spec: &Spec) -> Table {
        Table::new()
    }
    /// Settings of the whole configuration that a preset stands for; they win over the task's own.
    fn preset(&self, _preset: &str) -> Table {
        Table::new()
    }
    /// What a learner will ask of the machine, by the setting that causes it.
    fn memory(&self, options: &Self::Options, spec: &Spec, n_environments: usize) -> Vec<Need>;
    /// A fresh learner.
    fn learner(&self, options: &Self::Options, start: Start<'_>) -> Result<Box<dyn Learner>>;
    /// What was trained, from its weights alone.
    fn model(
        &self,
        options: &Self::Options,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>>;
    /// Whether its network fits teams of every size, which can then learn together.
    fn fits_any_team(&self) -> bool {
        false
    }
}

/// What a fresh learner must know.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// How each of the teams that learn together looks at a state, the training's own last; one team
    /// where the network fits no other.
    pub teams: &'a [&'a dyn View],
    /// Environments of each team side by side.
    pub n_environments: usize,
    /// Environment steps over which schedules are stretched.
    pub total_steps: u64,
    /// The root of its randomness.
    pub streams: Streams,
}

impl<'a> Start<'a> {
    /// How the training's own team looks at a state.
    pub fn view(&self) -> &'a dyn View {
        self.teams[self.teams.len() - 1]
    }
}

/// A learning algorithm at work: acts with exploration, learns from what it observes.
///
/// It owns its memory and decides itself when to update, so nothing outside knows of on-policy or
/// off-policy.
pub trait Learner: Controller {
    /// The team that plays from now on, of those it was started with.
    fn turn_to(&mut self, _team: usize) {}
    /// Closes an episode: multipliers, schedules.
    fn end_episode(&mut self, slot: usize, summary: &Summary);
    /// What went wrong since the last call; training stops on it.
    fn failure(&mut self) -> Option<Error>;
    /// Named scalars about itself, in a fixed order.
    fn report(&self) -> Vec<(String, f32)>;
    /// Writes what playing needs, under the same names as [`Self::save`].
    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>);
    /// Takes the weights of [`Self::save_model`] or [`Self::save`].
    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()>;
    /// Writes everything needed to go on exactly from here.
    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>);
    /// Goes on from a checkpoint of the same configuration.
    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()>;
}

/// What was trained, without anything that only training needs.
pub trait TrainedModel: Send + Sync {
    /// Whether it plays at any multipliers; a baseline has the one trade-off it was trained with.
    fn has_multipliers(&self) -> bool {
        false
    }
    /// How reports call the trade-off of a model without multipliers.
    fn label(&self) -> String;
    /// The greedy policy, at one multiplier per constraint where it has multipliers.
    fn policy(&self, multipliers: &[f32]) -> Box<dyn Policy>;
}

/// A frozen greedy policy with the trade-off it stands for.
pub struct OperatingPoint {
    /// How reports call it, such as `λ=0.5`.
    pub label: String,
    /// One multiplier per constraint; none where the policy has no multipliers.
    pub multipliers: Vec<f32>,
    /// Acts greedily.
    pub policy: Box<dyn Policy>,
}

/// How reports call multipliers: `λ=0.5` where all constraints share one, else each by its name.
pub fn multiplier_label(names: &[String], multipliers: &[f32]) -> String {
    match multipliers {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => format!("λ={first}"),
        _ => {
            let each = names.iter().zip(multipliers).map(|(name, m)| format!("{name}={m}"));
            each.collect::<Vec<_>>().join(" ")
        }
    }
}
