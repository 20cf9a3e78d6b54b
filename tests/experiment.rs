#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! A run is determined by its configuration and seed, and its model serves other teams.

use cgcmarl::{
    config::Config,
    environment::{Environment, simple_spread::SimpleSpread},
    experiment::{Model, Session, Watch, on_threads},
};
use serde_json::Value;
use std::path::Path;

struct Nobody;

impl Watch for Nobody {
    fn round(&mut self, _steps: u64, _line: Option<&Value>) {}
}

fn config(settings: &[(&str, &str)]) -> Config {
    let tiny = [("total_steps", "600"), ("learning_starts", "100"), ("buffer_size", "9000")];
    let pairs: Vec<_> =
        tiny.iter().chain(settings).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Config::resolve(None, &pairs).unwrap()
}

fn train(path: &Path, config: Config, threads: usize) {
    on_threads(threads, || {
        let mut session = Session::start(config, Some(path), path).unwrap();
        session.run(&mut Nobody).unwrap();
    })
    .unwrap();
}

/// A fingerprint of everything that a seed determines.
fn fingerprint(path: &Path) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for file in ["metrics.jsonl", "model.safetensors", "curves.csv"] {
        hasher.update(&std::fs::read(path.join(file)).unwrap());
    }
    hasher.finalize()
}

#[test]
fn threads_and_repetition_change_no_bit() {
    let root = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for (index, threads) in [1, 2, 4, 4].into_iter().enumerate() {
        let path = root.path().join(index.to_string());
        train(&path, config(&[("agents", "6"), ("log_interval", "200")]), threads);
        found.push(fingerprint(&path));
    }
    assert!(found.iter().all(|print| *print == found[0]), "for 1, 2, 4, 4 threads: {found:x?}");
}

#[test]
fn a_model_keeps_its_number_of_landmarks_in_other_teams() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("three");
    train(&path, config(&[("agents", "3")]), 1);
    let model = Model::open(&path).unwrap();
    for agents in ["2", "6", "12"] {
        let changed = model.config.with(&[("agents".into(), agents.into())]).unwrap();
        let environment = &changed.environment;
        assert_eq!(environment.observation.landmarks, Some(3));
        assert_eq!(model.operating_points(environment, &[0.0, 1.0]).unwrap().len(), 2);
        let width = |n| SimpleSpread::new(n).map(|world| world.view().spec().region_width);
        assert_eq!(width(environment).unwrap(), width(&model.config.environment).unwrap());
    }
}

#[test]
fn a_model_that_sees_all_landmarks_by_number_is_refused_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("paper");
    train(&path, config(&[("preset", "paper")]), 1);
    let model = Model::open(&path).unwrap();
    let changed = model.config.with(&[("agents".into(), "4".into())]).unwrap();
    let error = model.operating_points(&changed.environment, &[0.0]).err().unwrap().to_string();
    assert!(error.contains("`agents`: 4 (this model was trained with 3 agents"), "{error}");
}
