//! MACPO (Gu et al. 2021): agents with a policy each move one after the other in a random order, every one
//! within a trust region in which its own cost is expected to keep to its limit.
//!
//! The first agent follows the team's advantage A, each later one A times the ratios of those that have
//! moved before it. An agent whose cost cannot be brought below the limit within its region lowers the
//! cost only. Critics learn as MAPPO's do. A run is one operating point, that of its limit.

use super::{
    PpoOptions,
    agent_step::{AgentRound, Region},
    critic::Critic,
    ppo::{diverged, each_minibatch, normalise, shuffle},
    rollout::Rollout,
    softmax_policy::SoftmaxPolicy,
    trust_region::Case,
};
use crate::{
    algorithm::{
        Learner, Start, cg_cmarl::wrong_length, counters::load_counters, penalty::Penalties,
    },
    checkpoint::Checkpoint,
    environment::{Batch, Spec, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result, count, positive, within},
    graph::JointAction,
    rng::{Purpose, Rng, Streams},
};
use serde::{Deserialize, Serialize};

/// The options of MACPO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MacpoOptions {
    /// Mean cost per step that an agent may pay, one entry for the one constraint.
    pub cost_limit: Vec<f32>,
    /// Mean divergence of a new policy from the one that acted.
    pub divergence: f32,
    /// Iterations of conjugate gradients.
    pub iterations: usize,
    /// Share of the identity in the Hessian.
    pub damping: f32,
    /// Tries of the line search.
    pub tries: usize,
    /// What it shares with MAPPO: networks, advantages and critics.
    pub ppo: PpoOptions,
}

impl Default for MacpoOptions {
    fn default() -> Self {
        let ppo = PpoOptions { identity: false, ..PpoOptions::default() };
        let cost_limit = vec![0.02];
        Self { cost_limit, divergence: 0.01, iterations: 10, damping: 0.01, tries: 10, ppo }
    }
}

impl MacpoOptions {
    /// Refuses what cannot work; tells the limit.
    fn check(&self, spec: &Spec) -> Result<f32> {
        self.ppo.validate()?;
        self.cost_limit.iter().try_for_each(|&limit| within("cost_limit", limit, 0.0..=1e30))?;
        positive("divergence", self.divergence, 10.0)?;
        positive("damping", self.damping, 10.0)?;
        count("iterations", self.iterations as u64, 1..=1000)?;
        count("tries", self.tries as u64, 1..=1000)?;
        if spec.n_constraints() != 1 {
            let names = format!("{:?}", spec.constraint_names());
            return Err(Error::setting("constraints", names, "macpo keeps to one constraint"));
        }
        match self.cost_limit[..] {
            [limit] => Ok(limit),
            _ => Err(wrong_length("cost_limit", &self.cost_limit, spec)),
        }
    }

    fn region(&self) -> Region {
        let Self { divergence, iterations, damping, tries, .. } = *self;
        Region { divergence: f64::from(divergence), iterations, damping, tries }
    }
}

/// The learner.
pub struct Macpo {
    options: MacpoOptions,
    limit: f32,
    constraint: String,
    n_agents: usize,
    horizon: usize,
    total_steps: u64,
    streams: Streams,
    policy: SoftmaxPolicy,
    critic: Critic,
    cost_critic: Critic,
    penalties: Penalties,
    rollout: Rollout,
    full: bool,
    places: Vec<usize>,
    rows: Vec<f32>,
    steps: u64,
    updates: u64,
    told: Told,
    failure: Option<Error>,
}

/// What the last update tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Told {
    value: f32,
    cost_value: f32,
    /// What an agent paid per step.
    cost: f32,
    /// Shares of agents that moved, and that only lowered their cost.
    moved: f32,
    recovering: f32,
}

impl Macpo {
    /// A fresh learner.
    pub fn new(options: &MacpoOptions, start: Start<'_>) -> Result<Self> {
        let Start { n_environments, total_steps, streams, .. } = start;
        let spec = start.view().spec();
        let limit = options.check(spec)?;
        let ppo = &options.ppo;
        let rollout = Rollout::new(spec, ppo, 0, n_environments);
        let rng = |index| streams.rng(Purpose::Initialisation, index);
        let policy = SoftmaxPolicy::new(ppo, spec, (spec.n_agents(), 0), &mut rng(0));
        Ok(Self {
            limit,
            constraint: spec.constraint_names().remove(0),
            n_agents: spec.n_agents(),
            horizon: spec.horizon,
            total_steps,
            streams,
            policy,
            critic: Critic::new(ppo, rollout.width, &mut rng(1)),
            cost_critic: Critic::new(ppo, rollout.width, &mut rng(2)),
            penalties: Penalties::new(&ppo.penalty, spec)?,
            rollout,
            full: false,
            places: Vec::new(),
            rows: Vec::new(),
            steps: 0,
            updates: 0,
            told: Told::default(),
            failure: None,
            options: options.clone(),
        })
    }

    /// Learns from a whole round.
    fn learn(&mut self, view: &dyn View) {
        self.rollout.close(view, &mut self.rows, &mut self.places);
        let Self { options, critic, cost_critic, rollout, places, .. } = self;
        critic.evaluate(&options.ppo, rollout, &rollout.rewards, places);
        cost_critic.evaluate(&options.ppo, rollout, &rollout.costs[0], places);
        self.told = Told { cost: rollout.mean_cost(0, places), ..Told::default() };
        let mut rng = self.streams.rng(Purpose::Replay, self.updates);
        self.move_agents(&mut rng);
        self.improve_critics(&mut rng);
        self.updates += 1;
        self.failure = diverged(self.steps, &self.report());
    }

    /// Where a place stands among those of the team: its environment and time.
    fn moment(&self, place: usize) -> usize {
        let trajectory = place / self.horizon;
        trajectory / self.n_agents * self.horizon + place % self.horizon
    }

    /// The team's advantage at each moment, of mean 0 and spread 1.
    fn team_advantages(&self) -> Vec<f32> {
        let n_moments = self.rollout.actions.len() / self.n_agents;
        let mut team = vec![0.0; n_moments];
        for &place in &self.places {
            team[self.moment(place)] += self.critic.advantages[place] / self.n_agents as f32;
        }
        let mut moments: Vec<usize> = self.places.iter().map(|&place| self.moment(place)).collect();
        moments.sort_unstable();
        moments.dedup();
        normalise(&mut team, &moments);
        team
    }

    /// One agent after the other, in a random order.
    fn move_agents(&mut self, rng: &mut Rng) {
        let mut team = self.team_advantages();
        let mut order: Vec<usize> = (0..self.n_agents).collect();
        shuffle(&mut order, rng);
        let share = 1.0 / self.n_agents as f32;
        let mut ratios = Vec::new();
        for agent in order {
            let own = |place: &usize| place / self.horizon % self.n_agents == agent;
            let places: Vec<usize> = self.places.iter().copied().filter(own).collect();
            let moments: Vec<usize> = places.iter().map(|&place| self.moment(place)).collect();
            let gains: Vec<f32> = moments.iter().map(|&moment| team[moment]).collect();
            let costs = centred(&self.cost_critic.advantages, &places);
            let paid = self.rollout.mean_cost(0, &places);
            self.rollout.gather_agent_rows(&places, &mut self.rows);
            let round = AgentRound {
                rollout: &self.rollout,
                places: &places,
                rows: &self.rows,
                gains: &gains,
                costs: &costs,
                excess: f64::from(paid - self.limit),
            };
            let region = self.options.region();
            let case = round.step(region, &mut self.policy.nets[agent], &mut ratios);
            moments.iter().zip(&ratios).for_each(|(&moment, ratio)| team[moment] *= ratio);
            self.told.moved += if case.is_some() { share } else { 0.0 };
            self.told.recovering += if case == Some(Case::Recovery) { share } else { 0.0 };
        }
    }

    fn improve_critics(&mut self, rng: &mut Rng) {
        let Self { options, critic, cost_critic, rollout, places, rows, told, .. } = self;
        let ppo = &options.ppo;
        let lr_share = ppo.lr_share(self.steps, self.total_steps);
        each_minibatch(ppo, places, rng, |batch, n| {
            rollout.gather_critic_rows(batch, rows);
            told.value += critic.improve(ppo, lr_share, rows, batch) / n;
            told.cost_value += cost_critic.improve(ppo, lr_share, rows, batch) / n;
        });
    }
}

/// The numbers at some places, less their mean: how dear something was compared with the rest.
fn centred(values: &[f32], places: &[usize]) -> Vec<f32> {
    let sum: f64 = places.iter().map(|&place| f64::from(values[place])).sum();
    let mean = (sum / places.len().max(1) as f64) as f32;
    places.iter().map(|&place| values[place] - mean).collect()
}

impl Controller for Macpo {
    fn begin(&mut self, slot: usize, _rng: &mut Rng) {
        self.rollout.begin(slot);
    }

    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(batch, &[], rngs, actions);
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

impl Learner for Macpo {
    fn end_episode(&mut self, _slot: usize, _summary: &Summary) {}

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        let Told { value, cost_value, cost, moved, recovering } = self.told;
        let name = &self.constraint;
        vec![
            ("loss_value".into(), value),
            ("updates".into(), self.updates as f32),
            ("moved".into(), moved),
            ("recovering".into(), recovering),
            (format!("loss_{name}"), cost_value),
            (format!("round_cost_{name}"), cost),
            (format!("violation_{name}"), (cost - self.limit).max(0.0)),
        ]
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
        self.cost_critic.save(&format!("critic_{}", self.constraint), checkpoint);
        checkpoint.set("told", self.told);
        checkpoint.set("learner_steps", self.steps);
        checkpoint.set("updates", self.updates);
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.policy.load(checkpoint)?;
        self.critic.load("critic", checkpoint)?;
        self.cost_critic.load(&format!("critic_{}", self.constraint), checkpoint)?;
        self.told = checkpoint.entry("told")?;
        (self.steps, self.updates) = load_counters(checkpoint, "", |steps| 0..=steps)?;
        Ok(())
    }
}
