//! Fronts as earlier versions wrote them, read as today's.

use super::session::read_config;
use crate::{
    environment::{Scenario, Spec},
    error::{Error, Result},
    evaluation::{Front, Measures},
    run_dir::RunDir,
};
use serde_json::{Map, Value, json};

const FRONT: &str = "front.json";

/// The front of a run's last sweep, those of earlier versions included.
pub fn read_front(run: &RunDir) -> Result<Front> {
    let failed = |error: serde_json::Error| {
        Error::format(run.file(FRONT), Some(error.line()), error.to_string())
    };
    let mut front: Value = serde_json::from_str(&run.read(FRONT)?).map_err(failed)?;
    if front.get("references").is_none() {
        front = converted(&front, &spec_of(run, &front)?);
    }
    serde_json::from_value::<Front>(front).map_err(failed)?.checked(run.file(FRONT))
}

/// The environment that a front was measured in: its card tells, or the run's configuration.
fn spec_of(run: &RunDir, front: &Value) -> Result<Spec> {
    let options = &front["environment"]["options"];
    if let (Some(task), true) = (front["task"].as_str(), options.is_object()) {
        return Scenario::new(task, options)?.spec();
    }
    let scenario = read_config(run)?.scenario()?;
    match front["n_agents"].as_u64() {
        Some(agents) => scenario.with_agents(agents as usize)?.spec(),
        None => scenario.spec(),
    }
}

/// An earlier front in today's form.
fn converted(front: &Value, spec: &Spec) -> Value {
    let measures = Measures::of(spec);
    let empty = vec![];
    let points = front["points"].as_array().unwrap_or(&empty);
    let points: Vec<Value> = points.iter().map(|point| score(point, spec)).collect();
    // Whatever was played beside the points stood under its own name.
    let beside = front.as_object().into_iter().flat_map(Map::values);
    let references: Vec<Value> =
        beside.filter(|value| value.get("label").is_some()).map(|s| score(s, spec)).collect();
    json!({
        "task": front["task"],
        "algorithm": front["algorithm"],
        "agents": spec.n_agents(),
        "metrics": measures.metrics,
        "constraints": measures.constraints,
        "axes": measures.axes,
        "points": points,
        "references": references,
        "hypervolume": front["hypervolume"],
        "hypervolume_share": front["hypervolume_share"],
        "reference": Map::from_iter(numbers(&front["reference"], spec)),
        "environment": front["environment"],
    })
}

/// An earlier score: the one multiplier is that of every constraint, the metrics stood side by side.
fn score(old: &Value, spec: &Spec) -> Value {
    let intervals = numbers(&old["intervals"], spec);
    let interval = |name: &str| intervals.iter().find(|(known, _)| known == name);
    let estimate = |(name, mean): (String, Value)| {
        let ends = interval(&name).map_or(&Value::Null, |(_, ends)| ends);
        let end = |index: usize| ends.get(index).cloned().unwrap_or_else(|| mean.clone());
        let estimate = json!({ "mean": mean, "low": end(0), "high": end(1) });
        (name, estimate)
    };
    let reported = spec.reported();
    let found = numbers(old, spec).into_iter();
    let metrics = found.filter(|(name, _)| reported.iter().any(|metric| metric.name == *name));
    let multipliers = spec.constraint_names().into_iter().map(|name| (name, &old["multiplier"]));
    let multipliers = multipliers.filter(|(_, multiplier)| multiplier.is_number());
    json!({
        "label": old["label"],
        "multipliers": multipliers.map(|(name, value)| (name, value.clone())).collect::<Map<_, _>>(),
        "episodes": old["episodes"],
        "seeds": old["seeds"].as_u64().unwrap_or(1),
        "metrics": metrics.map(estimate).collect::<Map<_, _>>(),
        "pareto": old["pareto"].as_bool().unwrap_or(false),
    })
}

/// Every number, or pair of numbers, under today's name; `name.part` of earlier files is
/// `name_part`.
fn numbers(old: &Value, spec: &Spec) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in old.as_object().into_iter().flatten() {
        match value {
            Value::Object(parts) => found
                .extend(parts.iter().map(|(part, value)| (format!("{key}_{part}"), value.clone()))),
            value => found.push((key.clone(), value.clone())),
        }
    }
    for (name, _) in &mut found {
        let known = spec.metrics.iter().find(|metric| metric.formerly.as_ref() == Some(&*name));
        if let Some(metric) = known {
            name.clone_from(&metric.name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// A run that ships.
    fn shipped(agents: usize) -> PathBuf {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        models.join(format!("simple_spread_{agents}"))
    }

    #[test]
    fn an_earlier_front_says_the_same_in_todays_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(shipped(3).join("config.toml"), folder.path().join("config.toml")).unwrap();
        let interval = |a: f64, b: f64| json!([a, b]);
        let score = |label: &str, multiplier: Value| {
            json!({
                "label": label, "multiplier": multiplier, "episodes": 1000, "pareto": true,
                "coverage": {"0.1": 0.98, "0.15": 0.99}, "collisions_per_step": 0.016,
                "intervals": {
                    "coverage": {"0.1": interval(0.97, 0.99)},
                    "collisions_per_step": interval(0.01, 0.02),
                },
            })
        };
        let old = json!({
            "task": "simple_spread", "algorithm": "cg_cmarl", "n_agents": 4,
            "points": [score("λ=0.5", json!(0.5))],
            "hypervolume": 0.03, "hypervolume_share": 0.9,
            "reference": {"coverage": 0.0, "collisions_per_step": 0.04},
            "oracle": score("oracle", Value::Null), "random": score("random", Value::Null),
        });
        std::fs::write(folder.path().join(FRONT), old.to_string()).unwrap();
        let front = read_front(&RunDir::open(folder.path()).unwrap()).unwrap();
        assert_eq!((front.n_agents, front.hypervolume), (4, 0.03));
        let point = &front.points[0];
        assert!(point.pareto);
        assert_eq!(point.score.multipliers.get("collision"), Some(&0.5));
        let metrics = &point.score.metrics;
        assert_eq!(metrics.get("coverage").unwrap().interval(), [0.97, 0.99]);
        assert_eq!(metrics.get("coverage_0.15").unwrap().mean, 0.99);
        assert_eq!(metrics.get("collisions_per_step").unwrap().interval(), [0.01, 0.02]);
        assert_eq!(front.reference.get("collisions_per_step"), Some(&0.04));
        let labels: Vec<_> = front.references.iter().map(|score| score.label.as_str()).collect();
        assert_eq!(labels, ["oracle", "random"]);
        assert!(front.references[0].multipliers.is_empty());
    }

    #[test]
    fn fronts_of_this_and_of_earlier_versions_open_with_their_axes() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (folder, agents) in [
            ("models/simple_spread", 10),
            ("models/simple_spread_3", 3),
            ("tests/data/earlier_model", 3),
        ] {
            let front = read_front(&RunDir::open(here.join(folder)).unwrap()).unwrap();
            assert_eq!((front.n_agents, front.points.len()), (agents, 9), "{folder}");
            for score in front.scores() {
                let point = front.measures.point(score);
                assert!(point.iter().all(|value| value.is_finite()), "{}: {point:?}", score.label);
            }
        }
    }

    #[test]
    fn todays_front_is_read_as_it_is_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(shipped(3).join("config.toml"), folder.path().join("config.toml")).unwrap();
        let run = RunDir::open(folder.path()).unwrap();
        let front = read_front(&RunDir::open(shipped(3)).unwrap()).unwrap();
        run.write(FRONT, serde_json::to_string(&front).unwrap()).unwrap();
        assert_eq!(read_front(&run).unwrap(), front);
        run.write(FRONT, "{\"points\": [").unwrap();
        let error = read_front(&run).unwrap_err().to_string();
        assert!(error.contains("front.json"), "{error}");
    }
}
