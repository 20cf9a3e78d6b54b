//! What the comparison lets us claim, in sentences made from the numbers, every exception named.

use super::reproduction::display_name;
use cgcmarl_paper::reproduction::{Arm, Dominance, OUR_ALGORITHM, Point, Results, Team};
use std::fmt::Write as _;

/// A share of resamples from which on a point is surely dominated.
const SURE: f64 = 0.95;

/// The sentence about dominance, both ways where it counts most, then what is not dominated, and by how much.
pub(crate) fn claim(results: &Results) -> String {
    let all: Vec<(&Team, &Dominance)> = results
        .teams
        .iter()
        .flat_map(|team| {
            let ours = team.dominance.iter().filter(|entry| entry.by == OUR_ALGORITHM);
            ours.map(move |entry| (team, entry))
        })
        .collect();
    let count = |converged: bool, is_meant: &dyn Fn(&Dominance) -> bool| {
        let entries = all.iter().map(|(_, entry)| *entry);
        entries.filter(|entry| (entry.converged || !converged) && is_meant(entry)).count()
    };
    if all.is_empty() {
        return "No baseline was measured beside CG-CMARL.\n".into();
    }
    let shared = results.arm == Arm::Shared;
    let eyes = if shared {
        "see what a region of CG-CMARL sees of one agent"
    } else {
        "see the rows of MPE2"
    };
    let mut text = format!(
        "Of {} converged baseline points ({} in all; the baselines {eyes}), the front of CG-CMARL dominates {} ({} of all), {} ({}) in at least {:.0} % of resampled seeds and start states.\n",
        count(true, &|_| true),
        count(false, &|_| true),
        count(true, &is_dominated),
        count(false, &is_dominated),
        count(true, &is_surely_dominated),
        count(false, &is_surely_dominated),
        100.0 * SURE,
    );
    text += &both_ways(results);
    let exceptions: Vec<_> = all.iter().filter(|(_, entry)| !entry.dominated).collect();
    if exceptions.is_empty() {
        text += "\nThere is no exception.\n";
        return text;
    }
    text += "\nNot dominated:\n";
    for (team, entry) in exceptions {
        let converged = if entry.converged { "converged" } else { "not converged" };
        let _ = writeln!(
            text,
            "- N = {}, {} layout: {} {} ({converged}; dominated in {:.0} % of resamples){}",
            team.n_agents,
            team.layout,
            display_name(&entry.algorithm),
            entry.parameter,
            100.0 * entry.probability,
            beside_ours(team, entry),
        );
    }
    text
}

fn is_dominated(entry: &Dominance) -> bool {
    entry.dominated
}

fn is_surely_dominated(entry: &Dominance) -> bool {
    entry.dominated && entry.probability >= SURE
}

/// On random layouts: how many points of each method our front dominates, and how many of ours its front does.
fn both_ways(results: &Results) -> String {
    let mut text = format!(
        "\nRandom layouts, both ways (in brackets: in at least {:.0} % of resamples):\n\n\
         | N | Method | Its points that the front of CG-CMARL dominates | Points of CG-CMARL that its front dominates |\n\
         | --- | --- | --- | --- |\n",
        100.0 * SURE
    );
    for team in results.on_random_layouts() {
        for method in team.methods().into_iter().filter(|method| *method != OUR_ALGORITHM) {
            let counted = |of: &str, by: &str| {
                let both = |entry: &&Dominance| entry.algorithm == of && entry.by == by;
                let entries: Vec<_> = team.dominance.iter().filter(both).collect();
                let count = |is_meant: fn(&Dominance) -> bool| {
                    entries.iter().filter(|entry| is_meant(entry)).count()
                };
                let (dominated, surely) = (count(is_dominated), count(is_surely_dominated));
                format!("{dominated} of {} ({surely})", entries.len())
            };
            let (n_agents, name) = (team.n_agents, display_name(method));
            let (ours, its) = (counted(method, OUR_ALGORITHM), counted(OUR_ALGORITHM, method));
            let _ = writeln!(text, "| {n_agents} | {name} | {ours} | {its} |");
        }
    }
    text
}

/// What a point that is not dominated achieves, and what CG-CMARL has beside it.
fn beside_ours(team: &Team, entry: &Dominance) -> String {
    let is_it = |point: &&Point| {
        (&point.algorithm, &point.parameter) == (&entry.algorithm, &entry.parameter)
    };
    let Some(point) = team.points.iter().find(is_it) else { return String::new() };
    let ours = || team.points.iter().filter(|other| other.algorithm == OUR_ALGORITHM);
    let trade_off = |point: &Point| {
        format!("{:.2} % at {:.4}", 100.0 * point.coverage.mean, point.collisions.mean)
    };
    let is_equal = |other: &&Point| {
        (other.coverage.mean, other.collisions.mean) == (point.coverage.mean, point.collisions.mean)
    };
    let here = trade_off(point);
    if let Some(equal) = ours().find(is_equal) {
        return format!(": {here}, as CG-CMARL at {}", equal.parameter);
    }
    let within = ours().filter(|other| other.collisions.mean <= point.collisions.mean);
    let covering = |a: &&Point, b: &&Point| a.coverage.mean.total_cmp(&b.coverage.mean);
    let safest = |a: &&Point, b: &&Point| a.collisions.mean.total_cmp(&b.collisions.mean);
    match (within.max_by(covering), ours().min_by(safest)) {
        (Some(best), _) => format!(
            ": {here}, where CG-CMARL within as many collisions has {} ({})",
            trade_off(best),
            best.parameter
        ),
        (None, Some(best)) => {
            format!(
                ": {here}, where CG-CMARL has {} at the least ({})",
                trade_off(best),
                best.parameter
            )
        }
        (None, None) => format!(": {here}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl_paper::reproduction::Spread;

    #[test]
    fn the_claim_counts_converged_points_and_names_exceptions() {
        let entry = |parameter: &str, converged, dominated| Dominance {
            algorithm: "vdn".into(),
            parameter: parameter.into(),
            by: OUR_ALGORITHM.into(),
            converged,
            dominated,
            probability: 0.25,
        };
        let dominance = vec![
            entry("lr=0.0", true, true),
            entry("lr=0.3", true, false),
            entry("lr=0.6", false, true),
        ];
        let theirs = |parameter: &str, dominated, probability| Dominance {
            algorithm: OUR_ALGORITHM.into(),
            by: "vdn".into(),
            probability,
            ..entry(parameter, true, dominated)
        };
        let dominance = dominance.into_iter().chain([
            theirs("λ=0", true, 0.97),
            theirs("λ=1", true, 0.5),
            theirs("λ=2", false, 0.1),
        ]);
        let named = |algorithm: &str| Point { algorithm: algorithm.into(), ..Point::default() };
        let team = Team {
            n_agents: 3,
            layout: "random".into(),
            points: vec![named(OUR_ALGORITHM), named("vdn")],
            dominance: dominance.collect(),
            ..Team::default()
        };
        let results = Results { teams: vec![team], ..Results::default() };
        let told = claim(&results);
        assert!(told.starts_with(
            "Of 2 converged baseline points (3 in all; the baselines see the rows of MPE2), the front of CG-CMARL \
             dominates 1 (2 of all), 0 (0) in at least 95 % of resampled seeds and start states.\n"
        ));
        assert!(told.contains("| 3 | VDN | 2 of 3 (0) | 2 of 3 (1) |\n"), "{told}");
        assert!(told.contains(
            "\nNot dominated:\n- N = 3, random layout: VDN lr=0.3 (converged; dominated in 25 % of resamples)"
        ));
        assert!(claim(&Results::default()).starts_with("No baseline"));
    }

    #[test]
    fn an_exception_stands_beside_what_ours_has() {
        let point = |algorithm: &str, parameter: &str, coverage: f64, collisions: f64| {
            let spread = |mean| Spread { mean, ..Spread::default() };
            Point {
                algorithm: algorithm.into(),
                parameter: parameter.into(),
                coverage: spread(coverage),
                collisions: spread(collisions),
                ..Point::default()
            }
        };
        let beside = |coverage: f64, collisions: f64| {
            let ours =
                [point(OUR_ALGORITHM, "λ=0", 0.99, 0.02), point(OUR_ALGORITHM, "λ=1", 0.98, 0.01)];
            let points = ours.into_iter().chain([point("vdn", "lr=0.0", coverage, collisions)]);
            let team = Team { points: points.collect(), ..Team::default() };
            let entry = Dominance {
                algorithm: "vdn".into(),
                parameter: "lr=0.0".into(),
                ..Dominance::default()
            };
            beside_ours(&team, &entry)
        };
        assert_eq!(beside(0.98, 0.01), ": 98.00 % at 0.0100, as CG-CMARL at λ=1");
        assert_eq!(
            beside(1.0, 0.03),
            ": 100.00 % at 0.0300, where CG-CMARL within as many collisions has 99.00 % at 0.0200 (λ=0)"
        );
        assert_eq!(
            beside(0.5, 0.005),
            ": 50.00 % at 0.0050, where CG-CMARL has 98.00 % at 0.0100 at the least (λ=1)"
        );
    }
}
