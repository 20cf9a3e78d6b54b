//! The options of CG-CMARL and what they must satisfy.

use super::{
    HeadKind, NetworkOptions,
    region_views::Averaging,
    td::{ErrorKind, NextAction, TdRule},
};
use crate::{
    algorithm::memory::{self, Need},
    coordination::{Solver, SolverOptions},
    environment::Spec,
    error::{Error, Result, count, positive, within},
    multipliers::{Distribution, MultiplierOptions, per_constraint},
    nn::AdamOptions,
    rng::Rng,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};
use toml::{Table, toml};

/// Options that a configuration leaves out unless they are set.
pub(super) const UNSET: &[&str] = &[
    "network.value",
    "learning.relabel",
    "learning.lr_power",
    "learning.warm_start",
    "multipliers.distribution",
    "multipliers.update",
    "multipliers.lambda_power",
    "multipliers.relative",
    "multipliers.pid.proportional",
    "multipliers.pid.integral",
    "multipliers.pid.derivative",
    "multipliers.pid.smoothing",
    "multipliers.mixing",
    "multipliers.gossip.graph",
    "multipliers.gossip.rounds",
    "multipliers.gossip.link_failure",
    "multipliers.gossip.message_loss",
    "multipliers.gossip.delay",
];

/// Largest scale of the exploration noise that is accepted.
const MAX_NOISE: f64 = 100.0;
/// Most symmetries that are averaged over: those of the square.
const MAX_SYMMETRIES: usize = 8;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

/// Everything about learning that is not the environment's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearningOptions {
    /// Discount.
    pub gamma: f32,
    /// Adam's learning rate at the start.
    pub lr: f32,
    /// Share of it that is left at the end of training; it falls in a straight line.
    pub lr_final_share: f32,
    /// The rate of the t-th update is divided by t to this power (0.6 in assumption A6).
    #[serde(skip_serializing_if = "is_zero")]
    pub lr_power: f32,
    /// Region rows per update.
    pub batch_size: usize,
    /// Region rows held in memory, for each team.
    pub buffer_size: usize,
    /// Environment steps before the first update.
    pub learning_starts: u64,
    /// Environment steps per update.
    pub steps_per_update: f64,
    /// Share of the online network that enters the target network at each target update.
    pub polyak_tau: f32,
    /// Updates between target updates.
    pub target_interval: u64,
    /// Who chooses the next action of a target: `regional` or `coupled`.
    pub next_action: NextAction,
    /// Whether the messages of coupled targets begin with what regions say of the joint action that was
    /// taken; else with nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warm_start: bool,
    /// Which error the primary head learns from: `regional` or `summed`.
    pub error: ErrorKind,
    /// A summed error is divided by this power of the number of regions.
    pub error_power: f32,
    /// Weight of a region's own error beside the summed one.
    pub own_error: f32,
    /// Weight of the cost heads' errors.
    pub cost_weight: f32,
    /// Errors beyond this count linearly; zero for squares throughout.
    pub huber: f32,
    /// Whether a pair is learned from in either order of its members, drawn anew each time.
    pub random_order: bool,
    /// Whether a transition is learned from in any frame of its regions, drawn anew each time; without
    /// frames chosen by the regions, under any symmetry of the task.
    pub symmetries: bool,
    /// Whether a transition is learned from at multipliers drawn anew each time, where values see them;
    /// else at those it was played at.
    #[serde(skip_serializing_if = "is_true")]
    pub relabel: bool,
    /// Share of the online network that enters, at each update, the average that is evaluated.
    pub average_rate: f32,
    /// Adam's other constants.
    pub adam: AdamOptions,
}

impl Default for LearningOptions {
    fn default() -> Self {
        Self {
            gamma: 0.85,
            lr: 7e-4,
            lr_final_share: 0.1,
            lr_power: 0.0,
            batch_size: 128,
            buffer_size: 1_000_000,
            learning_starts: 1000,
            steps_per_update: 4.0,
            polyak_tau: 0.01,
            target_interval: 1,
            next_action: NextAction::Coupled,
            warm_start: false,
            error: ErrorKind::Summed,
            error_power: 0.5,
            own_error: 0.0,
            cost_weight: 1.0,
            huber: 0.0,
            random_order: true,
            symmetries: true,
            relabel: true,
            average_rate: 0.001,
            adam: AdamOptions::default(),
        }
    }
}

impl LearningOptions {
    fn check(&self) -> Result<()> {
        if !(0.0..1.0).contains(&self.gamma) {
            return Err(Error::setting("gamma", self.gamma, "must be at least 0 and below 1"));
        }
        positive("lr", self.lr, 1e6)?;
        within("lr_final_share", self.lr_final_share, 0.0..=1.0)?;
        within("lr_power", self.lr_power, 0.0..=1.0)?;
        count("batch_size", self.batch_size as u64, 1..=u64::MAX)?;
        count("buffer_size", self.buffer_size as u64, 1..=u64::MAX)?;
        count("target_interval", self.target_interval, 1..=u64::MAX)?;
        within("steps_per_update", self.steps_per_update, 0.01..=1e9)?;
        positive("polyak_tau", self.polyak_tau, 1.0)?;
        positive("average_rate", self.average_rate, 1.0)?;
        within("error_power", self.error_power, 0.0..=4.0)?;
        within("own_error", self.own_error, 0.0..=1e6)?;
        within("cost_weight", self.cost_weight, 0.0..=1e6)?;
        within("huber", self.huber, 0.0..=1e30)?;
        self.adam.check()
    }
}

/// The options of CG-CMARL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CgCmarlOptions {
    /// The network.
    pub network: NetworkOptions,
    /// The learning rule.
    pub learning: LearningOptions,
    /// Scale of the Gaussian noise on the tables, by environment steps.
    pub exploration: Linear,
    /// Share of actions drawn at random instead, by environment steps.
    pub random_actions: Linear,
    /// Multipliers in training.
    pub multipliers: MultiplierOptions,
    /// The coordinator that acts in training and chooses the next action of coupled targets.
    pub coordination: SolverOptions,
    /// The coordinator of the trained policy.
    pub acting: SolverOptions,
    /// Whether the trained policy averages a pair's table over both orders of its members.
    pub average_orders: bool,
    /// Over how many frames of a region the trained policy averages its table, at most; without a
    /// frame chosen by the region those are the symmetries of the task.
    pub average_symmetries: usize,
}

impl CgCmarlOptions {
    /// Over what the trained policy averages.
    pub(super) fn averaging(&self) -> Averaging {
        Averaging { orders: self.average_orders, frames: self.average_symmetries }
    }
}

impl Default for CgCmarlOptions {
    fn default() -> Self {
        Self {
            network: NetworkOptions::default(),
            learning: LearningOptions::default(),
            exploration: Linear { start: 0.3, end: 0.02, steps: 100_000 },
            random_actions: Linear { start: 0.0, end: 0.0, steps: 0 },
            multipliers: MultiplierOptions::default(),
            coordination: SolverOptions::default(),
            acting: SolverOptions::default(),
            average_orders: true,
            average_symmetries: 8,
        }
    }
}

pub(super) fn rule(learning: &LearningOptions) -> TdRule {
    TdRule {
        gamma: learning.gamma,
        next_action: learning.next_action,
        warm_start: learning.warm_start,
        error: learning.error,
        error_power: learning.error_power,
        own_error: learning.own_error,
        cost_weight: learning.cost_weight,
        huber: if learning.huber > 0.0 { learning.huber } else { f32::INFINITY },
    }
}

pub(in crate::algorithm) fn wrong_length(key: &str, values: &[f32], spec: &Spec) -> Error {
    let names = spec.constraint_names();
    let reason = format!("needs one number, or one for each of {names:?}");
    Error::setting(key, format!("{values:?}"), reason)
}

pub(super) fn check(options: &CgCmarlOptions, spec: &Spec) -> Result<()> {
    options.learning.check()?;
    options.exploration.check("exploration", MAX_NOISE)?;
    options.random_actions.check("random_actions", 1.0)?;
    options.multipliers.check()?;
    options.coordination.check()?;
    options.acting.check()?;
    check_warm_start(options)?;
    let n_symmetries = options.average_symmetries;
    if !(1..=MAX_SYMMETRIES).contains(&n_symmetries) {
        let reason = "must be 1 (averages nothing) to 8 (all symmetries of the square)";
        return Err(Error::setting("average_symmetries", n_symmetries, reason));
    }
    if per_constraint(&options.multipliers.fixed, spec.n_constraints()).is_none() {
        return Err(wrong_length("fixed", &options.multipliers.fixed, spec));
    }
    if per_constraint(&options.multipliers.cost_limit, spec.n_constraints()).is_none() {
        return Err(wrong_length("cost_limit", &options.multipliers.cost_limit, spec));
    }
    if spec.constraints.is_empty() {
        return Err(Error::setting("constraints", "[]", "needs at least one constraint"));
    }
    Ok(())
}

/// Refuses a warm start where nothing would begin with it.
fn check_warm_start(options: &CgCmarlOptions) -> Result<()> {
    let has_messages = options.learning.next_action == NextAction::Coupled
        && options.coordination.solver == Solver::MaxSum;
    if options.learning.warm_start && !has_messages {
        let reason = "is for the messages of targets: it needs `next_action=coupled` and \
                      `coordination.solver=max_sum`";
        return Err(Error::setting("warm_start", true, reason));
    }
    Ok(())
}

/// Draws the multipliers of an episode or a sample: zero or log-uniform, or uniform from zero to the
/// upper bound (the paper's λ-augmented variant).
pub(in crate::algorithm) fn draw_multipliers(
    options: &MultiplierOptions,
    rng: &mut Rng,
    multipliers: &mut [f32],
) {
    if options.distribution == Distribution::Uniform {
        let most = f64::from(options.lagrangian_upper_bound);
        return multipliers.iter_mut().for_each(|m| *m = rng.range(0.0, most) as f32);
    }
    let (low, high) = (f64::from(options.sample_low).ln(), f64::from(options.sample_high).ln());
    for multiplier in multipliers {
        let zero = rng.uniform() < f64::from(options.zero_share);
        let positive = rng.range(low, high).exp() as f32;
        *multiplier = if zero { 0.0 } else { positive };
    }
}

/// What a learner will ask of the machine, by the setting that causes it.
pub(super) fn memory(options: &CgCmarlOptions, spec: &Spec, n_environments: usize) -> Vec<Need> {
    let (n_constraints, regions) = (spec.n_constraints() as f64, spec.max_regions as f64);
    let inputs = spec.region_width as f64 + n_constraints;
    let n_heads = options.network.value.n_heads(spec.n_constraints()) as f64;
    let entries = (spec.n_actions() as f64).powi(spec.region_size as i32);
    let terms = match options.network.head {
        HeadKind::Free => entries,
        HeadKind::Tied => entries.min(1e4),
    };
    let widths = memory::widths(inputs, &options.network.hidden, n_heads * terms);
    let states = (options.learning.buffer_size as f64 / regions.max(1.0)).max(1.0);
    let own = if options.learning.relabel { 0.0 } else { n_constraints };
    let outcome = regions * (1.0 + n_constraints) + own;
    // Acting and learning each keep the tables of a state and the rows of a share of states.
    let per_state = regions * (entries + memory::row(&widths));
    // The rows of both states for the network that learns, those of the next for the one that values.
    let batch = 2.0 * (options.learning.batch_size as f64).max(regions) * memory::row(&widths);
    vec![
        Need::parameters("hidden", memory::parameters(&widths)),
        Need::numbers("buffer_size", memory::replay(spec, states, outcome)),
        Need::numbers("batch_size", batch + regions * entries),
        Need::numbers("agents", per_state),
        Need::numbers("environments", n_environments as f64 * per_state),
    ]
}

/// Table "Hyperparameter values" of the paper, and our readings where it is silent (docs/paper.md).
pub(super) fn to_the_letter() -> Table {
    toml! {
        [cg_cmarl]
        average_orders = false
        average_symmetries = 1

        [cg_cmarl.network]
        head = "free"
        multiplier_input = false

        [cg_cmarl.learning]
        gamma = 0.99
        lr = 1e-3
        lr_final_share = 1.0
        batch_size = 64
        buffer_size = 100_000
        learning_starts = 64
        steps_per_update = 1.0
        polyak_tau = 0.005
        target_interval = 200
        next_action = "regional"
        error = "regional"
        random_order = false
        symmetries = false
        average_rate = 1.0

        [cg_cmarl.exploration]
        start = 0.9
        end = 0.05
        steps = 100_000

        [cg_cmarl.multipliers]
        mode = "learned"
        lambda_lr = 0.01
        cost_limit = [0.0]
        lagrangian_upper_bound = 1.0

        [cg_cmarl.coordination]
        solver = "max_sum"
        msg_iterations = 10
        damping = 0.3
        tolerance = 0.0

        [cg_cmarl.acting]
        solver = "max_sum"
        msg_iterations = 10
        damping = 0.3
        tolerance = 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn multipliers_are_drawn_as_they_should() {
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        let mut draw = |distribution, most: f32| {
            let lagrangian_upper_bound = most;
            let options = MultiplierOptions {
                lagrangian_upper_bound,
                distribution,
                ..MultiplierOptions::default()
            };
            let mut drawn = vec![0.0; 4000];
            draw_multipliers(&options, &mut rng, &mut drawn);
            drawn
        };
        let uniform = draw(Distribution::Uniform, 4.0);
        let below = |most: f32| uniform.iter().filter(|m| **m < most).count();
        assert!(below(4.0) == 4000 && below(0.0) == 0);
        assert!(below(1.0).abs_diff(1000) < 120 && below(3.0).abs_diff(3000) < 120);
        let log = draw(Distribution::LogUniform, 4.0);
        assert!(log.iter().filter(|m| **m == 0.0).count().abs_diff(1200) < 120);
        assert!(log.iter().all(|m| *m == 0.0 || (0.05..20.0).contains(m)));
        assert!(log.iter().filter(|m| **m > 0.0 && **m < 1.0).count().abs_diff(1400) < 140);
    }
}
