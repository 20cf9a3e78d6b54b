//! MAPPO, MAPPO-Lagrangian, λ-conditioned MAPPO and MACPO as the registry knows them.

use super::{
    Macpo, MacpoOptions, Mappo, MappoLagOptions, MappoLambdaOptions, PpoOptions, Pricing,
    options::published, softmax_policy::GreedyPolicy,
};
use crate::{
    algorithm::{
        Algorithm, Learner, Need, Start, TrainedModel, agent_row_width, memory,
        penalty::trade_off_label,
    },
    checkpoint::Checkpoint,
    environment::{Policy, Spec, View},
    error::Result,
};
use toml::{Table, Value, toml};

/// MAPPO as the registry knows it.
pub(in crate::algorithm) struct MappoAlgorithm;

/// MAPPO-Lagrangian as the registry knows it.
pub(in crate::algorithm) struct MappoLagAlgorithm;

/// λ-conditioned MAPPO as the registry knows it.
pub(in crate::algorithm) struct MappoLambdaAlgorithm;

/// MACPO as the registry knows it.
pub(in crate::algorithm) struct MacpoAlgorithm;

/// Name of the preset with the settings of the publication.
const PUBLISHED: &str = "published";

/// Episodes that are played between updates, for their gradient to be worth a step.
fn rounds() -> Table {
    toml! { training.environments = 32 }
}

/// The published settings, at the place where an algorithm keeps what it shares with MAPPO.
fn published_rounds(preset: &str, path: &[&str]) -> Table {
    if preset != PUBLISHED {
        return Table::new();
    }
    let nest = |inner: Table, key: &&str| -> Table {
        [((*key).to_owned(), Value::Table(inner))].into_iter().collect()
    };
    let mut settings = path.iter().rev().fold(published(), nest);
    settings.extend(toml! { training.environments = 128 });
    settings
}

impl Algorithm for MappoAlgorithm {
    type Options = PpoOptions;

    fn name(&self) -> &'static str {
        "mappo"
    }

    fn presets(&self) -> &'static [&'static str] {
        &[PUBLISHED]
    }

    fn preset(&self, preset: &str) -> Table {
        published_rounds(preset, &["mappo"])
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(&self, options: &PpoOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        memory(options, spec, n_environments, 0)
    }

    fn learner(&self, options: &PpoOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Mappo::new(options, Pricing::Free, start)?))
    }

    fn model(
        &self,
        options: &PpoOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let label = trade_off_label(&options.penalty, view.spec());
        let policy = GreedyPolicy::load(options, view.spec(), (1, 0), weights)?;
        Ok(Box::new(MappoModel { policy, label }))
    }

    fn fits_any_team(&self, options: &PpoOptions) -> bool {
        options.fits_any_team()
    }
}

impl Algorithm for MappoLagAlgorithm {
    type Options = MappoLagOptions;

    fn name(&self) -> &'static str {
        "mappo_lag"
    }

    fn presets(&self) -> &'static [&'static str] {
        &[PUBLISHED]
    }

    fn preset(&self, preset: &str) -> Table {
        published_rounds(preset, &["mappo_lag", "ppo"])
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(&self, options: &MappoLagOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        memory(&options.ppo, spec, n_environments, spec.n_constraints())
    }

    fn learner(&self, options: &MappoLagOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Mappo::new(&options.ppo, Pricing::Limited(&options.lagrangian), start)?))
    }

    fn model(
        &self,
        options: &MappoLagOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let limits: Vec<_> = options.lagrangian.cost_limit.iter().map(f32::to_string).collect();
        let label = format!("cost_limit={}", limits.join(","));
        let policy = GreedyPolicy::load(&options.ppo, view.spec(), (1, 0), weights)?;
        Ok(Box::new(MappoModel { policy, label }))
    }

    fn fits_any_team(&self, options: &MappoLagOptions) -> bool {
        options.ppo.fits_any_team()
    }
}

impl Algorithm for MappoLambdaAlgorithm {
    type Options = MappoLambdaOptions;

    fn name(&self) -> &'static str {
        "mappo_lambda"
    }

    fn presets(&self) -> &'static [&'static str] {
        &[PUBLISHED]
    }

    fn preset(&self, preset: &str) -> Table {
        published_rounds(preset, &["mappo_lambda", "ppo"])
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(
        &self,
        options: &MappoLambdaOptions,
        spec: &Spec,
        n_environments: usize,
    ) -> Vec<Need> {
        memory(&options.ppo, spec, n_environments, spec.n_constraints())
    }

    fn learner(&self, options: &MappoLambdaOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Mappo::new(&options.ppo, Pricing::Sampled(&options.sampling), start)?))
    }

    fn model(
        &self,
        options: &MappoLambdaOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let n_multipliers = view.spec().n_constraints();
        let policy = GreedyPolicy::load(&options.ppo, view.spec(), (1, n_multipliers), weights)?;
        Ok(Box::new(ConditionedModel(policy)))
    }

    fn fits_any_team(&self, options: &MappoLambdaOptions) -> bool {
        options.ppo.fits_any_team()
    }
}

impl Algorithm for MacpoAlgorithm {
    type Options = MacpoOptions;

    fn name(&self) -> &'static str {
        "macpo"
    }

    fn recipe(&self, _spec: &Spec) -> Table {
        rounds()
    }

    fn memory(&self, options: &MacpoOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        let mut needs = memory(&options.ppo, spec, n_environments, 1);
        // A policy for each agent.
        let seen = agent_row_width(spec, options.ppo.identity) as f64;
        let actor = memory::widths(seen, &options.ppo.hidden, spec.n_actions() as f64);
        let policies = spec.n_agents() as f64 * memory::parameters(&actor);
        needs.push(Need::parameters("hidden", policies));
        needs
    }

    fn learner(&self, options: &MacpoOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(Macpo::new(options, start)?))
    }

    fn model(
        &self,
        options: &MacpoOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        let limits: Vec<_> = options.cost_limit.iter().map(f32::to_string).collect();
        let label = format!("cost_limit={}", limits.join(","));
        let spec = view.spec();
        let policy = GreedyPolicy::load(&options.ppo, spec, (spec.n_agents(), 0), weights)?;
        Ok(Box::new(MappoModel { policy, label }))
    }
}

/// What a learner will ask of the machine, by the setting that causes it.
fn memory(options: &PpoOptions, spec: &Spec, n_environments: usize, n_limits: usize) -> Vec<Need> {
    let seen = agent_row_width(spec, options.identity) as f64;
    let actor = memory::widths(seen, &options.hidden, spec.n_actions() as f64);
    let shown = if options.global_state { spec.state_width as f64 } else { 0.0 };
    let critic = memory::widths(seen + shown, &options.hidden, 1.0);
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

/// What was trained for every price: the actor, which sees the multipliers.
struct ConditionedModel(GreedyPolicy);

impl TrainedModel for ConditionedModel {
    fn has_multipliers(&self) -> bool {
        true
    }

    fn label(&self) -> String {
        "trained".into()
    }

    fn policy(&self, multipliers: &[f32]) -> Box<dyn Policy> {
        Box::new(self.0.at(multipliers))
    }
}
