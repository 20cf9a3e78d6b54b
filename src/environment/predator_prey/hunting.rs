//! Rules to compare with: predators that hunt in pairs, seeing everything, and predators that each
//! follow the nearest prey they see.

use super::{
    board::{CATCH, MOVES, STAY},
    view::{Parts, Rows},
};
use crate::{environment::View, graph::JointAction};

/// Steps from one position to another.
fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).abs() + (a[1] - b[1]).abs()
}

/// The move that brings a predator nearest to a prey, of those that lead to a free cell.
fn approach(view: &dyn View, state: &[f32], me: usize, prey: [f32; 2]) -> usize {
    let parts = Parts::of(state, view.spec().n_agents());
    let at = parts.predators[me];
    let mut allowed = [true; 6];
    view.action_mask(state, me, &mut allowed);
    let is_taken = |to: [f32; 2]| {
        let predators = (0..parts.predators.len()).filter(|&other| parts.lives(other));
        predators
            .map(|other| parts.predators[other])
            .chain(parts.living_prey())
            .any(|other| other == to)
    };
    let mut best = (distance(at, prey), STAY);
    for (action, step) in MOVES.iter().enumerate().filter(|(action, _)| allowed[*action]) {
        let to = [at[0] + step[0] as f32, at[1] + step[1] as f32];
        if distance(to, prey) < best.0 && !is_taken(to) {
            best = (distance(to, prey), action);
        }
    }
    best.1
}

/// Predators in pairs, the first two that are left, the next two and so on: each pair goes for the prey
/// nearest to both that no other pair is after, and catches when both are beside it and no other prey
/// is beside one of them alone, which the other could not help to catch.
pub(super) fn in_pairs(view: &dyn View, state: &[f32], action: &mut JointAction) {
    let n = view.spec().n_agents();
    let parts = Parts::of(state, n);
    action.clear();
    action.resize(n, STAY);
    let living: Vec<usize> = (0..n).filter(|&agent| parts.lives(agent)).collect();
    let mut prey: Vec<[f32; 2]> = parts.living_prey().collect();
    for pair in living.chunks_exact(2) {
        let far = |at: [f32; 2]| {
            let [a, b] = [pair[0], pair[1]].map(|one| distance(parts.predators[one], at));
            a.max(b) + 0.1 * (a + b)
        };
        let nearest = (0..prey.len()).min_by(|&a, &b| far(prey[a]).total_cmp(&far(prey[b])));
        let Some(target) = nearest.map(|index| prey.swap_remove(index)) else { return };
        let is_beside = |one: &usize| distance(parts.predators[*one], target) == 1.0;
        let shared = |at: [f32; 2]| {
            let n_beside = pair.iter().filter(|&&one| distance(parts.predators[one], at) == 1.0);
            n_beside.count() != 1
        };
        let together = pair.iter().all(is_beside) && parts.living_prey().all(shared);
        for &one in pair {
            action[one] = match (together, is_beside(&one)) {
                (true, _) => CATCH,
                (false, true) => STAY,
                (false, false) => approach(view, state, one, target),
            };
        }
    }
}

/// Each predator for itself: it goes to the nearest prey that it sees and catches when another one is
/// beside that prey too.
pub(super) fn alone(view: &dyn View, state: &[f32], action: &mut JointAction) {
    let n = view.spec().n_agents();
    let parts = Parts::of(state, n);
    let reach = Rows::reach(view.spec().agent_width) as f32;
    action.clear();
    action.resize(n, STAY);
    for me in (0..n).filter(|&me| parts.lives(me)) {
        let at = parts.predators[me];
        let is_seen = |prey: &[f32; 2]| (0..2).all(|axis| (prey[axis] - at[axis]).abs() <= reach);
        let seen = parts.living_prey().filter(is_seen);
        let nearest = seen.min_by(|a, b| distance(at, *a).total_cmp(&distance(at, *b)));
        let Some(prey) = nearest else {
            // Nothing to be seen: to the middle, where there is most to see.
            action[me] = approach(view, state, me, [0.0; 2]);
            continue;
        };
        let beside = (0..n).filter(|&other| parts.lives(other));
        let n_beside =
            beside.filter(|&other| distance(parts.predators[other], prey) == 1.0).count();
        action[me] = match (distance(at, prey) == 1.0, n_beside) {
            (true, 2..) => CATCH,
            (true, _) => STAY,
            _ => approach(view, state, me, prey),
        };
    }
}
