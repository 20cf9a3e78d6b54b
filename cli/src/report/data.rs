//! What both pages know of a run: where it comes from, its curves, its front, the paper's points.

use super::{curve::Curves, curves::curve_data};
use cgcmarl::{
    evaluation::Front,
    experiment::{Model, card},
    run_dir::{RunDir, files},
};
use cgcmarl_paper::tables;
use serde_json::{Value, json};

/// Everything about a run that a page shows without playing it.
pub(crate) fn run_data(model: &Model, front: Option<&Front>, curves: &Curves) -> Value {
    let environment = &model.config.environment;
    json!({
        "kind": "run",
        "name": model.run.path().display().to_string(),
        "manifest": model.run.manifest().ok(),
        "card": card(environment),
        "config": model.run.config().unwrap_or_default(),
        "agents": environment.agents,
        "horizon": environment.horizon,
        "layout": environment.layout,
        "contact": environment.resolved().contact,
        "radius": environment.resolved().radius,
        "constraints": environment.constraints,
        "multipliers": model.config.evaluation.multipliers,
        "chosen": model.run.choice().ok().flatten().map(|choice| choice.multiplier),
        "steps": model.steps,
        "total_steps": model.config.training.total_steps,
        "curves": curve_data(curves),
        "front": front,
        "paper": paper_points(front.map_or(environment.agents, |front| front.n_agents)),
        "error_budget": error_budget(&model.run),
    })
}

/// Where the errors of a run come from, where that was measured.
fn error_budget(run: &RunDir) -> Option<Value> {
    serde_json::from_str(&run.read(files::ERROR_BUDGET).ok()?).ok()
}

fn paper_points(n_agents: usize) -> Vec<Value> {
    tables::cg_cmarl(n_agents)
        .chain(tables::baselines(n_agents))
        .map(|point| {
            json!({
                "algorithm": point.algorithm,
                "parameter": point.parameter,
                "coverage": point.coverage.0 / 100.0,
                "coverage_sd": point.coverage.1 / 100.0,
                "collisions": point.collisions.0,
                "collisions_sd": point.collisions.1,
                "starred": point.starred,
            })
        })
        .collect()
}
