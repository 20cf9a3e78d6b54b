//! What a reproduction says in a few lines, for the terminal.

use crate::report::table;
use cgcmarl_paper::reproduction::{Arm, OUR_ALGORITHM, Results};
use std::path::Path;

/// The hypervolumes, how many baseline points are dominated, and where everything is.
pub(crate) fn summary(results: &Results, folder: &Path, written: &[String]) -> String {
    let files = format!("{}: {}\n", folder.display(), written.join(", "));
    if matches!(results.arm, Arm::Ladder | Arm::Stock) {
        return files;
    }
    let names = ["N", "layout", "method", "hypervolume", "95 %", "to the paper's front"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for team in &results.teams {
        for front in &team.fronts {
            let volume = &front.hypervolume;
            let ratio = front.ratio_to_printed_cg_cmarl;
            rows.push(vec![
                team.n_agents.to_string(),
                team.layout.clone(),
                front.algorithm.clone(),
                format!("{:.4}", volume.mean),
                format!("{:.4}–{:.4}", volume.low, volume.high),
                ratio.map_or(String::new(), |ratio| format!("{ratio:.2} times")),
            ]);
        }
    }
    let of_ours = || {
        let all = results.teams.iter().flat_map(|team| &team.dominance);
        all.filter(|entry| entry.by == OUR_ALGORITHM)
    };
    let n_dominated = of_ours().filter(|entry| entry.dominated).count();
    format!(
        "{}\n{n_dominated} of {} baseline points are dominated by the front of cg_cmarl\n{files}",
        table::aligned(&rows),
        of_ours().count(),
    )
}
