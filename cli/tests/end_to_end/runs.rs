//! A run directory holds what is promised, and the number of threads changes nothing in it.

use crate::program::Place;
use serde_json::Value;

const POINT_KEYS: [&str; 7] = [
    "multiplier",
    "coverage",
    "collisions_per_step",
    "per_pair_rate",
    "collision_floor",
    "collision_free",
    "pareto",
];

fn assert_front(front: &Value, multipliers: &[f64]) {
    let points = front["points"].as_array().unwrap();
    let found: Vec<_> = points.iter().map(|p| p["multiplier"].as_f64().unwrap()).collect();
    assert_eq!(found, multipliers);
    for point in points {
        for key in POINT_KEYS {
            assert!(!point[key].is_null(), "{key} is missing in {point}");
        }
        for distance in ["0.1", "0.15", "0.2"] {
            let coverage = point["coverage"][distance].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&coverage), "{point}");
        }
    }
    assert!(front["hypervolume"].is_f64());
}

#[test]
fn a_training_leaves_everything_that_is_promised() {
    let place = Place::new();
    place.train("run", &[]);
    for file in [
        "config.toml",
        "manifest.json",
        "metrics.jsonl",
        "events.out.tfevents.cgcmarl",
        "checkpoints/latest",
        "checkpoints/step_000000001600.safetensors",
        "checkpoints/step_000000002000.safetensors",
        "model.safetensors",
        "curves.csv",
        "front.csv",
    ] {
        assert!(!place.read(&format!("run/{file}")).is_empty(), "{file} is empty");
    }
    for picture in ["front", "curves"] {
        assert!(place.read(&format!("run/{picture}.png")).starts_with(b"\x89PNG"));
        assert!(place.read(&format!("run/{picture}.svg")).starts_with(b"<svg"));
    }
    let front: Value = serde_json::from_slice(&place.read("run/front.json")).unwrap();
    assert_front(&front, &[0.0, 1.0]);
    let manifest: Value = serde_json::from_slice(&place.read("run/manifest.json")).unwrap();
    for key in ["version", "seed", "machine", "environment"] {
        assert!(!manifest[key].is_null(), "{key} is missing in {manifest}");
    }
    assert_eq!(place.n_lines("run"), 10);
    let last: Value = serde_json::from_slice(
        place.read("run/metrics.jsonl").split(|b| *b == b'\n').nth(9).unwrap(),
    )
    .unwrap();
    assert_eq!(last["step"], 2000);
    assert!(last["updates"].as_f64().unwrap() > 400.0 && last["loss_primary"].is_f64(), "{last}");
}

#[test]
fn runs_have_a_place_of_their_own() {
    let place = Place::new();
    let words =
        ["train", "--quiet", "total_steps=200", "seed=7", "episodes=2", "multipliers=[1.0]"];
    place.succeed(&words);
    assert!(place.path("runs/simple_spread_3/cg_cmarl/seed_7/front.png").is_file());
}

#[test]
fn threads_change_no_byte() {
    let place = Place::new();
    let settings = ["agents=6", "total_steps=1000"];
    for threads in ["1", "2", "4"] {
        let more = [&settings[..], &["--threads", threads]].concat();
        place.train(&format!("threads_{threads}"), &more);
    }
    place.train("again", &[&settings[..], &["--threads", "2"]].concat());
    for other in ["threads_2", "threads_4", "again"] {
        place.assert_equal_runs("threads_1", other);
    }
    place.train("seed", &[&settings[..], &["seed=2"]].concat());
    assert_ne!(place.read("seed/metrics.jsonl"), place.read("again/metrics.jsonl"));
}

#[test]
fn a_sweep_prints_its_points_for_programs() {
    let place = Place::new();
    place.train("run", &[]);
    let words =
        ["sweep", "run", "--multipliers", "0,0.05,2", "--episodes", "7", "--format", "json"];
    let answer = place.succeed(&words);
    let front: Value = serde_json::from_str(&answer.text).unwrap();
    assert_front(&front, &[0.0, 0.05, 2.0]);
    let random = front["reference"]["collisions_per_step"].as_f64();
    assert_eq!(random, front["random"]["collisions_per_step"].as_f64());
    let saved: Value = serde_json::from_slice(&place.read("run/front.json")).unwrap();
    assert_eq!(saved, front);
    let table = place.succeed(&["sweep", "run", "--episodes", "7"]).text;
    for word in ["★", "oracle", "random", "hypervolume", "printed in the paper", "front.png"] {
        assert!(table.contains(word), "{word} is missing in\n{table}");
    }
}
