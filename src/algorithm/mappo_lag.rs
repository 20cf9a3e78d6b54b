//! MAPPO-Lagrangian (Gu et al. 2021): MAPPO whose actor also pays for costs, at a learned price.
//!
//! Each constraint has a critic of its costs and a multiplier. The actor follows the advantage
//! (A − Σ λA_c) / (1 + Σ λ); after each round λ rises by what an agent paid over an episode beyond the
//! limit. The last λ is frozen in the actor, so that a run is one operating point.

use super::{
    Learner, OperatingPoint, Setting,
    cg_cmarl_options::wrong_length,
    counters::load_counters,
    critic::Critic,
    ppo::{PpoOptions, diverged, normalise, shuffle},
    rollout::Rollout,
    softmax_policy::SoftmaxPolicy,
};
use crate::{
    checkpoint::Checkpoint,
    environment::View,
    episode::{Player, Scene, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::{Multipliers, per_constraint},
    rng::{Purpose, Rng, Streams},
};
use serde::{Deserialize, Serialize};

/// The options of MAPPO-Lagrangian.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MappoLagOptions {
    /// What an agent may pay over an episode on average, one entry per constraint (or one for all).
    pub cost_limit: Vec<f32>,
    /// Step of the dual ascent after each round, per unit of violation.
    pub lambda_lr: f32,
    /// Multipliers never exceed this.
    pub lagrangian_upper_bound: f32,
    /// What it shares with MAPPO.
    pub ppo: PpoOptions,
}

impl Default for MappoLagOptions {
    fn default() -> Self {
        Self {
            cost_limit: vec![0.5],
            lambda_lr: 0.01,
            lagrangian_upper_bound: 20.0,
            ppo: PpoOptions::default(),
        }
    }
}

impl MappoLagOptions {
    fn validate(&self) -> Result<()> {
        let usable = |value: f32| value >= 0.0 && value.is_finite();
        let values = [
            ("lambda_lr", self.lambda_lr),
            ("lagrangian_upper_bound", self.lagrangian_upper_bound),
        ];
        let limits = self.cost_limit.iter().map(|&limit| ("cost_limit", limit));
        match values.into_iter().chain(limits).find(|(_, value)| !usable(*value)) {
            Some((key, value)) => Err(Error::setting(key, value, "must not be negative")),
            None => self.ppo.validate(),
        }
    }
}

/// The learner.
pub struct MappoLag {
    options: MappoLagOptions,
    limits: Vec<f32>,
    constraints: Vec<String>,
    total_steps: u64,
    streams: Streams,
    policy: SoftmaxPolicy,
    critic: Critic,
    cost_critics: Vec<Critic>,
    multipliers: Multipliers,
    rollout: Rollout,
    full: bool,
    places: Vec<usize>,
    rows: Vec<f32>,
    advantages: Vec<f32>,
    steps: u64,
    updates: u64,
    losses: Losses,
    failure: Option<Error>,
}

/// Means over the last update, and what its round cost an agent per episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Losses {
    policy: f32,
    value: f32,
    entropy: f32,
    cost_values: Vec<f32>,
    episode_costs: Vec<f32>,
}

impl MappoLag {
    /// A fresh learner; `total_steps` is what the learning rates' decay is stretched over.
    pub fn new(
        options: &MappoLagOptions,
        view: &dyn View,
        n_environments: usize,
        total_steps: u64,
        streams: Streams,
    ) -> Result<Self> {
        options.validate()?;
        let spec = view.spec();
        let n_constraints = spec.constraints.len();
        let limits = per_constraint(&options.cost_limit, n_constraints)
            .ok_or_else(|| wrong_length("cost_limit", &options.cost_limit, spec))?;
        let rollout = Rollout::new(spec, options.ppo.identity, n_environments);
        let rng = |index| streams.rng(Purpose::Initialisation, index);
        let critic = |index| Critic::new(&options.ppo, rollout.width, &mut rng(index));
        let zeros = vec![0.0; n_constraints];
        Ok(Self {
            total_steps,
            streams,
            policy: SoftmaxPolicy::new(&options.ppo, spec, &mut rng(0)),
            critic: critic(1),
            cost_critics: (0..n_constraints).map(|j| critic(2 + j as u64)).collect(),
            multipliers: Multipliers::new(1, limits.clone(), options.lagrangian_upper_bound),
            limits,
            constraints: spec.constraints.clone(),
            rollout,
            full: false,
            places: Vec::new(),
            rows: Vec::new(),
            advantages: Vec::new(),
            steps: 0,
            updates: 0,
            losses: Losses {
                cost_values: zeros.clone(),
                episode_costs: zeros,
                ..Losses::default()
            },
            failure: None,
            options: options.clone(),
        })
    }

    /// Raises or lowers the multipliers, then learns from a whole round at their price.
    fn update(&mut self, view: &dyn View) {
        self.rollout.close(view, &mut self.rows, &mut self.places);
        for (j, cost) in self.losses.episode_costs.iter_mut().enumerate() {
            *cost = self.rollout.mean_episode_cost(j, &self.places);
        }
        self.multipliers.ascend(&self.losses.episode_costs, self.options.lambda_lr);
        self.judge();
        let Self { options, policy, critic, cost_critics, rollout, places, rows, .. } = self;
        let (ppo, advantages) = (&options.ppo, &self.advantages);
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
    fn judge(&mut self) {
        let Self { options, critic, cost_critics, multipliers, rollout, places, .. } = self;
        critic.judge(&options.ppo, rollout, &rollout.rewards, places);
        for (critic, costs) in cost_critics.iter_mut().zip(&rollout.costs) {
            critic.judge(&options.ppo, rollout, costs, places);
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

impl Player for MappoLag {
    fn begin(&mut self, slot: usize, _rng: &mut Rng) {
        self.rollout.begin(slot);
    }

    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(scene, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        self.steps += 1;
        let (seen, log_probabilities) = self.policy.last(transition.slot);
        self.full = self.rollout.push(transition, seen, log_probabilities);
    }

    fn learn(&mut self, view: &dyn View) {
        if std::mem::take(&mut self.full) && self.failure.is_none() {
            self.update(view);
        }
    }
}

impl Learner for MappoLag {
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
            let cost = losses.episode_costs[j];
            report.push((format!("loss_{name}"), losses.cost_values[j]));
            report.push((format!("multiplier_{name}"), self.multipliers.mean(j)));
            report.push((format!("episode_cost_{name}"), cost));
            report.push((format!("violation_{name}"), (cost - self.limits[j]).max(0.0)));
        }
        report
    }

    fn operating_points(&self, _multipliers: &[f32]) -> Vec<OperatingPoint> {
        let setting = Setting::CostLimit(self.limits.first().copied().unwrap_or_default());
        vec![OperatingPoint { setting, policy: Box::new(self.policy.freeze()) }]
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
        if (self.losses.episode_costs.len(), self.losses.cost_values.len()) != (n, n) {
            return Err(checkpoint.mismatch("holds `losses` of other constraints"));
        }
        (self.steps, self.updates) = load_counters(checkpoint, |steps| 0..=steps)?;
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

    #[test]
    fn a_negative_limit_is_refused_by_name() {
        let options = MappoLagOptions { cost_limit: vec![-0.5], ..MappoLagOptions::default() };
        let error = options.validate().unwrap_err().to_string();
        assert!(error.contains("`cost_limit`: -0.5"), "{error}");
    }
}
