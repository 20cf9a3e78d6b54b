//! How multipliers behave in training, as users set it.

use super::MAX_MULTIPLIER;
use crate::error::{Error, Result, count, positive, within};
use serde::{Deserialize, Serialize};

/// Where the multiplier of a training episode comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MultiplierMode {
    /// A dual update after each episode.
    Learned,
    /// One draw per episode.
    Sampled,
    /// The same throughout.
    Fixed,
}

/// How a multiplier is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Zero with some probability, else log-uniform.
    #[default]
    LogUniform,
    /// Uniform from zero to the upper bound (the paper's λ-augmented variant).
    Uniform,
}

/// How a learned multiplier follows the violation of its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DualUpdate {
    /// Projected dual ascent (Eq. dual-update).
    #[default]
    Ascent,
    /// Proportional, integral and derivative control (Stooke et al. 2020).
    Pid,
}

/// How the multipliers of agents become one for a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mixing {
    /// The mean over the team, computed centrally.
    #[default]
    Mean,
    /// Agents mix theirs with their neighbours' after each episode; a region takes the mean of its
    /// members.
    Gossip,
}

/// Who hears whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkGraph {
    /// Who shares a region at an episode's last decision: changes where the topology does.
    #[default]
    Coordination,
    /// Everybody everybody.
    Complete,
    /// A line.
    Path,
    /// A closed line.
    Ring,
    /// Everybody the first agent.
    Star,
    /// Nobody anybody.
    Empty,
}

/// The constants of PID control, per unit of violation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PidOptions {
    /// Of the smoothed violation.
    pub proportional: f32,
    /// Of each episode's violation, added up.
    pub integral: f32,
    /// Of the rise of the smoothed cost.
    pub derivative: f32,
    /// Share of an episode in the smoothed cost.
    pub smoothing: f32,
}

impl Default for PidOptions {
    fn default() -> Self {
        // Fit for violations that are shares of the limit (`relative`).
        Self { proportional: 0.1, integral: 0.01, derivative: 0.1, smoothing: 0.02 }
    }
}

/// How agents exchange multipliers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GossipOptions {
    /// Who hears whom.
    pub graph: LinkGraph,
    /// Exchanges after each episode.
    pub rounds: u64,
    /// Share of links that fail in an exchange, in both directions.
    pub link_failure: f32,
    /// Share of messages that are lost in an exchange, each direction for itself.
    pub message_loss: f32,
    /// Exchanges that a message takes to arrive.
    pub delay: u64,
}

impl Default for GossipOptions {
    fn default() -> Self {
        let graph = LinkGraph::Coordination;
        Self { graph, rounds: 1, link_failure: 0.0, message_loss: 0.0, delay: 0 }
    }
}

/// How multipliers behave in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiplierOptions {
    /// Where the multiplier of an episode comes from.
    pub mode: MultiplierMode,
    /// Step of the dual ascent, per unit of violation.
    pub lambda_lr: f32,
    /// Mean cost per step that each agent may pay, one entry per constraint (or one for all).
    pub cost_limit: Vec<f32>,
    /// Multipliers never exceed this.
    pub lagrangian_upper_bound: f32,
    /// The multiplier of mode `fixed`, one entry per constraint (or one for all).
    pub fixed: Vec<f32>,
    /// Share of `sampled` episodes played with multiplier zero.
    pub zero_share: f32,
    /// Smallest positive multiplier of `sampled`.
    pub sample_low: f32,
    /// Largest multiplier of `sampled`.
    pub sample_high: f32,
    /// How a multiplier is drawn: `log_uniform`, or `uniform` up to the upper bound.
    #[serde(skip_serializing_if = "is_default")]
    pub distribution: Distribution,
    /// How a learned multiplier follows the violation: `ascent` or `pid`.
    #[serde(skip_serializing_if = "is_default")]
    pub update: DualUpdate,
    /// The step of the k-th episode is divided by k to this power (0.9 in assumption A6).
    #[serde(skip_serializing_if = "is_default")]
    pub lambda_power: f32,
    /// Whether violations are shares of the limit, so that steps do not depend on its unit.
    #[serde(skip_serializing_if = "is_default")]
    pub relative: bool,
    /// The constants of `pid`.
    #[serde(skip_serializing_if = "is_default")]
    pub pid: PidOptions,
    /// How agents' multipliers become one: `mean` or `gossip`.
    #[serde(skip_serializing_if = "is_default")]
    pub mixing: Mixing,
    /// How agents exchange them.
    #[serde(skip_serializing_if = "is_default")]
    pub gossip: GossipOptions,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for MultiplierOptions {
    fn default() -> Self {
        Self {
            mode: MultiplierMode::Sampled,
            lambda_lr: 0.01,
            cost_limit: vec![0.0],
            lagrangian_upper_bound: 10.0,
            fixed: vec![0.0],
            zero_share: 0.3,
            sample_low: 0.05,
            sample_high: 20.0,
            distribution: Distribution::default(),
            update: DualUpdate::default(),
            lambda_power: 0.0,
            relative: false,
            pid: PidOptions::default(),
            mixing: Mixing::default(),
            gossip: GossipOptions::default(),
        }
    }
}

/// Most exchanges after an episode, and most that a message takes.
const MAX_ROUNDS: u64 = 1000;

impl MultiplierOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        within("lambda_lr", self.lambda_lr, 0.0..=MAX_MULTIPLIER)?;
        within("lagrangian_upper_bound", self.lagrangian_upper_bound, 0.0..=MAX_MULTIPLIER)?;
        within("zero_share", self.zero_share, 0.0..=1.0)?;
        self.cost_limit.iter().try_for_each(|&limit| within("cost_limit", limit, 0.0..=1e30))?;
        self.fixed.iter().try_for_each(|&fixed| within("fixed", fixed, 0.0..=MAX_MULTIPLIER))?;
        positive("sample_low", self.sample_low, MAX_MULTIPLIER)?;
        within("sample_high", self.sample_high, 0.0..=MAX_MULTIPLIER)?;
        if self.sample_high < self.sample_low {
            let reason = format!("must not be below sample_low={}", self.sample_low);
            return Err(Error::setting("sample_high", self.sample_high, reason));
        }
        within("lambda_power", self.lambda_power, 0.0..=1.0)?;
        if self.relative && self.cost_limit.contains(&0.0) {
            let reason =
                "a violation is a share of the limit, so that every cost_limit must be above 0";
            return Err(Error::setting("relative", true, reason));
        }
        self.pid.check()?;
        self.gossip.check()?;
        if self.mixing == Mixing::Gossip && self.mode != MultiplierMode::Learned {
            let reason = "only learned multipliers are mixed; set mode=learned";
            return Err(Error::setting("mixing", "gossip", reason));
        }
        Ok(())
    }
}

impl PidOptions {
    fn check(&self) -> Result<()> {
        within("pid.proportional", self.proportional, 0.0..=MAX_MULTIPLIER)?;
        within("pid.integral", self.integral, 0.0..=MAX_MULTIPLIER)?;
        within("pid.derivative", self.derivative, 0.0..=MAX_MULTIPLIER)?;
        positive("pid.smoothing", self.smoothing, 1.0)
    }
}

impl GossipOptions {
    fn check(&self) -> Result<()> {
        count("gossip.rounds", self.rounds, 1..=MAX_ROUNDS)?;
        count("gossip.delay", self.delay, 0..=MAX_ROUNDS)?;
        within("gossip.link_failure", self.link_failure, 0.0..=1.0)?;
        within("gossip.message_loss", self.message_loss, 0.0..=1.0)
    }
}
