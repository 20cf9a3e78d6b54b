//! `choose`: the multiplier with the highest coverage that keeps a limit on collisions.

use super::output::{self, OutputFormat, print, remark};
use crate::report::table;
use anyhow::ensure;
use cgcmarl::{
    algorithm::Setting,
    evaluation::{
        Choice, EvaluationOptions,
        choice::{Candidate, Limit, Verdict, best, test_candidates},
        play_fresh,
    },
    experiment::{Model, build_arena, card, on_threads, play},
};
use clap::Args;
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

const EXAMPLES: &str = "\
Examples:
  cgcmarl choose models/simple_spread_3 --max-collisions 0.005
  cgcmarl choose RUN --max-collisions 0.02 --confidence 0.99 --multipliers 0.2,0.5,1,2
  cgcmarl choose RUN --max-collisions 0.01 --format json

Candidates are tested from the safest on, with fresh start states, until one fails; each stops as
soon as it is decided. The confidence holds for the whole choice, whatever the distribution of
collisions and however many multipliers are tried. The choice is written into the run, where
`evaluate`, `render` and `view` find it. Exit code 1 says that none keeps the limit.";

/// Episodes of each candidate in the pilot that orders them.
const PILOT: usize = 300;

/// What `choose` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChooseArgs {
    /// The run directory
    run: PathBuf,
    /// Overlapping pairs per step that are allowed on average
    #[arg(long)]
    max_collisions: f64,
    /// How sure to be that the limit is kept
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    /// Most episodes per multiplier
    #[arg(long, default_value_t = 20_000)]
    episodes: usize,
    /// Multipliers to try, separated by commas [default: the run's]
    #[arg(long, value_delimiter = ',')]
    multipliers: Option<Vec<f32>>,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Tests, chooses, prints, and writes the choice into the run.
pub(crate) fn run(args: &ChooseArgs) -> anyhow::Result<ExitCode> {
    let ChooseArgs { max_collisions, confidence, episodes, .. } = *args;
    let limit = Limit { max_collisions, confidence, episodes };
    limit.check()?;
    let model = Model::open(&args.run)?;
    let mut options = model.config.evaluation.clone();
    if let Some(multipliers) = &args.multipliers {
        options.multipliers.clone_from(multipliers);
    }
    let bad = options.multipliers.iter().find(|m| !(m.is_finite() && **m >= 0.0));
    ensure!(bad.is_none(), "invalid value for `--multipliers`: {bad:?} (must be zero or more)");
    options.multipliers.sort_by(f32::total_cmp);
    options.multipliers.dedup();
    let threads = output::threads(args.threads);
    let candidates = on_threads(threads, || test_model(&model, &options, &limit))??;
    let chosen = best(&candidates);
    if let Some(evidence) = chosen {
        model.run.write_choice(&Choice {
            multiplier: evidence.score.multiplier.unwrap_or_default(),
            limit,
            evidence: evidence.clone(),
            environment: card(&model.config.environment),
        })?;
    }
    match args.format {
        OutputFormat::Table => {
            print(&format!("{}\n{}", candidate_table(&candidates), told(&candidates, &limit)))?;
        }
        OutputFormat::Json => print(&serde_json::to_string_pretty(&serde_json::json!({
            "limit": limit,
            "chosen": chosen.and_then(|evidence| evidence.score.multiplier),
            "candidates": candidates,
        }))?)?,
    }
    Ok(if chosen.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Orders the multipliers by a pilot on the sweep's start states, then tests them on fresh ones.
fn test_model(
    model: &Model,
    options: &EvaluationOptions,
    limit: &Limit,
) -> anyhow::Result<Vec<Candidate>> {
    let environment = &model.config.environment;
    let mut points = model.operating_points(environment, &options.multipliers)?;
    ensure!(
        points.iter().all(|point| matches!(point.setting, Setting::Multiplier(_))),
        "{} holds a model without a multiplier: its trade-off was fixed in training",
        model.run.path().display()
    );
    let pilot_options =
        EvaluationOptions { episodes: PILOT.min(limit.episodes), ..options.clone() };
    let mut pilot = Vec::new();
    for (point, multiplier) in points.iter_mut().zip(&options.multipliers) {
        let label = format!("λ={multiplier}");
        // Through text, so that 0.05 stays 0.05 in double precision.
        let value = multiplier.to_string().parse().ok();
        pilot.push(play(environment, &pilot_options, &label, value, point.policy.as_mut())?);
    }
    let mut arena = build_arena(environment, limit.episodes.min(250))?;
    let candidates = test_candidates(&pilot, environment.agents, limit, &mut |index, episodes| {
        let policy = points[index].policy.as_mut();
        remark(&format!("λ={}: episode {}", options.multipliers[index], episodes.end));
        Ok(play_fresh(&mut arena, policy, episodes, options.start_seed))
    })?;
    Ok(candidates)
}

fn candidate_table(candidates: &[Candidate]) -> String {
    let head = ["", "λ", "coverage %", "collisions/step", "below", "floor", "episodes", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    let chosen = best(candidates);
    for candidate in candidates {
        let (score, measures) = (&candidate.score, &candidate.score.measures);
        let verdict = match candidate.verdict {
            Verdict::Certified => "kept",
            Verdict::NotShown => "not shown",
            Verdict::NotTested => "not tested (pilot)",
        };
        rows.push(vec![
            if chosen == Some(candidate) { "→" } else { "" }.into(),
            score.multiplier.map_or(score.label.clone(), |multiplier| multiplier.to_string()),
            format!("{:.1}", 100.0 * measures.coverage.near.mean),
            format!("{:.4}", measures.collisions_per_step.mean),
            candidate.upper_bound.map_or(String::new(), |bound| format!("{bound:.4}")),
            format!("{:.4}", measures.collision_floor.mean),
            score.n_episodes.to_string(),
            verdict.into(),
        ]);
    }
    table::aligned(&rows)
}

/// The outcome in words.
fn told(candidates: &[Candidate], limit: &Limit) -> String {
    let sure = format!("{} % confidence", 100.0 * limit.confidence);
    if let Some(chosen) = best(candidates) {
        return format!(
            "chose {}: coverage {:.1} %, collisions per step below {} with {sure}",
            chosen.score.label,
            100.0 * chosen.score.measures.coverage.near.mean,
            limit.max_collisions
        );
    }
    let mut text = format!(
        "none chosen: no multiplier was shown to keep collisions per step below {} with {sure}; the run is as it was",
        limit.max_collisions
    );
    let tried = candidates.iter().find(|candidate| candidate.verdict == Verdict::NotShown);
    if let Some(Candidate { score, episodes_needed, .. }) = tried {
        let floor = score.measures.collision_floor.mean;
        if floor >= limit.max_collisions {
            let _ = write!(
                text,
                "\nagents that start overlapping alone make {floor:.4}; no action avoids that"
            );
        } else if let Some(needed) = episodes_needed {
            let _ = write!(
                text,
                "\n{} looks safe enough: about {needed} episodes would show it (--episodes {})",
                score.label,
                (needed * 3 / 2).div_ceil(1000) * 1000
            );
        }
    }
    text
}
