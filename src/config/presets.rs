//! Named sets of defaults: ours, the paper's architecture trained our way, and the paper's table.

use super::{Algorithm, Config};
use crate::{
    algorithm::{
        CgCmarlOptions, DcgOptions, ErrorKind, HeadKind, IqlOptions, MappoLagOptions, NextAction,
        PpoOptions, QmixOptions, VdnOptions,
    },
    coordination::Solver,
    environment::{
        observation::ObservationKind,
        spread_options::{RewardRule, SimpleSpreadOptions},
    },
    error::{Error, Result},
    evaluation::EvaluationOptions,
    multipliers::MultiplierMode,
    schedule::Linear,
    training::TrainingOptions,
};
use serde::{Deserialize, Serialize};

/// Episodes that an on-policy learner plays between updates, for their gradient to be worth a step.
const ON_POLICY_ENVIRONMENTS: usize = 32;

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The full recipe: both heads also see the multiplier, regions see who else is near a landmark.
    #[default]
    Default,
    /// The paper's architecture (the multiplier enters at action selection only), trained our way.
    TwoHead,
    /// The paper's table of hyperparameters to the letter.
    Paper,
}

impl Preset {
    /// All presets with the names users write.
    pub const NAMES: [(&'static str, Self); 3] =
        [("default", Self::Default), ("two_head", Self::TwoHead), ("paper", Self::Paper)];

    /// The preset of a name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, preset)| *preset).ok_or_else(|| {
            Error::setting("preset", name, "must be `default`, `two_head` or `paper`")
        })
    }

    /// The configuration of this preset for a team size.
    pub fn config(self, agents: usize) -> Config {
        let mut config = recipe(agents);
        config.preset = self;
        match self {
            Self::Default => {}
            Self::TwoHead => {
                config.cg_cmarl.network.multiplier_input = false;
                config.environment.observation.occupancy = false;
            }
            Self::Paper => to_the_letter(&mut config),
        }
        config
    }

    /// The configuration of an algorithm for a team size; only CG-CMARL has presets.
    pub(super) fn config_of(self, algorithm: Algorithm, agents: usize) -> Result<Config> {
        if algorithm == Algorithm::CgCmarl {
            return Ok(self.config(agents));
        }
        if self != Self::Default {
            let name = Self::NAMES.iter().find(|(_, preset)| *preset == self).map_or("", |p| p.0);
            let reason = format!("presets are for cg_cmarl; {} has none", algorithm.name());
            return Err(Error::setting("preset", name, reason));
        }
        let mut config =
            Config { algorithm, cg_cmarl: CgCmarlOptions::default(), ..recipe(agents) };
        config.training.curriculum.clear();
        batches_by_team_size(&mut config, agents);
        if matches!(algorithm, Algorithm::Mappo | Algorithm::MappoLag) {
            config.training.environments = ON_POLICY_ENVIRONMENTS;
        }
        Ok(config)
    }
}

/// What learns well; the numbers by team size are explained in docs/results.md.
fn recipe(agents: usize) -> Config {
    let mut cg_cmarl = CgCmarlOptions::default();
    let mut training = TrainingOptions::default();
    let learning = &mut cg_cmarl.learning;
    if agents > 4 {
        learning.lr = 4e-4;
    }
    training.curriculum = match agents {
        ..=4 => vec![],
        5..=7 => vec![3],
        _ => vec![3, 6],
    };
    (learning.gamma, learning.batch_size, learning.steps_per_update, training.total_steps) =
        match agents {
            ..=3 => (0.85, 128, 4.0, 300_000),
            4 => (0.85, 192, 4.0, 500_000),
            5..=7 => (0.85, 240, 4.0, 900_000),
            _ => (0.87, 360, 8.0, 1_200_000),
        };
    cg_cmarl.coordination.solver = Solver::MaxSum;
    cg_cmarl.coordination.tolerance = 1e-3;
    let mut environment = SimpleSpreadOptions { agents, ..SimpleSpreadOptions::default() };
    environment.observation.occupancy = true;
    Config {
        preset: Preset::Default,
        algorithm: Algorithm::CgCmarl,
        seed: 1,
        start_from: None,
        training,
        environment,
        cg_cmarl,
        iql: IqlOptions::default(),
        vdn: VdnOptions::default(),
        qmix: QmixOptions::default(),
        dcg: DcgOptions::default(),
        mappo: PpoOptions::default(),
        mappo_lag: MappoLagOptions::default(),
        evaluation: EvaluationOptions::default(),
    }
}

/// Batches with about as many rows as CG-CMARL's, agents or (for DCG) pairs, and twice its updates:
/// what was found to serve them best (docs/baselines-tuning.md).
fn batches_by_team_size(config: &mut Config, agents: usize) {
    let (batch_size, pairs_batch_size, steps_per_update) = match agents {
        ..=3 => (64, 32, 2.0),
        4 => (48, 32, 2.0),
        5..=7 => (40, 16, 2.0),
        _ => (36, 8, 4.0),
    };
    let Config { iql, vdn, qmix, dcg, .. } = config;
    for learning in [&mut iql.learning, &mut vdn.learning, &mut qmix.learning, &mut dcg.learning] {
        (learning.batch_size, learning.steps_per_update) = (batch_size, steps_per_update);
    }
    dcg.learning.batch_size = pairs_batch_size;
}

/// Table "Hyperparameter values" of the paper, and our readings where it is silent (docs/paper.md).
fn to_the_letter(config: &mut Config) {
    config.training.curriculum.clear();
    let environment = &mut config.environment;
    environment.observation.kind = ObservationKind::Paper;
    environment.observation.occupancy = false;
    environment.reward = RewardRule::Counterfactual;
    environment.cost_distance = Some(0.2);
    let CgCmarlOptions {
        network, learning, exploration, multipliers, coordination, acting, ..
    } = &mut config.cg_cmarl;
    network.head = HeadKind::Free;
    network.multiplier_input = false;
    learning.gamma = 0.99;
    learning.lr = 1e-3;
    learning.lr_final_share = 1.0;
    learning.batch_size = 64;
    learning.buffer_size = 100_000;
    learning.learning_starts = 64;
    learning.steps_per_update = 1.0;
    learning.polyak_tau = 0.005;
    learning.target_interval = 200;
    learning.next_action = NextAction::Regional;
    learning.error = ErrorKind::Regional;
    learning.random_order = false;
    learning.symmetries = false;
    learning.average_rate = 1.0;
    *exploration = Linear { start: 0.9, end: 0.05, steps: 100_000 };
    multipliers.mode = MultiplierMode::Learned;
    multipliers.lambda_lr = 0.01;
    multipliers.cost_limit = vec![0.0];
    multipliers.lagrangian_upper_bound = 1.0;
    for solver in [coordination, acting] {
        solver.solver = Solver::MaxSum;
        solver.msg_iterations = 10;
        solver.damping = 0.3;
        solver.tolerance = 0.0;
    }
    config.cg_cmarl.average_orders = false;
    config.cg_cmarl.average_symmetries = 1;
    config.training.environments = if config.environment.agents >= 6 { 8 } else { 1 };
}
