//! The contract shared by CG-CMARL and the baselines, and the algorithms themselves.

mod exploration;
mod head;
mod targets;
mod two_head;

pub use exploration::TableNoise;
pub use head::{Head, HeadKind};
pub use targets::{
    HeadTargets, NextValues, augment, bootstrap, polyak, summed_error, two_head_targets,
};
pub use two_head::{NetworkOptions, TwoHead, TwoHeadWorkspace};
