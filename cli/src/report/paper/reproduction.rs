//! The tables of a reproduction, shaped like the paper's, and everything it leaves in its folder.

use super::{attainment, claim::claim, ladder, overview, panels, reliability, stock, theory};
use crate::report::{
    export_table::{Cell, ExportTable},
    picture::Picture,
};
use anyhow::Context;
use cgcmarl::checkpoint::atomic;
use cgcmarl_paper::reproduction::{
    Arm, COVERAGES, Job, OUR_ALGORITHM, Point, RESULTS_FILE, Results, Row, Rows, Spread, Team,
    marl_eval,
};
use std::{fmt::Write as _, path::Path};

/// Writes tables, figures and records of an arm below the folder of a reproduction; tells the file names.
/// Where the rows are those of another folder, the page of all tables names it.
pub(crate) fn save(
    out: &Path,
    rows: &Rows,
    results: &Results,
    other: Option<&Path>,
) -> anyhow::Result<Vec<String>> {
    let folder = out.join(results.arm.name());
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut written = vec![];
    let mut put = |name: String, content: &[u8]| -> anyhow::Result<()> {
        atomic::write(&folder.join(&name), content)?;
        written.push(name);
        Ok(())
    };
    let tables = tables(results);
    put("report.md".into(), report(rows, results.arm, &tables, other).as_bytes())?;
    for table in &tables {
        put(format!("{}.md", table.name), table.to_markdown().as_bytes())?;
        put(format!("{}.csv", table.name), table.to_csv().as_bytes())?;
        put(format!("{}.tex", table.name), table.to_latex().as_bytes())?;
    }
    put(RESULTS_FILE.into(), (serde_json::to_string(results)? + "\n").as_bytes())?;
    let exported = serde_json::to_string(&marl_eval(rows, results.arm))?;
    put("marl_eval.json".into(), (exported + "\n").as_bytes())?;
    if matches!(results.arm, Arm::Raw | Arm::Shared) {
        put("claim.md".into(), claim(results).as_bytes())?;
    }
    for (name, picture) in pictures(results) {
        put(format!("{name}.svg"), picture.to_svg()?.as_bytes())?;
        put(format!("{name}.png"), &picture.to_png()?)?;
    }
    Ok(written)
}

/// Every figure that has something to show.
pub(crate) fn pictures(results: &Results) -> Vec<(String, Picture)> {
    if results.arm == Arm::Ladder {
        let figure = ladder::figure(results);
        let picture = figure.as_ref().map(theory::picture);
        return picture.map(|picture| ("ladder".into(), picture)).into_iter().collect();
    }
    if results.arm == Arm::Stock {
        return vec![];
    }
    let panels = [
        ("pareto", panels::pareto(results)),
        ("close", panels::close(results)),
        ("scenarios", panels::scenarios(results)),
    ];
    let panels = panels.into_iter().filter_map(|(name, picture)| Some((name.into(), picture?)));
    let mut all: Vec<(String, Picture)> = panels.collect();
    let attained = attainment::figures(results);
    all.extend(attained.iter().map(|(name, figure)| (name.clone(), theory::picture(figure))));
    let profiles = attainment::profiles(results);
    all.extend(profiles.iter().map(|figure| ("profiles".into(), theory::picture(figure))));
    all
}

/// Every table that has rows.
pub(crate) fn tables(results: &Results) -> Vec<ExportTable> {
    let all = match results.arm {
        Arm::Ladder => vec![ladder::table(results), learning(results)],
        Arm::Stock => vec![stock::table(results), learning(results)],
        _ => vec![
            overview::table(results),
            baselines(results),
            cg_cmarl(results),
            scaling(results),
            reliability::chosen(results),
            reliability::methods(results),
            hypervolumes(results),
            dominance(results),
            learning(results),
            layouts(results),
        ],
    };
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// One page with all tables and the commands behind them.
fn report(rows: &Rows, arm: Arm, tables: &[ExportTable], other: Option<&Path>) -> String {
    let mut text = format!("# The comparison, measured: {}\n", arm.name());
    text += "\nCollisions: overlapping pairs per step, lower is better. ±: one sample deviation over the seeds. ★: no point of the same method is better in both.\n";
    if let Some(other) = other {
        let _ = writeln!(text, "\nThe rows are those of {}.", other.display());
    }
    for table in tables {
        let _ = write!(text, "\n## {}\n\n{}", table.name, table.to_markdown());
    }
    text += "\n## One training on its own\n\n```sh\n";
    for row in rows.trained.iter().filter(|row| row.arm.belongs_to(arm)) {
        let Some(known) = Row::find(row.arm, &row.row) else { continue };
        let job = Job { row: known, n_agents: row.agents, seed: row.seed };
        if let Some(command) = job.command(row.steps) {
            let _ = writeln!(text, "{command}");
        }
    }
    text + "```\n"
}

pub(crate) fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn spread(point: &Point, spread: &Spread, factor: f64, digits: usize) -> Cell {
    Cell::over_seeds(point.seeds, spread.mean * factor, spread.deviation * factor, digits)
}

fn on_random(results: &Results) -> impl Iterator<Item = (&Team, &Point)> {
    let teams = results.on_random_layouts();
    teams.flat_map(|team| team.points.iter().map(move |point| (team, point)))
}

/// The name people know a method by.
pub(crate) fn display_name(algorithm: &str) -> &str {
    match algorithm {
        OUR_ALGORITHM => "CG-CMARL",
        "iql" => "IQL",
        "vdn" => "VDN",
        "qmix" => "QMIX",
        "dcg" => "DCG",
        "mappo" => "MAPPO",
        "mappo_lag" => "MAPPO-Lag",
        "mappo_lambda" => "MAPPO-λ",
        "macpo" => "MACPO",
        "casec" => "CASEC",
        other => other,
    }
}

/// Pairs in a team, however many agents a file says it has.
pub(crate) fn n_pairs(n_agents: usize) -> usize {
    n_agents.saturating_mul(n_agents.saturating_sub(1)) / 2
}

fn star(is_optimal: bool) -> Cell {
    if is_optimal { "★" } else { "" }.into()
}

fn baselines(results: &Results) -> ExportTable {
    let rows = on_random(results).filter(|(_, point)| point.algorithm != OUR_ALGORITHM).map(
        |(team, point)| {
            let ours = team.dominance.iter().find(|entry| {
                entry.by == OUR_ALGORITHM
                    && (&entry.algorithm, &entry.parameter) == (&point.algorithm, &point.parameter)
            });
            let beaten = ours.map_or("–".into(), |entry| format!("{:.2}", entry.probability));
            vec![
                team.n_agents.to_string().into(),
                display_name(&point.algorithm).into(),
                point.parameter.clone().into(),
                spread(point, &point.collisions, 1.0, 4),
                spread(point, &point.per_pair_rate, 1.0, 4),
                spread(point, &point.coverage, 100.0, 2),
                star(point.pareto_overall),
                beaten.into(),
                point.steps.to_string().into(),
                if point.converged { "yes" } else { "no" }.into(),
            ]
        },
    );
    ExportTable {
        name: "baselines",
        caption: "Baselines across team sizes. lr: local_ratio; cl: cost_limit. ★: no point of any method is better in both. P: probability that the front of CG-CMARL dominates it, over seeds and start states. Steps: mean over the seeds.".into(),
        head: head(&["N", "Algorithm", "Param.", "Collisions", "Per-pair", "Coverage (%)", "Pareto", "P", "Steps", "Converged"]),
        rows: rows.collect(),
    }
}

fn cg_cmarl(results: &Results) -> ExportTable {
    let rows = on_random(results).filter(|(_, point)| point.algorithm == OUR_ALGORITHM).map(
        |(team, point)| {
            vec![
                team.n_agents.to_string().into(),
                point.multiplier.map_or(String::new(), |value| format!("{value:.2}")).into(),
                spread(point, &point.collisions, 1.0, 4),
                spread(point, &point.per_pair_rate, 1.0, 4),
                spread(point, &point.coverage, 100.0, 2),
                star(point.pareto),
            ]
        },
    );
    ExportTable {
        name: "cgcmarl",
        caption: "CG-CMARL across team sizes: every row is the same trained model at another λ. ★: no other λ is better in both.".into(),
        head: head(&["N", "λ", "Collisions", "Per-pair", "Coverage (%)", "Pareto"]),
        rows: rows.collect(),
    }
}

fn scaling(results: &Results) -> ExportTable {
    let is_ours = |point: &Point| point.algorithm == OUR_ALGORITHM && point.multiplier == Some(1.0);
    let at_one = on_random(results).filter(|(_, point)| is_ours(point));
    let rows = at_one.map(|(team, point)| {
        vec![
            team.n_agents.to_string().into(),
            n_pairs(team.n_agents).to_string().into(),
            format!("{:.4}", point.collisions.mean).into(),
            format!("{:.5}", point.per_pair_rate.mean).into(),
        ]
    });
    ExportTable {
        name: "scaling",
        caption: "CG-CMARL at λ=1: collisions per step and per pair as the team grows.".into(),
        head: head(&["N", "Pairs", "Collisions", "Per-pair rate"]),
        rows: rows.collect(),
    }
}

fn hypervolumes(results: &Results) -> ExportTable {
    let number = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.4}"));
    let rows = results.teams.iter().flat_map(|team| {
        let reference = team.random.map(|random| random.collisions);
        team.fronts.iter().map(move |front| {
            let volume = &front.hypervolume;
            let ratio = front.ratio_to_printed_cg_cmarl;
            let own = team.points.iter().filter(|point| point.algorithm == front.algorithm);
            vec![
                team.n_agents.to_string().into(),
                team.layout.clone().into(),
                display_name(&front.algorithm).into(),
                own.count().to_string().into(),
                format!("{:.4}", volume.mean).into(),
                format!("{:.4}–{:.4}", volume.low, volume.high).into(),
                number(reference).into(),
                format!("{:.4}", front.from_worst.mean).into(),
                format!("{:.4}", front.from_nadir.mean).into(),
                number(front.printed_hypervolume).into(),
                ratio.map_or("–".into(), |ratio| format!("{ratio:.2}")).into(),
            ]
        })
    });
    ExportTable {
        name: "hypervolume",
        caption: "Hypervolume of each method's points, of which a method without all its prices has fewer (coverage × collisions spared; reference: coverage 0 and the collisions of the random policy) with its 95 % interval over seeds and start states; the same from the worst point of all methods, and from the nadir of their joint front; that of the paper's printed points with the same reference; ours over that of the paper's CG-CMARL.".into(),
        head: head(&["N", "Layout", "Algorithm", "Points", "Hypervolume", "95 %", "Reference", "From worst", "From nadir", "Printed", "Ratio"]),
        rows: rows.collect(),
    }
}

fn dominance(results: &Results) -> ExportTable {
    let mut fronts: Vec<&str> = vec![];
    for entry in results.teams.iter().flat_map(|team| &team.dominance) {
        if !fronts.contains(&entry.by.as_str()) {
            fronts.push(&entry.by);
        }
    }
    let mut rows = vec![];
    for team in &results.teams {
        for point in &team.points {
            let mut row: Vec<Cell> = vec![
                team.n_agents.to_string().into(),
                team.layout.clone().into(),
                format!("{} {}", display_name(&point.algorithm), point.parameter).into(),
            ];
            for front in &fronts {
                let found = team.dominance.iter().find(|entry| {
                    entry.by == *front
                        && (&entry.algorithm, &entry.parameter)
                            == (&point.algorithm, &point.parameter)
                });
                row.push(match found {
                    None => "".into(),
                    Some(entry) => {
                        let mark = if entry.dominated { "yes" } else { "no" };
                        format!("{mark} {:.2}", entry.probability).into()
                    }
                });
            }
            rows.push(row);
        }
    }
    let mut names = head(&["N", "Layout", "Point"]);
    names.extend(fronts.iter().map(|front| display_name(front).to_owned()));
    ExportTable {
        name: "dominance",
        caption: "Which points are dominated by which front (some point of it is at least as good in both means and better in one), and the probability of that over resampled seeds and start states.".into(),
        head: names,
        rows: if fronts.is_empty() { vec![] } else { rows },
    }
}

fn learning(results: &Results) -> ExportTable {
    let number = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.0}"));
    let rows = results.teams.iter().flat_map(|team| {
        team.learning.iter().map(move |entry| {
            let mut row: Vec<Cell> =
                vec![team.n_agents.to_string().into(), entry.row.clone().into()];
            for index in 0..COVERAGES.len() {
                let steps = entry.steps_to.get(index).copied().flatten();
                let seconds = entry.cpu_seconds_to.get(index).copied().flatten();
                let both = steps.map(|_| format!("{} in {} s", number(steps), number(seconds)));
                row.push(both.unwrap_or("–".into()).into());
            }
            row.push(number(Some(entry.trained)).into());
            row.push(number(entry.cpu_seconds).into());
            row.push(format!("{} of {}", entry.converged, entry.seeds).into());
            row
        })
    });
    let mut names = head(&["N", "Model"]);
    names.extend(COVERAGES.map(|coverage| format!("{:.0} %", 100.0 * coverage)));
    names.extend(head(&["Steps", "CPU s", "Converged"]));
    ExportTable {
        name: "learning",
        caption: "Environment steps, and seconds of one processor, until the greedy team first covered so much (CG-CMARL at λ = 1; start states that nothing was tuned on), mean over the seeds; –: a seed never did. Seconds are at the pace of the method's least disturbed training, as other work on the machine slows some down, all of a team on the one kind of processor that timed the most of its models. Converged: seeds whose greedy curve was flat at the end, and not at chance.".into(),
        head: names,
        rows: rows.collect(),
    }
}

fn layouts(results: &Results) -> ExportTable {
    let fixed = results.teams.iter().filter(|team| team.layout != "random");
    let rows = fixed.flat_map(|team| {
        team.points.iter().map(move |point| {
            vec![
                team.n_agents.to_string().into(),
                team.layout.clone().into(),
                display_name(&point.algorithm).into(),
                point.parameter.clone().into(),
                spread(point, &point.collisions, 1.0, 4),
                spread(point, &point.per_pair_rate, 1.0, 4),
                spread(point, &point.coverage, 100.0, 2),
                star(point.pareto),
            ]
        })
    });
    ExportTable {
        name: "layouts",
        caption: "All models, trained on random layouts, on the fixed ones. ★: no point of the same method is better in both.".into(),
        head: head(&["N", "Layout", "Algorithm", "Param.", "Collisions", "Per-pair", "Coverage (%)", "Pareto"]),
        rows: rows.collect(),
    }
}
