//! `choose`: the multipliers with the best objective that keep limits on the constraints.

use super::{
    multiplier::{apply_lists, constraint, promise, refuse_baseline},
    output::{self, OutputFormat, print, remark},
};
use crate::exit::ExitCode;
use crate::report::{measure::value, table};
use anyhow::bail;
use cgcmarl::{
    Error, Model,
    environment::{Metric, Spec},
    evaluation::{
        Choice, EvaluationOptions, Limits, Measures, Named,
        choice::{Candidate, TestResult, best},
    },
    run::on_threads,
};
use clap::Args;
use std::{fmt::Write as _, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  cgcmarl choose RUN --limit 0.005                      where the task has one constraint
  cgcmarl choose RUN --limit NAME=0.005 --limit OTHER=0.3 --maximise METRIC
  cgcmarl choose RUN --limit 0.02 --confidence 0.99 --multipliers 0.2,0.5,1,2
  cgcmarl choose RUN --limit 0.01 --format json

A limit is in the unit of the metric that its constraint limits (`cgcmarl tasks` names both).
Candidates are tested from the safest on, with fresh start states, until one fails; each stops as
soon as it is decided. The confidence holds for the whole choice and all limits together, whatever
the distribution of costs and however many multipliers are tried. The choice is written into the
run, where `evaluate`, `render` and `view` find it. Exit code 1 says that none keeps the limits.";

/// What `choose` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ChooseArgs {
    /// The run directory
    run: PathBuf,
    /// Most of a constraint's metric on average: a number where the task has one constraint, else
    /// NAME=NUMBER, once for each constraint to limit
    #[arg(long, required = true, value_name = "LIMIT", allow_hyphen_values = true)]
    limit: Vec<String>,
    /// The metric to make as good as the limits allow [default: the task's objective]
    #[arg(long, value_name = "METRIC")]
    maximise: Option<String>,
    /// How sure to be that the limits are kept
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    /// Most episodes per candidate
    #[arg(long, default_value_t = 20_000)]
    episodes: usize,
    /// Multipliers to try, separated by commas: for all constraints together, or NAME=… for one of
    /// them, once for each, for every combination [default: the run's]
    #[arg(long, value_name = "λ,λ,…", allow_hyphen_values = true)]
    multipliers: Vec<String>,
    /// Threads; they change the speed, never the result [default: one per core]
    #[arg(long)]
    threads: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Tests, chooses, prints, and writes the choice into the run.
pub(crate) fn run(args: &ChooseArgs) -> anyhow::Result<ExitCode> {
    let threads = output::threads(args.threads)?;
    let model = Model::open(&args.run)?;
    refuse_baseline(&model, "choose")?;
    output::check_writable(&args.run)?;
    let spec = model.scenario()?.spec()?;
    let measures = Measures::of(&spec);
    let limits = Limits {
        limits: limits(&args.limit, &spec)?,
        maximise: args.maximise.clone().unwrap_or_else(|| spec.objective.clone()),
        confidence: args.confidence,
        episodes: args.episodes,
    };
    limits.check(&measures)?;
    let mut options = model.config.evaluation.clone();
    vary_what_is_limited(&mut options, &limits);
    apply_lists(&args.multipliers, &spec, &mut options)?;
    let played = &mut |label: &str, episode| remark(&format!("{label}: episode {episode}"));
    let candidates = on_threads(threads, || model.candidates(&options, &limits, played))??;
    let chosen = best(&candidates, &measures, &limits);
    if let Some(evidence) = chosen {
        let earlier = model.run.choice().ok().flatten().filter(|earlier| earlier.limits != limits);
        if let Some(earlier) = earlier {
            let shown = promise(&earlier.limits, &measures);
            remark(&format!("the earlier choice of this run ({shown}) is replaced"));
        }
        model.run.write_choice(&Choice {
            multipliers: evidence.score.multipliers.clone(),
            limits: limits.clone(),
            evidence: evidence.clone(),
            environment: model.scenario()?.card()?,
            model: Some(model.fingerprint()),
        })?;
    }
    match args.format {
        OutputFormat::Table => {
            let table = candidate_table(&candidates, chosen, &measures, &limits);
            print(&format!("{table}\n{}", told(&candidates, chosen, &measures, &limits)))?;
        }
        OutputFormat::Json => print(&serde_json::to_string_pretty(&serde_json::json!({
            "limits": limits,
            "chosen": chosen.map(|evidence| &evidence.score.multipliers),
            "candidates": candidates,
        }))?)?,
    }
    Ok(if chosen.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A constraint that is limited is tried at many multipliers, also where the run's own sweep keeps it at one.
fn vary_what_is_limited(options: &mut EvaluationOptions, limits: &Limits) {
    let EvaluationOptions { grid, multipliers, .. } = options;
    for (name, list) in grid.iter_mut().filter(|(name, _)| limits.limits.get(name).is_some()) {
        if list.len() == 1 && !name.is_empty() {
            list.clone_from(multipliers);
        }
    }
}

/// The limits as they were written, by constraint.
pub(super) fn limits(texts: &[String], spec: &Spec) -> anyhow::Result<Named<f64>> {
    let names = spec.constraint_names();
    let mut found: Vec<(String, f64)> = vec![];
    for text in texts {
        let (name, number) = match (text.split_once('='), names.as_slice()) {
            (Some((name, number)), _) => {
                (names[constraint("--limit", name, &names)?].clone(), number)
            }
            (None, [only]) => (only.clone(), text.as_str()),
            (None, _) => {
                let reason =
                    format!("say of which constraint, such as {}={text}", names.join("=… or "));
                bail!(Error::setting("--limit", text, reason));
            }
        };
        let Ok(limit) = number.parse() else {
            bail!(Error::setting("--limit", text, "is written NAME=NUMBER"));
        };
        if found.iter().any(|(known, _)| *known == name) {
            bail!(Error::setting("--limit", text, format!("`{name}` is limited twice")));
        }
        found.push((name, limit));
    }
    Ok(found.into_iter().collect())
}

/// The metrics that are limited, each with its constraint's name and what of it no action avoids.
fn limited<'m>(
    measures: &'m Measures,
    limits: &Limits,
) -> Vec<(&'m str, &'m Metric, Option<&'m Metric>)> {
    let constraints = measures.constraints.iter();
    let limited = constraints.filter(|constraint| limits.limits.get(&constraint.name).is_some());
    let named = limited.filter_map(|constraint| {
        let unavoidable = constraint.unavoidable.as_deref().and_then(|name| measures.metric(name));
        Some((constraint.name.as_str(), measures.metric(&constraint.metric)?, unavoidable))
    });
    named.collect()
}

fn candidate_table(
    candidates: &[Candidate],
    chosen: Option<&Candidate>,
    measures: &Measures,
    limits: &Limits,
) -> String {
    let limited = limited(measures, limits);
    let objective = measures.metric(&limits.maximise);
    let mut head = vec![String::new()];
    head.extend(table::multiplier_heads(measures));
    head.extend(objective.map(|metric| metric.name.clone()));
    for (_, metric, unavoidable) in &limited {
        head.extend([metric.name.clone(), "below".into()]);
        head.extend(unavoidable.map(|metric| metric.name.clone()));
    }
    head.extend(["episodes".into(), String::new()]);
    let mut rows = vec![head];
    for candidate in candidates {
        let mean = |metric: &Metric| value(metric, candidate.score.mean(&metric.name));
        let mut row = vec![if chosen == Some(candidate) { "→" } else { "" }.to_owned()];
        row.extend(table::multiplier_cells(&candidate.score, measures));
        row.extend(objective.map(mean));
        for (name, metric, unavoidable) in &limited {
            let bound = candidate.upper_bounds.get(name).map(|bound| value(metric, *bound));
            row.extend([mean(metric), bound.unwrap_or_default()]);
            row.extend(unavoidable.map(mean));
        }
        let verdict = match candidate.verdict {
            TestResult::Certified => "kept",
            TestResult::NotShown => "not shown",
            TestResult::NotTested => "not tested (pilot)",
        };
        row.extend([candidate.score.n_episodes.to_string(), verdict.into()]);
        rows.push(row);
    }
    table::aligned(&rows)
}

/// The outcome in words.
fn told(
    candidates: &[Candidate],
    chosen: Option<&Candidate>,
    measures: &Measures,
    limits: &Limits,
) -> String {
    let promise = promise(limits, measures);
    if let Some(Candidate { score, .. }) = chosen {
        let objective = measures.metric(&limits.maximise);
        let gain = objective.map_or_else(String::new, |m| value(m, score.mean(&m.name)));
        return format!("chose {}: {} {gain}, {promise}", score.label, limits.maximise);
    }
    let mut text =
        format!("none chosen: no multiplier was shown to keep {promise}; the run is as it was");
    let tried = candidates.iter().find(|candidate| candidate.verdict == TestResult::NotShown);
    let Some(Candidate { score, episodes_needed, .. }) = tried else { return text };
    let hopeless = limited(measures, limits).into_iter().find_map(|(name, metric, unavoidable)| {
        let least = score.mean(&unavoidable?.name);
        (least >= *limits.limits.get(name)?).then_some((metric, least))
    });
    if let Some((metric, least)) = hopeless {
        let _ = write!(text, "\nno action avoids {} of {}", value(metric, least), metric.name);
    } else if let Some(needed) = episodes_needed {
        let _ = write!(
            text,
            "\n{} looks safe enough: about {needed} episodes would show it (--episodes {})",
            score.label,
            (needed * 3 / 2).div_ceil(1000) * 1000
        );
    }
    text
}
