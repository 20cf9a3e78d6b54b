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
    let tiny = "total_steps=600 environments=4 log_interval=200 local_ratio=0.3";
    let replay =
        if algorithm.starts_with("mappo") { "" } else { "learning_starts=100 batch_size=16" };
    let words = format!("algorithm={algorithm} {tiny} {replay}");
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
    for name in baselines() {
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

#[test]
fn stopping_resuming_and_threads_change_no_byte() {
    for name in baselines() {
        let root = tempfile::tempdir().unwrap();
        let [whole, halved] = ["whole", "halved"].map(|run| root.path().join(run));
        train(&whole, config(name), 1, u64::MAX);
        assert_eq!(train(&halved, config(name), 4, 300), End::Stopped);
        let mut session = Session::resume(&halved).unwrap();
        assert_eq!(session.run(&mut StopAt::never()).unwrap(), End::Finished);
        for file in ["metrics.jsonl", "model.safetensors", "curves.csv"] {
            let [one, other] = [&whole, &halved].map(|run| std::fs::read(run.join(file)).unwrap());
            assert!(one == other, "{name}: {file} differs");
        }
    }
}
