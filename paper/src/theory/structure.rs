//! Proposition "structural error": zero for disjoint regions, small for weak coupling.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    bound::{ROUNDING, budget, disjoint_pairs, smallest_conflict},
    problems::FactoredCmdp,
};
use cgcmarl::{
    coordination::Exhaustive,
    graph::CoordinationGraph,
    rng::{Purpose, Streams},
};

/// How the proposition is checked.
#[derive(Clone, Debug)]
pub struct StructureOptions {
    /// Random problems per graph.
    pub n_problems: u64,
    /// Discount.
    pub gamma: f64,
    /// The graph of the first part, whose regions should not overlap.
    pub disjoint: CoordinationGraph,
}

impl Default for StructureOptions {
    fn default() -> Self {
        Self { n_problems: 20, gamma: 0.9, disjoint: disjoint_pairs() }
    }
}

/// Strengths of coupling to try.
const STRENGTHS: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// Own rewards divided evenly over an agent's regions, plus `strength` times a pair reward.
fn coupled(
    graph: &CoordinationGraph,
    gamma: f64,
    strength: f64,
    seed: u64,
    number: u64,
) -> FactoredCmdp {
    let mut problem = FactoredCmdp::numbered(graph.clone(), (2, 2), gamma, seed, number);
    let mut rng = Streams::new(seed).rng(Purpose::Problem, 1000 + number);
    let own: Vec<Vec<f64>> =
        (0..graph.n_agents()).map(|_| (0..4).map(|_| rng.uniform()).collect()).collect();
    for (region, members) in graph.regions().enumerate() {
        for (row, reward) in problem.rewards[region].iter_mut().enumerate() {
            let (state, action) = (row / 4, row % 4);
            let alone: f64 = members
                .iter()
                .zip([1, 0])
                .map(|(&agent, bit)| {
                    let cell = (state >> bit & 1) * 2 + (action >> bit & 1);
                    own[agent][cell] / graph.memberships_of(agent).len() as f64
                })
                .sum();
            *reward = alone + strength * *reward;
        }
    }
    problem
}

/// Largest error and largest β where regions should not overlap.
fn disjoint_error(options: &StructureOptions, seed: u64) -> (f64, f64) {
    let worst = (0..options.n_problems).map(|number| {
        let graph = options.disjoint.clone();
        let problem = FactoredCmdp::numbered(graph, (2, 2), options.gamma, seed, number);
        let budget = budget(&problem, || Box::new(Exhaustive));
        (budget.error, budget.beta())
    });
    worst.fold((0.0, 0.0), |w, b| (f64::max(w.0, b.0), f64::max(w.1, b.1)))
}

/// Measures disjoint regions, then overlapping ones of growing coupling.
pub fn check_structure(options: &StructureOptions, seed: u64, tick: &(dyn Fn() + Sync)) -> Report {
    let (error, beta) = disjoint_error(options, seed);
    tick();
    let disjoint = Finding::new(
        "structure.disjoint",
        "Prop (i): for non-overlapping regions Q* = Σ Q_R* and β = 0",
        format!("largest ‖Σ Q_R* − Q*‖ {error:.1e}, largest β {beta:.1e}"),
        ClaimOutcome::of(error <= ROUNDING && beta <= ROUNDING),
    );
    let graphs = [
        ("path of 3", CoordinationGraph::path(3)),
        ("all pairs of 3", CoordinationGraph::complete(3)),
        ("ring of 4", CoordinationGraph::ring(4)),
    ];
    let mut curves = Vec::new();
    let mut least: f64 = 0.0;
    for (name, graph) in &graphs {
        let points = STRENGTHS.map(|strength| {
            let betas: Vec<f64> = (0..options.n_problems)
                .map(|n| coupled(graph, options.gamma, strength, seed, n))
                .map(|problem| budget(&problem, || Box::new(Exhaustive)).beta())
                .collect();
            least = betas.iter().copied().fold(least, f64::min);
            (strength, betas.iter().sum::<f64>() / betas.len() as f64)
        });
        curves.push(Curve::new(*name, points.to_vec()));
        tick();
    }
    let vanishes = curves.iter().all(|curve| curve.points[0].1 < 0.05 * curve.last());
    let overlap = coupling(&curves, least >= -ROUNDING && vanishes, least);
    let findings = vec![disjoint, overlap, own_terms(options.gamma, vanishes)];
    Report { findings, figures: vec![figure(curves)] }
}

fn coupling(curves: &[Curve], holds: bool, least: f64) -> Finding {
    let slopes: Vec<String> =
        curves.iter().map(|curve| format!("{:.2}", curve.slope_from(0.0))).collect();
    let ends: Vec<String> = curves
        .iter()
        .map(|curve| format!("{:.1e} and {:.2}", curve.points[0].1, curve.last()))
        .collect();
    Finding::new(
        "structure.coupling",
        "Prop (ii): β ≥ 0 for overlapping regions, controlled by the strength of coupling",
        format!(
            "smallest β {least:.1e}; own rewards divided evenly plus κ × pair rewards: mean β at \
             κ = 0.001 and 1 is {}; slope of log β against log κ {} ({})",
            ends.join(", "),
            slopes.join(", "),
            curves.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ")
        ),
        ClaimOutcome::of(holds),
    )
}

/// β where rewards are individual terms only, but divided unevenly over an agent's regions.
fn own_terms(gamma: f64, even_shares_vanish: bool) -> Finding {
    let budget = budget(&smallest_conflict(gamma), || Box::new(Exhaustive));
    let small = budget.beta() <= ROUNDING;
    let condition = "each agent's own reward divided in one proportion over its regions";
    let text = format!(
        "rewards of agent 1 alone, one part in each of its two regions: β = {:.2}, error {:.2}",
        budget.beta(),
        budget.error
    );
    let counterexample = (!small).then(|| {
        "path 0-1-2, one state: r_01 = [a_1 = 0], r_12 = [a_1 = 1]; no reward depends on two agents"
            .to_owned()
    });
    Finding::new(
        "structure.own_terms",
        "Prop (c)(i): β is small when individual terms dominate",
        text,
        ClaimOutcome::conditional(small, even_shares_vanish, condition),
    )
    .against(counterexample)
}

fn figure(curves: Vec<Curve>) -> Figure {
    Figure {
        name: "structure",
        title: "Structural error β against the strength of pair rewards".into(),
        horizontal: ("coupling κ", true),
        vertical: ("β, mean over problems", true),
        curves,
    }
}
