//! The paper's complexity table as measured times: choosing one joint action centrally, on a coordination
//! graph, and independently.
//!
//! The text says O(|A|) for a message of a pair and the table |A|² for a pair: a message takes, for every
//! action of its receiver, the best of the sender's, so it reads the whole table of the pair.

use super::{
    ClaimOutcome, Curve, Figure, Finding, Report,
    figure::{median, slope},
};
use cgcmarl::{
    coordination::{Coordinator, Exhaustive, FactorTables, MaxSum, MaxSumOptions},
    graph::CoordinationGraph,
    rng::{Purpose, Streams},
};
use std::time::Instant;

/// What is timed.
#[derive(Clone, Debug)]
pub struct ComplexityOptions {
    /// Team sizes whose joint actions are all tried.
    pub centralised: Vec<usize>,
    /// Team sizes.
    pub agents: Vec<usize>,
    /// Numbers of actions of a pair.
    pub actions: Vec<usize>,
    /// Rounds of messages.
    pub rounds: usize,
    /// Seconds that one measurement takes, at least.
    pub seconds: f64,
}

impl Default for ComplexityOptions {
    fn default() -> Self {
        Self {
            centralised: vec![2, 3, 4],
            agents: vec![3, 4, 6, 10, 20, 40],
            actions: vec![8, 16, 32, 64, 128],
            rounds: 10,
            seconds: 0.02,
        }
    }
}

/// Actions of the paper's task.
const N_ACTIONS: usize = 25;
/// Measurements of which the middle one counts.
const MEASUREMENTS: usize = 5;

/// Tables of random payoffs.
fn tables(graph: &CoordinationGraph, n_actions: usize, seed: u64) -> FactorTables {
    let mut rng = Streams::new(seed).rng(Purpose::Problem, n_actions as u64);
    let mut tables = FactorTables::zeros(graph, n_actions);
    tables.regions_mut().iter_mut().for_each(|payoff| *payoff = rng.normal() as f32);
    for agent in 0..graph.n_agents() {
        tables.agent_mut(agent).iter_mut().for_each(|payoff| *payoff = rng.normal() as f32);
    }
    tables
}

/// Seconds that a piece of work takes.
fn seconds(least: f64, mut work: impl FnMut()) -> f64 {
    work();
    let measured = (0..MEASUREMENTS).map(|_| {
        let (start, mut times) = (Instant::now(), 0_u32);
        loop {
            work();
            times += 1;
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed >= least {
                return elapsed / f64::from(times);
            }
        }
    });
    median(measured)
}

fn max_sum(options: &ComplexityOptions) -> MaxSum {
    MaxSum::new(MaxSumOptions { msg_iterations: options.rounds, ..MaxSumOptions::default() })
}

/// Seconds of one decision by messages.
fn by_messages(
    options: &ComplexityOptions,
    graph: &CoordinationGraph,
    n_actions: usize,
    seed: u64,
) -> f64 {
    let (tables, mut solver, mut action) =
        (tables(graph, n_actions, seed), max_sum(options), Vec::new());
    seconds(options.seconds, || {
        solver.coordinate(graph, &tables, &mut action);
    })
}

/// Seconds of trying every joint action.
fn by_trying(options: &ComplexityOptions, n_agents: usize, seed: u64) -> f64 {
    let graph = CoordinationGraph::complete(n_agents);
    let (tables, mut action) = (tables(&graph, N_ACTIONS, seed), Vec::new());
    seconds(options.seconds, || {
        Exhaustive.coordinate(&graph, &tables, &mut action);
    })
}

/// Seconds of everybody's own best action.
fn alone(options: &ComplexityOptions, n_agents: usize, seed: u64) -> f64 {
    let graph = CoordinationGraph::empty(n_agents);
    let (tables, mut action) = (tables(&graph, N_ACTIONS, seed), vec![0; n_agents]);
    seconds(options.seconds, || {
        for (agent, chosen) in action.iter_mut().enumerate() {
            *chosen = cgcmarl::argmax::argmax(std::hint::black_box(tables.agent(agent)));
        }
        std::hint::black_box(&action);
    })
}

/// Each agent with three of those beside it: as many pairs as agents, times a constant.
fn neighbours(n_agents: usize) -> CoordinationGraph {
    let row: Vec<[f32; 2]> = (0..n_agents).map(|agent| [agent as f32, 0.0]).collect();
    CoordinationGraph::k_nearest(&row, 3)
}

/// Times everything, one thing after the other.
pub fn check_complexity(
    options: &ComplexityOptions,
    seed: u64,
    tick: &(dyn Fn() + Sync),
) -> Report {
    let timed = |name: &str, sizes: &[usize], work: &dyn Fn(usize) -> f64| {
        Curve::new(name, sizes.iter().map(|&n| (n as f64, 1e6 * work(n))).collect())
    };
    let trying = timed("centralised", &options.centralised, &|n| by_trying(options, n, seed));
    tick();
    let all_pairs = timed("coordination graph, all pairs", &options.agents, &|n| {
        by_messages(options, &CoordinationGraph::complete(n), N_ACTIONS, seed)
    });
    let nearest = timed("coordination graph, 3 nearest", &options.agents, &|n| {
        by_messages(options, &neighbours(n), N_ACTIONS, seed)
    });
    let independent = timed("independent", &options.agents, &|n| alone(options, n, seed));
    tick();
    let pair = timed("one pair", &options.actions, &|n_actions| {
        by_messages(options, &CoordinationGraph::path(2), n_actions, seed)
    });
    tick();
    let findings = vec![
        table_finding(&[&trying, &all_pairs, &nearest, &independent]),
        team_finding(&all_pairs, &nearest),
        message_finding(&pair),
    ];
    let figure = Figure {
        name: "complexity",
        title: "Choosing one joint action, 25 actions each, 10 rounds of messages".into(),
        horizontal: ("agents", true),
        vertical: ("microseconds", true),
        curves: vec![trying, all_pairs, nearest, independent],
    };
    Report { findings, figures: vec![figure] }
}

fn table_finding(curves: &[&Curve; 4]) -> Finding {
    let [trying, ..] = curves;
    let per_action =
        trying.points.last().map_or(f64::NAN, |(n, time)| time / (N_ACTIONS as f64).powf(*n));
    let cell = |curve: &Curve| {
        let points = curve.points.iter().map(|(n, time)| format!("{n}: {time:.3}"));
        format!("{} {}", curve.name, points.collect::<Vec<_>>().join(", "))
    };
    let rows: Vec<String> = curves.iter().map(|curve| cell(curve)).collect();
    let years = per_action * 1e-6 * (N_ACTIONS as f64).powi(10) / 31_557_600.0;
    Finding::new(
        "complexity.table",
        "Complexity table: O(|A|^N) centralised, O(|C_R| |A|^|R| K) on a graph, O(N |A|) independent",
        format!(
            "microseconds of a decision by number of agents: {}; ten agents centrally would take {years:.1e} years",
            rows.join("; ")
        ),
        ClaimOutcome::Measured,
    )
}

fn team_finding(all_pairs: &Curve, nearest: &Curve) -> Finding {
    let exponents = [all_pairs, nearest].map(|curve| curve.slope_from(0.0));
    Finding::new(
        "complexity.agents",
        "O(N²) in the number of agents on the pairwise graph",
        format!(
            "log-log slope {:.2} with all pairs, {:.2} with the three nearest",
            exponents[0], exponents[1]
        ),
        ClaimOutcome::of((1.5..2.4).contains(&exponents[0])),
    )
}

fn message_finding(pair: &Curve) -> Finding {
    let upper = pair.points.len() / 2;
    let logs = pair.points[upper..].iter().map(|(n, time)| (n.ln(), time.ln()));
    let exponent = slope(logs);
    let times: Vec<String> =
        pair.points.iter().map(|(n, time)| format!("{time:.2} µs at {n}")).collect();
    Finding::new(
        "complexity.message",
        "For pairwise regions, each message requires O(|A|) operations",
        format!(
            "a message reads |A|² payoffs, and takes as long: one pair, 10 rounds, {}; log-log slope over the upper \
             half {exponent:.2} (1 is claimed; the paper's own table counts |A|²)",
            times.join(", ")
        ),
        ClaimOutcome::of(exponent < 1.5),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts follow the curves; no time is asserted.
    #[test]
    fn verdicts_follow_what_was_measured() {
        let curve = |power: f64| {
            Curve::new("", [2.0_f64, 4.0, 8.0, 16.0].map(|n| (n, 0.1 * n.powf(power))).to_vec())
        };
        assert_eq!(message_finding(&curve(2.0)).verdict, ClaimOutcome::DoesNotHold);
        assert_eq!(message_finding(&curve(1.0)).verdict, ClaimOutcome::Holds);
        assert_eq!(team_finding(&curve(2.0), &curve(1.0)).verdict, ClaimOutcome::Holds);
        assert_eq!(team_finding(&curve(3.0), &curve(1.0)).verdict, ClaimOutcome::DoesNotHold);
    }

    #[test]
    fn every_size_is_timed() {
        let options = ComplexityOptions {
            centralised: vec![2],
            agents: vec![3, 5],
            actions: vec![4, 8],
            rounds: 2,
            seconds: 0.0,
        };
        let report = check_complexity(&options, 1, &|| {});
        let curves = &report.figures[0].curves;
        assert_eq!(curves.iter().map(|c| c.points.len()).collect::<Vec<_>>(), [1, 2, 2, 2]);
        assert!(curves.iter().flat_map(|c| &c.points).all(|(_, time)| *time >= 0.0));
        assert!(report.finding("complexity.table").is_some());
    }
}
