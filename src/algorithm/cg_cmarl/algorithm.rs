//! CG-CMARL as the registry knows it: its name, presets, recipe, learner and model.

use super::{CgCmarl, CgCmarlModel, CgCmarlOptions, options};
use crate::{
    algorithm::{Algorithm, Learner, Need, Start, TrainedModel},
    checkpoint::Checkpoint,
    environment::{Spec, View},
    error::Result,
};
use toml::{Table, toml};

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct CgCmarlAlgorithm;

impl Algorithm for CgCmarlAlgorithm {
    type Options = CgCmarlOptions;

    fn name(&self) -> &'static str {
        "cg_cmarl"
    }

    fn presets(&self) -> &'static [&'static str] {
        &["two_head", "augmented", "paper"]
    }

    fn recipe(&self, spec: &Spec) -> Table {
        let mut recipe = toml! {
            [cg_cmarl.coordination]
            solver = "max_sum"
            msg_iterations = 5
            tolerance = 1e-3
            [cg_cmarl.network]
            head = "free"
        };
        if spec.action_grid.is_some() {
            recipe["cg_cmarl"]["network"]["head"] = "tied".into();
        }
        recipe
    }

    fn preset(&self, preset: &str) -> Table {
        match preset {
            "two_head" => toml! { cg_cmarl.network.multiplier_input = false },
            "augmented" => toml! {
                cg_cmarl.network.value = "augmented"
                cg_cmarl.multipliers.distribution = "uniform"
                cg_cmarl.learning.relabel = false
            },
            "paper" => options::to_the_letter(),
            _ => Table::new(),
        }
    }

    fn memory(&self, options: &CgCmarlOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
        options::memory(options, spec, n_environments)
    }

    fn learner(&self, options: &CgCmarlOptions, start: Start<'_>) -> Result<Box<dyn Learner>> {
        Ok(Box::new(CgCmarl::new(options, start)?))
    }

    fn model(
        &self,
        options: &CgCmarlOptions,
        view: &dyn View,
        weights: &Checkpoint<'_>,
    ) -> Result<Box<dyn TrainedModel>> {
        Ok(Box::new(CgCmarlModel::load(options, view, weights)?))
    }

    fn unset_options(&self) -> &'static [&'static str] {
        options::UNSET
    }

    fn fits_any_team(&self) -> bool {
        true
    }
}
