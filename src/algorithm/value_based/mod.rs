//! Q-learning from joint transitions, for every baseline with a memory: ε-greedy acting, replay,
//! target network, Adam and the evaluated average. What is learned is the algorithm's own.

mod agent_network;
mod agent_value;
pub mod casec;
#[cfg(test)]
mod checks;
pub mod dcg;
mod hypernetworks;
pub mod iql;
mod joint_batch;
mod model;
mod options;
mod pair_network;
mod pair_value;
pub mod qmix;
#[cfg(test)]
mod reference;
mod reward_scale;
mod row_network;
mod table_variance;
mod team;
pub mod vdn;

pub use agent_network::{AgentNetwork, AgentNetworkOptions};
pub use agent_value::AgentValueOptions;
pub use joint_batch::JointBatch;
pub use model::QModel;
pub use options::QLearningOptions;

use super::{
    Algorithm, Learner, Need, Start, TrainedModel, different_rows, memory,
    on_policy::clip_gradient,
    penalty::{Penalties, trade_off_label},
    weights::{load_weights, save_weights},
};
use crate::{
    checkpoint::Checkpoint,
    environment::{Batch, Spec, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    nn::{Adam, Follower, Gradient, Layout},
    rng::{Purpose, Rng},
    schedule::Linear,
};
use options::{usual_exploration, usual_recipe};
use serde::Serialize;
use team::Team;
use toml::Table;

/// The parameters of one update.
#[derive(Clone, Copy, Debug)]
pub struct Networks<'a> {
    /// Chooses and learns.
    pub online: &'a [f32],
    /// Values the next action.
    pub target: &'a [f32],
}

/// What tells one algorithm from another: how it values a joint action, with buffers of its own.
pub trait JointValue: Send + Sync {
    /// Where its parameters lie.
    fn layout(&self) -> &Layout;
    /// Writes the greedy joint action of every state.
    fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]);
    /// Adds the gradient of the batch's mean loss; returns the loss.
    fn learn(
        &mut self,
        networks: Networks<'_>,
        view: &dyn View,
        batch: &JointBatch,
        gradient: &mut [f32],
    ) -> f32;
    /// A copy that acts as the trained policy.
    fn boxed_clone(&self) -> Box<dyn JointValue>;
}

/// An algorithm of this family: what it values, and how that is learned.
pub trait ValueBased: Send + Sync + 'static {
    /// Everything about it that users may set.
    type Options: Default + Serialize + serde::de::DeserializeOwned;
    /// The name users write.
    const NAME: &'static str;
    /// Whether its batches are counted in pairs of agents.
    const PAIRS: bool = false;

    /// Parameters, and numbers that one state takes on its way through, by the setting that causes them.
    fn sizes(options: &Self::Options, spec: &Spec) -> Vec<(&'static str, f64, f64)>;
    /// Its value for an environment, with every buffer it needs.
    fn value(options: &Self::Options, spec: &Spec) -> Result<Box<dyn JointValue>>;
    /// How it learns and explores.
    fn learning(options: &Self::Options) -> (&QLearningOptions, Linear);
    /// Whether its networks fit teams of every size.
    fn fits_any_team(_options: &Self::Options) -> bool {
        false
    }
}

impl<V: ValueBased> Algorithm for V {
    type Options = V::Options;

    fn name(&self) -> &'static str {
        V::NAME
    }

    fn recipe(&self, spec: &Spec) -> Table {
        usual_recipe(V::NAME, spec.n_agents(), V::PAIRS)
    }

    fn memory(&self, options: &V::Options, spec: &Spec, n_environments: usize) -> Vec<Need> {
        let (learning, _) = V::learning(options);
        let sizes = V::sizes(options, spec);
        let per_state: f64 = sizes.iter().map(|(_, _, state)| state).sum();
        let batch = learning.batch_size as f64 * (per_state + 2.0 * spec.state_width as f64);
        let rows = memory::replay(spec, learning.buffer_size as f64, spec.n_agents() as f64);
        let mut needs = vec![
            Need::numbers("buffer_size", rows),
            Need::numbers("batch_size", batch),
            Need::numbers("environments", n_environments as f64 * per_state),
        ];
        needs.extend(sizes.iter().map(|(key, count, _)| Need::parameters(key, *count)));
        needs
    }

    fn learner(&self, options: &V::Options, start: Start<'_>) -> Result<Box<dyn Learner>> {
        let (learning, exploration) = V::learning(options);
        let values = start.teams.iter().map(|view| V::value(options, view.spec()));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(QLearner::new(values, learning, exploration, start)?))
    }

    fn model(
        &self,
        options: &V::Options,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let value = V::value(options, view.spec())?;
        let label = trade_off_label(&V::learning(options).0.penalty, view.spec());
        Ok(Box::new(QModel::load(value, label, weights)?))
    }

    fn fits_any_team(&self, options: &V::Options) -> bool {
        V::fits_any_team(options)
    }
}

/// Half the squared error of one value, and the error itself.
pub(super) fn squared(value: f32, reward: f32, discount: f32, next_value: f32) -> (f32, f32) {
    let error = value - super::cg_cmarl::bootstrap(reward, discount, next_value);
    (0.5 * error * error, error)
}

/// The learner of one such algorithm: one set of parameters for all its teams.
pub struct QLearner {
    learning: QLearningOptions,
    exploration: Linear,
    total_steps: u64,
    online: Vec<f32>,
    target: Vec<f32>,
    averaged: Vec<f32>,
    gradient: Gradient,
    adam: Adam,
    penalties: Penalties,
    /// The teams that learn together, the training's own last.
    teams: Vec<Team>,
    /// Which of them plays now.
    team: usize,
    loss: f32,
    failure: Option<Error>,
}

impl QLearner {
    /// A fresh learner, with a value for each team.
    pub fn new(
        values: Vec<Box<dyn JointValue>>,
        learning: &QLearningOptions,
        exploration: Linear,
        start: Start<'_>,
    ) -> Result<Self> {
        learning.check()?;
        exploration.check("exploration", 1.0)?;
        let Start { total_steps, streams, .. } = start;
        let layout = values[0].layout();
        if values.iter().any(|value| value.layout() != layout) {
            return Err(different_rows(start));
        }
        let online = layout.initialise(&mut streams.rng(Purpose::Initialisation, 0));
        let team = |(number, value)| Team::new(value, learning, start, number);
        Ok(Self {
            learning: learning.clone(),
            exploration,
            total_steps,
            target: online.clone(),
            averaged: online.clone(),
            gradient: Gradient::dense(vec![0.0; online.len()]),
            adam: Adam::new(learning.adam, online.len()),
            penalties: Penalties::new(&learning.penalty, start.view().spec())?,
            teams: values.into_iter().enumerate().map(team).collect(),
            team: start.teams.len() - 1,
            loss: 0.0,
            failure: None,
            online,
        })
    }

    /// Steps of all teams.
    fn steps(&self) -> u64 {
        self.teams.iter().map(|team| team.steps).sum()
    }

    /// Updates from the memories of all teams.
    fn updates(&self) -> u64 {
        self.teams.iter().map(|team| team.updates).sum()
    }

    fn layout(&self) -> &Layout {
        self.teams[0].value.layout()
    }

    fn learn(&mut self, view: &dyn View) {
        self.teams[self.team].draw(&self.learning, view);
        self.descend(view);
    }

    /// One step against the loss of the batch, and the other networks after it.
    fn descend(&mut self, view: &dyn View) {
        let QLearningOptions { lr, lr_final_share, .. } = self.learning;
        let step = self.steps();
        let team = &mut self.teams[self.team];
        if self.learning.standardise_rewards {
            team.standardise();
        }
        self.gradient.clear();
        let networks = Networks { online: &self.online, target: &self.target };
        let loss = team.value.learn(networks, view, &team.batch, self.gradient.values_mut());
        if !loss.is_finite() {
            self.failure = Some(Error::Diverged { step, what: "loss".into(), value: loss });
            return;
        }
        self.loss += 0.01 * (loss - self.loss);
        let progress = (step as f64 / self.total_steps.max(1) as f64).min(1.0) as f32;
        let lr = lr * (1.0 + (lr_final_share - 1.0) * progress);
        clip_gradient(self.gradient.values_mut(), self.learning.max_grad_norm);
        team.updates += 1;
        // A fixed rate would remember the first weights for long.
        let rate = self.learning.average_rate.max(1.0 / (self.updates() + 1) as f32);
        let target = if self.updates().is_multiple_of(self.learning.target_interval) {
            Follower { numbers: &mut self.target, rate: self.learning.polyak_tau }
        } else {
            Follower::nobody()
        };
        let followers = [Follower { numbers: &mut self.averaged, rate }, target];
        self.adam.step_followed(lr, &[&self.gradient], &mut self.online, followers);
    }
}

impl Controller for QLearner {
    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let share = self.exploration.at(self.steps());
        let Team { value, masks, .. } = &mut self.teams[self.team];
        value.act(&self.online, batch, actions);
        masks.read(batch.view, batch.states);
        masks.explore(share, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let team = &mut self.teams[self.team];
        team.steps += 1;
        let rewards = self.penalties.rewards(transition.outcome);
        team.reward_scale.follow(rewards);
        JointBatch::remember(&mut team.replay, transition, rewards, self.learning.time_limit_ends);
    }

    fn update(&mut self, view: &dyn View) {
        while self.teams[self.team].is_due(&self.learning) && self.failure.is_none() {
            self.learn(view);
        }
    }
}

impl Learner for QLearner {
    fn turn_to(&mut self, team: usize) {
        self.team = team;
    }

    fn end_episode(&mut self, _slot: usize, _summary: &Summary) {}

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        vec![
            ("loss".into(), self.loss),
            ("epsilon".into(), self.exploration.at(self.steps())),
            ("updates".into(), self.updates() as f32),
        ]
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        save_weights(self.layout(), "averaged", &self.averaged, checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let layout = self.teams[0].value.layout();
        load_weights(layout, "averaged", checkpoint, &mut self.averaged)?;
        self.online.copy_from_slice(&self.averaged);
        self.target.copy_from_slice(&self.averaged);
        Ok(())
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        let layout = self.layout();
        save_weights(layout, "online", &self.online, checkpoint);
        save_weights(layout, "target", &self.target, checkpoint);
        save_weights(layout, "averaged", &self.averaged, checkpoint);
        save_weights(layout, "adam.mean", &self.adam.mean, checkpoint);
        save_weights(layout, "adam.root", &self.adam.root, checkpoint);
        checkpoint.push("loss", &[1], std::slice::from_ref(&self.loss));
        checkpoint.set("adam_steps", self.adam.steps);
        self.teams.iter().for_each(|team| team.save(checkpoint));
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let layout = self.teams[0].value.layout();
        load_weights(layout, "online", checkpoint, &mut self.online)?;
        load_weights(layout, "target", checkpoint, &mut self.target)?;
        load_weights(layout, "averaged", checkpoint, &mut self.averaged)?;
        load_weights(layout, "adam.mean", checkpoint, &mut self.adam.mean)?;
        load_weights(layout, "adam.root", checkpoint, &mut self.adam.root)?;
        self.loss = checkpoint.get_shaped("loss", &[1])?[0];
        self.adam.steps = checkpoint.count("adam_steps")?;
        self.teams.iter_mut().try_for_each(|team| team.load(&self.learning, checkpoint))
    }
}
