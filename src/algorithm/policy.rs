//! The trained policy at one trade-off, and acting on many states at once.

use super::{
    actor::{Actor, Averaging, Stage, states_per_shard},
    exploration::TableNoise,
    two_head::TwoHead,
};
use crate::{
    coordination::{Coordination, Coordinator, FactorTables, SolverOptions},
    environment::View,
    episode::{Player, Scene},
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};
use rayon::prelude::*;
use std::sync::Arc;

/// The trained policy at one trade-off.
pub struct CgCmarlPolicy {
    pub(super) network: Arc<TwoHead>,
    pub(super) parameters: Arc<Vec<f32>>,
    pub(super) multipliers: Vec<f32>,
    pub(super) acting: SolverOptions,
    pub(super) averaging: Averaging,
    pub(super) noise: Arc<TableNoise>,
    pub(super) actors: Vec<Actor>,
    pub(super) rows: Vec<f32>,
}

impl CgCmarlPolicy {
    /// Moves to another trade-off: one multiplier for all constraints, from the next decision on.
    pub fn set_multiplier(&mut self, multiplier: f32) {
        self.multipliers.fill(multiplier);
    }

    /// Decides in one state and shows how: the graph, the augmented tables and their solution.
    pub fn decide(
        &mut self,
        view: &dyn View,
        state: &[f32],
        action: &mut JointAction,
    ) -> (&CoordinationGraph, &FactorTables, Coordination) {
        if self.actors.is_empty() {
            self.actors.push(Actor::new(view, self.acting.build(), self.averaging));
        }
        let stage = Stage {
            network: &self.network,
            parameters: &self.parameters,
            view,
            noise_scale: 0.0,
            noise: &self.noise,
        };
        self.actors[0].decide(stage, state, &self.multipliers, action)
    }

    /// Its network and numbers, for those who look inside its decisions.
    pub fn stage<'a>(&'a self, view: &'a dyn View) -> Stage<'a> {
        Stage {
            network: &self.network,
            parameters: &self.parameters,
            view,
            noise_scale: 0.0,
            noise: &self.noise,
        }
    }

    /// An actor that decides like this policy, with this coordinator or the policy's own.
    pub fn actor(&self, view: &dyn View, coordinator: Option<Box<dyn Coordinator>>) -> Actor {
        let coordinator = coordinator.unwrap_or_else(|| self.acting.build());
        Actor::new(view, coordinator, self.averaging)
    }

    /// Weight of each constraint.
    pub fn multipliers(&self) -> &[f32] {
        &self.multipliers
    }
}

impl Player for CgCmarlPolicy {
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.rows.clear();
        (0..actions.len()).for_each(|_| self.rows.extend_from_slice(&self.multipliers));
        let stage = Stage {
            network: &self.network,
            parameters: &self.parameters,
            view: scene.view,
            noise_scale: 0.0,
            noise: &self.noise,
        };
        let coordinator = || self.acting.build();
        choose_in_shards(
            &mut self.actors,
            stage,
            coordinator,
            self.averaging,
            scene,
            &self.rows,
            rngs,
            actions,
        );
    }
}

/// Chooses for many states on as many threads as there are; the shards depend on the graph only.
pub(super) fn choose_in_shards(
    actors: &mut Vec<Actor>,
    stage: Stage<'_>,
    coordinator: impl Fn() -> Box<dyn Coordinator>,
    averaging: Averaging,
    scene: Scene<'_>,
    multipliers: &[f32],
    rngs: &mut [Rng],
    actions: &mut [JointAction],
) {
    let spec = scene.view.spec();
    let share = states_per_shard(spec.max_regions * averaging.symmetries);
    while actors.len() < actions.len().div_ceil(share) {
        actors.push(Actor::new(scene.view, coordinator(), averaging));
    }
    if actions.len() <= share {
        // Handing a single share to another thread would only cost time.
        return actors[0].choose(stage, scene.states, multipliers, rngs, actions);
    }
    let n_constraints = spec.constraints.len();
    actors
        .par_iter_mut()
        .zip(scene.states.par_chunks(share * spec.state_width))
        .zip(multipliers.par_chunks(share * n_constraints))
        .zip(rngs.par_chunks_mut(share))
        .zip(actions.par_chunks_mut(share))
        .for_each(|((((actor, states), multipliers), rngs), actions)| {
            actor.choose(stage, states, multipliers, rngs, actions);
        });
}
