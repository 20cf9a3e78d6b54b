//! MAPPO (Yu et al. 2022), MAPPO-Lagrangian (Gu et al. 2021) and λ-conditioned MAPPO: clipped PPO with one
//! actor for all agents and a centralised critic; the actor may also pay for costs, at a price that is
//! learned or shown to it.
//!
//! The actor sees what its agent sees; the critic also sees the global state. At the time limit the
//! value of the state goes on counting: neither actor nor critic sees the time, so that an end there
//! would look like chance to them. Each limited constraint has a critic of its costs and a
//! multiplier. The actor follows the advantage (A − Σ λA_c) / (1 + Σ λ); after each round λ rises by
//! what an agent paid per step beyond the limit. The last λ is frozen in the actor, so that a
//! run is one operating point. MAPPO is the same without a limit. Where λ is drawn for every episode
//! instead, actor and critics see it, and one run has every operating point (dual-conditioned).

use super::{
    PpoOptions, Pricing,
    critic::Critic,
    lagrangian::limits,
    ppo::{diverged, each_minibatch, normalise},
    rollout::Rollout,
    softmax_policy::SoftmaxPolicy,
};
use crate::{
    algorithm::{
        Learner, Start, cg_cmarl::draw_multipliers, counters::load_counters, different_rows,
        penalty::Penalties,
    },
    checkpoint::Checkpoint,
    environment::{Batch, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::{MultiplierOptions, Multipliers},
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
    /// One for each constraint that has a price.
    cost_critics: Vec<Critic>,
    multipliers: Multipliers,
    /// How the multipliers of an episode are drawn, where they are.
    sampling: Option<MultiplierOptions>,
    penalties: Penalties,
    /// One for each of the teams that learn together, the training's own last.
    pub(super) rollouts: Vec<Rollout>,
    /// Which of them plays now.
    team: usize,
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
    /// A fresh learner; where costs have no price it is MAPPO.
    pub fn new(options: &PpoOptions, pricing: Pricing<'_>, start: Start<'_>) -> Result<Self> {
        let Start { total_steps, streams, .. } = start;
        options.validate()?;
        let spec = start.view().spec();
        let (mut limited, mut sampling, mut lambda_lr, mut ceiling) = (vec![], None, 0.0, 0.0);
        match pricing {
            Pricing::Free => {}
            Pricing::Limited(lagrangian) => {
                limited = limits(lagrangian, spec)?;
                lambda_lr = lagrangian.lambda_lr;
                ceiling = lagrangian.lagrangian_upper_bound;
            }
            Pricing::Sampled(drawn) => sampling = Some(drawn.multipliers(spec)?),
        }
        let n_multipliers = if sampling.is_some() { spec.n_constraints() } else { 0 };
        let n_priced = limited.len() + n_multipliers;
        let rollouts = rollouts(options, n_multipliers, start)?;
        let width = rollouts[0].width;
        let rng = |index| streams.rng(Purpose::Initialisation, index);
        let critic = |index| Critic::new(options, width, &mut rng(index));
        let zeros = vec![0.0; n_priced];
        Ok(Self {
            total_steps,
            streams,
            policy: SoftmaxPolicy::new(options, spec, (1, n_multipliers), &mut rng(0)),
            critic: critic(1),
            cost_critics: (0..n_priced).map(|j| critic(2 + j as u64)).collect(),
            multipliers: Multipliers::new(1, limited.clone(), ceiling),
            sampling,
            lambda_lr,
            constraints: spec.constraint_names().into_iter().take(n_priced).collect(),
            horizon: spec.horizon as f32,
            penalties: Penalties::new(&options.penalty, spec)?,
            limits: limited,
            team: rollouts.len() - 1,
            rollouts,
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
        let rollout = &mut self.rollouts[self.team];
        rollout.close(view, &mut self.rows, &mut self.places);
        for (j, cost) in self.losses.costs.iter_mut().enumerate() {
            *cost = rollout.mean_cost(j, &self.places);
        }
        if !self.limits.is_empty() {
            self.multipliers.ascend(&self.losses.costs, self.lambda_lr * self.horizon);
        }
        self.evaluate();
        let Self { options: ppo, policy, critic, cost_critics, places, rows, .. } = self;
        let (rollout, advantages) = (&self.rollouts[self.team], &self.advantages);
        let lr_share = ppo.lr_share(self.steps, self.total_steps);
        let mut rng = self.streams.rng(Purpose::Replay, self.updates);
        let Losses { policy: policy_loss, value, entropy, cost_values, .. } = &mut self.losses;
        (*policy_loss, *value, *entropy) = (0.0, 0.0, 0.0);
        cost_values.fill(0.0);
        each_minibatch(ppo, places, &mut rng, |batch, n| {
            rollout.gather_agent_rows(batch, rows);
            let loss = policy.improve(ppo, lr_share, rollout, advantages, rows, batch);
            *policy_loss += loss[0] / n;
            *entropy += loss[1] / n;
            rollout.gather_critic_rows(batch, rows);
            *value += critic.improve(ppo, lr_share, rows, batch) / n;
            for (critic, value) in cost_critics.iter_mut().zip(cost_values.iter_mut()) {
                *value += critic.improve(ppo, lr_share, rows, batch) / n;
            }
        });
        self.updates += 1;
        self.failure = diverged(self.steps, &self.report());
    }

    /// Values the round and weighs what it earned against what it cost.
    fn evaluate(&mut self) {
        let Self { options, critic, cost_critics, multipliers, places, .. } = self;
        let rollout = &self.rollouts[self.team];
        critic.evaluate(options, rollout, &rollout.rewards, places);
        for (critic, costs) in cost_critics.iter_mut().zip(&rollout.costs) {
            critic.evaluate(options, rollout, costs, places);
        }
        self.advantages.clone_from(&critic.advantages);
        let costs: Vec<&[f32]> = cost_critics.iter().map(|c| &c.advantages[..]).collect();
        let drawn = self.sampling.is_some();
        weigh(&mut self.advantages, &costs, |place| {
            if drawn { rollout.multipliers_at(place) } else { multipliers.values() }
        });
        normalise(&mut self.advantages, places);
    }
}

/// A memory for each team; refuses teams whose rows differ in width.
fn rollouts(options: &PpoOptions, n_multipliers: usize, start: Start<'_>) -> Result<Vec<Rollout>> {
    let rollout =
        |view: &&dyn View| Rollout::new(view.spec(), options, n_multipliers, start.n_environments);
    let rollouts: Vec<_> = start.teams.iter().map(rollout).collect();
    if rollouts.iter().any(|rollout| rollout.width != rollouts[0].width) {
        return Err(different_rows(start));
    }
    Ok(rollouts)
}

/// Advantages at the price of each place: (A − Σ λA_c) / (1 + Σ λ).
fn weigh<'a>(advantages: &mut [f32], costs: &[&[f32]], multipliers: impl Fn(usize) -> &'a [f32]) {
    for (place, advantage) in advantages.iter_mut().enumerate() {
        let multipliers = multipliers(place);
        let scale = 1.0 / (1.0 + multipliers.iter().sum::<f32>());
        let price: f32 = costs.iter().zip(multipliers).map(|(cost, m)| m * cost[place]).sum();
        *advantage = (*advantage - price) * scale;
    }
}

impl Controller for Mappo {
    fn begin(&mut self, slot: usize, rng: &mut Rng) {
        let rollout = &mut self.rollouts[self.team];
        if let Some(options) = &self.sampling {
            draw_multipliers(options, rng, rollout.multipliers_mut(slot));
        }
        rollout.begin(slot);
    }

    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(batch, self.rollouts[self.team].multipliers(), rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        self.steps += 1;
        let rewards = self.penalties.rewards(transition.outcome);
        let rollout = &mut self.rollouts[self.team];
        self.full = rollout.push(transition, rewards, self.policy.last(transition.slot));
    }

    fn update(&mut self, view: &dyn View) {
        if std::mem::take(&mut self.full) && self.failure.is_none() {
            self.learn(view);
        }
    }
}

impl Learner for Mappo {
    fn turn_to(&mut self, team: usize) {
        self.team = team;
    }

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
            if let Some(limit) = self.limits.get(j) {
                report.push((format!("multiplier_{name}"), self.multipliers.mean(j)));
                report.push((format!("round_cost_{name}"), cost));
                report.push((format!("violation_{name}"), (cost - limit).max(0.0)));
            }
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
        weigh(&mut advantages, &[&[1.0, 0.0], &[0.0, 4.0]], |_| &[2.0, 1.0]);
        assert_eq!(advantages, [0.0, -1.25]);
        let mut advantages = [2.0, -1.0];
        let own: [[f32; 1]; 2] = [[0.0], [3.0]];
        weigh(&mut advantages, &[&[1.0, 1.0]], |place| &own[place]);
        assert_eq!(advantages, [2.0, -1.0], "each at its own price");
    }
}
