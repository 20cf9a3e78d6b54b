//! Theorem 1: both heads of tabular two-head Q-learning reach their fixed points, whatever λ does.
//!
//! Q_R(s, a) ← (1 − α_n) Q_R(s, a) + α_n y_R with α_n = n^(−3/5): theory expects errors of
//! order √α_n, a slope of −3/10 on logarithmic axes.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    figure::{largest, log_steps, median},
    problems::{FactoredCmdp, digit, sample},
    tabular::sup_distance,
};
use cgcmarl::{
    algorithm::cg_cmarl::{HeadTargets, NextValues, augment, two_head_targets},
    coordination::{Coordinator, FactorTables, MaxSum, MaxSumOptions},
    graph::{CoordinationGraph, JointAction},
    multipliers::Multipliers,
    rng::{Purpose, Rng, Streams},
};
use rayon::prelude::*;
use std::iter::repeat;

/// The rule that gives both heads their targets.
pub type TargetRule = fn(f32, f32, f32, NextValues<'_>) -> HeadTargets;

/// Exponent of the steps in assumption (A6).
pub(super) const STEP_EXPONENT: f64 = 0.6;
/// Steps between changes of the multiplier.
const EPISODE: u64 = 25;

/// How Theorem 1 is checked.
#[derive(Clone, Debug)]
pub struct ConvergenceOptions {
    /// Independent learners.
    pub n_seeds: u64,
    /// Environment steps of each.
    pub n_steps: u64,
    /// Discount.
    pub gamma: f64,
    /// The rule under test.
    pub rule: TargetRule,
    /// Step size at the n-th visit, from 0.
    pub step: fn(u64) -> f64,
}

impl Default for ConvergenceOptions {
    fn default() -> Self {
        Self {
            n_seeds: 20,
            n_steps: 1_000_000,
            gamma: 0.8,
            rule: two_head_targets,
            step: |visits| ((visits + 1) as f64).powf(-STEP_EXPONENT),
        }
    }
}

/// What the multiplier does while the heads learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trajectory {
    /// Uniform play, no multiplier.
    Uniform,
    /// Zero throughout.
    Zero,
    /// Projected dual ascent after each episode.
    Learned,
    /// A new draw from [0, 10) after each episode.
    Jumping,
}

/// Errors of both heads along a run, and how much the cost head still moves in its last decade.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub(super) primary: Vec<f64>,
    pub(super) cost: Vec<f64>,
    pub(super) movement: f64,
}

/// The exact fixed points of both heads, one table per region.
pub(super) fn fixed_points(problem: &FactoredCmdp) -> [Vec<Vec<f64>>; 2] {
    let regions = || (0..problem.graph.n_regions()).map(|r| problem.region(r));
    let primary: Vec<Vec<f64>> = regions().map(|mdp| mdp.optimal(&mdp.reward)).collect();
    let cost = regions()
        .zip(&primary)
        .map(|(mdp, q)| mdp.evaluate_actions(&mdp.greedy(q), &mdp.constraint_reward));
    let cost = cost.collect();
    [primary, cost]
}

/// Both heads as tables; targets are computed in the precision of training.
struct Heads {
    values: [Vec<Vec<f64>>; 2],
    rounded: [Vec<Vec<f32>>; 2],
    visits: Vec<Vec<u64>>,
}

impl Heads {
    fn new(problem: &FactoredCmdp) -> Self {
        let zeros = || problem.rewards.iter().map(|table| vec![0.0; table.len()]).collect();
        let rounded = || problem.rewards.iter().map(|table| vec![0.0; table.len()]).collect();
        let visits = problem.rewards.iter().map(|table| vec![0; table.len()]).collect();
        Self { values: [zeros(), zeros()], rounded: [rounded(), rounded()], visits }
    }

    fn move_towards(&mut self, region: usize, row: usize, targets: HeadTargets, step: f64) {
        for (head, target) in [targets.primary, targets.cost].into_iter().enumerate() {
            let value = &mut self.values[head][region][row];
            *value += step * (f64::from(target) - *value);
            self.rounded[head][region][row] = *value as f32;
        }
    }
}

/// One learner on its trajectory.
struct Run<'a> {
    problem: &'a FactoredCmdp,
    options: &'a ConvergenceOptions,
    trajectory: Trajectory,
    heads: Heads,
    multipliers: Multipliers,
    multiplier: f32,
    costs: Vec<f32>,
    tables: FactorTables,
    coordinator: MaxSum,
    state: usize,
    rng: Rng,
}

/// Learns for `n_steps` and measures at `places`.
pub(super) fn learn(
    problem: &FactoredCmdp,
    options: &ConvergenceOptions,
    trajectory: Trajectory,
    places: &[u64],
    seed: u64,
) -> Trace {
    let exact = fixed_points(problem);
    let mut run = Run::new(problem, options, trajectory, seed);
    let mut trace = Trace::default();
    let mut snapshots = Vec::new();
    for step in 1..=options.n_steps {
        run.advance();
        if step % EPISODE == 0 {
            run.end_episode();
        }
        if places.contains(&step) {
            let error = |head: usize| {
                let regions = run.heads.values[head].iter().zip(&exact[head]);
                largest(regions.map(|(learned, exact)| sup_distance(learned, exact)))
            };
            trace.primary.push(error(0));
            trace.cost.push(error(1));
            if step >= options.n_steps / 10 {
                snapshots.push(run.heads.values[1].concat());
            }
        }
    }
    let last = run.heads.values[1].concat();
    trace.movement = largest(snapshots.iter().map(|snapshot| sup_distance(snapshot, &last)));
    trace
}

impl<'a> Run<'a> {
    fn new(
        problem: &'a FactoredCmdp,
        options: &'a ConvergenceOptions,
        trajectory: Trajectory,
        seed: u64,
    ) -> Self {
        let n_agents = problem.graph.n_agents();
        Self {
            problem,
            options,
            trajectory,
            heads: Heads::new(problem),
            multipliers: Multipliers::new(n_agents, vec![0.2], 10.0),
            multiplier: 0.0,
            costs: vec![0.0; n_agents],
            tables: FactorTables::zeros(&problem.graph, problem.n_actions),
            coordinator: MaxSum::new(MaxSumOptions::default()),
            state: 0,
            rng: Streams::new(seed).rng(Purpose::Exploration, trajectory as u64),
        }
    }

    /// One step of the environment and one update of every region.
    fn advance(&mut self) {
        let action = self.choose();
        let problem = self.problem;
        let n = problem.graph.n_agents();
        let next = (0..n).fold(0, |next, agent| {
            let at = digit(self.state, problem.n_states, n, agent);
            let row = at * problem.n_actions + digit(action, problem.n_actions, n, agent);
            let chances = &problem.transitions[agent][row * problem.n_states..][..problem.n_states];
            next * problem.n_states + sample(chances, &mut self.rng)
        });
        for (region, members) in problem.graph.regions().enumerate() {
            self.update(region, members, action, next);
        }
        self.state = next;
    }

    fn update(&mut self, region: usize, members: &[usize], action: usize, next: usize) {
        let problem = self.problem;
        let n = problem.graph.n_agents();
        let row = problem.regional_row(members, n, self.state, action);
        let width = problem.n_actions.pow(members.len() as u32);
        let after = problem.regional_row(members, n, next, 0);
        let [primary, cost] =
            [0, 1].map(|head: usize| &self.heads.rounded[head][region][after..][..width]);
        let reward = problem.rewards[region][row] as f32;
        let constraint_reward = problem.constraint_rewards[region][row] as f32;
        let next =
            NextValues { online_primary: primary, target_primary: primary, target_cost: cost };
        let targets = (self.options.rule)(reward, constraint_reward, problem.gamma as f32, next);
        let visits = self.heads.visits[region][row];
        self.heads.visits[region][row] += 1;
        self.heads.move_towards(region, row, targets, (self.options.step)(visits));
        let share = -constraint_reward / members.len() as f32 / EPISODE as f32;
        members.iter().for_each(|&agent| self.costs[agent] += share);
    }

    /// A random joint action in half of the steps (A4), else Max-Sum on the augmented tables.
    fn choose(&mut self) -> usize {
        let problem = self.problem;
        if self.trajectory == Trajectory::Uniform || self.rng.uniform() < 0.5 {
            return self.rng.below(problem.n_joint_actions());
        }
        let n = problem.graph.n_agents();
        for (region, members) in problem.graph.regions().enumerate() {
            let width = problem.n_actions.pow(members.len() as u32);
            let start = problem.regional_row(members, n, self.state, 0);
            let table = self.tables.region_mut(region);
            table.copy_from_slice(&self.heads.rounded[0][region][start..][..width]);
            let cost = &self.heads.rounded[1][region][start..][..width];
            augment(table, cost, repeat(&self.multiplier));
        }
        let mut action = JointAction::new();
        self.coordinator.coordinate(&problem.graph, &self.tables, &mut action);
        action.iter().fold(0, |index, a| index * problem.n_actions + a)
    }

    fn end_episode(&mut self) {
        self.multiplier = match self.trajectory {
            Trajectory::Uniform | Trajectory::Zero => 0.0,
            Trajectory::Learned => {
                self.multipliers.ascend(&self.costs, 0.05);
                self.multipliers.mean(0)
            }
            Trajectory::Jumping => self.rng.range(0.0, 10.0) as f32,
        };
        self.costs.fill(0.0);
    }
}

/// Two agents whose actions change nothing but the cost: every action ties for the primary head.
fn tied_problem(gamma: f64, seed: u64) -> FactoredCmdp {
    let mut problem = FactoredCmdp::numbered(CoordinationGraph::path(2), (2, 2), gamma, seed, 1);
    for table in &mut problem.transitions {
        *table = vec![0.5; table.len()];
    }
    for (row, reward) in problem.rewards[0].iter_mut().enumerate() {
        *reward = if row / 4 == 0 { 1.0 } else { 0.0 };
    }
    for (row, cost) in problem.constraint_rewards[0].iter_mut().enumerate() {
        *cost = if row % 4 < 2 { 0.0 } else { -1.0 };
    }
    problem
}

/// Runs every trajectory, and the problem with ties.
pub fn check_convergence(
    options: &ConvergenceOptions,
    seed: u64,
    tick: &(dyn Fn() + Sync),
) -> Report {
    let graph = CoordinationGraph::complete(3);
    let problem = FactoredCmdp::numbered(graph, (2, 2), options.gamma, seed, 0);
    let places = log_steps(options.n_steps as f64 / 1e3, options.n_steps, 4.0);
    let horizontal: Vec<f64> = places.iter().map(|&step| step as f64).collect();
    let runs = |problem: &FactoredCmdp, trajectory| -> Vec<Trace> {
        let numbers = (0..options.n_seeds).into_par_iter();
        let runs =
            numbers.map(|run| learn(problem, options, trajectory, &places, seed ^ (run + 1) << 8));
        let runs = runs.collect();
        tick();
        runs
    };
    let named = [
        (Trajectory::Zero, "λ = 0"),
        (Trajectory::Learned, "λ learned"),
        (Trajectory::Jumping, "λ jumping"),
    ];
    let mut curves = [Vec::new(), Vec::new()];
    let mut movement = 0.0;
    for (trajectory, name) in named {
        let traces = runs(&problem, trajectory);
        movement = f64::max(movement, median(traces.iter().map(|trace| trace.movement)));
        let head = |part: fn(&Trace) -> &Vec<f64>| -> Vec<Vec<f64>> {
            traces.iter().map(|trace| part(trace).clone()).collect()
        };
        curves[0].push(Curve::of_runs(
            format!("primary, {name}"),
            &horizontal,
            &head(|t| &t.primary),
        ));
        curves[1].push(Curve::of_runs(format!("cost, {name}"), &horizontal, &head(|t| &t.cost)));
    }
    let tied = runs(&tied_problem(options.gamma, seed), Trajectory::Zero);
    let tied_movement = median(tied.iter().map(|trace| trace.movement));
    let findings = vec![
        primary_finding(&curves[0], &horizontal),
        cost_finding(&curves[1], &horizontal, movement, tied_movement),
    ];
    Report { findings, figures: vec![figure(&curves)] }
}

/// Whether every curve falls to a tenth of its start and is still falling in the last decade, at
/// least half as steeply as √α; steps that do not fall end on a floor there.
fn falls(curves: &[Curve], places: &[f64]) -> (bool, String) {
    let end = places[places.len() - 1];
    let slopes = |start: f64| -> Vec<f64> {
        curves.iter().map(|curve| curve.slope_from(start * 0.999)).collect()
    };
    let (late, last) = (slopes(end / 100.0), slopes(end / 10.0));
    let shares: Vec<f64> = curves.iter().map(|curve| curve.last() / curve.points[0].1).collect();
    let holds = last.iter().all(|slope| *slope <= -0.5 * STEP_EXPONENT / 2.0)
        && shares.iter().all(|share| *share <= 0.1);
    let list =
        |values: &[f64]| values.iter().map(|v| format!("{v:.3}")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "median error falls to {} of its value at {:.0} steps within {:.0} decades; log-log slope over the \
         last two decades {}, over the last {} (theory {:.2})",
        list(&shares),
        places[0],
        (end / places[0]).log10(),
        list(&late),
        list(&last),
        -STEP_EXPONENT / 2.0
    );
    (holds, text)
}

fn primary_finding(curves: &[Curve], places: &[f64]) -> Finding {
    let (holds, text) = falls(curves, places);
    let claim = "Thm 1 (i): the primary head converges to Q*_0,R for any λ";
    Finding::new("convergence.primary", claim, text, ClaimOutcome::of(holds))
}

fn cost_finding(curves: &[Curve], places: &[f64], movement: f64, tied: f64) -> Finding {
    let (holds, text) = falls(curves, places);
    let ties_settle = tied <= 3.0 * movement;
    let condition = "a unique primary-greedy action in every regional state";
    let verdict = ClaimOutcome::conditional(holds && ties_settle, holds, condition);
    let text = format!(
        "{text}; movement in the last decade {movement:.3}, with tied primary actions {tied:.3}"
    );
    let counterexample = (!ties_settle).then(|| {
        "one region, 2 agents, 2 states, 2 actions: actions change the cost only, so all tie; \
         noise decides the argmax for ever and the cost head never settles"
            .to_owned()
    });
    let claim =
        "Thm 1 (ii): the cost head converges to the cost value of the primary-greedy policy";
    Finding::new("convergence.cost", claim, text, verdict).against(counterexample)
}

fn figure(curves: &[Vec<Curve>; 2]) -> Figure {
    let mut curves = curves.concat();
    let first = curves[0].points[0];
    let rate = |(x, _): &(f64, f64)| (*x, first.1 * (x / first.0).powf(-STEP_EXPONENT / 2.0));
    let reference = curves[0].points.iter().map(rate).collect();
    curves.push(Curve::reference("slope −0.3", reference));
    Figure {
        name: "convergence",
        title: "Two-head Q-learning: sup-norm error of both heads, median and 10-90 % band".into(),
        horizontal: ("environment steps", true),
        vertical: ("largest error", true),
        curves,
    }
}
