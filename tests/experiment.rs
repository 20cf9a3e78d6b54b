#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! A run is determined by its configuration and seed, and its model serves other teams.

mod watch;

use cgcmarl::{
    environment::simple_spread::SimpleSpreadOptions,
    run::{Config, Model, Session, on_threads},
};
use serde_json::Value;
use std::path::Path;
use watch::StopAt;

fn config(settings: &[(&str, &str)]) -> Config {
    let tiny = [("total_steps", "600"), ("learning_starts", "100"), ("buffer_size", "9000")];
    let pairs: Vec<_> =
        tiny.iter().chain(settings).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Config::resolve(None, &pairs).unwrap()
}

fn train(path: &Path, config: Config, threads: usize) {
    on_threads(threads, || {
        let mut session = Session::start(config, Some(path), path).unwrap();
        session.run(&mut StopAt::never()).unwrap();
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

/// Stages of 300, 500 and 1000 steps; a round has 200, so that stages end in the middle of one.
#[test]
fn a_curriculum_resumes_from_any_stage_without_changing_a_bit() {
    let root = tempfile::tempdir().unwrap();
    let settings = [("agents", "10"), ("total_steps", "1800"), ("curriculum", "3,5")];
    let config = || config(&[&settings[..], &[("log_interval", "200")]].concat());
    let whole = root.path().join("whole");
    train(&whole, config(), 1);
    let lines = std::fs::read_to_string(whole.join("metrics.jsonl")).unwrap();
    let teams: Vec<u64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["agents"].as_u64().unwrap())
        .collect();
    assert_eq!(teams, [3, 3, 5, 5, 10, 10, 10, 10, 10]);
    for stop in [200, 400, 600, 800, 1000] {
        let path = root.path().join(stop.to_string());
        let mut session = Session::start(config(), Some(&path), &path).unwrap();
        session.run(&mut StopAt(stop, 0)).unwrap();
        drop(session);
        Session::resume(&path).unwrap().run(&mut StopAt::never()).unwrap();
        assert_eq!(fingerprint(&path), fingerprint(&whole), "stopped at {stop}");
    }
}

/// Teams that begin one by one, at 0, 300 and 600 of 3600 steps.
#[test]
fn teams_that_learn_together_resume_and_use_threads_without_changing_a_bit() {
    let root = tempfile::tempdir().unwrap();
    let settings = [("agents", "2,3,5"), ("total_steps", "3600"), ("learning_starts", "100")];
    let config = || config(&[&settings[..], &[("log_interval", "200")]].concat());
    let whole = root.path().join("whole");
    train(&whole, config(), 1);
    let lines = std::fs::read_to_string(whole.join("metrics.jsonl")).unwrap();
    // One line for a step: the largest team that plays, and the others under their sizes.
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.windows(2).all(|pair| pair[0]["step"].as_u64() < pair[1]["step"].as_u64()));
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert!(first["agents"] == 2 && first["teams"].is_null(), "{first}");
    assert!(last["agents"] == 5 && last["coverage"].is_f64(), "{last}");
    for agents in ["2", "3"] {
        assert!(last["teams"][agents]["coverage"].is_f64(), "{last}");
    }
    for (stop, threads) in [(200, 1), (500, 2), (1100, 2)] {
        let path = root.path().join(stop.to_string());
        let mut session = Session::start(config(), Some(&path), &path).unwrap();
        session.run(&mut StopAt(stop, 0)).unwrap();
        drop(session);
        let resume = || Session::resume(&path).unwrap().run(&mut StopAt::never()).unwrap();
        on_threads(threads, resume).unwrap();
        assert_eq!(fingerprint(&path), fingerprint(&whole), "stopped at {stop}");
    }
    let model = Model::open(&whole).unwrap();
    for agents in [2, 3, 4, 5, 7] {
        let scenario = model.scenario().unwrap().with_agents(agents).unwrap();
        assert_eq!(model.operating_points(&scenario, &[vec![1.0]]).unwrap().len(), 1);
    }
}

#[test]
fn a_model_keeps_its_number_of_landmarks_in_other_teams() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("three");
    train(&path, config(&[("agents", "3")]), 1);
    let model = Model::open(&path).unwrap();
    for agents in ["2", "6", "12"] {
        let changed = model.config.with(&[("agents".into(), agents.into())]).unwrap();
        let scenario = changed.scenario().unwrap();
        let options: SimpleSpreadOptions = scenario.typed_options().unwrap();
        assert_eq!(options.observation.landmarks, Some(3));
        let points = model.operating_points(&scenario, &[vec![0.0], vec![1.0]]).unwrap();
        assert_eq!(points.len(), 2);
        let own = model.scenario().unwrap().spec().unwrap();
        assert_eq!(scenario.spec().unwrap().region_width, own.region_width);
    }
}

#[test]
fn a_model_that_sees_all_landmarks_by_number_is_refused_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("paper");
    train(&path, config(&[("preset", "paper")]), 1);
    let model = Model::open(&path).unwrap();
    let changed = model.config.with(&[("agents".into(), "4".into())]).unwrap();
    let scenario = changed.scenario().unwrap();
    let error = model.operating_points(&scenario, &[vec![0.0]]).err().unwrap().to_string();
    assert!(error.contains("`agents`: 4 (this model was trained with 3 agents"), "{error}");
}

/// What another process is about to replace must not be read: the lock comes first.
#[test]
fn a_run_in_use_is_refused_before_its_checkpoint_is_read() {
    let root = tempfile::tempdir().unwrap();
    let session = Session::start(config(&[]), Some(root.path()), root.path()).unwrap();
    let newest = root.path().join("checkpoints/step_000000000000.safetensors");
    std::fs::write(&newest, "half a checkpoint").unwrap();
    let refusal = || Session::resume(root.path()).err().unwrap().to_string();
    assert!(refusal().ends_with("is being written by another cgcmarl"), "{}", refusal());
    drop(session);
    assert!(refusal().contains("not a whole safetensors file"), "{}", refusal());
}

/// Where no training can begin is told before networks are built and weights are read.
#[test]
fn a_place_that_is_taken_is_refused_before_any_work() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let settings = config(&[("start_from", "nowhere")]);
    let error = Session::start(settings, Some(&file), root.path()).err().unwrap().to_string();
    assert!(error.contains("file is not a directory"), "{error}");
}
