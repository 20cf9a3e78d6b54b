//! Finite-time constraint violation, O(√K) in K episodes, and the policy suboptimality 2ε/(1−γ).

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    ascent::{AscentRule, Case, ascend, cases, lagrangian_answer},
    bound::{BoundOptions, Budget, ROUNDING, budgets, dots, line},
    figure::{largest, median},
    problems::FactoredCmdp,
};
use cgcmarl::{graph::CoordinationGraph, multipliers::Multipliers};

/// How the proposition is checked.
#[derive(Clone, Debug)]
pub struct ViolationOptions {
    /// Random problems.
    pub n_problems: usize,
    /// Numbers of episodes, each an experiment of its own with η = 10/√K.
    pub episodes: Vec<u64>,
    /// Discount.
    pub gamma: f64,
    /// The dual step under test.
    pub ascend: AscentRule,
}

impl Default for ViolationOptions {
    fn default() -> Self {
        Self {
            n_problems: 10,
            episodes: vec![100, 300, 1000, 3000, 10_000, 30_000, 100_000],
            gamma: 0.8,
            ascend: Multipliers::ascend,
        }
    }
}

/// Three readings of the cumulative violation of one ascent.
#[derive(Clone, Copy, Debug)]
struct Violation {
    /// Σ [limit − c̄]_+, as printed.
    printed: f64,
    /// Σ [c̄ − limit]_+.
    positive: f64,
    /// [Σ (c̄ − limit)]_+.
    signed: f64,
}

fn measure(case: &Case, options: &ViolationOptions, n_episodes: u64) -> Violation {
    let step = 10.0 / (n_episodes as f64).sqrt();
    let mut answer = lagrangian_answer(case, |policy| case.agent_costs(policy));
    let ascent = ascend(case, options.ascend, n_episodes, &|_| step, &mut answer);
    let excess = || ascent.costs.iter().map(|cost| cost - case.limit);
    Violation {
        printed: excess().map(|e| f64::max(-e, 0.0)).sum(),
        positive: excess().map(|e| f64::max(e, 0.0)).sum(),
        signed: excess().sum::<f64>().max(0.0),
    }
}

/// Reward 1 at cost 1 or nothing, in one state; a quarter of the steps may cost.
fn smallest_case(gamma: f64) -> Case {
    let mut problem = FactoredCmdp::numbered(CoordinationGraph::path(2), (1, 2), gamma, 0, 0);
    problem.rewards = vec![vec![0.0, 0.0, 1.0, 1.0]];
    problem.constraint_rewards = vec![vec![0.0, 0.0, -1.0, -1.0]];
    let joint = problem.joint();
    Case::with_limit(problem, joint, vec![1.0], 0.25)
}

/// Measures violations, then the loss of the greedy policies.
pub fn check_violation(options: &ViolationOptions, seed: u64, tick: &(dyn Fn() + Sync)) -> Report {
    let cases = cases(&CoordinationGraph::path(2), options.n_problems, options.gamma, seed);
    let horizontal: Vec<f64> = options.episodes.iter().map(|&k| k as f64).collect();
    let runs: Vec<Vec<Violation>> = cases
        .iter()
        .map(|case| options.episodes.iter().map(|&k| measure(case, options, k)).collect())
        .collect();
    tick();
    let curve = |name: &str, part: fn(&Violation) -> f64| {
        let values = |run: &Vec<Violation>| run.iter().map(|v| part(v).max(1e-3)).collect();
        Curve::of_runs(name, &horizontal, &runs.iter().map(values).collect::<Vec<_>>())
    };
    let curves = vec![
        curve("sum of [limit − cost]+ (printed)", |v| v.printed),
        curve("sum of [cost − limit]+", |v| v.positive),
        curve("[sum of (cost − limit)]+", |v| v.signed),
    ];
    let last = options.episodes.last().copied().unwrap_or(1);
    let smallest = measure(&smallest_case(options.gamma), options, last);
    let budgets = budgets(&BoundOptions::default(), seed);
    let mut findings = vec![violation_finding(&curves, smallest, last)];
    findings.extend(suboptimality_findings(&budgets));
    tick();
    Report { findings, figures: vec![figure(curves), loss_figure(&budgets)] }
}

fn violation_finding(curves: &[Curve], smallest: Violation, n_episodes: u64) -> Finding {
    let start = n_episodes as f64 / 101.0;
    let slopes: Vec<f64> = curves.iter().map(|curve| curve.slope_from(start)).collect();
    let root = |slope: f64| slope <= 0.6;
    let text = format!(
        "growth exponent in K over the last two decades, η = 10/√K: {:.2} as printed, {:.2} for Σ[c̄ − limit]₊, {:.2} for \
         [Σ(c̄ − limit)]₊; claimed 0.50",
        slopes[0], slopes[1], slopes[2]
    );
    let verdict = ClaimOutcome::conditional(
        root(slopes[0]) && root(slopes[1]),
        root(slopes[2]),
        "violations summed with their sign: [Σ(c̄ − limit)]₊",
    );
    let linear = smallest.positive > (n_episodes as f64).powf(0.75);
    let counterexample = linear.then(|| {
        format!(
            "one state, reward 1 at cost 1 or nothing, limit 1/4, K = {n_episodes}: λ swings around λ* = 1 and \
             the policy acts in a quarter of the episodes: Σ[c̄ − limit]₊ = {:.0}, signed {:.0}; \
             the printed sign counts the slack of harmless episodes, {:.0}",
            smallest.positive, smallest.signed, smallest.printed
        )
    });
    let claim = "Prop (violation): Σ_k [c_thresh − c̄_k]₊ ≤ O((λ_0 − λ*)²/η + ηK) = O(√K)";
    Finding::new("violation.cumulative", claim, text, verdict).against(counterexample)
}

/// V* − V^π̂ against 2ε/(1−γ), with ε measured and with ε as the theorem bounds it.
fn suboptimality_findings(budgets: &[Budget]) -> Vec<Finding> {
    let ratio = |b: &Budget, loss: f64| loss * (1.0 - b.gamma) / (2.0 * b.error);
    let overlapping: Vec<&Budget> = budgets.iter().filter(|b| b.error > ROUNDING).collect();
    let holds = |bound: &dyn Fn(&Budget) -> f64, which: usize| {
        budgets.iter().filter(|b| b.losses[which] > bound(b) + ROUNDING).count()
    };
    let exact = holds(&|b| 2.0 * b.error / (1.0 - b.gamma), 0);
    let found = holds(&|b| (2.0 * b.error + b.epsilon) / (1.0 - b.gamma), 1);
    let lemma = Finding::new(
        "violation.suboptimality",
        "Simulation lemma: V* − V^π̂ ≤ 2ε/(1−γ) with ε = ‖Q̃ − Q*‖",
        format!(
            "{exact} of {} problems violate it for the exact argmax, {found} for Max-Sum's action with \
             ε_MS/(1−γ) added; loss / bound {:.4} at the median, {:.4} at most",
            budgets.len(),
            median(overlapping.iter().map(|b| ratio(b, b.losses[0]))),
            largest(overlapping.iter().map(|b| ratio(b, b.losses[0]))),
        ),
        ClaimOutcome::of(exact == 0 && found == 0),
    );
    let chained =
        |beta: &dyn Fn(&Budget) -> f64| holds(&|b| 2.0 * b.printed(beta(b)) / (1.0 - b.gamma), 1);
    let (proof, overlap) = (chained(&|b| b.operator_gap), chained(&Budget::beta));
    let worst = overlapping
        .iter()
        .filter(|b| b.is_tree && b.epsilon <= ROUNDING && b.losses[1] > ROUNDING)
        .min_by_key(|b| b.n_agents);
    let chained = Finding::new(
        "violation.suboptimality_chained",
        "Policy suboptimality with ε from Thm 3",
        format!(
            "violated in {proof} of {} problems with the proof's β, in {overlap} with β of Eq. beta-overlap",
            budgets.len()
        ),
        ClaimOutcome::conditional(proof == 0, overlap == 0, "β = γδ/(1−γ) of Eq. beta-overlap"),
    )
    .against(worst.filter(|_| proof > 0).map(|b| {
        format!(
            "{}, problem {}: a tree, ε_MS = 0 and the proof's β = 0, yet the policy loses {:.3}",
            b.graph, b.number, b.losses[1]
        )
    }));
    vec![lemma, chained]
}

fn figure(mut curves: Vec<Curve>) -> Figure {
    let first = curves[2].points[0];
    let root = curves[2].points.iter().map(|(k, _)| (*k, first.1 * (k / first.0).sqrt())).collect();
    curves.push(Curve::reference("slope 1/2", root));
    Figure {
        name: "violation",
        title: "Cumulative constraint violation after K episodes, η = 10/√K".into(),
        horizontal: ("episodes K", true),
        vertical: ("cumulative violation", true),
        curves,
    }
}

/// Losses of both policies against the bound, one dot per problem.
fn loss_figure(budgets: &[Budget]) -> Figure {
    let factor = budgets.first().map_or(1.0, |b| 2.0 / (1.0 - b.gamma));
    Figure {
        name: "suboptimality",
        title: "Loss of the greedy policy against 2ε/(1−γ), one dot per problem (0 at 0.001)"
            .into(),
        horizontal: ("ε: largest error of Σ Q_R against Q*", true),
        vertical: ("largest V* − V of a state", true),
        curves: vec![
            dots(budgets, "loss, Max-Sum", |b| b.losses[1]),
            dots(budgets, "loss, exact argmax", |b| b.losses[0]),
            dots(budgets, "2ε/(1−γ), ε of Thm 3", |b| {
                2.0 * b.printed(b.beta()) / (1.0 - b.gamma)
            }),
            line(budgets, "2ε/(1−γ), ε measured", factor),
        ],
    }
}
