//! Simple Tag as the registry knows it: name, options, card, other team sizes, the heuristic.

use super::{
    SimpleTag, SimpleTagOptions, heuristic,
    physics::{OBSTACLE_RADIUS, PREDATOR, PREY},
    recipe,
};
use crate::{
    environment::{Environment, Reference, Task},
    error::Result,
};
use serde_json::{Value, json};
use toml::Table;

/// Name of the task.
pub(super) const NAME: &str = "simple_tag";

/// The task.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimpleTagTask;

impl Task for SimpleTagTask {
    type Options = SimpleTagOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "predators touch a faster prey, not each other and no obstacle, with MPE2's physics"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("agents", "number of predators"),
            ("prey", "`runner` (away from the nearest) or `evader` (looks ahead), much stronger"),
            ("obstacles", "number of obstacles"),
            ("contact", "whether what overlaps pushes apart"),
            ("horizon", "steps of one episode"),
            ("start", "`apart` (nothing touches) or `mpe2` (anywhere)"),
            ("shaping", "what a predator's distance to the prey costs, beside one for each touch"),
            ("cost_margin", "predators pay nearer than this many times where they touch"),
            ("frame", "`octant` or `cone` (turned to fit each region), or `world`"),
            ("coast", "seconds of coasting before directions are taken"),
            ("graph.topology", "`complete`, `path`, `star`, `ring`, `k_nearest` or `radius`"),
            ("graph.k", "neighbours of each predator in `k_nearest`"),
            ("graph.reach", "predators nearer than this are neighbours in `radius`"),
            ("graph.regions", "none: regions are pairs here"),
        ]
    }

    fn choices(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        vec![
            ("prey", vec!["runner", "evader"]),
            ("start", vec!["apart", "mpe2"]),
            ("contact", vec!["false", "true"]),
        ]
    }

    fn build(&self, options: &SimpleTagOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(SimpleTag::new(options)?))
    }

    fn card(&self, options: &SimpleTagOptions) -> Value {
        let kind = |kind: super::physics::Kind| {
            let super::physics::Kind { radius, acceleration, max_speed } = kind;
            json!({ "radius": radius, "acceleration": acceleration, "max_speed": max_speed })
        };
        json!({
            "options": options,
            "physics": "MPE2 order: positions move with the old velocity; dt 0.1, damping 0.25; \
                        speeds are limited after the forces",
            "predator": kind(PREDATOR),
            "prey": kind(PREY),
            "obstacle_radius": OBSTACLE_RADIUS,
            "touch": "predators that overlap the prey after a step, added up over the episode",
            "collisions": "overlapping pairs of predators per step; overlaps with obstacles apart",
        })
    }

    fn with_agents(&self, options: &SimpleTagOptions, agents: usize) -> Result<SimpleTagOptions> {
        let options = SimpleTagOptions { agents, ..options.clone() };
        options.validate()?;
        Ok(options)
    }

    fn references(&self, _options: &SimpleTagOptions) -> Result<Vec<Reference>> {
        Ok(vec![Reference::rule("chase", heuristic::chase)])
    }

    fn recipe(
        &self,
        options: &SimpleTagOptions,
        algorithm: &str,
        _preset: &str,
        teams: &[usize],
    ) -> Table {
        recipe::recipe(options.agents, algorithm, teams)
    }
}
