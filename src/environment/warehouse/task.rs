//! The warehouse as the registry knows it: name, options, card, other team sizes, the planner.

use super::{Warehouse, WarehouseOptions, planner::Planner, recipe};
use crate::{
    environment::{Environment, Reference, Task},
    error::Result,
};
use serde_json::{Value, json};
use toml::Table;

/// Name of the task.
pub(super) const NAME: &str = "warehouse";

/// The task.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarehouseTask;

impl Task for WarehouseTask {
    type Options = WarehouseOptions;

    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "robots bring orders from shelves to stations on a grid where they block each other"
    }

    fn options(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("agents", "number of robots"),
            ("width", "cells from left to right; 12, 20, 30 or 40, by the number of robots"),
            ("height", "cells from bottom to top; 8, 14, 20 or 30, by the number of robots"),
            ("aisle", "columns of an aisle: 1 or 2"),
            ("one_way", "whether aisles are driven one way only, up and down in turns"),
            ("battery", "moves of a full battery, which is changed at a charger; 0: no end"),
            ("horizon", "steps of one episode"),
            ("k", "neighbours that each robot shares a region with"),
        ]
    }

    fn build(&self, options: &WarehouseOptions) -> Result<Box<dyn Environment>> {
        Ok(Box::new(Warehouse::new(options)?))
    }

    fn card(&self, options: &WarehouseOptions) -> Value {
        let [width, height] = options.size();
        json!({
            "options": options,
            "size": [width, height],
            "moves": "all at once; into a contested cell, a cell whose robot stays, or against \
                      another in exchange: blocked",
            "orders": "one for each robot: a cell beside a shelf, then a station, both by chance",
            "conflicts": "blocked moves per robot and step",
            "energy": "0.05 for each move, blocked ones too",
        })
    }

    fn with_agents(&self, options: &WarehouseOptions, agents: usize) -> Result<WarehouseOptions> {
        let options = WarehouseOptions { agents, ..options.clone() };
        options.validate()?;
        Ok(options)
    }

    fn references(&self, options: &WarehouseOptions) -> Result<Vec<Reference>> {
        let planner = Planner::new(&Warehouse::new(options)?);
        Ok(vec![Reference { name: "planner".into(), policy: Box::new(planner) }])
    }

    fn recipe(
        &self,
        _options: &WarehouseOptions,
        algorithm: &str,
        _preset: &str,
        _teams: &[usize],
    ) -> Table {
        recipe::recipe(algorithm)
    }
}
