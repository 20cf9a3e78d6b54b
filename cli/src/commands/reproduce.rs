//! `reproduce`: the paper's tables and figures from rows that are known; trains what is missing where asked to.

use super::{
    job_runner::{JobRunner, JobsEnd},
    output::{check_folder, cores, print, remark},
};
use crate::exit::ExitCode;
use crate::report::paper::{reproduction, summary::summary};
use anyhow::{bail, ensure};
use cgcmarl_paper::reproduction::{Arm, Places, Plan, RowResult, Rows, results, same_again};
use std::path::Path;

pub(crate) use super::reproduce_args::ReproduceArgs;

/// Trains and plays what is missing where asked to, then writes everything.
pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<ExitCode> {
    args.check()?;
    let out = args.folder();
    check_folder(out)?;
    if let Some(file) = &args.rerun {
        return rerun(args, file);
    }
    let (arm, plan, trains) = (args.arm()?, args.plan()?, args.trains());
    let mut failures = vec![];
    if trains {
        let end = train(args, &plan)?;
        if end.stopped {
            remark("stopped; everything is saved. The same command goes on.");
            return Ok(ExitCode::from(130));
        }
        failures = end.failures;
    }
    let (rows, source) = shown_rows(args)?;
    let shown = match arm {
        Some(arm) => vec![arm],
        None if trains => vec![Arm::Raw],
        None => Arm::ALL[1..].to_vec(),
    };
    let shown: Vec<Arm> = shown.into_iter().filter(|arm| rows.has_own(*arm) || trains).collect();
    if let Some(arm) = arm.filter(|_| shown.is_empty()) {
        bail!(
            "{} holds no row of the arm `{}`: train some with `--budget quick` (or standard, full, plateau)",
            source.display(),
            arm.name()
        );
    }
    let other = Some(source).filter(|source| *source != out);
    if let Some(other) = other {
        print(&format!("rows read from {}", other.display()))?;
    }
    for arm in shown {
        let results = results(&rows, arm);
        let written = reproduction::save(out, &rows, &results, other)?;
        print(&summary(&results, &out.join(arm.name()), &written))?;
    }
    for failure in &failures {
        remark(&format!("error: {failure}"));
    }
    warn_of_left_out(&rows);
    let is_whole = failures.is_empty() && rows.left_out.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// The rows of the folder, or where it has none and none are trained those that are known elsewhere; and
/// where they are from.
fn shown_rows(args: &ReproduceArgs) -> anyhow::Result<(Rows, &Path)> {
    let (out, known) = (args.folder(), args.known.as_path());
    let mut rows = Rows::read(out);
    if args.trains() || !rows.trained.is_empty() {
        return Ok((rows, out));
    }
    if known != out {
        let left_out = rows.left_out;
        rows = Rows::read(known);
        rows.left_out.splice(0..0, left_out);
    }
    if rows.trained.is_empty() {
        warn_of_left_out(&rows);
        bail!(
            "neither {} nor {} holds rows: train them with `--budget quick` (or standard, full, plateau)",
            out.display(),
            known.display()
        );
    }
    Ok((rows, known))
}

fn warn_of_left_out(rows: &Rows) {
    for left_out in &rows.left_out {
        remark(&format!("warning: {left_out}"));
    }
    match rows.left_out.len() {
        0 => {}
        1 => remark("1 row was left out"),
        n => remark(&format!("{n} rows were left out")),
    }
}

fn train(args: &ReproduceArgs, plan: &Plan) -> anyhow::Result<JobsEnd> {
    // Every configuration is read before the first training starts.
    for job in plan.jobs() {
        plan.config(&job)?;
    }
    let places = places(args);
    if !args.quiet {
        announce(plan, &places);
    }
    let n_workers = args.jobs.unwrap_or_else(cores);
    JobRunner { plan, places: &places, n_workers, quiet: args.quiet }.run()
}

fn places(args: &ReproduceArgs) -> Places {
    let out = args.folder();
    Places {
        runs: args.runs.clone().unwrap_or_else(|| out.join("runs")),
        out: out.into(),
        known: Some(args.known.clone()).filter(|known| known != out),
    }
}

/// Trains the row of a file anew, and compares everything but the times.
fn rerun(args: &ReproduceArgs, file: &Path) -> anyhow::Result<ExitCode> {
    let known = RowResult::read(file)?;
    let plan = Plan::of_row(&known)?;
    let made = known.place(args.folder());
    ensure!(
        !made.exists(),
        "{} is there already, and would only be compared: name another folder with `--out`, in which the row is trained again",
        made.display()
    );
    // The row itself must not count as done.
    let places = Places { known: None, ..places(args) };
    let runner = JobRunner { plan: &plan, places: &places, n_workers: 1, quiet: args.quiet };
    let JobsEnd { stopped, failures } = runner.run()?;
    if stopped {
        remark("stopped; everything is saved. The same command goes on.");
        return Ok(ExitCode::from(130));
    }
    if let Some(failure) = failures.first() {
        bail!("{failure}");
    }
    let again = RowResult::read(&made)?;
    let same = same_again(&plan, &known, &again)?;
    let verdict = if same { "the same in every number" } else { "NOT the same" };
    print(&format!("{}: {verdict} as {}", made.display(), file.display()))?;
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn announce(plan: &Plan, places: &Places) {
    remark(&format!("{} trainings, rows in {}", plan.jobs().len(), places.out.display()));
    for &n_agents in &plan.agents {
        let jobs = plan.jobs();
        let own = jobs.iter().filter(|job| job.n_agents == n_agents);
        let steps: Vec<u64> =
            own.filter_map(|job| Some(plan.config(job).ok()?.training.total_steps)).collect();
        let (least, most) = (steps.iter().min().unwrap_or(&0), steps.iter().max().unwrap_or(&0));
        let steps = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let grows = jobs.iter().any(|job| plan.lengths(job).len() > 1);
        let longer = if grows { " (more where a curve is not flat then)" } else { "" };
        remark(&format!(
            "  {n_agents} agents: {} models × {} seeds, {steps} environment steps each{longer}, {} evaluation episodes per point",
            plan.rows.len(),
            plan.seeds(n_agents).len(),
            plan.episodes()
        ));
    }
}
