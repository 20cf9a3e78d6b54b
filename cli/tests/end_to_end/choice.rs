//! `choose` finds a multiplier that keeps a limit, leaves it in the run, and says so when none does.

use crate::program::{Place, content};
use serde_json::Value;
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
    let words = ["choose", "team", "--max-collisions", "0.05", "--multipliers", "0.5,2"];
    let answer = place.succeed(&[&words[..], &["--episodes", "1000", "--format", "json"]].concat());
    let printed: Value = serde_json::from_str(&answer.text).unwrap();
    let chosen = printed["chosen"].as_f64().unwrap();
    assert!(chosen == 0.5 || chosen == 2.0, "{printed}");
    let written: Value = serde_json::from_slice(&place.read("team/choice.json")).unwrap();
    assert_eq!(written["multiplier"], chosen);
    assert!(written["evidence"]["upper_bound"].as_f64().unwrap() <= 0.05, "{written}");
    let mut after = content(&place.path("team"));
    after.retain(|(path, _)| !path.ends_with("choice.json"));
    assert!(before == after, "another file was touched");

    let score = place.succeed(&["evaluate", "team", "--episodes", "2", "--format", "json"]);
    assert!(score.remarks.contains("chosen for this run"), "{score:?}");
    assert_eq!(serde_json::from_str::<Value>(&score.text).unwrap()["multiplier"], chosen);
    let given = place.succeed(&["evaluate", "team", "--episodes", "2", "--multiplier", "1"]);
    assert!(!given.remarks.contains("chosen"), "{given:?}");
}

#[test]
fn a_limit_that_cannot_be_kept_is_refused_and_nothing_is_written() {
    let place = Place::new();
    team_of_three(&place);
    let words = ["choose", "team", "--multipliers", "1", "--episodes", "300", "--max-collisions"];
    let answer = place.call(&[&words[..], &["0.0001"]].concat());
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.text.contains("none chosen: no multiplier was shown"), "{answer:?}");
    let answer = place.call(&[&words[..], &["0.006"]].concat());
    assert!(answer.text.contains("episodes would show it (--episodes "), "{answer:?}");
    assert!(!place.path("team/choice.json").exists());
    let remarks = place.fail(&[&words[..], &["0"]].concat());
    assert!(remarks.contains("`max-collisions`: 0 (must be positive"), "{remarks}");
}
