//! Penalties on a task's constraints in the reward of a learner that knows no multipliers:
//! r_i − Σ_j p_j c_ij.

use crate::{
    environment::{Outcome, Spec},
    error::{Error, Result},
};
use std::collections::BTreeMap;

/// What an agent pays for one unit of each constraint's cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Penalties {
    /// One per constraint; none where nothing is penalised.
    prices: Vec<f32>,
    rewards: Vec<f32>,
}

impl Penalties {
    /// The penalties of a task's constraints by name; those not named cost nothing.
    pub(super) fn new(named: &BTreeMap<String, f32>, spec: &Spec) -> Result<Self> {
        if named.is_empty() {
            return Ok(Self::default());
        }
        let names = spec.constraint_names();
        let mut prices = vec![0.0; names.len()];
        for (name, &price) in named {
            let key = format!("penalty.{name}");
            let Some(index) = names.iter().position(|other| other == name) else {
                let known: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let reason = format!("constraints of `{}`: {}", spec.task, known.join(", "));
                return Err(Error::setting(&key, price, reason));
            };
            if !(price >= 0.0 && price.is_finite()) {
                return Err(Error::setting(&key, price, "must be a finite number, not negative"));
            }
            prices[index] = price;
        }
        Ok(Self { prices, rewards: Vec::new() })
    }

    /// What each agent is paid for a step.
    pub(super) fn rewards<'a>(&'a mut self, outcome: &'a Outcome) -> &'a [f32] {
        if self.prices.is_empty() {
            return &outcome.agent_rewards;
        }
        let costs = outcome.agent_costs.chunks_exact(self.prices.len());
        self.rewards.clear();
        self.rewards.extend(outcome.agent_rewards.iter().zip(costs).map(|(reward, costs)| {
            reward - self.prices.iter().zip(costs).map(|(price, cost)| price * cost).sum::<f32>()
        }));
        &self.rewards
    }
}

/// How reports call what a learner without multipliers was trained for.
pub(super) fn trade_off_label(penalties: &BTreeMap<String, f32>, spec: &Spec) -> String {
    if penalties.is_empty() {
        return spec.reward_label.clone().unwrap_or_else(|| "trained".into());
    }
    let each = penalties.iter().map(|(name, price)| format!("penalty.{name}={price}"));
    each.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::{Environment, matrix_game::MatrixGame},
        graph::CoordinationGraph,
        rng::{Purpose, Streams},
    };

    fn spec() -> Spec {
        let mut rng = Streams::new(0).rng(Purpose::Problem, 0);
        let game = MatrixGame::random(CoordinationGraph::complete(2), 2, 2, 1, &mut rng).unwrap();
        game.view().spec().clone()
    }

    fn named(pairs: &[(&str, f32)]) -> BTreeMap<String, f32> {
        pairs.iter().map(|&(name, price)| (name.to_owned(), price)).collect()
    }

    #[test]
    fn each_agent_pays_for_its_own_costs() {
        let outcome = Outcome {
            agent_rewards: vec![1.0, 2.0],
            agent_costs: vec![4.0, 0.5, 0.0, 1.0],
            ..Outcome::default()
        };
        let pairs = [("cost_1", 2.0), ("cost_0", 0.25)];
        let mut penalties = Penalties::new(&named(&pairs), &spec()).unwrap();
        assert_eq!(penalties.rewards(&outcome), [1.0 - 1.0 - 1.0, 2.0 - 2.0]);
        let mut nothing = Penalties::new(&named(&[]), &spec()).unwrap();
        assert_eq!(nothing.rewards(&outcome), [1.0, 2.0]);
    }

    #[test]
    fn a_stranger_and_a_number_that_is_none_are_refused_by_name() {
        let refused = |name, price| {
            Penalties::new(&named(&[(name, price)]), &spec()).unwrap_err().to_string()
        };
        let error = refused("collision", 0.5);
        assert!(error.contains("`penalty.collision`: 0.5"), "{error}");
        assert!(error.contains("`cost_0`, `cost_1`"), "{error}");
        assert!(refused("cost_1", f32::NAN).contains("`penalty.cost_1`: NaN"));
        assert!(refused("cost_1", -1.0).contains("not negative"));
    }

    #[test]
    fn a_label_names_every_penalty_and_else_the_tasks_reward() {
        let spec = Spec { reward_label: Some("local_ratio=0.3".into()), ..spec() };
        let pairs = [("cost_1", 2.0), ("cost_0", 0.25)];
        let label = trade_off_label(&named(&pairs), &spec);
        assert_eq!(label, "penalty.cost_0=0.25 penalty.cost_1=2");
        assert_eq!(trade_off_label(&named(&[]), &spec), "local_ratio=0.3");
    }
}
