#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! Every baseline trains, resumes and is scored in the same way as CG-CMARL.

mod watch;

use cgcmarl::{
    algorithm,
    run::{Config, End, Model, Session, on_threads},
};
use serde_json::Value;
use std::path::Path;
use watch::StopAt;

fn baselines() -> impl Iterator<Item = &'static str> {
    algorithm::names().filter(|name| *name != "cg_cmarl")
}

fn config(algorithm: &str) -> Config {
    config_with(algorithm, "")
}

fn config_with(algorithm: &str, settings: &str) -> Config {
    let tiny = "total_steps=600 environments=4 log_interval=200 local_ratio=0.3";
    let on_policy = algorithm.starts_with("ma");
    let replay = if on_policy { "" } else { "learning_starts=100 batch_size=16" };
    let words = format!("algorithm={algorithm} {tiny} {replay} {settings}");
    let pairs: Vec<_> = words
        .split(' ')
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Config::resolve(None, &pairs).unwrap()
}

fn train(path: &Path, config: Config, threads: usize, stop_at: u64) -> End {
    let work = || {
        let mut session = Session::start(config, Some(path), path).unwrap();
        session.run(&mut StopAt(stop_at, 0)).unwrap()
    };
    on_threads(threads, work).unwrap()
}

#[test]
fn a_baseline_trains_and_has_one_operating_point() {
    for name in baselines().filter(|name| *name != "mappo_lambda") {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run");
        assert_eq!(train(&path, config(name), 1, u64::MAX), End::Finished);
        let model = Model::open(&path).unwrap();
        let line = model.run.metrics().unwrap().pop().unwrap();
        let finite = |value: &Value| value.as_f64().is_some_and(f64::is_finite);
        assert!(line.as_object().unwrap().values().all(finite), "{name}: {line}");
        let mut evaluation = model.config.evaluation.clone();
        evaluation.episodes = 4;
        let scenario = model.scenario().unwrap();
        let front = model.sweep(&scenario, &evaluation, &mut |_| {}).unwrap();
        assert_eq!((front.algorithm.as_str(), front.points.len()), (name, 1));
        assert!(front.points[0].score.multipliers.is_empty(), "{name}");
        assert!(!model.has_multipliers().unwrap(), "{name}");
        let error = model.cg_cmarl(&scenario).err().unwrap().to_string();
        assert!(error.contains(&format!("trained with {name}")), "{error}");
    }
}

/// A training in one go and one that was stopped and resumed on other threads leave the same bytes.
fn resumes_exactly(config: impl Fn() -> Config, name: &str) {
    let root = tempfile::tempdir().unwrap();
    let [whole, halved] = ["whole", "halved"].map(|run| root.path().join(run));
    train(&whole, config(), 1, u64::MAX);
    assert_eq!(train(&halved, config(), 4, 300), End::Stopped);
    let mut session = Session::resume(&halved).unwrap();
    assert_eq!(session.run(&mut StopAt::never()).unwrap(), End::Finished);
    for file in ["metrics.jsonl", "model.safetensors", "curves.csv"] {
        let [one, other] = [&whole, &halved].map(|run| std::fs::read(run.join(file)).unwrap());
        assert!(one == other, "{name}: {file} differs");
    }
}

#[test]
fn stopping_resuming_and_threads_change_no_byte() {
    for name in baselines() {
        resumes_exactly(|| config(name), name);
    }
}

/// Where agents see as regions do, small teams may learn first, and the model plays in other teams.
#[test]
fn a_network_that_fits_any_team_learns_with_small_teams_first() {
    for name in baselines().filter(|name| !["qmix", "macpo"].contains(name)) {
        let settings = "agents=5 agent_row=shared curriculum=3";
        resumes_exactly(|| config_with(name, settings), name);
        let together = config_with(name, "agents=2,3 agent_row=shared");
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run");
        assert_eq!(train(&path, together, 1, u64::MAX), End::Finished, "{name}");
        let model = Model::open(&path).unwrap();
        let scenario = model.scenario().unwrap().with_agents(4).unwrap();
        let mut evaluation = model.config.evaluation.clone();
        evaluation.episodes = 2;
        model.sweep(&scenario, &evaluation, &mut |_| {}).unwrap();
    }
}

#[test]
fn teams_whose_agents_see_different_rows_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = |config| {
        let started = Session::start(config, Some(&root.path().join("run")), root.path());
        started.err().unwrap().to_string()
    };
    for (name, key) in [("vdn", "identity"), ("mappo", "identity=false global_state")] {
        let settings = format!("agents=5 curriculum=3 {key}=false");
        let told = refused(config_with(name, &settings));
        assert!(told.contains("[3, 5]") && told.contains("another width"), "{told}");
    }
    let pairs =
        [("algorithm", "qmix"), ("agents", "5"), ("agent_row", "shared"), ("curriculum", "3")];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let told = refused(Config::resolve(None, &pairs).unwrap());
    assert!(told.contains("the network of qmix fits one team size"), "{told}");
}

/// λ-conditioned MAPPO is a baseline with every trade-off in one model.
#[test]
fn a_conditioned_baseline_has_a_front() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    assert_eq!(train(&path, config("mappo_lambda"), 1, u64::MAX), End::Finished);
    let model = Model::open(&path).unwrap();
    assert!(model.has_multipliers().unwrap());
    let mut evaluation = model.config.evaluation.clone();
    evaluation.episodes = 4;
    evaluation.multipliers = vec![0.0, 1.0];
    let front = model.sweep(&model.scenario().unwrap(), &evaluation, &mut |_| {}).unwrap();
    let labels: Vec<_> = front.points.iter().map(|point| point.score.label.as_str()).collect();
    assert_eq!(labels, ["λ=0", "λ=1"]);
}
