//! The measurable parts of the error budget of a trained model, decision by decision.

use super::{
    ClaimOutcome,
    figure::{largest, quantile},
};
use cgcmarl::{
    algorithm::cg_cmarl::{CgCmarlPolicy, TwoHeadWorkspace, bootstrap, summed_error},
    coordination::{Coordinator, Exact, ExactOptions, MaxSum, MaxSumOptions},
    environment::{Batch, Ending, Policy, Pose, View},
    episode::{Controller, Transition, VectorEnvironment},
    evaluation::evaluation_streams,
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};
use serde::Serialize;

/// How a trained model is looked at.
#[derive(Clone, Debug)]
pub struct TrainedOptions {
    /// Episodes to play on start states that training never saw.
    pub episodes: usize,
    /// Seed of the start states.
    pub start_seed: u64,
    /// Decisions that are solved exactly.
    pub n_decisions: usize,
    /// Discount the model was trained with.
    pub gamma: f32,
    /// The coordinator whose error is ε_MS.
    pub coordinator: fn() -> Box<dyn Coordinator>,
}

impl TrainedOptions {
    /// As published, for a model trained with this discount.
    pub fn new(gamma: f32, start_seed: u64) -> Self {
        let coordinator =
            || -> Box<dyn Coordinator> { Box::new(MaxSum::new(MaxSumOptions::default())) };
        Self { episodes: 400, start_seed, n_decisions: 500, gamma, coordinator }
    }
}

/// What a coordinator loses against the exact optimum of the same tables.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoordinationLoss {
    /// Share of decisions that are not optimal.
    pub missed: f64,
    /// Mean loss of a decision.
    pub mean: f64,
    /// Largest loss.
    pub largest: f64,
}

/// The parts of the error budget at one multiplier.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetPoint {
    /// λ.
    pub multiplier: f32,
    /// ε_MS: Max-Sum as the paper runs it.
    pub max_sum: CoordinationLoss,
    /// The coordinator the model acts with.
    pub acting: CoordinationLoss,
    /// Share of decisions whose optimum is proven.
    pub proven: f64,
    /// δ = Σ max − max Σ of a decision: median and 90th percentile.
    pub deficit: [f64; 2],
    /// Mean discounted cost the cost heads predict at the start of an episode.
    pub predicted_cost: f64,
    /// Mean discounted cost paid from there on.
    pub realised_cost: f64,
    /// Standard error of predicted − realised.
    pub standard_error: f64,
    /// Root mean square TD error of the team's primary value and cost value on held-out steps.
    pub td_errors: [f64; 2],
    /// Mean absolute reward and mean cost of a step, the scale of those errors.
    pub step_scale: [f64; 2],
}

/// Where the errors of a trained model come from, as far as they can be measured.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorBudget {
    /// Agents in the team.
    pub n_agents: usize,
    /// Episodes played at each multiplier.
    pub episodes: usize,
    /// Decisions solved exactly at each multiplier.
    pub decisions: usize,
    /// Discount.
    pub gamma: f32,
    /// One per multiplier.
    pub points: Vec<BudgetPoint>,
    /// Whether the cost heads predict at least what is paid, within two standard errors.
    pub is_conservative: ClaimOutcome,
}

/// One remembered step.
struct Step {
    slot: usize,
    state: Vec<f32>,
    next_state: Vec<f32>,
    action: JointAction,
    reward: f32,
    region_costs: Vec<f32>,
    is_terminal: bool,
}

/// Lets a policy play and remembers everything.
struct Recorder<'a> {
    policy: &'a mut CgCmarlPolicy,
    steps: Vec<Step>,
}

impl Controller for Recorder<'_> {
    fn act(&mut self, batch: Batch<'_>, _rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(batch, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let Transition { slot, state, action, outcome, next_state } = transition;
        self.steps.push(Step {
            slot,
            state: state.to_vec(),
            next_state: next_state.to_vec(),
            action: action.to_vec(),
            reward: outcome.region_rewards.iter().sum(),
            region_costs: outcome.region_costs.clone(),
            is_terminal: outcome.ending == Ending::Terminal,
        });
    }
}

/// Coordination of one decision: what each way of choosing is worth.
struct Decision {
    best: f64,
    acted: f64,
    max_sum: f64,
    apart: f64,
    is_proven: bool,
}

/// Σ_R Q_R of every head at one joint action.
fn team_values(
    policy: &CgCmarlPolicy,
    view: &dyn View,
    state: &[f32],
    action: &[usize],
) -> Vec<f32> {
    let context = policy.context(view);
    let (network, stride) = (context.network, context.network.n_inputs());
    let mut graph = CoordinationGraph::default();
    view.graph(state, &mut graph);
    let n_rows = graph.n_regions();
    let poses: Vec<Pose> =
        graph.regions().map(|members| Pose::of(view, state, members, (0, false))).collect();
    let mut rows = vec![0.0; n_rows * stride];
    view.region_rows(state, &graph, &poses, &mut rows, stride);
    rows.chunks_exact_mut(stride)
        .for_each(|row| network.write_multipliers(row, policy.multipliers()));
    let regions = graph.regions().zip(&poses);
    let posed = |(members, pose): (&[usize], &Pose)| -> Vec<usize> {
        members.iter().map(|&agent| view.transform_action(pose.symmetry, action[agent])).collect()
    };
    let actions: Vec<usize> = regions.flat_map(posed).collect();
    let mut values = vec![0.0; n_rows * network.n_heads()];
    let mut workspace = TwoHeadWorkspace::default();
    network.values(context.parameters, &rows, n_rows, &actions, &mut values, &mut workspace);
    (0..network.n_heads())
        .map(|head| values.iter().skip(head).step_by(network.n_heads()).sum())
        .collect()
}

/// The action a cost head is trained to follow: its own where λ is an input, else the primary-greedy.
fn followed(policy: &CgCmarlPolicy, view: &dyn View, state: &[f32]) -> JointAction {
    let context = policy.context(view);
    let mut multipliers = policy.multipliers().to_vec();
    if context.network.n_multipliers() == 0 {
        multipliers.fill(0.0);
    }
    let mut action = JointAction::new();
    policy.actor(view, None).decide(context, state, &multipliers, &mut action);
    action
}

fn decide(
    policy: &CgCmarlPolicy,
    view: &dyn View,
    state: &[f32],
    coordinator: fn() -> Box<dyn Coordinator>,
) -> Decision {
    let limits = ExactOptions { node_limit: 100_000, ..ExactOptions::default() };
    let mut actor = policy.actor(view, Some(Box::new(Exact::new(limits))));
    let mut action = JointAction::new();
    let (graph, tables, exact) =
        actor.decide(policy.context(view), state, policy.multipliers(), &mut action);
    let max_sum = coordinator().coordinate(graph, tables, &mut action).value;
    let apart = (0..graph.n_regions())
        .map(|region| f64::from(tables.region(region).iter().fold(f32::MIN, |m, &v| m.max(v))))
        .sum();
    let mut own = policy.actor(view, None);
    let acted = own.decide(policy.context(view), state, policy.multipliers(), &mut action).2.value;
    Decision { best: exact.value, acted, max_sum, apart, is_proven: exact.converged }
}

/// Predicted and realised discounted cost from the first step of each episode, per constraint summed.
fn foreseen(
    policy: &CgCmarlPolicy,
    view: &dyn View,
    steps: &[Step],
    gamma: f32,
) -> Vec<(f64, f64)> {
    let n_slots = steps.iter().map(|step| step.slot + 1).max().unwrap_or(0);
    (0..n_slots)
        .filter_map(|slot| {
            let mut episode = steps.iter().filter(|step| step.slot == slot).peekable();
            let first = episode.peek()?;
            let predicted: f32 =
                team_values(policy, view, &first.state, &first.action)[1..].iter().sum();
            let realised = episode.enumerate().map(|(t, step)| {
                f64::from(gamma).powi(t as i32) * f64::from(step.region_costs.iter().sum::<f32>())
            });
            Some((f64::from(-predicted), realised.sum()))
        })
        .collect()
}

/// Squared TD errors of the team's primary value and of its cost value on held-out steps.
fn errors(policy: &CgCmarlPolicy, view: &dyn View, steps: &[&Step], gamma: f32) -> [f64; 2] {
    let squares = steps.iter().map(|step| {
        let discount = if step.is_terminal { 0.0 } else { gamma };
        let now = team_values(policy, view, &step.state, &step.action);
        let next =
            team_values(policy, view, &step.next_state, &followed(policy, view, &step.next_state));
        let primary = summed_error(now[0], step.reward, discount, next[0]);
        let cost: f32 = step.region_costs.iter().sum();
        let own = now[1..].iter().sum::<f32>()
            - bootstrap(-cost, discount, next[1..].iter().sum::<f32>());
        [primary, own].map(|error| f64::from(error).powi(2))
    });
    let squares: Vec<[f64; 2]> = squares.collect();
    let mean =
        |head: usize| squares.iter().map(|s| s[head]).sum::<f64>() / steps.len().max(1) as f64;
    [mean(0).sqrt(), mean(1).sqrt()]
}

fn look(
    policy: &mut CgCmarlPolicy,
    environments: &mut VectorEnvironment,
    options: &TrainedOptions,
) -> (BudgetPoint, usize) {
    let streams = evaluation_streams(options.start_seed, 0);
    let n = options.episodes.min(environments.len());
    let mut recorder = Recorder { policy, steps: Vec::new() };
    environments.play(&mut recorder, streams, n);
    let (policy, steps) = (&*recorder.policy, recorder.steps);
    let view = environments.view();
    let stride = steps.len().div_ceil(options.n_decisions.max(1)).max(1);
    let chosen: Vec<&Step> = steps.iter().step_by(stride).collect();
    let decisions: Vec<Decision> =
        chosen.iter().map(|step| decide(policy, view, &step.state, options.coordinator)).collect();
    let foreseen = foreseen(policy, view, &steps, options.gamma);
    let deficits = |share| quantile(decisions.iter().map(|d| d.apart - d.best), share);
    let mean = |part: fn(&Step) -> f32| {
        steps.iter().map(|step| f64::from(part(step))).sum::<f64>() / steps.len().max(1) as f64
    };
    let (predicted_cost, realised_cost, standard_error) = compare(&foreseen);
    let point = BudgetPoint {
        multiplier: policy.multipliers().first().copied().unwrap_or(0.0),
        max_sum: loss(&decisions, |d| d.best - d.max_sum),
        acting: loss(&decisions, |d| d.best - d.acted),
        proven: share(&decisions, |d| d.is_proven),
        deficit: [deficits(0.5), deficits(0.9)],
        predicted_cost,
        realised_cost,
        standard_error,
        td_errors: errors(policy, view, &chosen, options.gamma),
        step_scale: [mean(|s| s.reward.abs()), mean(|s| s.region_costs.iter().sum())],
    };
    (point, decisions.len())
}

fn share(decisions: &[Decision], is: impl Fn(&Decision) -> bool) -> f64 {
    decisions.iter().filter(|decision| is(decision)).count() as f64 / decisions.len().max(1) as f64
}

fn loss(decisions: &[Decision], part: fn(&Decision) -> f64) -> CoordinationLoss {
    // Sums of single-precision tables agree to about this.
    let missed = share(decisions, |decision| part(decision) > 1e-4);
    let lost = || decisions.iter().map(|decision| part(decision).max(0.0));
    let mean = lost().sum::<f64>() / decisions.len().max(1) as f64;
    CoordinationLoss { missed, mean, largest: largest(lost()) }
}

/// Mean prediction, mean realisation, and the standard error of their difference.
fn compare(pairs: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = pairs.len().max(1) as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>() / n;
    let (predicted, realised) = (mean(|p| p.0), mean(|p| p.1));
    let spread = |p: &(f64, f64)| (p.0 - p.1 - predicted + realised).powi(2);
    let variance = pairs.iter().map(spread).sum::<f64>() / (n - 1.0).max(1.0);
    (predicted, realised, (variance / n).sqrt())
}

fn is_conservative(points: &[BudgetPoint]) -> ClaimOutcome {
    let above = |p: &BudgetPoint| p.predicted_cost + 2.0 * p.standard_error >= p.realised_cost;
    ClaimOutcome::of(points.iter().all(above))
}

/// Plays each policy and measures ε_MS, the coordination deficit, the cost heads and TD errors.
pub fn check_trained(
    policies: &mut [CgCmarlPolicy],
    environments: &mut VectorEnvironment,
    options: &TrainedOptions,
    tick: &dyn Fn(&BudgetPoint),
) -> ErrorBudget {
    let (mut points, mut decisions) = (Vec::new(), 0);
    for policy in policies {
        let (point, n) = look(policy, environments, options);
        tick(&point);
        points.push(point);
        decisions = n;
    }
    ErrorBudget {
        n_agents: environments.spec().n_agents(),
        episodes: options.episodes.min(environments.len()),
        decisions,
        gamma: options.gamma,
        is_conservative: is_conservative(&points),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::{
        Model,
        rng::{Purpose, Streams},
    };

    #[test]
    fn a_prediction_is_compared_with_its_own_episode() {
        // Differences 1 and 3: mean 2, variance 2, standard error 1.
        let (predicted, realised, error) = compare(&[(2.0, 1.0), (5.0, 2.0)]);
        assert_eq!((predicted, realised), (3.5, 1.5));
        assert!((error - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_cost_head_that_promises_too_little_is_caught() {
        let decision =
            Decision { best: 1.0, acted: 1.0, max_sum: 0.5, apart: 2.0, is_proven: true };
        let loss = loss(&[decision], |d| d.best - d.max_sum);
        assert_eq!((loss.missed, loss.mean, loss.largest), (1.0, 0.5, 0.5));
        let point = |predicted_cost| BudgetPoint {
            multiplier: 0.0,
            max_sum: loss,
            acting: loss,
            proven: 1.0,
            deficit: [0.0; 2],
            predicted_cost,
            realised_cost: 1.0,
            standard_error: 0.1,
            td_errors: [0.0; 2],
            step_scale: [0.0; 2],
        };
        assert_eq!(is_conservative(&[point(1.5), point(0.85)]), ClaimOutcome::Holds);
        assert_eq!(is_conservative(&[point(1.5), point(0.75)]), ClaimOutcome::DoesNotHold);
    }

    #[test]
    fn what_is_measured_of_a_state_is_the_same_in_a_turned_world() {
        for name in ["simple_spread", "simple_spread_3", "simple_tag"] {
            let folder = format!("{}/../models/{name}", env!("CARGO_MANIFEST_DIR"));
            let model = Model::open(folder).unwrap();
            let environment = model.scenario().unwrap().build().unwrap();
            let view = environment.view();
            let policy = model.cg_cmarl(&model.scenario().unwrap()).unwrap().policy_at(0.5);
            let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
            let width = view.spec().state_width;
            let state: Vec<f32> = (0..width).map(|_| rng.range(-1.0, 1.0) as f32).collect();
            let action: JointAction = (0..view.spec().n_agents()).map(|i| 7 * i % 25).collect();
            let coordinator = TrainedOptions::new(0.9, 1).coordinator;
            let measured = |symmetry: usize| {
                let mut state = state.clone();
                view.transform_state(symmetry, &mut state);
                let done = action.iter().map(|&own| view.transform_action(symmetry, own));
                let values = team_values(&policy, view, &state, &done.collect::<Vec<_>>());
                let Decision { best, acted, max_sum, apart, .. } =
                    decide(&policy, view, &state, coordinator);
                let values = values.into_iter().map(f64::from);
                values.chain([best, acted, max_sum, apart]).collect::<Vec<f64>>()
            };
            let plain = measured(0);
            for symmetry in 1..view.n_symmetries() {
                let turned = measured(symmetry);
                let same = plain.iter().zip(&turned).all(|(a, b)| (a - b).abs() < 1e-4);
                assert!(same, "{name} {symmetry}: {plain:?} {turned:?}");
            }
        }
    }
}
