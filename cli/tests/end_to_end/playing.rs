//! What may change when a trained model plays, and what may not; multipliers of several constraints.

use crate::program::{Place, content};
use serde_json::Value;
use std::fs;

const SPREAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/simple_spread_3");
const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/capture");
const WAREHOUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/warehouse");

#[test]
fn what_a_model_sees_and_its_shape_are_kept_by_name() {
    let place = Place::new();
    for (model, setting, told) in [
        (
            SPREAD,
            "frame=world",
            "`observation.frame`: \"world\" (it changes what the trained network sees",
        ),
        (
            SPREAD,
            "hidden=[64,64]",
            "`network.hidden`: [64, 64] (the trained network has another shape",
        ),
        (
            CAPTURE,
            "regions=mixed",
            "`regions`: \"mixed\" (it changes what the trained network sees",
        ),
        (CAPTURE, "regions=pairs", "`regions`: \"pairs\" (the trained network has another shape"),
    ] {
        for verb in ["evaluate", "sweep", "render"] {
            let remarks = place.fail(&[verb, model, setting]);
            assert!(remarks.contains(told), "{verb} {setting}: {remarks}");
            assert!(remarks.contains("it was trained with"), "{remarks}");
        }
    }
    let words = ["evaluate", SPREAD, "--episodes", "3", "--multiplier", "1"];
    for fine in ["layout=line", "horizon=30", "contact=true", "acting.solver=max_sum"] {
        place.succeed(&[&words[..], &[fine]].concat());
    }
}

#[test]
fn what_only_a_training_reads_is_not_taken_for_a_condition() {
    let place = Place::new();
    for (setting, told) in [
        ("gamma=0.1", "`cg_cmarl.learning.gamma`: 0.1 (belongs to the training, which is over)"),
        ("total_steps=9", "`training.total_steps`: 9 (belongs to the training, which is over)"),
        (
            "seed=2",
            "`seed`: 2 (is that of the training, which is over; start states have `start_seed`",
        ),
    ] {
        for verb in ["evaluate", "sweep", "render"] {
            let remarks = place.fail(&[verb, SPREAD, setting]);
            assert!(remarks.contains(told), "{verb} {setting}: {remarks}");
        }
    }
    let words = ["evaluate", SPREAD, "--episodes", "3", "--multiplier", "1"];
    for fine in ["memory_limit=2", "seed=1", "start_seed=5"] {
        place.succeed(&[&words[..], &[fine]].concat());
    }
}

#[test]
fn a_picture_without_end_is_refused_and_one_episode_has_no_interval() {
    let place = Place::new();
    let remarks = place.fail(&["render", SPREAD, "horizon=100000"]);
    assert!(
        remarks.contains("`horizon`: 100000 (a moving picture has at most 500 steps"),
        "{remarks}"
    );
    assert!(content(&place.path(".")).is_empty());
    let words = ["evaluate", SPREAD, "--multiplier", "1", "--episodes"];
    let one = place.succeed(&[&words[..], &["1"]].concat()).text;
    assert!(!one.contains('±') && one.contains("one episode, which has no interval"), "{one}");
    assert!(place.succeed(&[&words[..], &["2"]].concat()).text.contains('±'));
}

#[test]
fn a_list_for_one_constraint_leaves_the_others_as_the_run_has_them() {
    let place = Place::new();
    let words = ["sweep", WAREHOUSE, "--multipliers", "conflict=0,1", "--episodes", "2"];
    let more = ["horizon=10", "--format", "json", "--out", "front"];
    let front: Value =
        serde_json::from_str(&place.succeed(&[&words[..], &more].concat()).text).unwrap();
    let energies: Vec<f64> = front["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["multipliers"]["energy"].as_f64().unwrap())
        .collect();
    assert_eq!(energies, [0.0, 0.0]);
    // What is limited is tried at more than the run's one multiplier; the choice goes into a copy.
    fs::create_dir(place.path("copy")).unwrap();
    for file in ["config.toml", "model.safetensors", "front.json"] {
        fs::copy(format!("{WAREHOUSE}/{file}"), place.path("copy").join(file)).unwrap();
    }
    let words = ["choose", "copy", "--limit", "energy=1000", "--episodes", "2"];
    let more = ["--multipliers", "conflict=1", "--format", "json"];
    let answer = place.call(&[&words[..], &more].concat());
    let choice: Value = serde_json::from_str(&answer.text).unwrap();
    let candidates = choice["candidates"].as_array().unwrap();
    let tried = |candidate: &Value| candidate["multipliers"]["energy"].as_f64().unwrap();
    assert!(candidates.iter().any(|candidate| tried(candidate) > 0.0), "{candidates:?}");
}

#[test]
fn a_front_that_is_replaced_is_told() {
    let place = Place::new();
    place.train("run", &["total_steps=400"]);
    let again = place.succeed(&["sweep", "run"]);
    assert!(!again.remarks.contains("replaced"), "{again:?}");
    let card = place.read("run/README.md");
    let other = place.succeed(&["sweep", "run", "--episodes", "12"]);
    assert!(other.remarks.contains("the earlier front of run is replaced; --out DIR"), "{other:?}");
    assert!(card != place.read("run/README.md"), "the card tells the old front");
    // What took longer to play is not lost to a quick look.
    let front = place.read("run/front.json");
    for less in [&["--episodes", "3"][..], &["--multipliers", "1", "--episodes", "20"]] {
        let answer = place.succeed(&[&["sweep", "run"], less].concat());
        assert!(answer.remarks.contains("run keeps its front of 2 points with 12"), "{answer:?}");
        assert!(!answer.text.contains("front.png"), "{answer:?}");
        assert!(place.read("run/front.json") == front, "{less:?} replaced the front");
    }
}
