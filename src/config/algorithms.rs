//! The algorithms by name. To add one: its variant and name here, its options in [`super::Config`]
//! and in `Shown`, and its arm in `experiment::build_learner`.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which algorithm a run trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// The paper's: one model for every trade-off.
    #[default]
    CgCmarl,
    /// Each agent learns for itself.
    Iql,
}

impl Algorithm {
    /// All algorithms with the names users write; a name is also that of the options' section.
    pub const NAMES: [(&'static str, Self); 2] = [("cg_cmarl", Self::CgCmarl), ("iql", Self::Iql)];

    /// The algorithm of a name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| format!("`{name}`")).collect();
            Error::setting("algorithm", name, format!("must be one of {}", names.join(", ")))
        })
    }

    /// The name users write.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, algorithm)| *algorithm == self);
        found.map_or("unknown", |(name, _)| name)
    }
}
