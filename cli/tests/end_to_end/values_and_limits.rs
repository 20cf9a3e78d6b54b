//! Every kind of value and every dual update trains, resumes to the same bytes, and is read by the
//! commands that can read it; those that cannot say why.

use crate::program::{Answer, Place, tiny};
use serde_json::Value;

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.text).unwrap()
}

#[test]
fn what_is_learned_otherwise_resumes_to_the_same_bytes() {
    let place = Place::new();
    let gossip = "gossip.graph=path gossip.delay=2 gossip.message_loss=0.2 lambda_power=0.5";
    for (name, settings) in [
        ("augmented", "preset=augmented".to_owned()),
        ("two_head", "value=two_head lr_power=0.6".to_owned()),
        ("warm", "warm_start=true coordination.msg_iterations=2".to_owned()),
        ("pid", "mode=learned update=pid cost_limit=0.01 relative=true".to_owned()),
        ("gossip", format!("mode=learned cost_limit=0.01 agents=4 mixing=gossip {gossip}")),
    ] {
        let (whole, cut) = (format!("{name}_whole"), format!("{name}_cut"));
        let words: Vec<&str> = settings.split(' ').collect();
        place.train(&whole, &words);
        let mut child = place.start(&tiny(&cut, &words));
        place.wait_for_lines(&cut, 5);
        child.kill().unwrap();
        child.wait().unwrap();
        place.succeed(&["resume", &cut, "--threads", "1"]);
        place.assert_equal_runs(&whole, &cut);
        let newest = "checkpoints/step_000000002000.safetensors";
        let [whole, cut] = [whole, cut].map(|run| place.read(&format!("{run}/{newest}")));
        assert!(whole == cut, "{name}: {newest} differs");
    }
}

#[test]
fn an_augmented_model_is_read_by_every_command_that_can() {
    let place = Place::new();
    place.train("run", &["preset=augmented", "total_steps=600"]);
    for words in [
        &["evaluate", "run", "--multiplier", "0.5", "--episodes", "4"][..],
        &["evaluate", "run", "--agents", "2", "--episodes", "4"],
        &["sweep", "run", "--multipliers", "0,1", "--episodes", "4"],
        &["export", "run", "--out", "network.onnx"],
        &["render", "run", "--out", "episode.gif"],
        &["report", "run"],
        &["evaluate", "run", "--export-uai", "decision.LG"],
    ] {
        place.succeed(words);
    }
    let chosen = place.call(&["choose", "run", "--limit", "2.9", "--episodes", "500"]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    let remarks = place.fail(&["theory", "--run", "run"]);
    assert!(remarks.contains("has one augmented value and no cost heads"), "{remarks}");
    let words = ["evaluate", "run", "--calibration", "--episodes", "20", "--format", "json"];
    let found = json(&place.succeed(&words));
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!((&found[0]["signal"], &found[0]["episodes"]), (&"augmented".into(), &20.into()));
    let remarks = place.fail(&tiny("other", &["preset=two_head", "value=augmented"]));
    assert!(remarks.contains("`multiplier_input=false`"), "{remarks}");
    let remarks = place.fail(&tiny("other", &["value=both"]));
    assert!(remarks.contains("both") && remarks.contains("augmented"), "{remarks}");
}

#[test]
fn predictions_are_compared_with_what_comes_true() {
    let place = Place::new();
    place.train("run", &["total_steps=400"]);
    let words = ["evaluate", "run", "--calibration", "--multiplier", "2", "--episodes", "30"];
    let table = place.succeed(&words).text;
    for word in ["predicted", "realised", "reward", "collision", "augmented", "30 episodes"] {
        assert!(table.contains(word), "{word} in {table}");
    }
    let found = json(&place.succeed(&[&words[..], &["--format", "json"]].concat()));
    let mean = |signal: usize, key: &str| found[signal][key]["mean"].as_f64().unwrap();
    for key in ["predicted", "realised"] {
        let priced = mean(0, key) - 2.0 * mean(1, key);
        assert!((priced - mean(2, key)).abs() < 1e-4, "{key}: {found}");
    }
    place.train("baseline", &["algorithm=iql", "total_steps=400"]);
    let remarks = place.fail(&["evaluate", "baseline", "--calibration"]);
    assert!(remarks.contains("`--calibration` needs a run that plays at any"), "{remarks}");
}

#[test]
fn limits_are_kept_while_playing_or_told_to_be_out_of_reach() {
    let place = Place::new();
    place.train("run", &["total_steps=400"]);
    let adapt = |limit: &str, more: &[&str]| {
        let words = ["evaluate", "run", "--adapt", "--limit", limit, "--episodes", "200"];
        json(&place.succeed(&[&words[..], more, &["--format", "json"]].concat()))
    };
    let easy = adapt("collision=2.5", &[]);
    assert_eq!(easy["limits"][0]["settling"], "slack", "{easy}");
    assert_eq!(easy["limits"][0]["kept_from"], 0);
    let hopeless = adapt("collision=0.000001", &["--adapt-rate", "0.001"]);
    assert_eq!(hopeless["limits"][0]["settling"], "at_bound", "{hopeless}");
    assert!(hopeless["limits"][0]["kept_from"].is_null());
    assert_eq!(hopeless["limits"][0]["course"].as_array().unwrap().len(), 20);
    let again = adapt("0.000001", &["--adapt-rate", "0.001", "--threads", "2"]);
    assert_eq!(again, hopeless);
    let few = ["evaluate", "run", "--adapt", "--limit", "0.01", "--episodes", "6"];
    let told = place.succeed(&few).text;
    assert!(!told.contains("has settled"), "after six episodes: {told}");
    let words = ["evaluate", "run", "--adapt=pid", "--limit", "0.01", "--episodes", "40"];
    assert!(place.succeed(&words).text.contains("kept from episode"));
    for (words, told) in [
        (&["evaluate", "run", "--adapt"][..], "say what to keep with --limit"),
        (&["evaluate", "run", "--limit", "0.01"], "is kept with --adapt only"),
        (&["evaluate", "run", "--adapt", "--limit", "height=1"], "no such constraint"),
        (&["evaluate", "run", "--adapt", "--limit", "0"], "must be above 0"),
        (&["evaluate", "run", "--adapt", "--limit", "1", "--adapt-rate", "-1"], "rate"),
        (&["evaluate", "run", "--multiplier", "learned"], "this run learned no multipliers"),
    ] {
        let remarks = place.fail(words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
    }
}

#[test]
fn learned_multipliers_are_played_at_and_their_limits_told() {
    let place = Place::new();
    let settings = ["mode=learned", "cost_limit=0.000001", "relative=true", "lambda_lr=0.01"];
    let answer = place.succeed(&tiny("run", &settings));
    assert!(answer.remarks.contains("the multiplier is at its bound"), "{}", answer.remarks);
    let words = ["evaluate", "run", "--multiplier", "learned", "--episodes", "4"];
    let score = json(&place.succeed(&[&words[..], &["--format", "json"]].concat()));
    assert!(score["multipliers"]["collision"].as_f64().unwrap() > 9.0, "{score}");
    let remarks = place.fail(&tiny("other", &["mode=learned", "relative=true"]));
    assert!(remarks.contains("every cost_limit must be above 0"), "{remarks}");
    let remarks = place.fail(&tiny("other", &["mixing=gossip"]));
    assert!(remarks.contains("set mode=learned"), "{remarks}");
}

#[test]
fn a_grid_of_two_multipliers_has_a_picture_of_its_own() {
    let place = Place::new();
    place.train("run", &["constraints=[\"collision\",\"energy\"]", "total_steps=400"]);
    let grid = ["--multipliers", "collision=0,1", "--multipliers", "energy=0,0.5"];
    place.succeed(&[&["sweep", "run", "--episodes", "4", "--out", "surface"], &grid[..]].concat());
    assert!(place.read("surface/surface.png").starts_with(b"\x89PNG"));
    assert!(String::from_utf8(place.read("surface/surface.svg")).unwrap().contains("λ of energy"));
    assert!(!place.path("run/surface.png").exists());
}
