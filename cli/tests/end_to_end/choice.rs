//! `choose` finds multipliers that keep limits, leaves them in the run, and says so when none does.

use crate::program::{Place, content};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A copy of the trained team of three, so that the committed one stays as it is.
fn team_of_three(place: &Place) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/simple_spread_3");
    fs::create_dir(place.path("team")).unwrap();
    for file in ["config.toml", "manifest.json", "model.safetensors"] {
        fs::copy(model.join(file), place.path("team").join(file)).unwrap();
    }
}

#[test]
fn a_choice_is_written_and_used() {
    let place = Place::new();
    team_of_three(&place);
    let before = content(&place.path("team"));
    let words = ["choose", "team", "--limit", "0.05", "--multipliers", "0.5,2"];
    let answer = place.succeed(&[&words[..], &["--episodes", "1000", "--format", "json"]].concat());
    let printed: Value = serde_json::from_str(&answer.text).unwrap();
    let chosen = printed["chosen"]["collision"].as_f64().unwrap();
    assert!(chosen == 0.5 || chosen == 2.0, "{printed}");
    let written: Value = serde_json::from_slice(&place.read("team/choice.json")).unwrap();
    assert_eq!(written["multipliers"]["collision"], chosen);
    let bound = &written["evidence"]["upper_bounds"]["collision"];
    assert!(bound.as_f64().unwrap() <= 0.05, "{written}");
    let mut after = content(&place.path("team"));
    after.retain(|(path, _)| !path.ends_with("choice.json"));
    assert!(before == after, "another file was touched");

    let score = place.succeed(&["evaluate", "team", "--episodes", "2", "--format", "json"]);
    let told = "chosen for this run: collisions_per_step below 0.05 with 95 % confidence";
    assert!(score.remarks.contains(told), "{score:?}");
    let score: Value = serde_json::from_str(&score.text).unwrap();
    assert_eq!(score["multipliers"]["collision"], chosen);
    let given = place.succeed(&["evaluate", "team", "--episodes", "2", "--multiplier", "1"]);
    assert!(!given.remarks.contains("chosen"), "{given:?}");
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused_and_nothing_is_written() {
    let place = Place::new();
    team_of_three(&place);
    let words = ["choose", "team", "--multipliers", "1", "--episodes", "300", "--limit"];
    let answer = place.call(&[&words[..], &["0.0001"]].concat());
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.text.contains("none chosen: no multiplier was shown"), "{answer:?}");
    let answer = place.call(&[&words[..], &["0.006"]].concat());
    assert!(answer.text.contains("episodes would show it (--episodes "), "{answer:?}");
    assert!(!place.path("team/choice.json").exists());
    for (limit, told) in [
        ("0", "`limit`: collision=0 (must be above 0"),
        ("nan", "`limit`: collision=NaN"),
        ("much", "`--limit`: much"),
        ("height=1", "`--limit`: height (there is no such constraint, only `collision`)"),
    ] {
        let remarks = place.fail(&[&words[..], &[limit]].concat());
        assert!(remarks.contains(told), "{limit}: {remarks}");
    }
    let remarks = place.fail(&[&words[..], &["0.1", "--maximise", "glory"]].concat());
    assert!(remarks.contains("`maximise`: glory (must be one of `coverage`"), "{remarks}");
}

#[test]
fn a_choice_promises_nothing_elsewhere_and_is_not_taken_from_others() {
    let place = Place::new();
    team_of_three(&place);
    let words = ["choose", "team", "--limit", "0.05", "--multipliers", "0.5", "--episodes", "1000"];
    place.succeed(&words);
    for elsewhere in [&["radius=0.3"][..], &["--agents", "4"]] {
        let words = [&["evaluate", "team", "--episodes", "2"], elsewhere].concat();
        let remarks = place.succeed(&words).remarks;
        let told = "at λ=0.5, chosen for this run under other conditions: nothing is promised here";
        assert!(remarks.contains(told), "{elsewhere:?}: {remarks}");
    }
    let whole: Value = serde_json::from_slice(&place.read("team/choice.json")).unwrap();
    for (key, value, told) in [
        ("model", json!(7), "chosen for other weights than those in the run"),
        ("multipliers", json!({ "collision": 2.0 }), "are not those of `evidence`"),
        ("multipliers", json!({ "collision": -5.0 }), "are not those of `evidence`"),
    ] {
        let mut choice = whole.clone();
        choice[key] = value;
        fs::write(place.path("team/choice.json"), choice.to_string()).unwrap();
        let remarks = place.fail(&["evaluate", "team", "--episodes", "2"]);
        assert!(remarks.contains(told) && remarks.contains("choice.json"), "{key}: {remarks}");
    }
    let mut choice = whole;
    choice["multipliers"] = json!({ "collision": 1e300 });
    choice["evidence"]["multipliers"] = json!({ "collision": 1e300 });
    fs::write(place.path("team/choice.json"), choice.to_string()).unwrap();
    let remarks = place.fail(&["evaluate", "team", "--episodes", "2"]);
    assert!(remarks.contains("choice.json") && remarks.contains("from 0 to 1000000"), "{remarks}");
}

#[test]
fn a_choice_of_an_earlier_version_is_still_played() {
    let place = Place::new();
    team_of_three(&place);
    fs::write(place.path("team/choice.json"), r#"{"multiplier": 2.0, "limit": {}}"#).unwrap();
    let words = ["evaluate", "team", "--episodes", "2", "--format", "json"];
    let score = place.succeed(&words);
    assert!(score.remarks.contains("at λ=2, chosen for this run by an earlier"), "{score:?}");
    assert!(score.text.contains(r#""collision": 2.0"#), "{score:?}");
    fs::write(place.path("team/choice.json"), "{}").unwrap();
    assert!(place.fail(&words).contains("choice.json"));
}

#[test]
fn two_constraints_are_played_swept_and_limited_each_by_its_name() {
    let place = Place::new();
    place.train("run", &[r#"constraints=["collision","energy"]"#, "total_steps=400"]);
    let front: Value = serde_json::from_slice(&place.read("run/front.json")).unwrap();
    assert_eq!(front["axes"].as_array().unwrap().len(), 3);
    let words = ["evaluate", "run", "--episodes", "3", "--format", "json", "--multiplier"];
    let score = place.succeed(&[&words[..], &["collision=0.5,energy=0.1"]].concat());
    let score: Value = serde_json::from_str(&score.text).unwrap();
    assert_eq!(score["multipliers"], json!({"collision": 0.5, "energy": 0.1}));
    for metric in ["coverage", "collisions_per_step", "cost_collision", "cost_energy"] {
        assert!(score["metrics"][metric]["high"].is_f64(), "{metric}: {score}");
    }
    let grid = ["--multipliers", "collision=0,0.5", "--multipliers", "energy=0,0.1,2"];
    let words = [&["sweep", "run", "--episodes", "3", "--format", "json"], &grid[..]].concat();
    let swept: Value = serde_json::from_str(&place.succeed(&words).text).unwrap();
    assert_eq!(swept["points"].as_array().unwrap().len(), 6);
    let csv = String::from_utf8(place.read("run/front.csv")).unwrap();
    assert!(csv.starts_with("label,multiplier_collision,multiplier_energy,pareto"), "{csv}");

    let words = ["choose", "run", "--episodes", "300", "--multipliers", "0,1", "--format", "json"];
    let remarks = place.fail(&[&words[..], &["--limit", "0.5"]].concat());
    assert!(remarks.contains("`--limit`: 0.5 (say of which constraint"), "{remarks}");
    let limits = ["--limit", "collision=2.5", "--limit", "energy=0.99"];
    let answer = place.call(&[&words[..], &limits].concat());
    let printed: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(printed["limits"]["limits"], json!({"collision": 2.5, "energy": 0.99}));
    let tested = printed["candidates"].as_array().unwrap().iter();
    let mut tested = tested.filter(|candidate| candidate["verdict"] != "not_tested");
    assert_eq!(tested.next().unwrap()["upper_bounds"].as_object().unwrap().len(), 2);
    assert_eq!(answer.code == Some(0), place.path("run/choice.json").exists());
}
