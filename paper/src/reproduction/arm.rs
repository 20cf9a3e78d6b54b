//! The arms of the comparison: groups of rows that are trained, kept and shown together.

use serde::{Deserialize, Serialize};

/// A group of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// CG-CMARL and the policies that need no training: they stand beside every arm.
    Ours,
    /// The baselines on the rows that MPE2 shows an agent.
    #[default]
    Raw,
    /// The baselines on what a region of CG-CMARL is shown of one agent.
    Shared,
    /// From the paper's table to CG-CMARL, one change at a time, and back.
    Ladder,
    /// Every method in MPE2 as it is shipped.
    Stock,
}

impl Arm {
    /// Every arm.
    pub const ALL: [Self; 5] = [Self::Ours, Self::Raw, Self::Shared, Self::Ladder, Self::Stock];

    /// The name users write, and that of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Raw => "raw",
            Self::Shared => "shared",
            Self::Ladder => "ladder",
            Self::Stock => "stock",
        }
    }

    /// Whether its rows stand in the tables of another arm too.
    pub fn belongs_to(self, shown: Self) -> bool {
        self == shown || (self == Self::Ours && matches!(shown, Self::Raw | Self::Shared))
    }

    /// The arm whose environment its policies without training play in.
    pub(super) const fn of_references(self) -> Self {
        match self {
            Self::Stock => Self::Stock,
            _ => Self::Ours,
        }
    }
}
