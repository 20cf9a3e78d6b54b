//! What took long, or belongs to somebody, is not lost to the next command; what cannot be kept is said before
//! the work is done.

use crate::program::{Place, content};
use std::fs;

const SPREAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/simple_spread_3");
const TAG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/simple_tag");

/// A copy of a shipped model.
fn copy(place: &Place, model: &str, name: &str) {
    fs::create_dir(place.path(name)).unwrap();
    for entry in fs::read_dir(model).unwrap().flatten() {
        if entry.path().is_file() {
            fs::copy(entry.path(), place.path(name).join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn a_folder_with_another_front_is_refused_untouched() {
    let place = Place::new();
    copy(&place, SPREAD, "spread");
    copy(&place, TAG, "tag");
    fs::create_dir(place.path("foreign")).unwrap();
    fs::write(place.path("foreign/front.json"), "{}").unwrap();
    place.succeed(&["sweep", "spread", "layout=line", "--episodes", "3", "--out", "line"]);
    let before = ["spread", "tag", "foreign", "line"].map(|name| content(&place.path(name)));
    let sweep = ["sweep", "spread", "--multipliers", "0,1", "--episodes", "5", "--out"];
    for (folder, told) in [
        ("tag", "tag is a run of another model"),
        ("foreign", "foreign/front.json exists and is no front of this program"),
        ("line", "line holds a front of something else"),
        ("spread", "spread holds a front of 9 points with 1000 episodes each, this one has 2"),
    ] {
        let remarks = place.fail(&[&sweep[..], &[folder]].concat());
        assert!(remarks.contains(told) && !remarks.contains("done"), "{folder}: {remarks}");
    }
    for (range, file) in [("0..2", "a.json"), ("2..5", "b.json")] {
        let part = ["--episode-range", range, "--part", file];
        place.succeed(&[&["sweep", "spread", "--episodes", "5"], &part[..]].concat());
    }
    for (folder, told) in [
        ("tag", "tag is a run of another model"),
        (
            "spread",
            "spread holds a front of 9 points with 1000 episodes each, this one has 9 with 5",
        ),
    ] {
        let remarks = place.fail(&["merge", "a.json", "b.json", "--out", folder]);
        assert!(remarks.contains(told), "{folder}: {remarks}");
    }
    let remarks = place.fail(&["summary", "tag", "--out", "tag"]);
    assert!(remarks.contains("tag is a run of another model"), "{remarks}");
    let after = ["spread", "tag", "foreign", "line"].map(|name| content(&place.path(name)));
    assert!(before == after, "something was touched");
}

#[test]
fn a_finished_run_keeps_the_longer_front_when_it_is_resumed() {
    let place = Place::new();
    place.train("run", &["total_steps=400"]);
    place.succeed(&["sweep", "run", "--episodes", "15"]);
    let front = place.read("run/front.json");
    let again = place.succeed(&["resume", "run"]);
    assert!(again.remarks.contains("keeps its longer front"), "{again:?}");
    assert!(place.read("run/front.json") == front);
}

#[test]
fn a_part_is_kept_only_for_the_job_that_it_is_of() {
    let place = Place::new();
    let job =
        |words: &str| format!(r#"{{"out": "p.json", "episodes": [0, 2], "sweep": [{words}]}}"#);
    let first = job(&format!(r#""{SPREAD}", "--episodes=4", "--multipliers=1""#));
    assert!(place.succeed(&["run-job", &first]).remarks.contains(": played"));
    assert!(place.succeed(&["run-job", &first]).remarks.contains(": kept"));
    let part = place.read("p.json");
    for words in [
        format!(r#""{SPREAD}", "--episodes=4", "--multipliers=0,1""#),
        format!(r#""{SPREAD}", "--episodes=5", "--multipliers=1""#),
        format!(r#""{SPREAD}", "layout=line", "--episodes=4", "--multipliers=1""#),
        format!(r#""{TAG}", "--episodes=4", "--multipliers=1""#),
    ] {
        let remarks = place.fail(&["run-job", &job(&words)]);
        assert!(
            remarks.contains("p.json holds a part of another evaluation"),
            "{words}: {remarks}"
        );
    }
    let score = ["--multiplier", "1", "--episodes", "4", "--episode-range", "0..2"];
    let words = [&["evaluate", SPREAD], &score[..], &["--part", "p.json"]].concat();
    assert!(place.fail(&words).contains("holds a part of another evaluation"));
    assert!(place.read("p.json") == part);
}

#[test]
fn a_promise_is_not_repeated_for_a_policy_that_was_not_tested() {
    let place = Place::new();
    copy(&place, SPREAD, "run");
    let words = ["choose", "run", "--limit", "1", "--multipliers", "1", "--episodes", "500"];
    place.succeed(&words);
    let played = |more: &[&str]| {
        place.succeed(&[&["evaluate", "run", "--episodes", "2"], more].concat()).remarks
    };
    assert!(played(&[]).contains("below 1 with 95 % confidence"));
    for setting in ["acting.solver=max_sum", "average_orders=false", "horizon=30"] {
        assert!(played(&[setting]).contains("nothing is promised here"), "{setting}");
    }
    let strict = [&words[..4], &["--limit", "2.5"], &words[4..]].concat();
    let twice = place.fail(&strict);
    assert!(twice.contains("limited twice"), "{twice}");
    let other = ["choose", "run", "--limit", "2", "--multipliers", "1", "--episodes", "500"];
    let remarks = place.succeed(&other).remarks;
    assert!(
        remarks.contains("the earlier choice of this run (collisions_per_step below 1"),
        "{remarks}"
    );
}

#[test]
fn a_front_that_cannot_be_is_named_not_drawn() {
    let place = Place::new();
    copy(&place, SPREAD, "run");
    let good = String::from_utf8(place.read("run/front.json")).unwrap();
    let tag = fs::read_to_string(format!("{TAG}/front.json")).unwrap();
    for (text, told) in [
        (good.replace("\"axes\": [\n    \"coverage\"", "\"axes\": [\n    \"foo\""), "names `foo`"),
        (tag, "front of another task"),
    ] {
        assert!(text != good);
        fs::write(place.path("run/front.json"), &text).unwrap();
        let remarks = place.fail(&["report", "run", "--out", "page.html"]);
        assert!(remarks.contains("front.json") && remarks.contains(told), "{remarks}");
        assert!(!place.path("page.html").exists());
    }
    fs::write(
        place.path("run/front.json"),
        good.replace("\"axes\": [\n    \"coverage\"", "\"axes\": [\n    \"foo\""),
    )
    .unwrap();
    assert!(place.fail(&["summary", "run"]).contains("names `foo`"));
}

#[test]
fn pictures_and_pages_replace_their_own_kind_only() {
    let place = Place::new();
    fs::write(place.path("mine.html"), "<p>mine</p>").unwrap();
    fs::copy(format!("{SPREAD}/front.png"), place.path("front.png")).unwrap();
    let remarks = place.fail(&["report", SPREAD, "--out", "mine.html"]);
    assert!(remarks.contains("mine.html exists and is no page of `report`"), "{remarks}");
    let remarks = place.fail(&["render", SPREAD, "--multiplier", "1", "--out", "front.png"]);
    assert!(remarks.contains("front.png exists and is no moving picture"), "{remarks}");
    for _ in 0..2 {
        place.succeed(&["report", SPREAD, "--out", "page.html"]);
        place.succeed(&["render", SPREAD, "--multiplier", "1", "--out", "film.apng"]);
        place.succeed(&["render", SPREAD, "--multiplier", "1", "--out", "film.gif"]);
    }
    assert_eq!(place.read("mine.html"), b"<p>mine</p>");
}

#[test]
fn words_that_would_be_ignored_are_refused() {
    let place = Place::new();
    for (words, told) in [
        (
            &[
                "evaluate",
                SPREAD,
                "--adapt",
                "--limit",
                "1",
                "--episode-range",
                "0..3",
                "--part",
                "p",
            ][..],
            "cannot be used with",
        ),
        (
            &["evaluate", SPREAD, "--calibration", "--episode-range", "0..3", "--part", "p"],
            "cannot be used with",
        ),
        (&["evaluate", SPREAD, "--adapt-rate", "0.1"], "--adapt"),
        (&["evaluate", SPREAD, "--decision", "0:1"], "--export-uai"),
        (
            &["sweep", SPREAD, "--episode-range", "0..3", "--part", "p", "--out", "o"],
            "cannot be used with",
        ),
        (&["theory", "--check", "bound", "--run", SPREAD], "cannot be used with"),
        (&["report", SPREAD, "--arm", "shared"], "`--arm` is of a reproduction"),
        (
            &["evaluate", SPREAD, "--agents", "4", "agents=5"],
            "`--agents`: 4 (`agents=…` is given, too",
        ),
        (&["evaluate", SPREAD, "--layout", "line", "layout=random"], "`--layout`: line"),
        (&["evaluate", SPREAD, "--episodes", "3", "episodes=7"], "`--episodes`: 3 (`episodes=…`"),
        (&["sweep", SPREAD, "--episodes", "3", "evaluation.episodes=7"], "`--episodes`: 3"),
        (
            &[
                "choose",
                SPREAD,
                "--limit",
                "1",
                "--multipliers",
                "collision=1,2",
                "--multipliers",
                "3",
            ],
            "`--multipliers`: 3",
        ),
        (
            &["reproduce", "--budget", "quick", "--seeds", "99999999999"],
            "`--seeds`: 99999999999 (at most 1000)",
        ),
    ] {
        let remarks = place.fail(words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
    }
    assert!(content(&place.path(".")).is_empty(), "something was written");
}
