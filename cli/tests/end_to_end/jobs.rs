//! Jobs for any scheduler: listed, done once, killed and done by somebody else.

use crate::program::{Place, tiny};
use std::fs;

/// The jobs of a small grid.
fn jobs(place: &Place) -> Vec<String> {
    let settings: Vec<&str> = tiny("grid", &[])
        .into_iter()
        .filter(|word| word.contains('=') && !word.starts_with("seed="))
        .collect();
    let words = [&["jobs", "--out", "grid", "--over", "seed=1,2", "--over", "agents=2,3"][..]];
    let listed = place.succeed(&[words.concat(), settings].concat()).text;
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_grid_is_listed_and_a_job_is_done_once() {
    let place = Place::new();
    let jobs = jobs(&place);
    assert_eq!(jobs.len(), 4);
    assert!(jobs[1].contains(r#""out":"grid/seed=1,agents=3""#), "{}", jobs[1]);
    let first = place.succeed(&["run-job", &jobs[1], "--quiet"]);
    assert!(first.remarks.contains("grid/seed=1,agents=3: trained"), "{first:?}");
    let before = place.read("grid/seed=1,agents=3/front.json");
    let again = place.succeed(&["run-job", &jobs[1]]);
    assert!(again.remarks.contains("kept"), "{again:?}");
    assert_eq!(place.read("grid/seed=1,agents=3/front.json"), before);
    fs::remove_file(place.path("grid/seed=1,agents=3/front.json")).unwrap();
    let swept = place.succeed(&["run-job", &jobs[1], "--quiet"]);
    assert!(swept.remarks.contains("swept"), "{swept:?}");
    assert_eq!(place.read("grid/seed=1,agents=3/front.json"), before);
    let other = jobs[1].replace(r#""agents=3""#, r#""agents=4""#);
    assert!(place.fail(&["run-job", &other]).contains("was trained with other settings"));
}

#[test]
fn a_job_that_was_killed_goes_on_and_one_that_is_done_elsewhere_is_left_alone() {
    let place = Place::new();
    let job = &jobs(&place)[0];
    let run = "grid/seed=1,agents=2";
    place.succeed(&["run-job", job, "--quiet"]);
    fs::rename(place.path(run), place.path("whole")).unwrap();

    let mut child = place.start(&["run-job", job, "--quiet"]);
    place.wait_for_lines(run, 3);
    let busy = place.call(&["run-job", job, "--quiet"]);
    // It may have ended meanwhile.
    let told = busy.code == Some(75) && busy.remarks.contains("another cgcmarl");
    assert!(told || busy.code == Some(0), "{busy:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    place.succeed(&["run-job", job, "--quiet", "--threads", "1"]);
    place.assert_equal_runs("whole", run);
}

#[test]
fn the_rows_of_a_reproduction_are_jobs() {
    let place = Place::new();
    let words = ["--rows", "iql_0.3", "--agents", "2", "--seeds", "1", "--steps", "600"];
    let more = ["--episodes", "4", "--table", "baselines", "--out", "ours"];
    let listed = place.succeed(&[&["jobs", "reproduce"], &words[..], &more].concat()).text;
    let job = listed.trim();
    assert!(listed.lines().count() == 1 && job.contains(r#""row":"iql_0.3""#), "{listed}");
    assert!(place.succeed(&["run-job", job]).remarks.contains(": trained"));
    assert!(place.succeed(&["run-job", job]).remarks.contains(": kept"));
    // The reproduction finds nothing left to train.
    let done = place.succeed(&[&["reproduce", "--quiet"], &words[..], &more].concat());
    assert!(done.text.contains("baselines.md"), "{done:?}");
}

#[test]
fn mistakes_are_named_before_any_work() {
    let place = Place::new();
    for (words, told) in [
        (&["jobs", "--out", "g", "--over", "seed"][..], "KEY=A,B"),
        (&["jobs", "--out", "g", "--over", "seed=1,,2"], "a value is empty"),
        (&["jobs", "--out", "g", "--over", "sead=1"], "seed"),
        (
            &["jobs", "--out", "g", "--over", "seed=1,2,1"],
            "seed=1 (is the same training as seed=1)",
        ),
        (&["jobs", "--out", "g", "--over", "seed=1,2", "cost_limit=[0.1,0.2]"], "`cost_limit`"),
        (&["jobs", "--out", "g", "--over", "seed=1", "gamma=2"], "`gamma`: 2"),
        (&["jobs", "reproduce", "--rows", "best"], "`--rows`: best"),
        (&["run-job", r#"{"out": "g"}"#], "`settings` (a training)"),
        (&["run-job", r#"{"out": "g", "sweep": ["x"]}"#], "`sweep` with `episodes`"),
        (
            &[
                "run-job",
                r#"{"out": "g", "reproduce": {"row": "best", "agents": 3, "seed": 1, "steps": 9, "episodes": 1, "layouts": []}}"#,
            ],
            "no row `best`",
        ),
        (&["run-job", "nonsense"], "nonsense"),
        (&["run-job", r#"{"out": "", "settings": []}"#], "`out` is empty"),
        (&["run-job", r#"{"out": "g", "settings": ["gama=1"]}"#], "gamma"),
        (&["run-job", r#"{"out": "g", "settings": [], "when": 1}"#], "when"),
    ] {
        let remarks = place.fail(words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
    }
    assert!(!place.path("g").exists());
}

#[test]
fn a_network_is_exported_once() {
    let place = Place::new();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/simple_spread_3");
    place.succeed(&["export", model, "--out", "network.onnx"]);
    let file = place.read("network.onnx");
    let contract = String::from_utf8_lossy(&file);
    assert!(contract.contains(r#""heads":["task","collision"]"#) && file.len() > 100_000);
    for told in [r#""frame_rule":"cone""#, r#""averaged_frames":2"#, r#""coast":0.2"#] {
        assert!(contract.contains(told), "{told}");
    }
    assert!(place.fail(&["export", model, "--out", "network.onnx"]).contains("exists"));
    assert_eq!(place.read("network.onnx"), file);
    assert!(place.fail(&["report", model, "--out", "network.onnx"]).contains("is no page"));
    assert_eq!(place.read("network.onnx"), file);
}
