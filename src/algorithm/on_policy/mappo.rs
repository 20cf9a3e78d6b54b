//! MAPPO (Yu et al. 2022) and MAPPO-Lagrangian (Gu et al. 2021): clipped PPO with one actor for all
//! agents and a centralised critic; with limits, the actor also pays for costs, at a learned price.
//!
//! The actor sees what its agent sees; the critic also sees the global state. At the time limit the
//! value of the state goes on counting: neither actor nor critic sees the time, so that an end there
//! would look like chance to them. Each limited constraint has a critic of its costs and a
//! multiplier. The actor follows the advantage (A − Σ λA_c) / (1 + Σ λ); after each round λ rises by
//! what an agent paid per step beyond the limit. The last λ is frozen in the actor, so that a
//! run is one operating point. MAPPO is the same without a limit.

use super::{
    critic::Critic,
    lagrangian::{LagrangianOptions, limits},
    ppo::{PpoOptions, diverged, normalise, shuffle},
    rollout::Rollout,
    softmax_policy::SoftmaxPolicy,
};
use crate::{
    algorithm::{Learner, Start, counters::load_counters, penalty::Penalties},
    checkpoint::Checkpoint,
    environment::{Batch, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::Multipliers,
    rng::{Purpose, Rng, Streams},
};
use serde::{Deserialize, Serialize};

/// The learner.
pub struct Mappo {
    options: PpoOptions,
    lambda_lr: f32,
    limits: Vec<f32>,
    constraints: Vec<String>,
    horizon: f32,
    total_steps: u64,
    streams: Streams,
    policy: SoftmaxPolicy,
    critic: Critic,
    /// One for each limited constraint; none without limits.
    cost_critics: Vec<Critic>,
    multipliers: Multipliers,
    penalties: Penalties,
    pub(super) rollout: Rollout,
    full: bool,
    places: Vec<usize>,
    rows: Vec<f32>,
    advantages: Vec<f32>,
    steps: u64,
    updates: u64,
    losses: Losses,
    failure: Option<Error>,
}

/// Means over the last update, and what its round cost an agent per step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Losses {
    policy: f32,
    value: f32,
    entropy: f32,
    cost_values: Vec<f32>,
    #[serde(alias = "episode_costs")]
    costs: Vec<f32>,
}

impl Mappo {
    /// A fresh learner; without limits it is MAPPO.
    pub fn new(
        options: &PpoOptions,
        lagrangian: Option<&LagrangianOptions>,
        start: Start<'_>,
    ) -> Result<Self> {
        let Start { n_environments, total_steps, streams, .. } = start;
        let view = start.view();
        options.validate()?;
        let spec = view.spec();
        let limits = lagrangian.map(|lagrangian| limits(lagrangian, spec)).transpose()?;
        let limits = limits.unwrap_or_default();
        let rollout = Rollout::new(spec, options.identity, n_environments);
        let rng = |index| streams.rng(Purpose::Initialisation, index);
        let critic = |index| Critic::new(options, rollout.width, &mut rng(index));
        let zeros = vec![0.0; limits.len()];
        let ceiling = lagrangian.map_or(0.0, |l| l.lagrangian_upper_bound);
        Ok(Self {
            total_steps,
            streams,
            policy: SoftmaxPolicy::new(options, spec, &mut rng(0)),
            critic: critic(1),
            cost_critics: (0..limits.len()).map(|j| critic(2 + j as u64)).collect(),
            multipliers: Multipliers::new(1, limits.clone(), ceiling),
            lambda_lr: lagrangian.map_or(0.0, |l| l.lambda_lr),
            constraints: spec.constraint_names().into_iter().take(limits.len()).collect(),
            horizon: spec.horizon as f32,
            penalties: Penalties::new(&options.penalty, spec)?,
            limits,
            rollout,
            full: false,
            places: Vec::new(),
            rows: Vec::new(),
            advantages: Vec::new(),
            steps: 0,
            updates: 0,
            losses: Losses { cost_values: zeros.clone(), costs: zeros, ..Losses::default() },
            failure: None,
            options: options.clone(),
        })
    }

    /// Raises or lowers the multipliers, then learns from a whole round at their price.
    pub(super) fn learn(&mut self, view: &dyn View) {
        self.rollout.close(view, &mut self.rows, &mut self.places);
        for (j, cost) in self.losses.costs.iter_mut().enumerate() {
            *cost = self.rollout.mean_cost(j, &self.places);
        }
        if !self.limits.is_empty() {
            self.multipliers.ascend(&self.losses.costs, self.lambda_lr * self.horizon);
        }
        self.evaluate();
        let Self { options: ppo, policy, critic, cost_critics, rollout, places, rows, .. } = self;
        let advantages = &self.advantages;
        let lr_share = ppo.lr_share(self.steps, self.total_steps);
        let mut rng = self.streams.rng(Purpose::Replay, self.updates);
        let size = places.len().div_ceil(ppo.minibatches);
        let n = (ppo.epochs * places.len().div_ceil(size)) as f32;
        let Losses { policy: policy_loss, value, entropy, cost_values, .. } = &mut self.losses;
        (*policy_loss, *value, *entropy) = (0.0, 0.0, 0.0);
        cost_values.fill(0.0);
        for _ in 0..ppo.epochs {
            shuffle(places, &mut rng);
            for batch in places.chunks(size) {
                rollout.gather_agent_rows(batch, rows);
                let loss = policy.improve(ppo, lr_share, rollout, advantages, rows, batch);
                *policy_loss += loss[0] / n;
                *entropy += loss[1] / n;
                rollout.gather_critic_rows(batch, rows);
                *value += critic.improve(ppo, lr_share, rows, batch) / n;
                for (critic, value) in cost_critics.iter_mut().zip(cost_values.iter_mut()) {
                    *value += critic.improve(ppo, lr_share, rows, batch) / n;
                }
            }
        }
        self.updates += 1;
        self.failure = diverged(self.steps, &self.report());
    }

    /// Values the round and weighs what it earned against what it cost.
    fn evaluate(&mut self) {
        let Self { options, critic, cost_critics, multipliers, rollout, places, .. } = self;
        critic.evaluate(options, rollout, &rollout.rewards, places);
        for (critic, costs) in cost_critics.iter_mut().zip(&rollout.costs) {
            critic.evaluate(options, rollout, costs, places);
        }
        self.advantages.clone_from(&critic.advantages);
        let costs: Vec<&[f32]> = cost_critics.iter().map(|c| &c.advantages[..]).collect();
        weigh(&mut self.advantages, &costs, multipliers.values());
        normalise(&mut self.advantages, places);
    }
}

/// Advantages at a price: (A − Σ λA_c) / (1 + Σ λ).
fn weigh(advantages: &mut [f32], costs: &[&[f32]], multipliers: &[f32]) {
    let scale = 1.0 / (1.0 + multipliers.iter().sum::<f32>());
    for (place, advantage) in advantages.iter_mut().enumerate() {
        let price: f32 = costs.iter().zip(multipliers).map(|(cost, m)| m * cost[place]).sum();
        *advantage = (*advantage - price) * scale;
    }
}

impl Controller for Mappo {
    fn begin(&mut self, slot: usize, _rng: &mut Rng) {
        self.rollout.begin(slot);
    }

    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(batch, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        self.steps += 1;
        let rewards = self.penalties.rewards(transition.outcome);
        self.full = self.rollout.push(transition, rewards, self.policy.last(transition.slot));
    }

    fn update(&mut self, view: &dyn View) {
        if std::mem::take(&mut self.full) && self.failure.is_none() {
            self.learn(view);
        }
    }
}

impl Learner for Mappo {
    fn end_episode(&mut self, _slot: usize, _summary: &Summary) {}

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        let losses = &self.losses;
        let mut report = vec![
            ("loss_policy".into(), losses.policy),
            ("loss_value".into(), losses.value),
            ("entropy".into(), losses.entropy),
            ("updates".into(), self.updates as f32),
        ];
        for (j, name) in self.constraints.iter().enumerate() {
            let cost = losses.costs[j];
            report.push((format!("loss_{name}"), losses.cost_values[j]));
            report.push((format!("multiplier_{name}"), self.multipliers.mean(j)));
            report.push((format!("round_cost_{name}"), cost));
            report.push((format!("violation_{name}"), (cost - self.limits[j]).max(0.0)));
        }
        report
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.policy.save_model(checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.policy.load_model(checkpoint)
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.policy.save(checkpoint);
        self.critic.save("critic", checkpoint);
        for (critic, name) in self.cost_critics.iter().zip(&self.constraints) {
            critic.save(&format!("critic_{name}"), checkpoint);
        }
        let multipliers = self.multipliers.values();
        checkpoint.push("multipliers", &[multipliers.len()], multipliers);
        checkpoint.set("losses", &self.losses);
        checkpoint.set("learner_steps", self.steps);
        checkpoint.set("updates", self.updates);
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.policy.load(checkpoint)?;
        self.critic.load("critic", checkpoint)?;
        for (critic, name) in self.cost_critics.iter_mut().zip(&self.constraints) {
            critic.load(&format!("critic_{name}"), checkpoint)?;
        }
        let n_multipliers = self.multipliers.values().len();
        self.multipliers.restore(checkpoint.get_shaped("multipliers", &[n_multipliers])?);
        self.losses = checkpoint.entry("losses")?;
        let n = self.constraints.len();
        if (self.losses.costs.len(), self.losses.cost_values.len()) != (n, n) {
            return Err(checkpoint.mismatch("holds `losses` of other constraints"));
        }
        (self.steps, self.updates) = load_counters(checkpoint, "", |steps| 0..=steps)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_weighed_against_rewards() {
        let mut advantages = [2.0, -1.0];
        weigh(&mut advantages, &[&[1.0, 0.0], &[0.0, 4.0]], &[2.0, 1.0]);
        assert_eq!(advantages, [0.0, -1.25]);
    }
}
