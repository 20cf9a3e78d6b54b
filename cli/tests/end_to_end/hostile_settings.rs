//! Settings that once broke us: each trains a little, or is refused by name before any work is done.

use crate::program::{Answer, Place};
use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Kilobytes of address space that a case may take: far less than what it asks for.
const MOST_MEMORY: usize = 1 << 20;
/// Seconds after which a case hangs.
const MOST_SECONDS: usize = 60;
/// What keeps a training that is accepted short, unless the case sets it.
const QUICK: [&str; 5] =
    ["total_steps=16", "horizon=1", "learning_starts=8", "episodes=1", "multipliers=[0.0]"];

/// The last name of a key with its value.
fn parts(setting: &str) -> (&str, &str) {
    let (key, value) = setting.split_once('=').unwrap();
    (key.rsplit('.').next().unwrap(), value)
}

/// Trains with the settings of a line, from the root of the repository, whose files some of them name.
fn train(line: &str, out: &Path) -> Answer {
    let given: Vec<_> = line.split(' ').collect();
    let set = |key: &str| given.iter().any(|setting| parts(setting).0 == key);
    let unknown = |key: &str| line.contains("mappo") && key == "learning_starts";
    let quick = QUICK.iter().filter(|setting| {
        let (key, _) = parts(setting);
        !set(key) && !unknown(key)
    });
    let limits = format!("ulimit -v {MOST_MEMORY}; exec timeout {MOST_SECONDS} \"$@\"");
    let mut command = Command::new("sh");
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_cgcmarl"), "train", "--quiet", "--out"]);
    command.arg(out).args(["--threads", "1"]).args(quick).args(&given);
    command.output().unwrap().into()
}

/// Whether a case trained; it must have been refused by name otherwise, with nothing left behind.
fn trains(line: &str, out: &Path) -> bool {
    let answer = train(line, out);
    if answer.code == Some(0) {
        return true;
    }
    assert_eq!(answer.code, Some(2), "{line}: {answer:?}");
    assert_eq!(answer.text, "", "{line}");
    assert!(answer.remarks.starts_with("error: "), "{line}: {answer:?}");
    assert_eq!(answer.remarks.lines().count(), 1, "{line}: {answer:?}");
    let named = |setting: &str| {
        let (key, value) = parts(setting);
        // A place that is no run names itself.
        answer.remarks.contains(if key == "start_from" { value } else { key })
    };
    assert!(line.split(' ').any(named), "{line}: {answer:?} names no key");
    assert!(!out.exists(), "{line} left something behind");
    false
}

#[cfg(target_os = "linux")]
#[test]
fn every_setting_trains_or_is_refused_by_name() {
    let file = include_str!("../../../tests/data/hostile/settings.txt");
    let lines: Vec<_> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let place = Place::new();
    let (next, n_trained) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let out = place.path(&line.replace('/', "_"));
            n_trained.fetch_add(usize::from(trains(line, &out)), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let n_workers = std::thread::available_parallelism().map_or(1, usize::from);
        (0..n_workers).for_each(|_| drop(scope.spawn(worker)));
    });
    let n_trained = n_trained.into_inner();
    assert_eq!((n_trained, lines.len() - n_trained), (26, 176), "trained and refused");
}
