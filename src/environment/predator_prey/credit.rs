//! Who is paid for a catch: the pairs that made it, and nobody else.

use super::board::{Catch, Cell};
use crate::{
    environment::{Outcome, share},
    graph::CoordinationGraph,
};

/// What a capture is worth in the published reward.
pub(super) const CAPTURE: f32 = 10.0;
/// What regions are paid and pay is the published number times this, so that values are about one.
pub(super) const SCALE: f32 = 0.1;

/// Pays the pairs of a prey's catchers. Where more catch than it takes, those who stand opposite each
/// other are paid: somebody too many earns nothing, so that a pair can learn who should not catch.
pub(super) fn pay(
    graph: &CoordinationGraph,
    catch: &Catch,
    cell_of: impl Fn(usize) -> Cell,
    outcome: &mut Outcome,
) {
    outcome.team_reward += CAPTURE;
    outcome.agent_rewards.iter_mut().for_each(|reward| *reward += CAPTURE);
    let catchers = catch.catchers.list();
    let is_opposite = |a: usize, b: usize| {
        let (a, b) = (cell_of(a), cell_of(b));
        [a[0] + b[0], a[1] + b[1]] == catch.cell.map(|c| 2 * c)
    };
    let pairs = || {
        let all = catchers.iter().enumerate();
        let pairs = all.flat_map(|(slot, &a)| catchers[slot + 1..].iter().map(move |&b| [a, b]));
        pairs.filter(|&[a, b]| catch.n_wasted() == 0 || is_opposite(a, b))
    };
    let part = SCALE * CAPTURE / pairs().count().max(1) as f32;
    for pair in pairs() {
        share(graph, &pair, part, &mut |region, part| outcome.region_rewards[region] += part);
    }
}

/// Charges the pairs of a catcher with those who stood beside the prey too; where nobody did, all
/// pairs of the catcher. Learners without multipliers lose the punishment.
pub(super) fn charge(
    graph: &CoordinationGraph,
    catch: &Catch,
    punishment: f32,
    outcome: &mut Outcome,
) {
    outcome.team_costs[0] += SCALE;
    outcome.agent_rewards.iter_mut().for_each(|reward| *reward -= punishment);
    for &catcher in catch.catchers.list() {
        outcome.agent_costs[catcher] += SCALE;
        let others = || catch.beside.list().iter().filter(|&&other| other != catcher);
        let mut add = |region: usize, part| outcome.region_costs[region] += part;
        let part = SCALE / others().count().max(1) as f32;
        for &other in others() {
            share(graph, &[catcher, other], part, &mut add);
        }
        if others().next().is_none() {
            share(graph, &[catcher], part, &mut add);
        }
    }
}
