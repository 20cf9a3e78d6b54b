//! A trained model is used at other trade-offs, team sizes and layouts with nothing but its path.

use crate::program::{Answer, Place, content, tiny};
use serde_json::Value;
use std::{fs, io::Read, path::Path};

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.text).unwrap()
}

#[test]
fn a_model_plays_in_other_teams_and_layouts() {
    let place = Place::new();
    place.train("three", &["total_steps=400"]);
    let words = ["--multiplier", "0.5", "--episodes", "10", "--format", "json"];
    for agents in ["2", "3", "6", "10"] {
        let more = ["evaluate", "three", "--agents", agents, "--layout", "line"];
        let score = json(&place.succeed(&[&more[..], &words].concat()));
        assert_eq!(score["multipliers"]["collision"], 0.5);
        assert_eq!(score["episodes"], 10);
    }
    place.train("six", &["agents=6", "total_steps=400"]);
    let smaller = json(&place.succeed(&[&["evaluate", "six", "agents=3"], &words[..]].concat()));
    assert_eq!(smaller["episodes"], 10);
    place.train("paper", &["preset=paper", "total_steps=400"]);
    let remarks = place.fail(&["evaluate", "paper", "--agents", "4"]);
    let told = "this model was trained with 3 agents and its observation does not carry over";
    assert!(remarks.contains(told), "{remarks}");
}

#[test]
fn teams_of_several_sizes_learn_together_and_each_has_its_front() {
    let place = Place::new();
    let answer = place.succeed(&tiny("any", &["agents=2,3,5", "total_steps=800"]));
    assert!(answer.text.contains("The teams that learned with it"), "{}", answer.text);
    for agents in [2, 3] {
        let front = place.read(&format!("any/teams/{agents}/front.json"));
        let front: Value = serde_json::from_slice(&front).unwrap();
        assert_eq!(front["agents"], agents);
    }
    let words = ["evaluate", "any", "--agents", "4", "--multiplier", "1", "--episodes", "5"];
    assert!(place.succeed(&words).text.contains("5 episodes"));
    let remarks = place.fail(&tiny("none", &["agents=5..2"]));
    assert!(remarks.contains("`agents`: 5..2 (must be a team size, a range such as"), "{remarks}");
}

#[test]
fn a_team_that_does_not_fit_the_memory_is_refused_and_a_large_one_plays_a_few_at_a_time() {
    let place = Place::new();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/simple_spread");
    let model = model.to_str().unwrap();
    for verb in ["evaluate", "sweep", "render"] {
        let remarks = place.fail(&[verb, model, "--agents", "1000"]);
        assert!(remarks.contains("`agents`: 1000 (playing 1000 agents would need"), "{remarks}");
        assert!(remarks.contains("more than memory_limit=4"), "{remarks}");
    }
    let words = ["evaluate", model, "--agents", "20", "--episodes", "4", "horizon=2"];
    let wide = place.succeed(&words).text;
    let narrow = place.succeed(&[&words[..], &["memory_limit=0.03"]].concat()).text;
    assert_eq!(narrow, wide);
    let remarks = place.fail(&[&words[..], &["memory_limit=0.003"]].concat());
    assert!(remarks.contains("more than memory_limit=0.003"), "{remarks}");
}

#[test]
fn the_models_that_ship_are_small_and_show_how_they_learned() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let bytes: usize = content(&models).iter().map(|(_, content)| content.len()).sum();
    assert!(bytes < 3_000_000, "{bytes} bytes; see `make ship`");
    let place = Place::new();
    place.succeed(&["report", models.join("simple_spread_3").to_str().unwrap()]);
    let page = fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.contains(r#""title":"loss""#), "no learning curves");
}

#[test]
fn a_larger_team_starts_from_a_smaller_one() {
    let place = Place::new();
    place.train("six", &["agents=6", "total_steps=400"]);
    place.train("ten", &["agents=10", "total_steps=400", "start_from=six"]);
    let remarks = place.fail(&tiny("three", &["agents=3", "start_from=six"]));
    assert!(remarks.contains("but this configuration needs"), "{remarks}");
    assert!(remarks.contains("`agents` is 6 there and 3 here"), "{remarks}");
    let remarks = place.fail(&tiny("team", &["agents=6", "team=true", "start_from=six"]));
    assert!(remarks.contains("`observation.team` is false there and true here"), "{remarks}");
    let remarks = place.fail(&tiny("tag", &["task=simple_tag", "start_from=six"]));
    assert!(remarks.contains("was trained for simple_spread, not for simple_tag"), "{remarks}");
    assert!(!place.path("three").exists());
    let remarks = place.fail(&tiny("other", &["algorithm=dcg", "agents=6", "start_from=six"]));
    assert!(remarks.contains("was trained by cg_cmarl, not by dcg"), "{remarks}");
}

#[test]
fn a_sweep_under_other_conditions_spares_the_front_of_the_run() {
    let place = Place::new();
    place.train("run", &["total_steps=400"]);
    let front = place.read("run/front.json");
    place.succeed(&["sweep", "run", "--layout", "clustered_pair", "--episodes", "5"]);
    assert!(front == place.read("run/front.json"));
    place.succeed(&["sweep", "run", "contact=true", "--episodes", "5", "--out", "contact"]);
    assert!(place.path("contact/front.png").is_file());
    let before = crate::program::content(&place.path("run"));
    for (words, told) in [
        (&["evaluate", "run", "--multiplier", "-1"][..], "`--multiplier`: -1"),
        (
            &["evaluate", "run", "--multiplier", "height=1"],
            "there is no such constraint, only `collision`",
        ),
        (&["sweep", "run", "--multipliers", "nan,inf,-3"], "`--multipliers`: nan"),
        (&["sweep", "run", "--multipliers", "0,inf"], "`--multipliers`: inf"),
        (&["sweep", "run", "--multipliers", "-3"], "`--multipliers`: -3"),
        (&["sweep", "run", "--multipliers", "height=1"], "`--multipliers`: height"),
        (&["evaluate", "run", "--threads", "100000"], "`--threads`: 100000 (must be 1 to 1024)"),
        (&["sweep", "run", "--episodes", "0"], "`episodes`: 0"),
        (&["evaluate", "run", "--layout", "circle"], "circle"),
    ] {
        let remarks = place.fail(words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
    }
    assert!(before == crate::program::content(&place.path("run")), "the run was touched");
}

fn recording() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/mpe2_subset.json.gz");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn recorded_episodes_are_replayed_and_a_tampered_one_is_found() {
    let place = Place::new();
    fs::write(place.path("whole.json"), recording()).unwrap();
    let answer = place.succeed(&["check-environment", "whole.json", "--format", "json"]);
    assert!(json(&answer)["largest"].as_f64().unwrap() < 1e-9);
    assert!(place.succeed(&["check-environment", "whole.json"]).text.ends_with(": equal\n"));

    let mut tampered: Value = serde_json::from_slice(&recording()).unwrap();
    let cell = &mut tampered["groups"][0]["episodes"][0]["init_pos"][0][0];
    *cell = (cell.as_f64().unwrap() + 1e-6).into();
    fs::write(place.path("tampered.json"), tampered.to_string()).unwrap();
    let answer = place.call(&["check-environment", "tampered.json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.text.ends_with(": 1 groups differ\n"), "{}", answer.text);

    assert!(place.fail(&["check-environment", "nowhere.json"]).contains("nowhere.json"));
    fs::write(place.path("empty.json"), "{}").unwrap();
    assert!(place.fail(&["check-environment", "empty.json"]).contains("empty.json"));
}
