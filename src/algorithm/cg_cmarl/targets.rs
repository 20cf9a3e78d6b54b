//! Bootstrap targets of the heads, shared by the network and the tabular learner.

use crate::{
    argmax::argmax,
    nn::{follow, vectorised},
};

/// Next-state values of one region: a slice entry per joint action.
#[derive(Clone, Copy, Debug)]
pub struct NextValues<'a> {
    /// Primary head of the online network: it chooses.
    pub online_primary: &'a [f32],
    /// Primary head of the target network: it values.
    pub target_primary: &'a [f32],
    /// Cost head of the target network: it values.
    pub target_cost: &'a [f32],
}

/// What each head is regressed towards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadTargets {
    /// Primary head (Eq. td-prim, double).
    pub primary: f32,
    /// Cost head (Eq. td-cost): evaluates the primary-greedy action, never its own.
    pub cost: f32,
}

/// Targets for one transition; `discount` is zero after a terminal step.
pub fn two_head_targets(
    reward: f32,
    constraint_reward: f32,
    discount: f32,
    next: NextValues<'_>,
) -> HeadTargets {
    let greedy = argmax(next.online_primary);
    let next_values = [next.target_primary[greedy], next.target_cost[greedy]];
    let mut targets = head_targets([reward, constraint_reward], discount, &next_values);
    let mut target = || targets.next().unwrap_or_default();
    HeadTargets { primary: target(), cost: target() }
}

/// What every head is regressed towards, primary first: y_j = r_j + γ Q̄_j(o', a'), where all heads
/// value the same next action a'.
pub fn head_targets<'a>(
    rewards: impl IntoIterator<Item = f32> + 'a,
    discount: f32,
    next_values: &'a [f32],
) -> impl Iterator<Item = f32> + 'a {
    let pairs = rewards.into_iter().zip(next_values);
    pairs.map(move |(reward, next_value)| bootstrap(reward, discount, *next_value))
}

/// y = r + γ Q(s', a').
pub fn bootstrap(reward: f32, discount: f32, next_value: f32) -> f32 {
    reward + discount * next_value
}

/// The summed TD error of one state: `Σ_R Q_R − (Σ_R r_R + γ Σ_R Q_R')`, the sample form of the
/// factored operator (Eq. factored-bellman).
pub fn summed_error(values: f32, rewards: f32, discount: f32, next_values: f32) -> f32 {
    values - bootstrap(rewards, discount, next_values)
}

/// `Q_aug = Q_prim + Σ_j λ_j Q_cost,j` (Eq. augmented-q), one constraint into `augmented`: entry by
/// entry, with a multiplier for each.
#[inline(always)]
pub fn augment<'m>(
    augmented: &mut [f32],
    cost: &[f32],
    multipliers: impl IntoIterator<Item = &'m f32>,
) {
    for ((q, c), multiplier) in augmented.iter_mut().zip(cost).zip(multipliers) {
        *q += multiplier * c;
    }
}

/// θ̄ ← τ θ + (1 − τ) θ̄.
pub fn polyak(target: &mut [f32], online: &[f32], tau: f32) {
    vectorised(
        #[inline(always)]
        || follow(target, online, tau),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_head_follows_the_primary_greedy_action() {
        let next = NextValues {
            online_primary: &[1.0, 2.0],
            target_primary: &[5.0, 7.0],
            target_cost: &[0.0, -3.0],
        };
        let targets = two_head_targets(1.0, -1.0, 0.5, next);
        assert_eq!(targets, HeadTargets { primary: 4.5, cost: -2.5 });
    }

    #[test]
    fn the_papers_worked_example_of_the_augmented_value() {
        let choose = |multiplier| {
            let mut augmented = [10.0, 9.0];
            augment(&mut augmented, &[-5.0, -1.0], &[multiplier; 2]);
            (augmented, argmax(&augmented))
        };
        assert_eq!(choose(0.0), ([10.0, 9.0], 0));
        assert_eq!(choose(0.5), ([7.5, 8.5], 1));
        assert_eq!(choose(2.0), ([0.0, 7.0], 1));
    }

    #[test]
    fn summed_error_adds_up_before_it_compares() {
        assert!((summed_error(3.0, 1.0, 0.9, 2.0) - 0.2).abs() < 1e-6);
    }

    #[test]
    fn polyak_moves_by_its_rate() {
        let mut target = [0.0, 10.0];
        polyak(&mut target, &[1.0, 0.0], 0.1);
        assert!((target[0] - 0.1).abs() < 1e-7 && (target[1] - 9.0).abs() < 1e-6);
    }
}
