//! Theorem 2: does the average multiplier reach argmin d(λ), and for which policy?
//!
//! λ^i ← Π(λ^i + η_k (c_i − limit)) after each episode, λ̄ = mean; here c_i is known exactly,
//! sampled, or averaged over an episode as training does.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    ascent::{
        Ascent, AscentRule, Case, EPISODE, FIRST_STEP, ascend, cases, diminishing, final_distance,
        lagrangian_answer, once, payer_and_bystander,
    },
    executed::executed_findings,
    figure::{largest, log_steps, median},
    gap::gap_findings,
};
use cgcmarl::{
    graph::CoordinationGraph,
    multipliers::Multipliers,
    rng::{Purpose, Streams},
};

/// Closer than this counts as there.
const NEAR: f64 = 0.05;

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
        Self { n_problems: 20, n_episodes: 50_000, gamma: 0.8, ascend: Multipliers::ascend }
    }
}

/// Runs the ascent with every kind of cost, then the executed policy and the duality gaps.
pub fn check_dual(options: &DualOptions, seed: u64, tick: &(dyn Fn() + Sync)) -> Report {
    let pair = cases(&CoordinationGraph::path(2), options.n_problems, options.gamma, seed);
    let path = cases(&CoordinationGraph::path(3), options.n_problems, options.gamma, seed);
    let runs = Ascents::new(options, &pair, &path, seed);
    tick();
    let constant = constant_steps(options, &pair);
    let findings = vec![
        diminishing_finding(&pair, &runs),
        constant_finding(&constant),
        mean_cost_finding(options, &pair, &runs),
        unequal_finding(options, &path, &pair, &runs),
    ];
    let figures = vec![distance_figure(&pair, &path, &runs), constant_figure(constant)];
    tick();
    let mut report = Report { findings, figures };
    let all_pairs = cases(&CoordinationGraph::complete(3), options.n_problems, options.gamma, seed);
    report.append(executed_findings(&pair, &all_pairs, options));
    tick();
    report.findings.extend(gap_findings(&pair, seed));
    tick();
    report
}

/// One ascent per problem, with every kind of cost.
struct Ascents {
    /// (1−γ)V_1 of each agent.
    exact: Vec<Ascent>,
    /// The same with a tenth of the step.
    slow: Vec<Ascent>,
    /// One sampled episode.
    sampled: Vec<Ascent>,
    /// The plain mean over the steps of an episode.
    means: Vec<Ascent>,
    /// Agents whose costs differ, each with its own multiplier.
    unequal: Vec<Ascent>,
    /// The same agents, every multiplier fed with the team's mean.
    shared: Vec<Ascent>,
}

impl Ascents {
    fn new(options: &DualOptions, pair: &[Case], path: &[Case], seed: u64) -> Self {
        let each = |cases: &[Case], step: &dyn Fn(u64) -> f64, costs: Costs| -> Vec<Ascent> {
            let run = |case: &Case| {
                let mut answer = lagrangian_answer(case, |policy| costs(case, policy));
                ascend(case, options.ascend, options.n_episodes, step, &mut answer)
            };
            cases.iter().map(run).collect()
        };
        let sampled = pair.iter().enumerate().map(|(number, case)| {
            let mut rng = Streams::new(seed).rng(Purpose::Episode, number as u64);
            let mut answer = |multiplier: f64| {
                case.sampled_costs(&case.dual.pieces[case.dual.piece(multiplier)].policy, &mut rng)
            };
            ascend(case, options.ascend, options.n_episodes, &diminishing, &mut answer)
        });
        Self {
            exact: each(pair, &diminishing, Case::agent_costs),
            slow: each(pair, &|episode| 0.1 * diminishing(episode), Case::agent_costs),
            sampled: sampled.collect(),
            means: each(pair, &diminishing, Case::episode_costs),
            unequal: each(path, &diminishing, Case::agent_costs),
            shared: each(path, &diminishing, Case::team_costs),
        }
    }
}

/// What a policy costs each agent.
type Costs = fn(&Case, &[usize]) -> Vec<f32>;

/// Where the ascent ends on one problem: the mean of λ̄ over the last tenth.
fn limit_of(options: &DualOptions, case: &Case, costs: Costs) -> f64 {
    let mut answer = lagrangian_answer(case, |policy| costs(case, policy));
    let ascent = ascend(case, options.ascend, options.n_episodes, &diminishing, &mut answer);
    let tail = &ascent.multipliers[ascent.multipliers.len() * 9 / 10..];
    tail.iter().sum::<f64>() / tail.len() as f64
}

fn distances(cases: &[Case], ascents: &[Ascent]) -> Vec<f64> {
    cases.iter().zip(ascents).map(|(case, ascent)| final_distance(case, ascent)).collect()
}

fn are_near(distances: &[f64]) -> bool {
    distances.iter().all(|distance| *distance <= NEAR)
}

fn summary(distances: &[f64]) -> String {
    let middle = median(distances.iter().copied());
    format!("median {middle:.3}, largest {:.3}", largest(distances.iter().copied()))
}

fn diminishing_finding(cases: &[Case], runs: &Ascents) -> Finding {
    let [exact, slow, sampled] =
        [&runs.exact, &runs.slow, &runs.sampled].map(|ascents| distances(cases, ascents));
    let holds = are_near(&exact) && median(sampled.iter().copied()) <= 2.0 * NEAR;
    let width = largest(cases.iter().map(|case| {
        let (low, high) = case.dual.minimisers();
        high - low
    }));
    let n_episodes = runs.exact.first().map_or(0, |ascent| ascent.multipliers.len());
    Finding::new(
        "dual.diminishing",
        "Thm 2 (ii): λ̄ → argmin d with diminishing steps, for the Lagrangian-optimal policy",
        format!(
            "distance of λ̄ from argmin d in the last tenth of {n_episodes} episodes, η_0 = {FIRST_STEP}: {} with \
             exact costs; {} with sampled episodes; widest argmin d {width:.1e}. With η_0 = {} {}: on the way, \
             since Σ η_k grows like k^0.1 only",
            summary(&exact),
            summary(&sampled),
            0.1 * FIRST_STEP,
            summary(&slow),
        ),
        ClaimOutcome::of(holds),
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
    Finding::new("dual.constant", claim, text, ClaimOutcome::of((0.8..1.3).contains(&slope)))
}

fn mean_cost_finding(options: &DualOptions, cases: &[Case], runs: &Ascents) -> Finding {
    let (means, exact) = (distances(cases, &runs.means), distances(cases, &runs.exact));
    let case = once(options.gamma);
    let (plain, discounted) = (
        limit_of(options, &case, Case::episode_costs),
        limit_of(options, &case, Case::agent_costs),
    );
    let is_off = case.dual.distance(plain) > NEAR;
    let off = means.iter().filter(|d| **d > NEAR).count();
    let text = format!(
        "fed with an episode's mean cost over {EPISODE} steps, |λ̄ − λ*|: {}, beyond {NEAR} in {off} of {}; with \
         (1−γ)V_1: {}",
        summary(&means),
        means.len(),
        summary(&exact)
    );
    let counterexample = is_off.then(|| {
        format!(
            "one agent acts once, at the first step, for reward 1 at cost 1, γ = {}, limit {:.2}: \
             (1−γ)V_1 is {:.2} and λ̄ → {discounted:.3} = λ*; the mean of {EPISODE} steps is {:.2} and λ̄ → {plain:.3}",
            options.gamma,
            case.limit,
            case.agent_costs(&[1, 0])[0],
            case.episode_costs(&[1, 0])[0],
        )
    });
    Finding::new(
        "dual.episode_mean",
        "Proof of Thm 2: an episode's mean cost is (1−γ)V_1, so its fixed point is λ*",
        text,
        ClaimOutcome::conditional(
            are_near(&means) && !is_off,
            are_near(&exact),
            "discounted costs in the dual step",
        ),
    )
    .against(counterexample)
}

fn unequal_finding(options: &DualOptions, path: &[Case], pair: &[Case], runs: &Ascents) -> Finding {
    let [unequal, shared] = [&runs.unequal, &runs.shared].map(|ascents| distances(path, ascents));
    let equal = distances(pair, &runs.exact);
    let case = payer_and_bystander(options.gamma, 1.5);
    let (own, together) =
        (limit_of(options, &case, Case::agent_costs), limit_of(options, &case, Case::team_costs));
    let is_off = case.dual.distance(own) > NEAR;
    let text = format!(
        "agents with unequal costs (path of 3), |λ̄ − λ*|: {}; the same fed with the team's mean: {}; equal \
         costs (one pair): {}",
        summary(&unequal),
        summary(&shared),
        summary(&equal)
    );
    let counterexample = is_off.then(|| {
        format!(
            "two agents apart, one state: the first earns 0, 2 or 3 at cost 0, 1 or 2, the second neither; \
             limit 1.5 for the team, λ* = {:.0}. The second's λ stays at 0, the first's answers to twice the \
             team's cost: λ̄ → {own:.3}; fed with the team's mean λ̄ → {together:.3}",
            case.dual.minimiser()
        )
    });
    Finding::new(
        "dual.own_multipliers",
        "Proof of Thm 2: the mean of the agents' own multipliers follows the dual subgradient",
        text,
        ClaimOutcome::conditional(
            are_near(&unequal) && !is_off,
            are_near(&equal) && are_near(&shared),
            "equal costs of all agents, or every multiplier fed with the team's mean cost",
        ),
    )
    .against(counterexample)
}

fn distance_figure(pair: &[Case], path: &[Case], runs: &Ascents) -> Figure {
    let n = runs.exact.first().map_or(1, |ascent| ascent.multipliers.len()) as u64;
    let places = log_steps(10.0, n, 6.0);
    let horizontal: Vec<f64> = places.iter().map(|&k| k as f64).collect();
    let curve = |name: &str, cases: &[Case], ascents: &[Ascent]| {
        let runs = cases.iter().zip(ascents).map(|(case, ascent)| {
            let distance = |k: &u64| case.dual.distance(ascent.multipliers[*k as usize - 1]);
            places.iter().map(|k| distance(k).max(1e-5)).collect()
        });
        Curve::of_runs(name, &horizontal, &runs.collect::<Vec<_>>())
    };
    let curves = vec![
        curve("exact costs", pair, &runs.exact),
        curve("sampled episodes", pair, &runs.sampled),
        curve("mean cost of 25 steps", pair, &runs.means),
        curve("unequal agents (path of 3)", path, &runs.unequal),
        curve("the same, fed with the mean", path, &runs.shared),
    ];
    Figure {
        name: "dual",
        title: "Distance of the mean multiplier from the dual optimum, steps 100 / (k+1)^0.9"
            .into(),
        horizontal: ("episodes", true),
        vertical: ("distance of mean λ from λ*", true),
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
