//! What goes wrong outside the user's hands: damage, divergence, a full disk; the last good state stays.

use crate::program::{Place, tiny};
use std::fs;

const NEWEST: &str = "checkpoints/step_000000002000.safetensors";

#[test]
fn a_truncated_checkpoint_is_named_and_the_one_before_serves() {
    let place = Place::new();
    place.train("whole", &[]);
    place.train("run", &[]);
    let newest = place.path("run").join(NEWEST);
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let remarks = place.fail(&["resume", "run"]);
    let advice = "remove this file to go on from step_000000001600.safetensors";
    assert!(remarks.contains("step_000000002000.safetensors: not a whole"), "{remarks}");
    assert!(remarks.contains(advice), "{remarks}");
    assert_eq!(fs::read(&newest).unwrap().len(), bytes.len() / 2, "the file was touched");
    fs::remove_file(&newest).unwrap();
    place.succeed(&["resume", "run", "--quiet"]);
    place.assert_equal_runs("whole", "run");
}

#[test]
fn a_foreign_checkpoint_is_refused_and_nothing_is_lost() {
    let place = Place::new();
    place.train("run", &[]);
    place.train("other", &["agents=4", "total_steps=200"]);
    let kept = place.read(&format!("run/{NEWEST}"));
    let metrics = place.read("run/metrics.jsonl");
    fs::copy(place.path("other/model.safetensors"), place.path("run").join(NEWEST)).unwrap();
    let remarks = place.fail(&["resume", "run"]);
    assert!(remarks.contains("step_000000002000.safetensors: the checkpoint"), "{remarks}");
    assert!(metrics == place.read("run/metrics.jsonl"), "the metrics were cut");
    place.train("twin", &["seed=2"]);
    fs::copy(place.path("twin").join(NEWEST), place.path("run").join(NEWEST)).unwrap();
    let remarks = place.fail(&["resume", "run"]);
    assert!(remarks.contains("is of a run with seed 2, not 1"), "{remarks}");
    fs::write(place.path("run").join(NEWEST), "not a checkpoint").unwrap();
    assert!(place.fail(&["resume", "run"]).contains("not a whole safetensors file"));
    fs::write(place.path("run").join(NEWEST), kept).unwrap();
    place.succeed(&["resume", "run", "--quiet"]);
    let model = place.read("run/model.safetensors");
    fs::write(place.path("run/model.safetensors"), &model[..model.len() - 1]).unwrap();
    let remarks = place.fail(&["sweep", "run"]);
    assert!(remarks.contains("model.safetensors: not a whole safetensors file"), "{remarks}");
}

#[test]
fn a_training_that_diverges_says_so_and_keeps_the_last_good_checkpoint() {
    let place = Place::new();
    let deep = "hidden=[16,16,16,16,16,16,16,16,16,16]";
    let remarks = place.fail(&tiny("run", &["lr=10", deep]));
    assert!(remarks.contains("training diverged at step"), "{remarks}");
    assert!(remarks.contains("the last good checkpoint is kept"), "{remarks}");
    assert!(!place.path("run/model.safetensors").exists());
    place.succeed(&["evaluate", "run", "--episodes", "2"]);
    // It goes on from there, and diverges again the same way.
    assert_eq!(place.fail(&["resume", "run", "--quiet"]).lines().last(), remarks.lines().last());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_the_last_good_state() {
    let place = Place::new();
    let roomy = ["buffer_size=30000"];
    place.train("whole", &roomy);
    let size = |step: u64| {
        let name = format!("whole/checkpoints/step_{step:012}.safetensors");
        fs::metadata(place.path(&name)).unwrap().len()
    };
    // Room for every checkpoint but the last.
    let blocks = u64::midpoint(size(1600), size(2000)) / 512;
    let program = env!("CARGO_BIN_EXE_cgcmarl");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} \"$@\"");
    let words = tiny("run", &roomy);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(&words).current_dir(place.path(""));
    let answer: crate::program::Answer = shell.output().unwrap().into();
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.remarks.contains("step_000000002000.safetensors"), "{answer:?}");
    assert!(answer.remarks.contains("everything saved before is kept"), "{answer:?}");
    assert!(answer.remarks.contains("`cgcmarl resume run`"), "{answer:?}");
    assert!(!place.path("run").join(NEWEST).exists());
    place.succeed(&["resume", "run", "--quiet"]);
    place.assert_equal_runs("whole", "run");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_from_the_start_says_to_train_again() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_cgcmarl");
    // Room for nothing; for the configuration, but not for the first checkpoint.
    for blocks in [0, 16] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} \"$@\"");
        let words = tiny("run", &[]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, "sh"]).args(&words).current_dir(place.path(""));
        let answer: crate::program::Answer = shell.output().unwrap().into();
        assert_eq!(answer.code, Some(2), "{answer:?}");
        let advice = "nothing was trained yet: free some space and train again";
        assert!(answer.remarks.contains(advice), "{answer:?}");
        assert!(!answer.remarks.contains("resume"), "{answer:?}");
    }
    place.train("run", &[]);
}
