//! What a trained model predicts at the start of evaluation episodes, beside what came true.
//!
//! Values look past the time limit, so what is left there at the end, discounted, is taken from the
//! prediction: V(s_0, a_0) − γ^T V(s_T, a_T) against the discounted sum of the T steps.

use super::{Model, limits::environments_together, vectorise};
use crate::{
    algorithm::{CgCmarlOptions, CgCmarlPolicy, cg_cmarl::augmented_reward},
    environment::{Batch, Ending, Policy, Scenario, View},
    episode::{Controller, Transition},
    error::Result,
    evaluation::{Calibration, EvaluationOptions, play_episodes},
    graph::JointAction,
    rng::Rng,
};

/// Environments side by side.
const WIDTH: usize = 250;

/// One episode as it is remembered.
#[derive(Clone, Default)]
struct Remembered {
    start: Option<(Vec<f32>, JointAction)>,
    /// Discounted sums: the reward, then each cost.
    sums: Vec<f64>,
    /// γ^t of the next step.
    discount: f64,
    /// Where the time limit ended it.
    cut_off: Option<Vec<f32>>,
}

/// Lets a policy play and remembers what it met.
struct Recorder<'a> {
    policy: &'a mut CgCmarlPolicy,
    gamma: f64,
    n_constraints: usize,
    episodes: Vec<Remembered>,
}

impl Controller for Recorder<'_> {
    fn begin(&mut self, slot: usize, _rng: &mut Rng) {
        let sums = vec![0.0; 1 + self.n_constraints];
        self.episodes.resize(self.episodes.len().max(slot + 1), Remembered::default());
        self.episodes[slot] = Remembered { sums, discount: 1.0, ..Remembered::default() };
    }

    fn act(&mut self, batch: Batch<'_>, _rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(batch, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let Transition { slot, state, action, outcome, next_state } = transition;
        let episode = &mut self.episodes[slot];
        episode.start.get_or_insert_with(|| (state.to_vec(), action.to_vec()));
        let reward: f32 = outcome.region_rewards.iter().sum();
        episode.sums[0] += episode.discount * f64::from(reward);
        for (j, sum) in episode.sums[1..].iter_mut().enumerate() {
            let paid: f32 = outcome.region_costs.iter().skip(j).step_by(self.n_constraints).sum();
            *sum += episode.discount * f64::from(paid);
        }
        episode.discount *= self.gamma;
        episode.cut_off = (outcome.ending == Ending::Truncated).then(|| next_state.to_vec());
    }
}

impl Recorder<'_> {
    /// What every head predicted of an episode, with what was left at its end taken away.
    fn predicted(&mut self, view: &dyn View, episode: &Remembered) -> Vec<f64> {
        let Some((state, action)) = &episode.start else { return Vec::new() };
        let mut values = self.policy.team_values(view, state, action);
        if let Some(state) = &episode.cut_off {
            let mut actions = [JointAction::new()];
            self.policy.act(Batch { view, states: state, slots: &[0] }, &mut actions);
            let left = self.policy.team_values(view, state, &actions[0]);
            values.iter_mut().zip(left).for_each(|(v, left)| *v -= episode.discount * left);
        }
        values
    }
}

impl Model {
    /// Predicted beside realised discounted reward and costs of evaluation episodes at these
    /// multipliers; the last signal is the reward at the price of the costs, which every kind of value
    /// predicts.
    pub fn calibration(
        &self,
        scenario: &Scenario,
        options: &EvaluationOptions,
        multipliers: &[f32],
    ) -> Result<Vec<Calibration>> {
        let spec = scenario.spec()?;
        options.check(&spec)?;
        let mut policy = self.cg_cmarl(scenario)?.policy_with(multipliers.to_vec());
        let own: CgCmarlOptions = self.config.typed_options()?;
        let width = WIDTH.min(environments_together(&spec)).min(options.episodes).max(1);
        let mut environments = vectorise(scenario, width)?;
        let n_constraints = spec.n_constraints();
        let gamma = f64::from(own.learning.gamma);
        let mut recorder =
            Recorder { policy: &mut policy, gamma, n_constraints, episodes: Vec::new() };
        let mut pairs = vec![Vec::new(); 2 + n_constraints];
        let mut first = 0;
        while first < options.episodes {
            let n = width.min(options.episodes - first);
            let range = first as u64..(first + n) as u64;
            play_episodes(&mut environments, &mut recorder, range, options.start_seed);
            environments.failure().map_or(Ok(()), Err)?;
            for episode in &std::mem::take(&mut recorder.episodes)[..n] {
                let predicted = recorder.predicted(environments.view(), episode);
                push_pairs(&mut pairs, &predicted, &episode.sums, multipliers);
            }
            first += n;
        }
        let names = std::iter::once("reward".to_owned()).chain(spec.constraint_names());
        let names = names.chain(["augmented".to_owned()]);
        let signals = names.zip(&pairs).filter(|(_, pairs)| !pairs.is_empty());
        Ok(signals.map(|(name, pairs)| Calibration::of(&name, pairs)).collect())
    }
}

/// Adds one episode: the reward and each cost where heads predict them, and what they come to at
/// their price.
fn push_pairs(
    pairs: &mut [Vec<(f64, f64)>],
    predicted: &[f64],
    realised: &[f64],
    multipliers: &[f32],
) {
    let last = pairs.len() - 1;
    let single: Vec<f32> = realised.iter().map(|sum| *sum as f32).collect();
    let paid = f64::from(augmented_reward(single[0], &single[1..], multipliers));
    let costs = predicted[1..].iter().zip(multipliers).map(|(q, m)| f64::from(*m) * q);
    pairs[last].push((predicted[0] + costs.sum::<f64>(), paid));
    if predicted.len() > 1 {
        pairs[0].push((predicted[0], realised[0]));
        for (j, (value, paid)) in predicted[1..].iter().zip(&realised[1..]).enumerate() {
            pairs[1 + j].push((-value, *paid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_compared_one_by_one_and_at_their_price() {
        let mut pairs = vec![Vec::new(); 3];
        push_pairs(&mut pairs, &[4.0, -1.0], &[3.0, 2.0], &[0.5]);
        assert_eq!(pairs, [[(4.0, 3.0)], [(1.0, 2.0)], [(3.5, 2.0)]]);
        let mut pairs = vec![Vec::new(); 3];
        push_pairs(&mut pairs, &[4.0], &[3.0, 2.0], &[0.5]);
        assert_eq!(pairs, [vec![], vec![], vec![(4.0, 2.0)]]);
    }
}
