//! Who decides: what was trained, at any trade-off, a reference of the task, or chance.

use super::Edge;
use cgcmarl::{
    Error, Model, Result,
    algorithm::{CgCmarlOptions, CgCmarlPolicy, TrainedModel},
    coordination::{Coordinator, MaxSum, MaxSumOptions},
    environment::{Batch, Policy, Scenario, View},
    episode::Controller,
    evaluation::{RandomPolicy, front::RANDOM},
    graph::JointAction,
    rng::Rng,
};

/// The policy that is played.
pub(super) enum Chosen {
    Trained(Box<Trained>),
    Reference(Box<dyn Policy>),
    Random(RandomPolicy),
}

/// What was trained, at the trade-off that was asked for last.
pub(super) struct Trained {
    model: Box<dyn TrainedModel>,
    multipliers: Vec<f32>,
    policy: Box<dyn Policy>,
    regions: Option<Regions>,
}

/// Says again what the regions said to a decision: its tables once more, with the messages kept.
struct Regions {
    policy: CgCmarlPolicy,
    messages: MaxSum,
}

/// Names of the policies that are played beside every front.
pub(crate) fn reference_names(scenario: &Scenario) -> Result<Vec<String>> {
    let own = scenario.references()?.into_iter().map(|reference| reference.name);
    Ok(own.chain([RANDOM.to_owned()]).collect())
}

impl Chosen {
    pub(super) fn trained(model: &Model, scenario: &Scenario) -> Result<Self> {
        let trained = model.trained(scenario)?;
        let multipliers = vec![0.0; scenario.spec()?.n_constraints()];
        let regions =
            if trained.has_multipliers() { Regions::of(model, scenario).ok() } else { None };
        let policy = trained.policy(&multipliers);
        Ok(Self::Trained(Box::new(Trained { model: trained, multipliers, policy, regions })))
    }

    pub(super) fn reference(name: &str, scenario: &Scenario) -> Result<Self> {
        if name == RANDOM {
            return Ok(Self::Random(RandomPolicy::default()));
        }
        let found = scenario.references()?.into_iter().find(|reference| reference.name == name);
        if let Some(reference) = found {
            return Ok(Self::Reference(reference.policy));
        }
        let names = reference_names(scenario)?;
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        let reason = format!("{} has {}", scenario.name(), names.join(", "));
        Err(Error::setting("policy", name, reason))
    }

    /// Moves to another trade-off, where there is a choice.
    pub(super) fn set_multipliers(&mut self, multipliers: &[f32]) {
        let Self::Trained(trained) = self else { return };
        if trained.model.has_multipliers() && trained.multipliers != multipliers {
            trained.multipliers = multipliers.to_vec();
            trained.policy = trained.model.policy(multipliers);
        }
    }

    /// The regions and how firmly each speaks in a state; none where nobody coordinates.
    pub(super) fn edges(
        &mut self,
        view: &dyn View,
        state: &[f32],
        multipliers: &[f32],
    ) -> Vec<Edge> {
        let Self::Trained(trained) = self else { return vec![] };
        let Some(regions) = &mut trained.regions else { return vec![] };
        regions.policy.set_multipliers(multipliers);
        let (graph, tables, _) = regions.policy.decide(view, state, &mut JointAction::new());
        regions.messages.coordinate(graph, tables, &mut JointAction::new());
        let edge =
            |(region, strength): (&[usize], f32)| Edge { members: region.to_vec(), strength };
        graph.regions().zip(regions.messages.strengths()).map(edge).collect()
    }
}

impl Regions {
    fn of(model: &Model, scenario: &Scenario) -> Result<Self> {
        let CgCmarlOptions { acting, .. } = model.config.typed_options()?;
        let messages = MaxSum::new(MaxSumOptions {
            msg_iterations: acting.msg_iterations,
            damping: acting.damping,
            ..MaxSumOptions::default()
        });
        Ok(Self { policy: model.cg_cmarl(scenario)?.policy_at(0.0), messages })
    }
}

impl Controller for Chosen {
    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        match self {
            Self::Trained(trained) => trained.policy.act(batch, actions),
            Self::Reference(policy) => policy.act(batch, actions),
            Self::Random(random) => random.act(batch, rngs, actions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::rng::{Purpose, Streams};

    /// How firmly each region speaks in a state under a symmetry.
    fn strengths(chosen: &mut Chosen, view: &dyn View, state: &[f32], symmetry: usize) -> Vec<f32> {
        let mut state = state.to_vec();
        view.transform_state(symmetry, &mut state);
        let multipliers = vec![0.5; view.spec().n_constraints()];
        let edges = chosen.edges(view, &state, &multipliers);
        edges.into_iter().map(|edge| edge.strength).collect()
    }

    #[test]
    fn regions_speak_as_firmly_in_a_turned_world() {
        for name in ["simple_spread", "simple_spread_3", "simple_tag"] {
            let model = format!("{}/../models/{name}", env!("CARGO_MANIFEST_DIR"));
            let model = Model::open(model).unwrap();
            let scenario = model.scenario().unwrap();
            let environment = scenario.build().unwrap();
            let view = environment.view();
            let mut chosen = Chosen::trained(&model, &scenario).unwrap();
            let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
            let width = view.spec().state_width;
            let state: Vec<f32> = (0..width).map(|_| rng.range(-1.0, 1.0) as f32).collect();
            let plain = strengths(&mut chosen, view, &state, 0);
            assert!(plain.iter().any(|&strength| strength > 0.0), "{name}: {plain:?}");
            for symmetry in 1..view.n_symmetries() {
                let turned = strengths(&mut chosen, view, &state, symmetry);
                assert_eq!(turned.len(), plain.len());
                let same = plain.iter().zip(&turned).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(same, "{name} {symmetry}: {plain:?} {turned:?}");
            }
        }
    }
}
