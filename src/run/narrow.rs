//! A policy that looks at a few states at a time, so that what it keeps of them fits the memory.

use crate::{
    algorithm::TrainedModel,
    environment::{Batch, Policy},
    graph::JointAction,
};

/// A trained model whose policies look at no more than so many states together.
pub(super) struct NarrowModel {
    pub(super) model: Box<dyn TrainedModel>,
    pub(super) n_together: usize,
}

impl TrainedModel for NarrowModel {
    fn has_multipliers(&self) -> bool {
        self.model.has_multipliers()
    }

    fn label(&self) -> String {
        self.model.label()
    }

    fn policy(&self, multipliers: &[f32]) -> Box<dyn Policy> {
        Box::new(NarrowPolicy {
            policy: self.model.policy(multipliers),
            n_together: self.n_together,
        })
    }
}

struct NarrowPolicy {
    policy: Box<dyn Policy>,
    n_together: usize,
}

impl Policy for NarrowPolicy {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        let Batch { view, states, slots } = batch;
        let states = states.chunks(self.n_together * view.spec().state_width);
        let parts = states.zip(slots.chunks(self.n_together));
        for ((states, slots), actions) in parts.zip(actions.chunks_mut(self.n_together)) {
            self.policy.act(Batch { view, states, slots }, actions);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(Self { policy: self.policy.boxed_clone(), n_together: self.n_together })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Model,
        environment::Scenario,
        episode::Acting,
        evaluation::EvaluationOptions,
        run::{episodes_of, limits},
    };

    fn episodes(model: &Model, scenario: &Scenario) -> Vec<crate::episode::Summary> {
        let mut policy = model.trained(scenario).unwrap().policy(&[0.5]);
        let options = EvaluationOptions { episodes: 7, ..EvaluationOptions::default() };
        episodes_of(scenario, &options, &mut Acting(policy.as_mut())).unwrap()
    }

    #[test]
    fn little_memory_plays_the_same_episodes() {
        let mut model = Model::open("models/simple_spread").unwrap();
        let scenario = model.scenario().unwrap().with_agents(6).unwrap();
        let wide = episodes(&model, &scenario);
        model.config.training.memory_limit = 0.005;
        let n_together = limits::states_together(&model.config, &scenario.spec().unwrap()).unwrap();
        assert!((1..7).contains(&n_together), "{n_together}");
        assert_eq!(episodes(&model, &scenario), wide);
    }

    #[test]
    fn a_team_that_does_not_fit_is_refused_by_name() {
        let model = Model::open("models/simple_spread").unwrap();
        let large = model.scenario().unwrap().with_agents(1000).unwrap();
        let error = model.trained(&large).err().unwrap().to_string();
        assert!(error.starts_with("invalid value for `agents`: 1000 (playing"), "{error}");
        assert!(error.ends_with("GiB, more than memory_limit=4)"), "{error}");
        assert_eq!(model.cg_cmarl(&large).err().unwrap().to_string(), error);
    }
}
