//! The trained policy at one trade-off, and acting on many states at once.

use super::{
    CgCmarlOptions,
    actor::{ActingContext, Actor, states_per_shard},
    network::TwoHead,
    region_views::Averaging,
    team_value::TeamValue,
};
use crate::{
    algorithm::{TrainedModel, weights::load_weights},
    checkpoint::Checkpoint,
    coordination::{Coordination, Coordinator, FactorTables, SolverOptions},
    environment::{Batch, Policy, Spec, View},
    error::Result,
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};
use rayon::prelude::*;
use std::sync::Arc;

/// What CG-CMARL trained: one network for every trade-off.
#[derive(Clone)]
pub struct CgCmarlModel {
    network: Arc<TwoHead>,
    parameters: Arc<Vec<f32>>,
    acting: SolverOptions,
    averaging: Averaging,
    n_constraints: usize,
}

impl CgCmarlModel {
    pub(super) fn new(
        options: &CgCmarlOptions,
        spec: &Spec,
        network: Arc<TwoHead>,
        parameters: Arc<Vec<f32>>,
    ) -> Self {
        Self {
            network,
            parameters,
            acting: options.acting.clone(),
            averaging: options.averaging(),
            n_constraints: spec.n_constraints(),
        }
    }

    /// What a checkpoint holds, for environments that are seen like this.
    pub fn load(
        options: &CgCmarlOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Self> {
        options.acting.check()?;
        let network = TwoHead::for_view(&options.network, view)?;
        let mut parameters = vec![0.0; network.layout().len()];
        load_weights(network.layout(), "averaged", weights, &mut parameters)?;
        Ok(Self::new(options, view.spec(), Arc::new(network), Arc::new(parameters)))
    }

    /// The policy at one multiplier, the same for all constraints.
    pub fn policy_at(&self, multiplier: f32) -> CgCmarlPolicy {
        self.policy_with(vec![multiplier; self.n_constraints])
    }

    /// The policy at one multiplier per constraint.
    pub fn policy_with(&self, multipliers: Vec<f32>) -> CgCmarlPolicy {
        CgCmarlPolicy { model: self.clone(), multipliers, actors: Vec::new(), rows: Vec::new() }
    }

    /// Its network and numbers, for those who look inside its decisions.
    pub fn context<'a>(&'a self, view: &'a dyn View) -> ActingContext<'a> {
        ActingContext { network: &self.network, parameters: &self.parameters, view, noise: None }
    }
}

impl TrainedModel for CgCmarlModel {
    fn has_multipliers(&self) -> bool {
        true
    }

    fn label(&self) -> String {
        String::new()
    }

    fn policy(&self, multipliers: &[f32]) -> Box<dyn Policy> {
        Box::new(self.policy_with(multipliers.to_vec()))
    }
}

/// The trained policy at one trade-off.
pub struct CgCmarlPolicy {
    model: CgCmarlModel,
    multipliers: Vec<f32>,
    actors: Vec<Actor>,
    rows: Vec<f32>,
}

impl CgCmarlPolicy {
    /// Moves to another trade-off, one multiplier per constraint, from the next decision on.
    pub fn set_multipliers(&mut self, multipliers: &[f32]) {
        self.multipliers.copy_from_slice(multipliers);
    }

    /// Decides in one state and shows how: the graph, the augmented tables and their solution.
    pub fn decide(
        &mut self,
        view: &dyn View,
        state: &[f32],
        action: &mut JointAction,
    ) -> (&CoordinationGraph, &FactorTables, Coordination) {
        if self.actors.is_empty() {
            let actor = Actor::new(view, self.model.acting.build(), self.model.averaging);
            self.actors.push(actor);
        }
        self.actors[0].decide(self.model.context(view), state, &self.multipliers, action)
    }

    /// What it expects of a joint action: Σ_R Q_R of every head at its multipliers.
    pub fn team_values(&self, view: &dyn View, state: &[f32], action: &[usize]) -> Vec<f64> {
        let mut value = TeamValue::new(view, self.model.averaging);
        value.of(self.model.context(view), state, &self.multipliers, action)
    }

    /// Its network and numbers, for those who look inside its decisions.
    pub fn context<'a>(&'a self, view: &'a dyn View) -> ActingContext<'a> {
        self.model.context(view)
    }

    /// An actor that decides like this policy, with this coordinator or the policy's own.
    pub fn actor(&self, view: &dyn View, coordinator: Option<Box<dyn Coordinator>>) -> Actor {
        let coordinator = coordinator.unwrap_or_else(|| self.model.acting.build());
        Actor::new(view, coordinator, self.model.averaging)
    }

    /// Weight of each constraint.
    pub fn multipliers(&self) -> &[f32] {
        &self.multipliers
    }
}

impl Policy for CgCmarlPolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        self.rows.clear();
        (0..actions.len()).for_each(|_| self.rows.extend_from_slice(&self.multipliers));
        let Self { model, actors, rows, .. } = self;
        let coordinator = || model.acting.build();
        let context = model.context(batch.view);
        choose_in_shards(actors, context, coordinator, model.averaging, batch, rows, None, actions);
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.model.policy_with(self.multipliers.clone()))
    }
}

/// Chooses for many states on as many threads as there are; the shards depend on the states only.
pub(super) fn choose_in_shards(
    actors: &mut Vec<Actor>,
    context: ActingContext<'_>,
    coordinator: impl Fn() -> Box<dyn Coordinator>,
    averaging: Averaging,
    batch: Batch<'_>,
    multipliers: &[f32],
    rngs: Option<&mut [Rng]>,
    actions: &mut [JointAction],
) {
    let spec = batch.view.spec();
    let share = states_per_shard(actions.len(), spec.max_regions * averaging.frames);
    while actors.len() < actions.len().div_ceil(share) {
        actors.push(Actor::new(batch.view, coordinator(), averaging));
    }
    let rngs = rngs.unwrap_or_default();
    if actions.len() <= share {
        // Handing a single share to another thread would only cost time.
        return actors[0].choose(context, batch.states, multipliers, rngs, actions);
    }
    let width = multipliers.len() / actions.len();
    let shards = actors
        .par_iter_mut()
        .zip(batch.states.par_chunks(share * spec.state_width))
        .zip(multipliers.par_chunks(share * width))
        .zip(actions.par_chunks_mut(share));
    if rngs.is_empty() {
        shards.for_each(|(((actor, states), multipliers), actions)| {
            actor.choose(context, states, multipliers, &mut [], actions);
        });
    } else {
        shards.zip(rngs.par_chunks_mut(share)).for_each(
            |((((actor, states), multipliers), actions), rngs)| {
                actor.choose(context, states, multipliers, rngs, actions);
            },
        );
    }
}
