//! Proposition "Q-learning sample complexity": errors of order 1/√n with steps 1/(1 + visits)?
//!
//! With steps 1/n the bias falls like n^−(1−γ) only; steps 1/(1 + (1−γ) n) remove that.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    convergence::{ConvergenceOptions, Trajectory, learn},
    figure::log_steps,
    problems::FactoredCmdp,
};
use cgcmarl::graph::CoordinationGraph;
use rayon::prelude::*;

const GAMMA: f64 = 0.9;

/// The steps the proposition names.
fn linear(visits: u64) -> f64 {
    1.0 / (1.0 + visits as f64)
}

/// The same with the visits scaled by 1 − γ.
fn rescaled(visits: u64) -> f64 {
    1.0 / (1.0 + (1.0 - GAMMA) * visits as f64)
}

/// One state, one action, reward 1: nothing is random and the error is known in closed form.
fn loop_of_one_state() -> FactoredCmdp {
    let mut problem = FactoredCmdp::numbered(CoordinationGraph::path(2), (1, 1), GAMMA, 0, 0);
    problem.rewards = vec![vec![1.0]];
    problem
}

/// Measures the rate of both step rules on a random region and on the smallest problem.
pub(super) fn check_sampling(n_seeds: u64, n_steps: u64, seed: u64) -> Report {
    let places = log_steps(n_steps as f64 / 1e3, n_steps, 4.0);
    let horizontal: Vec<f64> = places.iter().map(|&step| step as f64).collect();
    let random = FactoredCmdp::numbered(CoordinationGraph::path(2), (2, 2), GAMMA, seed, 7);
    let curve = |problem: &FactoredCmdp, step: fn(u64) -> f64, name: &str, n_seeds: u64| {
        let options = ConvergenceOptions { n_steps, step, ..ConvergenceOptions::default() };
        let numbers = (0..n_seeds).into_par_iter();
        let runs: Vec<Vec<f64>> = numbers
            .map(|run| {
                learn(problem, &options, Trajectory::Uniform, &places, seed ^ (run + 1) << 16)
                    .primary
            })
            .collect();
        Curve::of_runs(name, &horizontal, &runs)
    };
    let one = loop_of_one_state();
    let mut curves = vec![
        curve(&random, linear, "steps 1/(1+n)", n_seeds),
        curve(&random, rescaled, "steps 1/(1+(1−γ)n)", n_seeds),
        curve(&one, linear, "one state, steps 1/(1+n)", 1),
    ];
    let start = horizontal[0] * 10.0;
    let [slope, rescaled_slope, one_slope] = [0, 1, 2].map(|i: usize| curves[i].slope_from(start));
    let rate = |slope: f64| slope <= -0.4;
    let condition = "steps 1/(1 + (1−γ)·visits)";
    let verdict = ClaimOutcome::conditional(rate(slope), rate(rescaled_slope), condition);
    let measured = format!(
        "γ = {GAMMA}: slope {slope:.2} with 1/(1+visits), {rescaled_slope:.2} rescaled; claimed −0.50"
    );
    let counterexample = (!rate(one_slope)).then(|| {
        format!(
            "one state, one action, reward 1: no noise at all, and after {n_steps} steps the error \
             is {:.2} of 10, falling with slope {one_slope:.2} ≈ −(1−γ)",
            curves[2].last()
        )
    });
    let claim = "Prop (sampling): ‖Q_T − Q*‖ = O(1/√n) with α = 1/(1 + visits)";
    let finding = Finding::new("bound.sampling", claim, measured, verdict).against(counterexample);
    let first = curves[0].points[0];
    let reference = horizontal.iter().map(|x| (*x, first.1 * (x / first.0).powf(-0.5))).collect();
    curves.push(Curve::reference("slope −1/2", reference));
    let figure = Figure {
        name: "sampling",
        title: format!("Sampling error of the primary head, γ = {GAMMA}"),
        horizontal: ("environment steps", true),
        vertical: ("largest error", true),
        curves,
    };
    Report { findings: vec![finding], figures: vec![figure] }
}
