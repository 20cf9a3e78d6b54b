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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::predator_prey::{
            PredatorPreyOptions,
            board::{Animal, Board, CATCH, STAY},
        },
        rng::{Purpose, Streams},
    };

    /// What the only catch of three predators, coupled in the pairs 0-1, 0-2 and 1-2, comes to.
    fn caught(predators: [Cell; 3], catches: [bool; 3]) -> Outcome {
        let mut board = Board::new(5, 3, 1);
        board.predators = predators.map(|cell| Animal { cell, lives: true }).to_vec();
        board.prey = vec![Animal { cell: [2, 2], lives: true }];
        assert!(board.settle());
        let actions = catches.map(|catches| if catches { CATCH } else { STAY });
        board.step(&actions, &mut Streams::new(1).rng(Purpose::Dynamics, 0));
        let options = PredatorPreyOptions { agents: 3, ..PredatorPreyOptions::default() };
        let (graph, mut outcome) = (CoordinationGraph::complete(3), Outcome::default());
        outcome.begin(&options.spec(), &graph);
        for catch in &board.catches {
            if catch.succeeds() {
                pay(&graph, catch, |one| board.predators[one].cell, &mut outcome);
            } else {
                charge(&graph, catch, 2.0, &mut outcome);
            }
        }
        outcome
    }

    #[test]
    fn a_capture_pays_its_pair_and_of_three_catchers_those_opposite() {
        let around = [[1, 2], [2, 3], [3, 2]];
        let two = caught(around, [true, true, false]);
        assert_eq!((two.team_reward, &two.region_rewards[..]), (10.0, &[1.0, 0.0, 0.0][..]));
        let three = caught(around, [true; 3]);
        assert_eq!((three.team_reward, &three.region_rewards[..]), (10.0, &[0.0, 1.0, 0.0][..]));
        assert_eq!((three.agent_rewards, three.team_costs), (vec![10.0; 3], vec![0.0]));
    }

    #[test]
    fn a_catch_in_vain_costs_the_pairs_beside_the_prey_or_else_all_of_the_catcher() {
        let beside = caught([[1, 2], [4, 4], [3, 2]], [true, false, false]);
        assert_eq!(beside.region_costs, [0.0, 0.1, 0.0]);
        assert_eq!((beside.team_costs, beside.agent_costs), (vec![0.1], vec![0.1, 0.0, 0.0]));
        assert_eq!(beside.agent_rewards, [-2.0; 3]);
        let alone = caught([[1, 2], [4, 4], [0, 4]], [true, false, false]);
        assert_eq!(alone.region_costs, [0.05, 0.05, 0.0]);
    }
}
