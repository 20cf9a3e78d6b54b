//! Tables of the methods as a whole: within limits chosen elsewhere, and over all team sizes and layouts.

use super::reproduction::{display_name, head};
use crate::report::export_table::{Cell, ExportTable};
use cgcmarl::evaluation::Estimate;
use cgcmarl_paper::reproduction::{Chosen, OUR_ALGORITHM, Results};

/// What each method covers within a limit, its trade-off chosen on other start states.
pub(crate) fn chosen(results: &Results) -> ExportTable {
    let rows = results.teams.iter().flat_map(|team| {
        team.chosen.iter().map(move |chosen| {
            let mut parameters = chosen.parameters.clone();
            parameters.dedup();
            vec![
                team.n_agents.to_string().into(),
                format!("{} × floor", chosen.times_floor).into(),
                display_name(&chosen.algorithm).into(),
                format!("{} of {}", chosen.found, chosen.seeds).into(),
                coverage(chosen),
                format!("{:.2}", chosen.collisions_over_floor).into(),
                parameters.join(" ").into(),
            ]
        })
    });
    ExportTable {
        name: "chosen",
        caption: "Each seed's trade-off (λ, price or limit) with the most coverage within a limit on collisions was chosen on one set of start states, and is shown as it does on another. Limits in units of the collisions that no action avoids. Found: seeds with a point within the limit; the safest stands for the others.".into(),
        head: head(&["N", "Limit", "Algorithm", "Found", "Coverage (%)", "÷ floor", "Chosen"]),
        rows: rows.collect(),
    }
}

fn coverage(chosen: &Chosen) -> Cell {
    let (mean, deviation) = chosen.coverage;
    Cell::over_seeds(chosen.seeds, 100.0 * mean, 100.0 * deviation, 1)
}

/// Interquartile means and probabilities of improvement.
pub(crate) fn methods(results: &Results) -> ExportTable {
    let rows = results.reliability.iter().map(|method| {
        // Without the random policy there is no reference, and so no score.
        let shown = |e: &Estimate| match method.tasks {
            0 => "–".into(),
            _ => format!("{:.3} ({:.3}–{:.3})", e.mean, e.low, e.high),
        };
        let ours = method.algorithm == OUR_ALGORITHM;
        vec![
            display_name(&method.algorithm).into(),
            method.tasks.to_string().into(),
            shown(&method.iqm).into(),
            if ours { "–".into() } else { shown(&method.ours).into() },
            if ours { "–".into() } else { shown(&method.ours_better).into() },
        ]
    });
    ExportTable {
        name: "reliability",
        caption: "Over all team sizes and layouts: interquartile mean of the hypervolume of one seed's points as a share of the largest possible (coverage 1 without collisions, reference: the random policy's collisions), and the probability that a seed of CG-CMARL has more than a seed of the method; ties count half; 95 % intervals of the bootstrap over seeds and start states, both drawn once for all layouts of a team size (else rliable's definitions). A team size with one seed of a method adds little to its interval. The collisions that no action avoids leave .93 to .96 at the most. Tasks: pairs of a team size and a layout on which a seed of the method was trained at every price or limit; CG-CMARL stands beside it on the same tasks.".into(),
        head: head(&["Algorithm", "Tasks", "IQM", "CG-CMARL there", "P(CG-CMARL better)"]),
        rows: rows.collect(),
    }
}
