//! What the comparison lets us claim, in sentences made from the numbers, every exception named.

use super::reproduction::display_name;
use cgcmarl_paper::reproduction::{Arm, Dominance, Results};
use std::fmt::Write as _;

/// The sentence about dominance, then what is not dominated.
pub(crate) fn claim(results: &Results) -> String {
    let all: Vec<(String, &Dominance)> = results
        .teams
        .iter()
        .flat_map(|team| {
            let place = format!("N = {}, {} layout", team.n_agents, team.layout);
            let ours = team.dominance.iter().filter(|entry| entry.by == "cg_cmarl");
            ours.map(move |entry| (place.clone(), entry))
        })
        .collect();
    let count = |converged: bool, dominated: bool| {
        let is_counted = |(_, entry): &&(String, &Dominance)| {
            (entry.converged || !converged) && (entry.dominated || !dominated)
        };
        all.iter().filter(is_counted).count()
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
        "Of {} converged baseline points ({} in all; the baselines {eyes}), the front of CG-CMARL dominates {} ({} of all).\n",
        count(true, false),
        count(false, false),
        count(true, true),
        count(false, true),
    );
    let exceptions: Vec<_> = all.iter().filter(|(_, entry)| !entry.dominated).collect();
    if exceptions.is_empty() {
        text += "There is no exception.\n";
        return text;
    }
    text += "Not dominated:\n";
    for (place, entry) in exceptions {
        let converged = if entry.converged { "converged" } else { "not converged" };
        let _ = writeln!(
            text,
            "- {place}: {} {} ({converged}; dominated in {:.0} % of resamples)",
            display_name(&entry.algorithm),
            entry.parameter,
            100.0 * entry.probability
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl_paper::reproduction::Team;

    #[test]
    fn the_claim_counts_converged_points_and_names_exceptions() {
        let entry = |parameter: &str, converged, dominated| Dominance {
            algorithm: "vdn".into(),
            parameter: parameter.into(),
            by: "cg_cmarl".into(),
            converged,
            dominated,
            probability: 0.25,
        };
        let dominance = vec![
            entry("lr=0.0", true, true),
            entry("lr=0.3", true, false),
            entry("lr=0.6", false, true),
        ];
        let team = Team { n_agents: 3, layout: "random".into(), dominance, ..Team::default() };
        let results = Results { teams: vec![team], ..Results::default() };
        assert_eq!(
            claim(&results),
            "Of 2 converged baseline points (3 in all; the baselines see the rows of MPE2), the front of CG-CMARL dominates 1 (2 of all).\n\
             Not dominated:\n- N = 3, random layout: VDN lr=0.3 (converged; dominated in 25 % of resamples)\n"
        );
        assert!(claim(&Results::default()).starts_with("No baseline"));
    }
}
