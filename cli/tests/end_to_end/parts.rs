//! A sweep or an evaluation in parts, played by anybody, comes to the bytes of the whole.

use crate::program::Place;
use std::fs;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/simple_spread_3");
const FILES: [&str; 4] = ["front.json", "front.csv", "front.svg", "front.png"];

#[test]
fn parts_of_a_sweep_merge_to_the_bytes_of_the_whole() {
    let place = Place::new();
    let words = [MODEL, "horizon=30", "--multipliers", "0.5,2", "--episodes", "70"];
    let whole =
        place.succeed(&[&["sweep"], &words[..], &["--out", "whole", "--threads", "2"]].concat());
    let parts = [("a.json", "33..70"), ("b.json", "0..1"), ("c.json", "1..33")];
    for (file, range) in parts {
        let part = ["--episode-range", range, "--part", file, "--threads", "1"];
        place.succeed(&[&["sweep"], &words[..], &part].concat());
    }
    let merged = place.succeed(&["merge", "a.json", "b.json", "c.json", "--out", "merged"]);
    assert_eq!(merged.text.replace("merged", "whole"), whole.text);
    for file in FILES {
        let same = place.read(&format!("whole/{file}")) == place.read(&format!("merged/{file}"));
        assert!(same, "{file} differs");
    }
    for (files, told) in [
        (&["a.json", "b.json"][..], "episodes 1..33 are missing"),
        (&["a.json", "b.json", "c.json", "a.json"], "episodes 33..70 are there twice"),
        (&["nothing.json"], "nothing.json"),
        (&["whole/front.json"], "whole/front.json is no part of a sweep"),
    ] {
        let remarks = place.fail(&[&["merge"], files].concat());
        assert!(remarks.contains(told), "{files:?}: {remarks}");
    }
    let other = ["--episodes", "70", "--multipliers", "1", "--episode-range", "33..70"];
    place.succeed(&[&["sweep", MODEL, "horizon=30"], &other[..], &["--part", "d.json"]].concat());
    let remarks = place.fail(&["merge", "b.json", "c.json", "d.json"]);
    assert!(remarks.contains("of another evaluation"), "{remarks}");
}

#[test]
fn parts_of_an_evaluation_merge_to_the_bytes_of_the_whole() {
    let place = Place::new();
    let words = ["evaluate", MODEL, "--multiplier", "1", "--episodes", "40"];
    let whole = place.succeed(&[&words[..], &["--format", "json"]].concat()).text;
    for (file, range) in [("a.json", "0..13"), ("b.json", "13..40")] {
        place.succeed(&[&words[..], &["--episode-range", range, "--part", file]].concat());
    }
    assert_eq!(place.succeed(&["merge", "b.json", "a.json", "--format", "json"]).text, whole);
    assert!(place.fail(&["merge", "a.json", "b.json", "--out", "x"]).contains("has no front"));
}

#[test]
fn a_part_takes_the_place_of_nothing_but_a_part() {
    let place = Place::new();
    fs::write(place.path("notes.md"), "mine").unwrap();
    let words = ["evaluate", MODEL, "--multiplier", "1", "--episodes", "4"];
    let part = |file| [&words[..], &["--episode-range", "0..2", "--part", file]].concat();
    let remarks = place.fail(&part("notes.md"));
    assert!(remarks.contains("notes.md exists already; choose another name"), "{remarks}");
    assert_eq!(place.read("notes.md"), b"mine");
    place.succeed(&part("a.json"));
    place.succeed(&part("a.json"));
}

#[test]
fn ranges_that_are_none_are_named() {
    let place = Place::new();
    for range in ["5", "3..3", "9..2", "0..11", "a..b", "-1..2"] {
        let range = format!("--episode-range={range}");
        let remarks =
            place.fail(&["sweep", MODEL, "--episodes", "10", &range, "--part", "part.json"]);
        assert!(remarks.contains("`--episode-range`"), "{range}: {remarks}");
    }
    assert!(!place.path("part.json").exists());
    let alone = place.call(&["sweep", MODEL, "--episode-range", "0..5"]);
    assert!(alone.code == Some(2) && alone.remarks.contains("--part"), "{alone:?}");
}

#[test]
fn the_parts_of_a_sweep_are_jobs() {
    let place = Place::new();
    let words = ["sweep", MODEL, "--multipliers", "1", "--episodes", "25"];
    place.succeed(&[&words[..], &["--out", "whole"]].concat());
    let listed =
        place.succeed(&[&["jobs"], &words[..], &["--parts", "4", "--out", "parts"]].concat());
    let jobs: Vec<&str> = listed.text.lines().collect();
    assert_eq!(jobs.len(), 4);
    for job in &jobs {
        let done = place.succeed(&["run-job", job]);
        assert!(done.remarks.contains(": played"), "{done:?}");
    }
    assert!(place.succeed(&["run-job", jobs[2]]).remarks.contains(": kept"));
    let mut files: Vec<String> = fs::read_dir(place.path("parts"))
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    files.sort();
    let merge: Vec<&str> = ["merge"].into_iter().chain(files.iter().map(String::as_str)).collect();
    place.succeed(&[&merge[..], &["--out", "merged"]].concat());
    assert!(place.read("whole/front.json") == place.read("merged/front.json"));
    for parts in ["0", "26"] {
        let list = [&["jobs"], &words[..], &["--parts", parts, "--out", "parts"]].concat();
        assert!(place.fail(&list).contains("`--parts`"));
    }
}
