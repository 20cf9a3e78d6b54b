//! The hunt as the registry knows it: name, options, card, other team sizes, rules to compare with.

use super::{PredatorPrey, PredatorPreyOptions, hunting, recipe};
use crate::{
    environment::{Environment, Reference, Task},
    error::Result,
};
use serde_json::{Value, json};
use toml::Table;

/// Name of the task.
pub(super) const NAME: &str = "predator_prey";

/// The task.
#[derive(Clone, Copy, Debug, Default)]
pub struct PredatorPreyTask;

impl Task for PredatorPreyTask {
    type Options = PredatorPreyOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "predators catch prey on a grid, two at a time; a catch by one alone is in vain"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("agents", "predators"),
            ("prey", "prey; as many as predators unless set"),
            ("size", "cells along each side of the grid"),
            ("horizon", "steps of one episode"),
            ("view", "how many cells a predator sees to each side"),
            ("neighbours", "nearest other predators that each one is paired with"),
            (
                "punishment",
                "what a catch in vain takes from the reward of learners without multipliers",
            ),
        ]
    }

    fn build(&self, options: &PredatorPreyOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(PredatorPrey::new(options)?))
    }

    fn card(&self, options: &PredatorPreyOptions) -> Value {
        json!({
            "options": options,
            "prey": options.n_prey(),
            "actions": ["right", "down", "left", "up", "stay", "catch"],
            "rules": "predators move in random order, then each prey in random order: caught by two or \
                more neighbours that catch, who leave with it; in vain if one does; else it takes a \
                random free move",
            "reward": "10 for each capture",
        })
    }

    fn with_agents(
        &self,
        options: &PredatorPreyOptions,
        agents: usize,
    ) -> Result<PredatorPreyOptions> {
        Ok(PredatorPreyOptions { agents, ..options.clone() })
    }

    fn references(&self, _options: &PredatorPreyOptions) -> Result<Vec<Reference>> {
        Ok(vec![
            Reference::rule("in_pairs", hunting::in_pairs),
            Reference::rule("alone", hunting::alone),
        ])
    }

    fn recipe(
        &self,
        _options: &PredatorPreyOptions,
        algorithm: &str,
        _preset: &str,
        _teams: &[usize],
    ) -> Table {
        recipe::recipe(algorithm)
    }
}
