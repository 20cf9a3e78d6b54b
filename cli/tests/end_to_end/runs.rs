//! A run directory holds what is promised, and the number of threads changes nothing in it.

use crate::program::Place;
use serde_json::Value;

const METRICS: [&str; 9] = [
    "coverage",
    "coverage_0.15",
    "coverage_0.2",
    "collisions_per_step",
    "per_pair_rate",
    "collision_floor",
    "collision_free",
    "team_return",
    "cost_collision",
];

fn assert_front(front: &Value, multipliers: &[f64]) {
    let points = front["points"].as_array().unwrap();
    let multiplier = |point: &Value| point["multipliers"]["collision"].as_f64().unwrap();
    assert_eq!(points.iter().map(multiplier).collect::<Vec<_>>(), multipliers);
    for point in points {
        for key in ["label", "episodes", "seeds", "pareto"] {
            assert!(!point[key].is_null(), "{key} is missing in {point}");
        }
        for metric in METRICS {
            let number = |key: &str| point["metrics"][metric][key].as_f64().unwrap();
            assert!(number("low") <= number("mean"), "{metric} in {point}");
            assert!(number("mean") <= number("high"), "{metric} in {point}");
        }
    }
    let references = front["references"].as_array().unwrap().iter();
    let labels: Vec<_> = references.map(|score| score["label"].clone()).collect();
    assert_eq!(labels, ["oracle", "random"]);
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
        ["sweep", "run", "--multipliers", "0,0.05,2", "--episodes", "11", "--format", "json"];
    let answer = place.succeed(&words);
    let front: Value = serde_json::from_str(&answer.text).unwrap();
    assert_front(&front, &[0.0, 0.05, 2.0]);
    let random = &front["references"][1]["metrics"]["collisions_per_step"]["mean"];
    assert_eq!(front["reference"]["collisions_per_step"], *random);
    let saved: Value = serde_json::from_slice(&place.read("run/front.json")).unwrap();
    assert_eq!(saved, front);
    let again = ["sweep", "run", "--multipliers", "0,0.05,1", "--episodes", "12"];
    let table = place.succeed(&again).text;
    for word in ["★", "oracle", "random", "hypervolume", "front.png"] {
        assert!(table.contains(word), "{word} is missing in\n{table}");
    }
    assert!(!table.contains("paper"), "{table}");
    let table = place.succeed(&[&again[..], &["--beside-paper"]].concat()).text;
    assert!(table.contains("printed in the paper") && table.contains("CG-CMARL λ=0.05"), "{table}");
    let picture = String::from_utf8(place.read("run/front.svg")).unwrap();
    assert!(picture.contains("printed in the paper"), "not drawn");
}

#[test]
fn seeds_are_averaged_and_no_run_counts_twice() {
    let place = Place::new();
    place.train("one", &["total_steps=200"]);
    place.train("two", &["total_steps=200", "seed=2"]);
    let words = ["summary", "one", "two", "--format", "json", "--out", "mean"];
    let mean: Value = serde_json::from_str(&place.succeed(&words).text).unwrap();
    assert_front(&mean, &[0.0, 1.0]);
    assert_eq!(mean["points"][0]["seeds"], 2);
    assert!(place.path("mean/front.png").is_file());
    for again in ["one", "./one", "two/../one"] {
        let remarks = place.fail(&["summary", "one", "two", again]);
        assert!(remarks.contains("are the same run"), "{again}: {remarks}");
    }
    place.train("once_more", &["total_steps=200"]);
    let remarks = place.fail(&["summary", "one", "once_more"]);
    assert!(remarks.contains("are the same run"), "{remarks}");
    place.succeed(&["sweep", "two", "--episodes", "19"]);
    let remarks = place.fail(&["summary", "one", "two"]);
    assert!(remarks.contains("two over 19"), "{remarks}");
}

#[test]
fn tasks_are_listed_with_all_they_declare() {
    let place = Place::new();
    let text = place.succeed(&["tasks"]).text;
    for word in ["simple_spread", "observation.kind", "collisions_per_step", "oracle", "objective"]
    {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let tasks: Value =
        serde_json::from_str(&place.succeed(&["tasks", "--format", "json"]).text).unwrap();
    let first = &tasks[0];
    assert_eq!(
        (&first["name"], &first["objective"]),
        (&"simple_spread".into(), &"coverage".into())
    );
    assert_eq!(first["options"][0]["key"], "agents");
    assert_eq!(
        (&first["options"][0]["default"], &first["constraints"][0]["name"]),
        (&3.into(), &"collision".into())
    );
    let names: Vec<_> =
        first["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, METRICS);
    assert!(place.fail(&["tasks", "simple_sprad"]).contains("did you mean `simple_spread`?"));
}
