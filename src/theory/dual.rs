//! Theorem 2: does the average multiplier reach argmin d(λ), and for which policy?
//!
//! λ^i ← Π(λ^i + η_k (c_i − limit)) after each episode, λ̄ = mean; here c_i is known exactly,
//! sampled, or averaged over an episode as training does.

use super::{
    Curve, Figure, Finding, Report, Verdict,
    executed::executed_findings,
    figure::{largest, log_steps, median},
    gap::gap_findings,
    lagrangian::{DualFunction, expected},
    problems::{FactoredCmdp, sample},
    tabular::TabularCmdp,
};
use crate::{
    graph::CoordinationGraph,
    multipliers::Multipliers,
    rng::{Purpose, Streams},
};

/// No multiplier exceeds this; λ* lies well below.
pub(super) const CEILING: f64 = 50.0;
/// Steps of an episode whose mean cost is observed.
const EPISODE: usize = 25;
/// Closer than this counts as there.
const NEAR: f64 = 0.05;

/// The dual step under test: multipliers, agents' costs, step size.
pub type AscentRule = fn(&mut Multipliers, &[f32], f32);

/// How Theorem 2 is checked.
#[derive(Clone, Debug)]
pub struct DualOptions {
    /// Random problems.
    pub n_problems: usize,
    /// Episodes of each ascent.
    pub n_episodes: u64,
    /// Discount.
    pub gamma: f64,
    /// The rule under test.
    pub ascend: AscentRule,
}

impl Default for DualOptions {
    fn default() -> Self {
        Self { n_problems: 20, n_episodes: 20_000, gamma: 0.8, ascend: Multipliers::ascend }
    }
}

/// A problem with a limit that binds: cost per step at most `limit`.
pub(super) struct Case {
    pub(super) problem: FactoredCmdp,
    pub(super) joint: TabularCmdp,
    pub(super) start: Vec<f64>,
    pub(super) limit: f64,
    pub(super) dual: DualFunction,
    agent_rewards: Vec<Vec<f64>>,
}

impl Case {
    /// The problem with its limit two fifths of the way from the least cost to the primary-greedy
    /// policy's; none where those hardly differ.
    pub(super) fn new(problem: FactoredCmdp) -> Option<Self> {
        let joint = problem.joint();
        let start = vec![1.0 / joint.n_states as f64; joint.n_states];
        let free = DualFunction::new(&joint, &start, 0.0, CEILING).pieces;
        let cost = |slack: f64| -(1.0 - joint.gamma) * slack;
        let (most, least) = (cost(free[0].slack), cost(free[free.len() - 1].slack));
        let limit = least + 0.4 * (most - least);
        (most - least > 0.05).then(|| Self::with_limit(problem, joint, start, limit))
    }

    /// The problem with a given limit.
    pub(super) fn with_limit(
        problem: FactoredCmdp,
        joint: TabularCmdp,
        start: Vec<f64>,
        limit: f64,
    ) -> Self {
        let dual = DualFunction::new(&joint, &start, -limit / (1.0 - joint.gamma), CEILING);
        let agent_rewards = problem.agent_constraint_rewards();
        Self { problem, joint, start, limit, dual, agent_rewards }
    }

    /// V_1 ≥ this is the constraint.
    pub(super) fn least(&self) -> f64 {
        -self.limit / (1.0 - self.joint.gamma)
    }

    /// Each agent's discounted mean cost per step under a policy.
    pub(super) fn agent_costs(&self, policy: &[usize]) -> Vec<f32> {
        let cost = |reward: &Vec<f64>| {
            let value = expected(&self.start, &self.joint.evaluate(policy, reward));
            (-(1.0 - self.joint.gamma) * value) as f32
        };
        self.agent_rewards.iter().map(cost).collect()
    }

    /// Each agent's plain mean cost over the steps of an episode.
    fn episode_costs(&self, policy: &[usize]) -> Vec<f32> {
        let mut costs = vec![0.0; self.agent_rewards.len()];
        let mut chances = self.start.clone();
        for _ in 0..EPISODE {
            let mut next = vec![0.0; chances.len()];
            for (state, &chance) in chances.iter().enumerate() {
                let row = state * self.joint.n_actions + policy[state];
                let reward = self.agent_rewards.iter().map(|reward| reward[row]);
                costs.iter_mut().zip(reward).for_each(|(sum, r)| *sum -= chance * r);
                let outcomes = &self.joint.transition[row * chances.len()..][..chances.len()];
                next.iter_mut().zip(outcomes).for_each(|(n, p)| *n += chance * p);
            }
            chances = next;
        }
        costs.iter().map(|cost| (cost / EPISODE as f64) as f32).collect()
    }

    /// Each agent's discounted mean cost of one sampled episode.
    fn sampled_costs(&self, policy: &[usize], rng: &mut crate::rng::Rng) -> Vec<f32> {
        let mut costs = vec![0.0; self.agent_rewards.len()];
        let mut state = sample(&self.start, rng);
        let mut weight = 1.0 - self.joint.gamma;
        while weight > 1e-4 {
            let row = state * self.joint.n_actions + policy[state];
            let rewards = self.agent_rewards.iter().map(|reward| reward[row]);
            costs.iter_mut().zip(rewards).for_each(|(sum, r)| *sum -= (weight * r) as f32);
            state = sample(
                &self.joint.transition[row * self.joint.n_states..][..self.joint.n_states],
                rng,
            );
            weight *= self.joint.gamma;
        }
        costs
    }
}

/// Random cases on a graph.
pub(super) fn cases(graph: &CoordinationGraph, n: usize, gamma: f64, seed: u64) -> Vec<Case> {
    (0..)
        .filter_map(|number| {
            Case::new(FactoredCmdp::numbered(graph.clone(), (2, 2), gamma, seed, number))
        })
        .take(n)
        .collect()
}

/// Mean multiplier before and mean cost in each episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Ascent {
    pub(super) multipliers: Vec<f64>,
    pub(super) costs: Vec<f64>,
}

/// Projected dual ascent against a policy that answers λ̄ with the agents' costs.
pub(super) fn ascend(
    case: &Case,
    rule: AscentRule,
    n_episodes: u64,
    step: &dyn Fn(u64) -> f64,
    answer: &mut dyn FnMut(f64) -> Vec<f32>,
) -> Ascent {
    let n_agents = case.agent_rewards.len();
    let mut multipliers = Multipliers::new(n_agents, vec![case.limit as f32], CEILING as f32);
    let mut ascent = Ascent::default();
    for episode in 0..n_episodes {
        let mean = f64::from(multipliers.mean(0));
        let costs = answer(mean);
        ascent.multipliers.push(mean);
        ascent.costs.push(costs.iter().map(|&c| f64::from(c)).sum::<f64>() / n_agents as f64);
        rule(&mut multipliers, &costs, step(episode) as f32);
    }
    ascent
}

/// η_k = 10 (k + 1)^(−9/10), the exponent of assumption (A6).
pub(super) fn diminishing(episode: u64) -> f64 {
    10.0 * ((episode + 1) as f64).powf(-0.9)
}

/// Costs of every Lagrangian-optimal policy, looked up by multiplier.
pub(super) fn lagrangian_answer(
    case: &Case,
    costs_of: impl Fn(&[usize]) -> Vec<f32>,
) -> impl FnMut(f64) -> Vec<f32> {
    let costs: Vec<Vec<f32>> =
        case.dual.pieces.iter().map(|piece| costs_of(&piece.policy)).collect();
    move |multiplier| costs[case.dual.piece(multiplier)].clone()
}

/// Largest distance from λ* in the last tenth of an ascent.
pub(super) fn final_distance(case: &Case, ascent: &Ascent) -> f64 {
    let target = case.dual.minimiser();
    let tail = ascent.multipliers.len() * 9 / 10;
    largest(ascent.multipliers[tail..].iter().map(|multiplier| (multiplier - target).abs()))
}

/// Runs the ascent with every kind of cost, then the executed policy and the duality gaps.
pub fn check_dual(options: &DualOptions, seed: u64, tick: &(dyn Fn() + Sync)) -> Report {
    let pair = cases(&CoordinationGraph::path(2), options.n_problems, options.gamma, seed);
    let run = |case: &Case, step: &dyn Fn(u64) -> f64, answer: &mut dyn FnMut(f64) -> Vec<f32>| {
        ascend(case, options.ascend, options.n_episodes, step, answer)
    };
    let exact: Vec<Ascent> = pair
        .iter()
        .map(|case| run(case, &diminishing, &mut lagrangian_answer(case, |p| case.agent_costs(p))))
        .collect();
    let sampled = pair.iter().enumerate().map(|(number, case)| {
        let mut rng = Streams::new(seed).rng(Purpose::Episode, number as u64);
        run(case, &diminishing, &mut |multiplier| {
            case.sampled_costs(&case.dual.pieces[case.dual.piece(multiplier)].policy, &mut rng)
        })
    });
    let sampled: Vec<Ascent> = sampled.collect();
    tick();
    let mean_costs = pair.iter().map(|case| {
        run(case, &diminishing, &mut lagrangian_answer(case, |p| case.episode_costs(p)))
    });
    let mean_costs: Vec<Ascent> = mean_costs.collect();
    let path = cases(&CoordinationGraph::path(3), options.n_problems, options.gamma, seed);
    let unequal: Vec<Ascent> = path
        .iter()
        .map(|case| run(case, &diminishing, &mut lagrangian_answer(case, |p| case.agent_costs(p))))
        .collect();
    tick();
    let constant = constant_steps(options, &pair);
    let findings = vec![
        diminishing_finding(&pair, &exact, &sampled),
        constant_finding(&constant),
        mean_cost_finding(&pair, &mean_costs, &exact),
        unequal_finding(&path, &unequal, &pair, &exact),
    ];
    let figures = vec![
        distance_figure(&pair, [&exact, &sampled, &mean_costs], (&path, &unequal)),
        constant_figure(constant),
    ];
    let mut report = Report { findings, figures };
    report.append(executed_findings(&pair, options));
    tick();
    report.findings.extend(gap_findings(&pair, seed));
    tick();
    report
}

fn distances(cases: &[Case], ascents: &[Ascent]) -> Vec<f64> {
    cases.iter().zip(ascents).map(|(case, ascent)| final_distance(case, ascent)).collect()
}

fn summary(distances: &[f64]) -> String {
    let middle = median(distances.iter().copied());
    format!("median {middle:.3}, largest {:.3}", largest(distances.iter().copied()))
}

fn diminishing_finding(cases: &[Case], exact: &[Ascent], sampled: &[Ascent]) -> Finding {
    let (exact, sampled) = (distances(cases, exact), distances(cases, sampled));
    let holds = exact.iter().all(|d| *d <= NEAR) && median(sampled.iter().copied()) <= 2.0 * NEAR;
    Finding::new(
        "dual.diminishing",
        "Thm 2 (ii): λ̄ → argmin d with diminishing steps, for the Lagrangian-optimal policy",
        format!(
            "|λ̄ − λ*| at the end: {} with exact costs; {} with sampled episodes; one region",
            summary(&exact),
            summary(&sampled)
        ),
        Verdict::of(holds),
    )
}

/// Radius of the tail around λ* at each constant step.
fn constant_steps(options: &DualOptions, cases: &[Case]) -> Curve {
    let steps = [1.0, 0.3, 0.1, 0.03, 0.01];
    let points = steps.map(|step| {
        let radius = cases.iter().map(|case| {
            let mut answer = lagrangian_answer(case, |p| case.agent_costs(p));
            let ascent = ascend(case, options.ascend, options.n_episodes, &|_| step, &mut answer);
            final_distance(case, &ascent)
        });
        (step, median(radius))
    });
    Curve::new("radius of the last tenth, median", points.to_vec())
}

fn constant_finding(curve: &Curve) -> Finding {
    let slope = curve.slope_from(0.0);
    let text = format!(
        "radius {:.3} at η = 1, {:.5} at η = 0.01: slope {slope:.2} (theory 1)",
        curve.points[0].1,
        curve.last()
    );
    let claim = "Proof of Thm 2: a constant step η ends in a neighbourhood of radius O(η)";
    Finding::new("dual.constant", claim, text, Verdict::of((0.8..1.3).contains(&slope)))
}

fn mean_cost_finding(cases: &[Case], means: &[Ascent], exact: &[Ascent]) -> Finding {
    let (means, exact) = (distances(cases, means), distances(cases, exact));
    let near = |d: &[f64]| d.iter().all(|d| *d <= NEAR);
    let text = format!(
        "fed with an episode's mean cost over {EPISODE} steps, |λ̄ − λ*|: {}; with (1−γ)V_1: {}",
        summary(&means),
        summary(&exact)
    );
    Finding::new(
        "dual.episode_mean",
        "Proof of Thm 2: an episode's mean cost is (1−γ)V_1, so its fixed point is λ*",
        text,
        Verdict::conditional(near(&means), near(&exact), "discounted costs in the dual step"),
    )
}

fn unequal_finding(path: &[Case], unequal: &[Ascent], pair: &[Case], equal: &[Ascent]) -> Finding {
    let (unequal, equal) = (distances(path, unequal), distances(pair, equal));
    let near = |d: &[f64]| d.iter().all(|d| *d <= NEAR);
    let text = format!(
        "agents with unequal costs (path of 3), |λ̄ − λ*|: {}; equal costs (one pair): {}",
        summary(&unequal),
        summary(&equal)
    );
    let counterexample = (!near(&unequal)).then(|| {
        "path 0-1-2: the end agents pay less than the middle one; each λ^i is projected by itself, so \
         theirs fall to 0 while the middle one's rises, and the mean settles elsewhere"
            .to_owned()
    });
    Finding::new(
        "dual.own_multipliers",
        "Proof of Thm 2: the mean of the agents' own multipliers follows the dual subgradient",
        text,
        Verdict::conditional(near(&unequal), near(&equal), "equal costs of all agents"),
    )
    .against(counterexample)
}

fn distance_figure(pair: &[Case], runs: [&[Ascent]; 3], path: (&[Case], &[Ascent])) -> Figure {
    let n = runs[0].first().map_or(1, |ascent| ascent.multipliers.len()) as u64;
    let places = log_steps(10.0, n, 6.0);
    let horizontal: Vec<f64> = places.iter().map(|&k| k as f64).collect();
    let curve = |name: &str, cases: &[Case], ascents: &[Ascent]| {
        let runs = cases.iter().zip(ascents).map(|(case, ascent)| {
            let distance =
                |&k: &u64| (ascent.multipliers[k as usize - 1] - case.dual.minimiser()).abs();
            places.iter().map(|k| distance(k).max(1e-5)).collect()
        });
        Curve::of_runs(name, &horizontal, &runs.collect::<Vec<_>>())
    };
    let names = ["exact costs", "sampled episodes", "mean cost of 25 steps"];
    let mut curves: Vec<Curve> =
        names.iter().zip(runs).map(|(name, run)| curve(name, pair, run)).collect();
    curves.push(curve("unequal agents (path of 3)", path.0, path.1));
    Figure {
        name: "dual",
        title: "Distance of the mean multiplier from the dual optimum, η_k = 10 (k+1)^−0.9".into(),
        horizontal: ("episodes", true),
        vertical: ("|λ̄ − λ*|", true),
        curves,
    }
}

fn constant_figure(curve: Curve) -> Figure {
    let first = curve.points[0];
    let line = curve.points.iter().map(|(eta, _)| (*eta, first.1 * eta / first.0)).collect();
    Figure {
        name: "dual_constant",
        title: "Constant dual step: radius of the neighbourhood of λ*".into(),
        horizontal: ("η", true),
        vertical: ("radius", true),
        curves: vec![curve, Curve::reference("proportional to η", line)],
    }
}
