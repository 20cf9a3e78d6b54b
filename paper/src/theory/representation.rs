//! Corollary (function approximation): how far a network that cannot represent the values is from them,
//! and how far the multiplier ends from the dual optimum because of it.
//!
//! The network is that of `limited_network`, whose ε_NN = min_θ ‖Q_θ − Q*‖ is known exactly.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    ascent::{AscentRule, CEILING, Case, ascend, cases, diminishing},
    figure::{largest, median},
    limited_network::{GroupFit, Network},
    problems::FactoredCmdp,
    tabular::sup_distance,
};
use cgcmarl::{
    graph::CoordinationGraph,
    multipliers::Multipliers,
    rng::{Purpose, Streams},
};
use std::collections::BTreeMap;

/// Beyond a bound by more than this counts as violated: what steps of finite size leave.
const MARGIN: f64 = 0.02;
/// Multipliers closer than this are answered alike.
const RESOLUTION: f64 = 1e-3;

/// How the corollary is checked.
#[derive(Clone, Debug)]
pub struct RepresentationOptions {
    /// Random problems.
    pub n_problems: usize,
    /// Episodes of each ascent.
    pub n_episodes: u64,
    /// Discount of the ascents.
    pub gamma: f64,
    /// Discounts at which the error of learning is measured.
    pub gammas: Vec<f64>,
    /// Units of the networks; 16 represent everything.
    pub units: Vec<usize>,
    /// The dual step under test.
    pub ascend: AscentRule,
    /// How a network fits a group.
    pub fit: GroupFit,
}

impl Default for RepresentationOptions {
    fn default() -> Self {
        Self {
            n_problems: 12,
            n_episodes: 8000,
            gamma: 0.8,
            gammas: vec![0.5, 0.8, 0.9, 0.95],
            units: vec![16, 12, 8, 4],
            ascend: Multipliers::ascend,
            fit: f64::midpoint,
        }
    }
}

/// What one network does to one problem.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    /// Largest ε_NN over the multipliers at the end.
    representation: f64,
    /// Largest ‖Q_learned − Q*‖ over them.
    learned: f64,
    /// d(λ̄) − d(λ*).
    excess: f64,
    /// |λ̄ − λ*|.
    distance: f64,
    /// Smallest slope of d on either side of λ*.
    sharpness: f64,
}

impl Limit {
    /// What the greedy policy may lose at any of these multipliers: 2 ‖Q_learned − Q*‖ / (1−γ).
    fn loss(&self, gamma: f64) -> f64 {
        2.0 * self.learned / (1.0 - gamma)
    }
}

/// Ascends against the greedy policy of the network's values.
fn limit_of(options: &RepresentationOptions, case: &Case, network: &Network) -> Limit {
    let mdp = &case.joint;
    let mut known: BTreeMap<u64, Vec<f32>> = BTreeMap::new();
    let rounded = |multiplier: f64| (multiplier / RESOLUTION).round() as u64;
    let mut answer = |multiplier: f64| {
        let key = rounded(multiplier);
        let costs = known.entry(key).or_insert_with(|| {
            let reward = mdp.lagrangian_reward(key as f64 * RESOLUTION);
            case.team_costs(&mdp.greedy(&network.learn(mdp, &reward)))
        });
        costs.clone()
    };
    let ascent = ascend(case, options.ascend, options.n_episodes, &diminishing, &mut answer);
    let tail = &ascent.multipliers[ascent.multipliers.len() * 9 / 10..];
    let mut limit = Limit { sharpness: sharpness(case), ..Limit::default() };
    let mut last: Vec<u64> = tail.iter().map(|&multiplier| rounded(multiplier)).collect();
    last.sort_unstable();
    last.dedup();
    for key in last {
        let reward = mdp.lagrangian_reward(key as f64 * RESOLUTION);
        let best = mdp.optimal(&reward);
        limit.representation = limit.representation.max(network.error(&best));
        limit.learned = limit.learned.max(sup_distance(&network.learn(mdp, &reward), &best));
    }
    let mean = tail.iter().sum::<f64>() / tail.len() as f64;
    limit.excess = case.dual.value(mean) - case.dual.value(case.dual.minimiser());
    limit.distance = case.dual.distance(mean);
    limit
}

/// How steeply d rises on the flatter side of its optimum.
fn sharpness(case: &Case) -> f64 {
    let (low, high) = case.dual.minimisers();
    let slopes = case.dual.pieces.iter().enumerate().filter_map(|(index, piece)| {
        let next = case.dual.pieces.get(index + 1).map_or(CEILING, |next| next.from);
        let beside = piece.from >= high - 1e-9 || next <= low + 1e-9;
        (beside && piece.slack != 0.0).then_some(piece.slack.abs())
    });
    slopes.fold(f64::INFINITY, f64::min)
}

/// Measures what is learned, then where multipliers end.
pub fn check_representation(
    options: &RepresentationOptions,
    seed: u64,
    tick: &(dyn Fn() + Sync),
) -> Report {
    let learned = learning_errors(options, seed);
    tick();
    let limits = limits(options, seed);
    tick();
    let findings = vec![
        additive_finding(&learned),
        dual_finding(options, &limits),
        multiplier_finding(options, &limits),
    ];
    let figures = vec![learned_figure(options, &learned), dual_figure(options, &limits)];
    Report { findings, figures }
}

/// A discount, ε_NN and ‖Q_learned − Q*‖.
type LearningError = (f64, f64, f64);

fn learning_errors(options: &RepresentationOptions, seed: u64) -> Vec<LearningError> {
    let mut errors = Vec::new();
    for &gamma in &options.gammas {
        for number in 0..options.n_problems as u64 {
            let graph = CoordinationGraph::path(2);
            let mdp = FactoredCmdp::numbered(graph, (2, 2), gamma, seed, number).joint();
            let best = mdp.optimal(&mdp.reward);
            for &units in &options.units {
                let mut rng = Streams::new(seed).rng(Purpose::Initialisation, number);
                let network = Network::random(mdp.reward.len(), units, options.fit, &mut rng);
                let learned = network.learn(&mdp, &mdp.reward);
                errors.push((gamma, network.error(&best), sup_distance(&learned, &best)));
            }
        }
    }
    errors
}

fn limits(options: &RepresentationOptions, seed: u64) -> Vec<(usize, Limit)> {
    let cases = cases(&CoordinationGraph::path(2), options.n_problems, options.gamma, seed);
    let mut limits = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        for &units in &options.units {
            let mut rng = Streams::new(seed).rng(Purpose::Initialisation, number as u64);
            let n_rows = case.joint.reward.len();
            let network = Network::random(n_rows, units, options.fit, &mut rng);
            limits.push((units, limit_of(options, case, &network)));
        }
    }
    limits
}

fn additive_finding(errors: &[LearningError]) -> Finding {
    let above = |bound: fn(&LearningError) -> f64| {
        errors.iter().filter(|error| error.2 > bound(error) + 1e-6).count()
    };
    let (plain, propagated) = (above(|e| e.1), above(|e| e.1 / (1.0 - e.0)));
    let ratio = |gamma: f64| {
        let of = errors.iter().filter(|e| e.0 == gamma && e.1 > 1e-6);
        median(of.map(|e| e.2 / e.1))
    };
    let mut gammas: Vec<f64> = errors.iter().map(|e| e.0).collect();
    gammas.dedup();
    let ratios: Vec<String> =
        gammas.iter().map(|&gamma| format!("{:.2} at γ = {gamma}", ratio(gamma))).collect();
    let text = format!(
        "‖Q_learned − Q*‖ above ε_NN in {plain} of {} cases, above ε_NN/(1−γ) in {propagated}; median \
         ‖Q_learned − Q*‖/ε_NN: {}",
        errors.len(),
        ratios.join(", ")
    );
    Finding::new(
        "representation.additive",
        "Thm 3 with function approximation: the representation error adds ε_NN",
        text,
        ClaimOutcome::conditional(plain == 0, propagated == 0, "ε_NN/(1−γ) in its place"),
    )
}

fn dual_finding(options: &RepresentationOptions, limits: &[(usize, Limit)]) -> Finding {
    let printed = |limit: &Limit| limit.representation / (1.0 - options.gamma);
    let above = |bound: &dyn Fn(&Limit) -> f64| {
        limits.iter().filter(|(_, limit)| limit.excess > bound(limit) + MARGIN).count()
    };
    let (as_printed, corrected) = (above(&printed), above(&|limit| limit.loss(options.gamma)));
    let excess: Vec<String> = options
        .units
        .iter()
        .map(|&units| {
            let of = || limits.iter().filter(|(u, _)| *u == units).map(|(_, limit)| limit);
            format!(
                "{units} units: ε_NN {:.2}, d(λ̄) − d(λ*) {:.3} (largest {:.3})",
                median(of().map(|l| l.representation)),
                median(of().map(|l| l.excess)),
                largest(of().map(|l| l.excess)),
            )
        })
        .collect();
    let text = format!(
        "medians with {}; above 2‖Q_learned − Q*‖/(1−γ) in {corrected} of {}, above ε_NN/(1−γ) in {as_printed}",
        excess.join("; "),
        limits.len()
    );
    Finding::new(
        "representation.dual",
        "Cor. (function approximation): the limit lies in a neighbourhood of the KKT points of size \
         O(ε_NN/(1−γ)), measured in d(λ̄) − d(λ*)",
        text,
        ClaimOutcome::conditional(
            as_printed == 0 && corrected == 0,
            corrected == 0,
            "2‖Q_learned − Q*‖/(1−γ), that is 2ε_NN/(1−γ)², in its place",
        ),
    )
}

fn multiplier_finding(options: &RepresentationOptions, limits: &[(usize, Limit)]) -> Finding {
    let unit = |limit: &Limit| limit.representation / (1.0 - options.gamma);
    let ratios =
        limits.iter().filter(|(_, l)| l.representation > 1e-6).map(|(_, l)| l.distance / unit(l));
    let above = limits.iter().filter(|(_, limit)| {
        let bound = limit.loss(options.gamma) / limit.sharpness;
        limit.distance > bound + MARGIN / limit.sharpness
    });
    let above = above.count();
    let case = merged(options.gamma);
    let network = Network { unit_of: vec![0, 0], n_units: 1, fit: options.fit };
    let end = limit_of(options, &case, &network);
    let at_start = network.error(&case.joint.optimal(&case.joint.reward));
    let text = format!(
        "|λ̄ − λ*| is at most {:.2} times ε_NN/(1−γ); beyond 2‖Q_learned − Q*‖/(1−γ) divided by the slope of d \
         at λ* in {above} of {}",
        largest(ratios),
        limits.len()
    );
    let counterexample = (end.distance > 10.0 * at_start / (1.0 - options.gamma)).then(|| {
        format!(
            "one agent, one state, reward 0.01 at cost 1 or nothing, limit 0.5, λ* = 0.01; one unit cannot tell \
             the two actions apart: ε_NN = {at_start:.3} at λ = 0, yet no λ changes what is done, and λ̄ ends \
             {:.1} from λ*. ε_NN must hold for every λ that is reached: there it is {:.1}",
            end.distance, end.representation
        )
    });
    Finding::new(
        "representation.multiplier",
        "Cor. (function approximation): |λ̄ − λ*| ≤ O(ε_NN/(1−γ))",
        text,
        ClaimOutcome::conditional(
            false,
            above == 0,
            "ε_NN over every λ that is reached, and a constant that is the slope of d at λ*",
        ),
    )
    .against(counterexample)
}

/// One agent in one state: nothing, or reward 0.01 at cost 1; half of the steps may cost. The costly
/// action comes first, so that who cannot tell them apart takes it.
fn merged(gamma: f64) -> Case {
    let graph = CoordinationGraph::new(1, &[vec![0]]).expect("one agent by itself");
    let mut problem = FactoredCmdp::numbered(graph, (1, 2), gamma, 0, 0);
    problem.rewards = vec![vec![0.01, 0.0]];
    problem.constraint_rewards = vec![vec![-1.0, 0.0]];
    let joint = problem.joint();
    Case::with_limit(problem, joint, vec![1.0], 0.5)
}

fn line(name: &str, slope: f64, most: f64) -> Curve {
    Curve::reference(name, vec![(0.0, 0.0), (most, slope * most)])
}

fn learned_figure(options: &RepresentationOptions, errors: &[LearningError]) -> Figure {
    let most = largest(errors.iter().map(|e| e.1));
    let mut curves: Vec<Curve> = options
        .gammas
        .iter()
        .map(|&gamma| {
            let of = errors.iter().filter(|e| e.0 == gamma);
            Curve::scatter(format!("γ = {gamma}"), of.map(|e| (e.1, e.2)).collect())
        })
        .collect();
    curves.push(line("ε_NN", 1.0, most));
    Figure {
        name: "representation",
        title: "What a network learns that cannot represent the values".into(),
        horizontal: ("ε_NN", false),
        vertical: ("‖Q_learned − Q*‖", false),
        curves,
    }
}

fn dual_figure(options: &RepresentationOptions, limits: &[(usize, Limit)]) -> Figure {
    let bound = |limit: &Limit| limit.loss(options.gamma);
    let most = largest(limits.iter().map(|(_, limit)| bound(limit)));
    let mut curves: Vec<Curve> = options
        .units
        .iter()
        .map(|&units| {
            let of = limits.iter().filter(|(u, _)| *u == units);
            Curve::scatter(
                format!("{units} units"),
                of.map(|(_, limit)| (bound(limit), limit.excess)).collect(),
            )
        })
        .collect();
    curves.push(line("the bound", 1.0, most));
    Figure {
        name: "representation_dual",
        title: "How far the multiplier ends from the dual optimum".into(),
        horizontal: ("2‖Q_learned − Q*‖/(1−γ)", false),
        vertical: ("d(λ̄) − d(λ*)", false),
        curves,
    }
}
