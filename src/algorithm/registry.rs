//! The list of algorithms.

use super::{
    Algorithm, Learner, Need, Start, TrainedModel, cg_cmarl, on_policy,
    value_based::{casec, dcg, iql, qmix, vdn},
};
use crate::{
    checkpoint::Checkpoint,
    environment::{Spec, View, from_table, to_table},
    error::{Error, Result, closest},
};
use toml::Table;

/// To add an algorithm: its folder or file, and its line here.
static ALGORITHMS: [&dyn AnyAlgorithm; 10] = [
    &cg_cmarl::CgCmarlAlgorithm,
    &iql::IqlAlgorithm,
    &vdn::VdnAlgorithm,
    &qmix::QmixAlgorithm,
    &dcg::DcgAlgorithm,
    &casec::CasecAlgorithm,
    &on_policy::MappoAlgorithm,
    &on_policy::MappoLagAlgorithm,
    &on_policy::MappoLambdaAlgorithm,
    &on_policy::MacpoAlgorithm,
];

/// An algorithm whose options are a table, so that one list holds all of them.
pub trait AnyAlgorithm: Send + Sync {
    /// The name users write.
    fn name(&self) -> &'static str;
    /// Named sets of defaults it has beside `default`.
    fn presets(&self) -> &'static [&'static str];
    /// Its options by default.
    fn defaults(&self) -> Result<Table>;
    /// Options that a configuration leaves out unless they are set.
    fn unset_options(&self) -> &'static [&'static str];
    /// Settings that suit it in an environment.
    fn recipe(&self, spec: &Spec) -> Table;
    /// Settings that a preset stands for.
    fn preset(&self, preset: &str) -> Table;
    /// What a learner will ask of the machine.
    fn memory(&self, options: &Table, spec: &Spec, n_environments: usize) -> Result<Vec<Need>>;
    /// A fresh learner.
    fn learner(&self, options: &Table, start: Start<'_>) -> Result<Box<dyn Learner>>;
    /// What was trained, from its weights alone.
    fn model(
        &self,
        options: &Table,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>>;
    /// Whether its network fits teams of every size.
    fn fits_any_team(&self, options: &Table) -> Result<bool>;
}

impl<A: Algorithm> AnyAlgorithm for A {
    fn name(&self) -> &'static str {
        Algorithm::name(self)
    }

    fn presets(&self) -> &'static [&'static str] {
        Algorithm::presets(self)
    }

    fn defaults(&self) -> Result<Table> {
        to_table(&A::Options::default())
    }

    fn unset_options(&self) -> &'static [&'static str] {
        Algorithm::unset_options(self)
    }

    fn recipe(&self, spec: &Spec) -> Table {
        Algorithm::recipe(self, spec)
    }

    fn preset(&self, preset: &str) -> Table {
        Algorithm::preset(self, preset)
    }

    fn memory(&self, options: &Table, spec: &Spec, n_environments: usize) -> Result<Vec<Need>> {
        Ok(Algorithm::memory(self, &from_table(options)?, spec, n_environments))
    }

    fn learner(&self, options: &Table, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Algorithm::learner(self, &from_table(options)?, start)
    }

    fn model(
        &self,
        options: &Table,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        Algorithm::model(self, &from_table(options)?, view, weights)
    }

    fn fits_any_team(&self, options: &Table) -> Result<bool> {
        Ok(Algorithm::fits_any_team(self, &from_table(options)?))
    }
}

/// Names of all algorithms.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|algorithm| algorithm.name())
}

/// The algorithm of a name; an unknown one suggests the nearest.
pub fn find(name: &str) -> Result<&'static dyn AnyAlgorithm> {
    if let Some(algorithm) = ALGORITHMS.iter().find(|algorithm| algorithm.name() == name) {
        return Ok(*algorithm);
    }
    let nearest =
        closest(names(), name).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    let all: Vec<_> = names().map(|name| format!("`{name}`")).collect();
    let reason = format!("must be one of {}{nearest}", all.join(", "));
    Err(Error::setting("algorithm", name, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::checks::{Masked, eight, play_rounds},
        environment::matrix_game::MatrixGame,
        episode::{Acting, EpisodeStreams},
        graph::CoordinationGraph,
        rng::{Purpose, Streams},
    };

    /// Two steps of three agents that have their own actions, some forbidden in the second step only.
    fn masked() -> Masked {
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let game = MatrixGame::random(CoordinationGraph::complete(3), 3, 1, 2, &mut rng).unwrap();
        let forbidden = |state: &[f32], agent| match agent {
            0 if state[0] > 0.25 => &[0, 2][..],
            2 => &[1],
            _ => &[],
        };
        Masked::new(game, forbidden).with_counts(&[3, 2, 3])
    }

    /// The game fails the test at any forbidden action, in training and after it.
    #[test]
    fn every_algorithm_keeps_to_what_is_allowed() {
        for algorithm in ALGORITHMS {
            let mut options = algorithm.defaults().unwrap();
            let learning = toml::toml! {
                learning_starts = 16
                batch_size = 8
                buffer_size = 300
            };
            if let Some(own) = options.get_mut("learning").and_then(toml::Value::as_table_mut) {
                own.extend(learning);
            }
            if algorithm.name() == "cg_cmarl" {
                options["network"]["head"] = "free".into();
                options["random_actions"]["start"] = 0.5.into();
                options["random_actions"]["end"] = 0.5.into();
            }
            let mut environments = eight(masked);
            let (view, n_environments) = (environments.view(), environments.len());
            let start =
                Start { teams: &[view], n_environments, total_steps: 1, streams: Streams::new(1) };
            let mut learner = algorithm.learner(&options, start).unwrap();
            play_rounds(learner.as_mut(), &mut environments, 20);
            let updates = learner.report().into_iter().find(|(name, _)| name == "updates");
            assert!(updates.is_some_and(|(_, n)| n > 10.0), "{}", algorithm.name());
            let mut weights = Checkpoint::new(0, serde_json::Value::Null);
            learner.save_model(&mut weights);
            let model = algorithm.model(&options, environments.view(), &weights).unwrap();
            let streams = EpisodeStreams {
                streams: Streams::new(3),
                start: Purpose::Episode,
                dynamics: Purpose::Dynamics,
                act: Purpose::Exploration,
                first: 0,
            };
            environments.play(&mut Acting(model.policy(&[0.5]).as_mut()), streams, 8);
        }
    }
}
