//! MAPPO and MAPPO-Lagrangian as the registry knows them.

use super::{Mappo, MappoLagOptions, PpoOptions, softmax_policy::GreedyPolicy};
use crate::{
    algorithm::{
        Algorithm, Learner, Need, Start, TrainedModel, agent_row_width, memory,
        penalty::trade_off_label,
    },
    checkpoint::Checkpoint,
    environment::{Policy, Spec, View},
    error::Result,
};
use toml::{Table, toml};

/// MAPPO as the registry knows it.
pub(in crate::algorithm) struct MappoAlgorithm;

/// MAPPO-Lagrangian as the registry knows it.
pub(in crate::algorithm) struct MappoLagAlgorithm;

/// Episodes that are played between updates, for their gradient to be worth a step.
fn rounds() -> Table {
    toml! { training.environments = 32 }
}

impl Algorithm for MappoAlgorithm {
    type Options = PpoOptions;

    fn name(&self) -> &'static str {
        "mappo"
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(&self, options: &PpoOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        memory(options, spec, n_environments, 0)
    }

    fn learner(&self, options: &PpoOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Mappo::new(options, None, start)?))
    }

    fn model(
        &self,
        options: &PpoOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let label = trade_off_label(&options.penalty, view.spec());
        let policy = GreedyPolicy::load(options, view.spec(), weights)?;
        Ok(Box::new(MappoModel { policy, label }))
    }
}

impl Algorithm for MappoLagAlgorithm {
    type Options = MappoLagOptions;

    fn name(&self) -> &'static str {
        "mappo_lag"
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(&self, options: &MappoLagOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        memory(&options.ppo, spec, n_environments, spec.n_constraints())
    }

    fn learner(&self, options: &MappoLagOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Mappo::new(&options.ppo, Some(&options.lagrangian), start)?))
    }

    fn model(
        &self,
        options: &MappoLagOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let limits: Vec<_> = options.lagrangian.cost_limit.iter().map(f32::to_string).collect();
        let label = format!("cost_limit={}", limits.join(","));
        let policy = GreedyPolicy::load(&options.ppo, view.spec(), weights)?;
        Ok(Box::new(MappoModel { policy, label }))
    }
}

/// What a learner will ask of the machine, by the setting that causes it.
fn memory(options: &PpoOptions, spec: &Spec, n_environments: usize, n_limits: usize) -> Vec<Need> {
    let seen = agent_row_width(spec, options.identity) as f64;
    let actor = memory::widths(seen, &options.hidden, spec.n_actions() as f64);
    let critic = memory::widths(seen + spec.state_width as f64, &options.hidden, 1.0);
    let parameters =
        memory::parameters(&actor) + (1.0 + n_limits as f64) * memory::parameters(&critic);
    let trajectories = n_environments as f64 * spec.n_agents() as f64;
    let step = 2.0 * critic[0] + memory::row(&actor) + memory::row(&critic) + n_limits as f64;
    vec![
        Need::parameters("hidden", parameters),
        Need::numbers("environments", trajectories * spec.horizon as f64 * step),
    ]
}

/// What was trained: the actor.
struct MappoModel {
    policy: GreedyPolicy,
    label: String,
}

impl TrainedModel for MappoModel {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn policy(&self, _multipliers: &[f32]) -> Box<dyn Policy> {
        self.policy.boxed_clone()
    }
}
