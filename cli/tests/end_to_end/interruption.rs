//! However a run is interrupted, `resume` ends with the bytes of an uninterrupted one.

use crate::program::{Place, tiny};
use std::{
    fs,
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
fn killed_while_starting_is_resumed_or_begun_again() {
    let place = Place::new();
    for attempt in 0..12 {
        let run = &*format!("run_{attempt}");
        let words = tiny(run, &["total_steps=200"]);
        let mut child = place.start(&words);
        std::thread::sleep(Duration::from_micros(chance(12_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let resumed = place.call(&["resume", run, "--quiet"]);
        if resumed.code == Some(0) {
            continue;
        }
        let clear =
            ["stopped before its first checkpoint: begin it again", "is not a run directory"];
        let told = clear.iter().any(|text| resumed.remarks.contains(text));
        assert!(resumed.code == Some(2) && told, "{resumed:?}");
        place.succeed(&words);
    }
}

/// What a kill leaves at every moment of a beginning, one more file each time.
const BEGINNING: [(&str, &str); 6] = [
    ("checkpoints/.unfinished-1-9", "half"),
    ("metrics.jsonl", ""),
    ("events.out.tfevents.cgcmarl", ""),
    (".unfinished-1-0", "{"),
    ("manifest.json", "{}"),
    ("config.toml", "seed = 7\n"),
];

#[test]
fn a_beginning_that_was_cut_short_is_begun_again() {
    let place = Place::new();
    let leave = |run: &str, n: usize| {
        fs::create_dir_all(place.path(run).join("checkpoints")).unwrap();
        for (name, content) in &BEGINNING[..n] {
            fs::write(place.path(run).join(name), content).unwrap();
        }
    };
    place.train("whole", &["total_steps=200"]);
    for n in 0..=BEGINNING.len() {
        let run = &*format!("my run {n}");
        leave(run, n);
        let remarks = place.fail(&["resume", run]);
        let told = format!(
            "{run} was stopped before its first checkpoint: begin it again with `cgcmarl train --out '{run}'`"
        );
        assert!(remarks.contains(&told), "{remarks}");
        place.train(run, &["total_steps=200"]);
        place.assert_equal_runs("whole", run);
    }
    let words = ["reproduce", "--rows", "cg_cmarl", "--agents", "3", "--seeds", "1", "--jobs", "1"];
    let short = ["--steps", "200", "--episodes", "2", "--out", "all", "--quiet"];
    for n in [0, 3, BEGINNING.len()] {
        leave("all/runs/simple_spread_3/cg_cmarl/seed_1", n);
        place.succeed(&[&words[..], &short].concat());
        fs::remove_dir_all(place.path("all")).unwrap();
    }
}

/// Asks a process to end, as `kill` and shutdowns do.
#[cfg(unix)]
fn terminate(child: &std::process::Child) {
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&id).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn resumed_while_the_first_still_saves_no_step_is_doubled() {
    let place = Place::new();
    let often = ["checkpoint_interval=200", "buffer_size=30000"];
    place.train("whole", &often);
    for run in ["one", "two", "three", "four"] {
        let mut child = place.start(&tiny(run, &often));
        place.wait_for_lines(run, 2 + chance(6) as usize);
        terminate(&child);
        // As a script would: at once, and again while the first is not gone.
        loop {
            let answer = place.call(&["resume", run, "--quiet"]);
            if answer.code == Some(0) {
                break;
            }
            let told = "is being written by another cgcmarl";
            assert!(answer.code == Some(2) && answer.remarks.contains(told), "{answer:?}");
        }
        child.wait().unwrap();
        place.assert_equal_runs("whole", run);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_saves_and_says_how_to_go_on() {
    let place = Place::new();
    place.train("whole", &[]);
    let child = place.start(&tiny("run", &[]));
    place.wait_for_lines("run", 3);
    // Twice, as `timeout` and terminals do that signal a process and its group.
    for _ in 0..2 {
        let id = child.id().to_string();
        let killed = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(killed.unwrap().success());
    }
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
