//! Returns in MPE2 as it is shipped, in the convention of published tables, beside those tables.

use super::reproduction::{display_name, head};
use crate::report::export_table::{Cell, ExportTable};
use cgcmarl_paper::reproduction::{Point, Results};

/// What others print for three agents, with the source (docs/ppo-tuning.md tells how far these go).
const PUBLISHED: [(&str, &str, &str); 3] = [
    (
        "MAPPO",
        "about −120",
        "20 M steps, 128 environments: github.com/marlbenchmark/on-policy/issues/49",
    ),
    (
        "MAPPO",
        "about −150",
        "10 M steps, 80 environments: github.com/marlbenchmark/on-policy/issues/112",
    ),
    ("best of EPyMARL", "about −120", "divided by agents: github.com/uoe-agents/epymarl/issues/29"),
];

/// A return in the convention of the first MPE: summed over three agents, each of which also collides
/// with itself.
fn published_convention(point: &Point) -> f64 {
    3.0 * point.team_return.0 - 50.0 * point.collisions.mean - 75.0
}

/// Every method with three agents; one that takes a multiplier at its best.
pub(crate) fn table(results: &Results) -> ExportTable {
    let mut rows: Vec<Vec<Cell>> = vec![];
    let Some(team) = results.team(3, "random") else {
        return ExportTable { name: "stock", ..ExportTable::default() };
    };
    for method in team.methods() {
        let own = team.points.iter().filter(|point| point.algorithm == method);
        let by_return =
            |a: &&Point, b: &&Point| published_convention(a).total_cmp(&published_convention(b));
        let Some(best) = own.max_by(by_return) else { continue };
        rows.push(vec![
            display_name(method).into(),
            best.parameter.clone().into(),
            Cell::over_seeds(best.seeds, published_convention(best), 3.0 * best.team_return.1, 1),
            format!("{:.1}", 100.0 * best.coverage.mean).into(),
            best.steps.to_string().into(),
            best.seeds.to_string().into(),
            "".into(),
        ]);
    }
    for (method, value, source) in PUBLISHED {
        let unknown = || Cell::from("");
        let (name, value) = (format!("{method} (published)"), Cell::from(value));
        rows.push(vec![
            name.into(),
            unknown(),
            value,
            unknown(),
            unknown(),
            unknown(),
            source.into(),
        ]);
    }
    ExportTable {
        name: "stock",
        caption: "Simple Spread as MPE2 ships it, three agents: return as published tables count it (3 × team return − 50 × collisions per step − 75), ± one sample deviation of its first term over the seeds; a method with multipliers at its best one. The baselines see the rows that MPE2 shows an agent, CG-CMARL the relative rows of its regions; published returns are after the steps that stand beside them.".into(),
        head: head(&["Method", "Param.", "Return", "Coverage (%)", "Steps", "Seeds", "Source"]),
        rows,
    }
}
