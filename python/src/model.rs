//! A trained run: policies, scores, choices, tables.

use crate::{
    failure::{raised, refused},
    policy::Policy,
};
use cgcmarl::{
    Choice, Limits,
    environment::{Scenario, Spec},
    evaluation::{EvaluationOptions, Measures, Score, choice::best},
    graph::JointAction,
    run::on_threads,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};
use serde_json::json;
use std::path::PathBuf;

/// The tables of one decision: regions, their tables, the joint action, its value and a bound on any.
type Tables<'py> = (Vec<Vec<usize>>, Vec<Bound<'py, PyArray1<f32>>>, Vec<usize>, f64, f64);

/// A trained run.
#[pyclass(frozen, module = "cgcmarl._native")]
pub(crate) struct Model {
    model: cgcmarl::Model,
}

impl Model {
    fn scenario(&self, agents: Option<usize>) -> PyResult<Scenario> {
        let scenario = self.model.scenario().map_err(raised)?;
        match agents {
            Some(agents) => scenario.with_agents(agents).map_err(raised),
            None => Ok(scenario),
        }
    }

    fn evaluation(
        &self,
        multipliers: Option<Vec<f32>>,
        grid: Vec<(String, Vec<f32>)>,
        episodes: Option<usize>,
        start_seed: Option<u64>,
    ) -> EvaluationOptions {
        let mut options = self.model.config.evaluation.clone();
        if multipliers.is_some() || !grid.is_empty() {
            options.grid = grid.into_iter().collect();
        }
        options.multipliers = multipliers.unwrap_or(options.multipliers);
        options.episodes = episodes.unwrap_or(options.episodes);
        options.start_seed = start_seed.unwrap_or(options.start_seed);
        options
    }
}

#[pymethods]
impl Model {
    /// Opens a run directory.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| cgcmarl::Model::open(path)).map(|model| Self { model }).map_err(raised)
    }

    /// Where it lives, what it was trained for and how, as JSON.
    fn about(&self, agents: Option<usize>) -> PyResult<String> {
        let scenario = self.scenario(agents)?;
        let spec = scenario.spec().map_err(raised)?;
        let config = &self.model.config;
        let about = json!({
            "path": self.model.run.path(),
            "algorithm": config.algorithm,
            "seed": config.seed,
            "steps": self.model.steps,
            "has_multipliers": self.model.has_multipliers().map_err(raised)?,
            "options": scenario.options(),
            "spec": described(&spec),
        });
        Ok(about.to_string())
    }

    /// The resolved configuration, as TOML.
    fn config(&self) -> String {
        self.model.config.to_toml()
    }

    /// The front of the last sweep, as JSON.
    fn front(&self) -> PyResult<String> {
        text(&self.model.front().map_err(raised)?)
    }

    /// The policy at these multipliers, one for each constraint.
    fn policy(
        &self,
        py: Python<'_>,
        multipliers: Vec<f32>,
        agents: Option<usize>,
    ) -> PyResult<Policy> {
        let scenario = self.scenario(agents)?;
        py.detach(|| {
            let trained = self.model.trained(&scenario)?;
            Ok(Policy::new(scenario.build()?, trained.policy(&multipliers)))
        })
        .map_err(raised)
    }

    /// Scores every point on the same start states; `done` hears of each. The front, as JSON.
    fn sweep(
        &self,
        py: Python<'_>,
        multipliers: Option<Vec<f32>>,
        grid: Vec<(String, Vec<f32>)>,
        episodes: Option<usize>,
        start_seed: Option<u64>,
        agents: Option<usize>,
        threads: usize,
        done: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let scenario = self.scenario(agents)?;
        let options = self.evaluation(multipliers, grid, episodes, start_seed);
        let mut failed: Option<PyErr> = None;
        let mut tell = |score: &Score| {
            let Some(done) = &done else { return };
            let told = text(score).and_then(|score| Python::attach(|py| done.call1(py, (score,))));
            failed = failed.take().or(told.err());
        };
        let front = py
            .detach(|| on_threads(threads, || self.model.sweep(&scenario, &options, &mut tell)))
            .and_then(|front| front)
            .map_err(raised)?;
        failed.map_or_else(|| text(&front), Err)
    }

    /// Tests candidates against limits and chooses; writes the choice into the run where `save`.
    /// Candidates and choice, as JSON.
    fn choose(
        &self,
        py: Python<'_>,
        limits: Vec<(String, f64)>,
        maximise: Option<String>,
        confidence: f64,
        episodes: usize,
        multipliers: Option<Vec<f32>>,
        grid: Vec<(String, Vec<f32>)>,
        threads: usize,
        save: bool,
    ) -> PyResult<String> {
        let scenario = self.scenario(None)?;
        let measures = Measures::of(&scenario.spec().map_err(raised)?);
        let limits = Limits {
            limits: limits.into_iter().collect(),
            maximise: maximise.unwrap_or_else(|| measures.objective().to_owned()),
            confidence,
            episodes,
        };
        limits.check(&measures).map_err(raised)?;
        let options = self.evaluation(multipliers, grid, None, None);
        let played = &mut |_: &str, _| {};
        let candidates = py
            .detach(|| on_threads(threads, || self.model.candidates(&options, &limits, played)))
            .and_then(|candidates| candidates)
            .map_err(raised)?;
        let chosen = best(&candidates, &measures, &limits);
        if let (Some(evidence), true) = (chosen, save) {
            let choice = Choice {
                multipliers: evidence.score.multipliers.clone(),
                limits: limits.clone(),
                evidence: evidence.clone(),
                environment: scenario.card().map_err(raised)?,
                model: Some(self.model.fingerprint()),
            };
            self.model.run.write_choice(&choice).map_err(raised)?;
        }
        let chosen = chosen.map(|evidence| &evidence.score.multipliers);
        let told = json!({ "limits": limits, "chosen": chosen, "candidates": candidates });
        Ok(told.to_string())
    }

    /// The regions of a state, their tables, the joint action, its value and an upper bound.
    fn tables<'py>(
        &self,
        py: Python<'py>,
        state: PyReadonlyArray1<'py, f32>,
        multipliers: Vec<f32>,
        agents: Option<usize>,
    ) -> PyResult<Tables<'py>> {
        let scenario = self.scenario(agents)?;
        let environment = scenario.build().map_err(raised)?;
        let view = environment.view();
        let state: Vec<f32> = state.as_array().to_vec();
        if state.len() != view.spec().state_width || state.iter().any(|x| !x.is_finite()) {
            let text = format!("a state has {} finite numbers", view.spec().state_width);
            return Err(refused(text));
        }
        let model = self.model.cg_cmarl(&scenario).map_err(raised)?;
        let (mut policy, mut action) = (model.policy_with(multipliers), JointAction::new());
        let (graph, tables, answer) = policy.decide(view, &state, &mut action);
        let regions = graph.regions().map(<[usize]>::to_vec).collect();
        let tables = (0..graph.n_regions())
            .map(|region| tables.region(region).to_vec().into_pyarray(py))
            .collect();
        Ok((regions, tables, action, answer.value, answer.upper_bound))
    }
}

/// What a learner and a reader must know of an environment.
pub(crate) fn described(spec: &Spec) -> serde_json::Value {
    json!({
        "task": spec.task,
        "n_agents": spec.n_agents(),
        "n_actions": spec.agents.iter().map(|agent| agent.n_actions).collect::<Vec<_>>(),
        "state_width": spec.state_width,
        "agent_width": spec.agent_width,
        "horizon": spec.horizon,
        "terminates": spec.terminates,
        "objective": spec.objective,
        "metrics": spec.metrics,
        "constraints": spec.constraints,
    })
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| refused(error.to_string()))
}
