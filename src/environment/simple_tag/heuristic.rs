//! The usual heuristic: every predator runs straight at the prey.

use super::observation::Parts;
use crate::{environment::View, graph::JointAction};

/// Writes the joint action of a state: for each predator the strongest force of the grid towards the
/// prey.
pub(super) fn chase(view: &dyn View, state: &[f32], action: &mut JointAction) {
    let n = view.spec().n_agents();
    let positions = Parts::of(state, n).positions;
    action.clear();
    action.extend((0..n).map(|predator| {
        let [x, y] = [0, 1].map(|axis| positions[n][axis] - positions[predator][axis]);
        let largest = x.abs().max(y.abs()).max(1e-6);
        let index = [x, y].map(|d| ((2.0 * d / largest).round() + 2.0) as usize);
        5 * index[0] + index[1]
    }));
}
