//! Rewards brought to mean 0 and standard deviation 1 by what was seen so far.
//!
//! Where a step pays around −2, values start far from the −20 they end at; a mixer that is flat below
//! zero diverges on the way. Where episodes have no true end, taking the mean off moves every value by
//! the same number and leaves the best action as it was. Where they have one, it would make a longer
//! episode better or worse than it is: rewards are scaled only.

use serde::{Deserialize, Serialize};

/// Running mean and standard deviation of all rewards (Welford).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RewardScale {
    count: u64,
    mean: f64,
    squares: f64,
}

impl RewardScale {
    /// Takes rewards into account.
    pub(super) fn follow(&mut self, rewards: &[f32]) {
        for reward in rewards.iter().copied().map(f64::from) {
            self.count += 1;
            let before = reward - self.mean;
            self.mean += before / self.count as f64;
            self.squares += before * (reward - self.mean);
        }
    }

    /// Whether rewards can have left it so.
    pub(super) fn is_sound(&self) -> bool {
        self.count < 1 << 53
            && self.mean.is_finite()
            && (0.0..f64::INFINITY).contains(&self.squares)
    }

    /// Takes the mean off rewards, unless it is kept, and scales them; those that were always the same
    /// are left alone.
    pub(super) fn standardise(&self, rewards: &mut [f32], keeps_mean: bool) {
        let variance = self.squares / self.count.max(1) as f64;
        if variance > 0.0 {
            let scale = variance.sqrt().recip();
            let mean = if keeps_mean { 0.0 } else { self.mean };
            let standardised = |reward: f32| ((f64::from(reward) - mean) * scale) as f32;
            rewards.iter_mut().for_each(|reward| *reward = standardised(*reward));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_has_mean_zero_and_spread_one() {
        let mut scale = RewardScale::default();
        let mut rewards = [-3.0, -1.0, -2.0, -6.0];
        rewards.chunks(3).for_each(|part| scale.follow(part));
        scale.standardise(&mut rewards, false);
        let mean = rewards.iter().sum::<f32>() / 4.0;
        let square = rewards.iter().map(|r| r * r).sum::<f32>() / 4.0;
        assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-6, "{rewards:?}");
    }

    #[test]
    fn a_reward_of_zero_stays_zero_where_the_mean_is_kept() {
        let mut scale = RewardScale::default();
        let mut rewards = [0.0, -4.0, 2.0];
        scale.follow(&rewards);
        scale.standardise(&mut rewards, true);
        assert!(rewards[0] == 0.0 && (rewards[1] + 2.0 * rewards[2]).abs() < 1e-6, "{rewards:?}");
        assert!((rewards[2] - rewards[1] - 6.0 / (56.0_f32 / 9.0).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn equal_rewards_stay_as_they_are() {
        let mut scale = RewardScale::default();
        let mut rewards = [2.5, 2.5];
        scale.follow(&rewards);
        scale.standardise(&mut rewards, false);
        assert_eq!(rewards, [2.5, 2.5]);
    }
}
