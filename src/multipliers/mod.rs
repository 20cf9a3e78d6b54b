//! Lagrange multipliers: one per agent and constraint, raised while the constraint is violated, by
//! projected ascent or by PID control, averaged over the team or mixed with neighbours by gossip.

pub mod ascent;
pub mod gossip;
pub mod learned;
mod options;
pub mod pid;
pub mod settling;

pub use ascent::Multipliers;
pub use learned::LearnedMultipliers;
pub use options::{
    Distribution, DualUpdate, GossipOptions, LinkGraph, Mixing, MultiplierMode, MultiplierOptions,
    PidOptions,
};
pub use settling::Settling;

/// Largest multiplier that is accepted: beyond, single precision loses the task's value.
pub const MAX_MULTIPLIER: f64 = 1e6;

/// One number per constraint from a list that holds either one for all or one for each.
pub fn per_constraint(values: &[f32], n_constraints: usize) -> Option<Vec<f32>> {
    match values.len() {
        1 => Some(vec![values[0]; n_constraints]),
        n if n == n_constraints => Some(values.to_vec()),
        _ => None,
    }
}
