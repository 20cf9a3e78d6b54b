//! However a run is interrupted, `resume` ends with the bytes of an uninterrupted one.

use crate::program::{Place, tiny};
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// A number below `n` that differs from call to call.
fn chance(n: u64) -> u64 {
    RandomState::new().build_hasher().finish() % n
}

/// Lets a training or its continuation reach some line of metrics, then kills it a moment later.
fn kill_at(place: &Place, words: &[&str], run: &str, line: usize) {
    let mut child = place.start(words);
    place.wait_for_lines(run, line);
    std::thread::sleep(Duration::from_micros(chance(60_000)));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_moment_and_resumed_equals_uninterrupted() {
    let place = Place::new();
    place.train("whole", &[]);
    for run in ["first", "second", "third"] {
        let moments = [1 + chance(3), 4 + chance(3), 7 + chance(3)].map(|line| line as usize);
        kill_at(&place, &tiny(run, &[]), run, moments[0]);
        for line in &moments[1..] {
            kill_at(&place, &["resume", run], run, *line);
        }
        place.succeed(&["resume", run, "--threads", "1"]);
        place.assert_equal_runs("whole", run);
        let newest = "checkpoints/step_000000002000.safetensors";
        let [whole, resumed] = ["whole", run].map(|run| place.read(&format!("{run}/{newest}")));
        assert!(whole == resumed, "{newest} differs");
    }
}

#[test]
fn killed_while_starting_is_resumed_or_says_what_to_do() {
    let place = Place::new();
    for run in ["one", "two", "three", "four"] {
        let mut child = place.start(&tiny(run, &["total_steps=200"]));
        std::thread::sleep(Duration::from_micros(chance(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let answer = place.call(&["resume", run, "--quiet"]);
        let clear = ["holds no checkpoint yet: remove it", "is not a run directory"];
        let told = clear.iter().any(|text| answer.remarks.contains(text));
        assert!(answer.code == Some(0) || answer.code == Some(2) && told, "{answer:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_saves_and_says_how_to_go_on() {
    let place = Place::new();
    place.train("whole", &[]);
    let child = place.start(&tiny("run", &[]));
    place.wait_for_lines("run", 3);
    let killed =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let answer: crate::program::Answer = child.wait_with_output().unwrap().into();
    assert_eq!(answer.code, Some(130), "{answer:?}");
    assert!(answer.remarks.contains("everything is saved. Go on with: cgcmarl resume run"));
    assert!(!place.path("run/model.safetensors").exists());
    // An unfinished run can be played, too.
    place.succeed(&["evaluate", "run", "--episodes", "2"]);
    place.succeed(&["resume", "run", "--quiet"]);
    place.assert_equal_runs("whole", "run");
}

#[test]
fn resuming_a_finished_run_changes_nothing() {
    let place = Place::new();
    place.train("run", &[]);
    let before = crate::program::content(&place.path("run"));
    place.succeed(&["resume", "run", "--quiet"]);
    assert!(before == crate::program::content(&place.path("run")));
}
