//! CG-CMARL: one network for all regions, coordinated action, multipliers set by the user afterwards.

mod actor;
mod algorithm;
mod augmented;
#[cfg(test)]
mod augmented_tests;
mod exploration;
#[cfg(test)]
mod frame_tests;
mod head;
#[cfg(test)]
mod leaving_tests;
mod network;
mod options;
mod pass;
mod policy;
mod posed_terms;
#[cfg(test)]
mod reference;
mod region_views;
mod sampling;
mod targets;
mod td;
mod team;
mod team_value;
#[cfg(test)]
mod tests;
mod tied_pair;
mod transitions;
mod value;
#[cfg(test)]
mod warm_start_tests;
mod weights;

pub use actor::{ActingContext, Actor};
pub(super) use algorithm::CgCmarlAlgorithm;
pub use exploration::TableNoise;
pub use head::{Head, HeadKind};
pub use network::{TwoHead, TwoHeadWorkspace};
pub use options::{CgCmarlOptions, LearningOptions};
pub(super) use options::{draw_multipliers, wrong_length};
pub use policy::{CgCmarlModel, CgCmarlPolicy};
pub use region_views::Averaging;
pub use sampling::Sample;
pub use targets::{
    HeadTargets, NextValues, augment, bootstrap, head_targets, polyak, summed_error,
    two_head_targets,
};
pub use td::{ErrorKind, NextAction, TdInputs, TdRule, TdShard};
pub use value::{NetworkOptions, ValueKind, augmented_reward};

use super::{Learner, Start};
use crate::{
    checkpoint::Checkpoint,
    environment::{Batch, View},
    episode::{Controller, Summary, Transition},
    error::{Error, Result},
    graph::JointAction,
    multipliers::MultiplierMode,
    rng::{Purpose, Rng},
};
use options::check;
use std::sync::Arc;
use team::Team;
use weights::Weights;

/// The learner: one network for all its teams.
pub struct CgCmarl {
    options: CgCmarlOptions,
    total_steps: u64,
    network: Arc<TwoHead>,
    weights: Weights,
    /// The teams that learn together, the training's own last.
    teams: Vec<Team>,
    /// Which of them plays now.
    team: usize,
    losses: Vec<f32>,
    latest: Vec<f32>,
    failure: Option<Error>,
}

impl CgCmarl {
    /// A fresh learner.
    pub fn new(options: &CgCmarlOptions, start: Start<'_>) -> Result<Self> {
        let spec = start.view().spec();
        check(options, spec)?;
        let network = TwoHead::for_view(&options.network, start.view())?;
        let rng = &mut start.streams.rng(Purpose::Initialisation, 0);
        let n_heads = network.n_heads();
        let numbers = 0..start.teams.len();
        Ok(Self {
            total_steps: start.total_steps,
            weights: Weights::new(&options.learning, &network, rng),
            network: Arc::new(network),
            team: start.teams.len() - 1,
            teams: numbers
                .map(|number| Team::new(options, start, number))
                .collect::<Result<_>>()?,
            losses: vec![0.0; n_heads],
            latest: vec![0.0; n_heads],
            failure: None,
            options: options.clone(),
        })
    }

    /// Steps of all teams.
    fn steps(&self) -> u64 {
        self.teams.iter().map(|team| team.steps).sum()
    }

    /// One update of both networks (lines "Q-Network Update" of Algorithm CG-CMARL Training).
    fn learn(&mut self, view: &dyn View) {
        let steps = self.steps();
        let Self { options, network, weights, latest, .. } = self;
        let team = &mut self.teams[self.team];
        team.measure(options, (network.as_ref(), weights), view, latest);
        let progress = (steps as f64 / self.total_steps.max(1) as f64).min(1.0) as f32;
        let (gradients, n_shares) = team.gradients();
        weights.descend(&gradients[..n_shares], progress);
        self.follow_losses(steps);
    }

    fn follow_losses(&mut self, step: u64) {
        for (head, (mean, &value)) in self.losses.iter_mut().zip(&self.latest).enumerate() {
            if !value.is_finite() && self.failure.is_none() {
                let what =
                    if head == 0 { "primary loss".into() } else { format!("cost loss {head}") };
                self.failure = Some(Error::Diverged { step, what, value });
            }
            *mean += 0.01 * (value - *mean);
        }
    }

    /// What was trained so far, to play with.
    pub fn model(&self) -> CgCmarlModel {
        let parameters = Arc::new(self.weights.evaluated().to_vec());
        let spec = &self.teams[self.teams.len() - 1].spec;
        CgCmarlModel::new(&self.options, spec, Arc::clone(&self.network), parameters)
    }
}

impl Controller for CgCmarl {
    fn begin(&mut self, slot: usize, rng: &mut Rng) {
        self.teams[self.team].begin(&self.options, slot, rng);
    }

    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        let (options, steps) = (&self.options, self.steps());
        let exploration = (options.exploration.at(steps), options.random_actions.at(steps));
        let network = (self.network.as_ref(), &self.weights.online[..]);
        self.teams[self.team].act(options, network, exploration, batch, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        self.teams[self.team].observe(transition);
    }

    fn update(&mut self, view: &dyn View) {
        while self.teams[self.team].is_due(&self.options) && self.failure.is_none() {
            self.learn(view);
        }
    }
}

impl Learner for CgCmarl {
    fn turn_to(&mut self, team: usize) {
        self.team = team;
    }

    fn end_episode(&mut self, slot: usize, summary: &Summary) {
        self.teams[self.team].end_episode(slot, summary);
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn report(&self) -> Vec<(String, f32)> {
        let mut report = vec![
            ("loss_primary".into(), self.losses[0]),
            ("noise".into(), self.options.exploration.at(self.steps())),
            ("updates".into(), self.weights.updates as f32),
        ];
        let team = &self.teams[self.team];
        for (j, name) in team.spec.constraint_names().iter().enumerate() {
            if let Some(&loss) = self.losses.get(j + 1) {
                report.push((format!("loss_{name}"), loss));
            }
            if self.options.multipliers.mode == MultiplierMode::Learned {
                report.push((format!("multiplier_{name}"), team.multipliers.mean(j)));
                if team.multipliers.are_own() {
                    let spread = team.multipliers.disagreement(j);
                    report.push((format!("multiplier_spread_{name}"), spread));
                }
            }
        }
        report
    }

    fn save_model<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.weights.save_model(self.network.layout(), checkpoint);
    }

    fn load_model(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.weights.load_model(self.network.layout(), checkpoint)
    }

    fn save<'a>(&'a self, checkpoint: &mut Checkpoint<'a>) {
        self.weights.save(self.network.layout(), checkpoint);
        self.teams.iter().for_each(|team| team.save(checkpoint));
        checkpoint.push("losses", &[self.losses.len()], &self.losses[..]);
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        for team in &mut self.teams {
            team.load(&self.options, checkpoint)?;
        }
        let updates = self.teams.iter().map(|team| team.updates).sum();
        self.weights.load(self.network.layout(), checkpoint, updates)?;
        let n_heads = self.losses.len();
        self.losses.copy_from_slice(checkpoint.get_shaped("losses", &[n_heads])?);
        Ok(())
    }
}
