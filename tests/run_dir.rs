#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! A run on disk survives kills, full disks, damage and a second visitor.

use cgcmarl::{
    checkpoint::Checkpoint,
    run_dir::{Manifest, RunDir, RunWriter},
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn manifest() -> Manifest {
    Manifest::new("simple_spread", "cg_cmarl", 1, json!({"horizon": 25}))
}

fn create(path: &Path) -> RunWriter {
    RunWriter::create(path, "seed = 1\n", &manifest()).unwrap().with_clock(|| 1.0)
}

fn checkpoint(step: u64) -> Checkpoint<'static> {
    let mut checkpoint = Checkpoint::new(step, json!({"episode": step / 25}));
    checkpoint.push("weights", &[3], vec![step as f32, 1.0, 2.0]);
    checkpoint
}

/// Takes a run up at its newest checkpoint.
fn resume(path: &Path) -> cgcmarl::error::Result<(RunWriter, Checkpoint<'static>)> {
    let mut writer = RunWriter::open(path)?;
    let checkpoint = writer.run().load_latest()?;
    writer.go_back(&checkpoint)?;
    Ok((writer.with_clock(|| 1.0), checkpoint))
}

/// "Trains" from one step to another, saving every second step.
fn play(writer: &mut RunWriter, from: u64, to: u64) {
    for step in from + 1..=to {
        let line = json!({"step": step, "coverage": 0.1 * step as f64, "loss": {"primary": 1.0}});
        writer.append_metrics(&line).unwrap();
        if step % 2 == 0 {
            writer.save_checkpoint(&mut checkpoint(step)).unwrap();
        }
    }
}

/// Name and content of every file, checkpoints included.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(
                content(&path).into_iter().map(|(p, c)| (p.file_name().unwrap().into(), c)),
            );
        } else if !path.ends_with("manifest.json") {
            found.push((path.file_name().unwrap().into(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn killed_and_resumed_equals_uninterrupted() {
    let root = tempfile::tempdir().unwrap();
    let (whole, killed) = (root.path().join("whole"), root.path().join("killed"));
    play(&mut create(&whole), 0, 9);
    // Killed after step 5, in the middle of a line and of a checkpoint.
    play(&mut create(&killed), 0, 5);
    let mut torn = fs::read(killed.join("metrics.jsonl")).unwrap();
    torn.extend(b"{\"step\": 6, \"cov");
    fs::write(killed.join("metrics.jsonl"), torn).unwrap();
    fs::write(killed.join("checkpoints/.unfinished-step_000000000006.safetensors"), "half")
        .unwrap();

    let (mut writer, checkpoint) = resume(&killed).unwrap();
    assert_eq!((checkpoint.step, checkpoint.get::<f32>("weights").unwrap()[0]), (4, 4.0));
    play(&mut writer, 4, 9);
    assert_eq!(content(&whole), content(&killed));
}

#[test]
fn the_newest_two_checkpoints_stay() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 8);
    let mut names: Vec<_> = fs::read_dir(root.path().join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["latest", "step_000000000006.safetensors", "step_000000000008.safetensors"]);
    assert_eq!(RunDir::open(root.path()).unwrap().load_latest().unwrap().step, 8);
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_serves() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 4);
    let newest = root.path().join("checkpoints/step_000000000004.safetensors");
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let run = RunDir::open(root.path()).unwrap();
    let error = run.load_latest().unwrap_err().to_string();
    assert!(
        error.contains("step_000000000004.safetensors: not a whole safetensors file"),
        "{error}"
    );
    assert!(
        error.ends_with("remove this file to go on from step_000000000002.safetensors"),
        "{error}"
    );
    fs::remove_file(newest).unwrap();
    assert_eq!(resume(root.path()).unwrap().1.step, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_keeps_the_last_good_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = create(root.path());
    play(&mut writer, 0, 2);
    let next = root.path().join("checkpoints/step_000000000004.safetensors");
    std::os::unix::fs::symlink("/dev/full", next).unwrap();
    let error = writer.save_checkpoint(&mut checkpoint(4)).unwrap_err().to_string();
    let advice = format!("`cgcmarl resume {}`", root.path().display());
    assert!(error.contains("step_000000000004.safetensors: the disk is full"), "{error}");
    assert!(
        error.contains("everything saved before is kept") && error.contains(&advice),
        "{error}"
    );
    drop(writer);
    assert_eq!(resume(root.path()).unwrap().1.step, 2);
}

#[test]
fn a_directory_in_use_or_occupied_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("runs/seed_1");
    let shown = path.display();
    let mut writer = create(&path);
    writer.save_checkpoint(&mut checkpoint(0)).unwrap();
    let message = |error: cgcmarl::error::Error| error.to_string();
    assert_eq!(
        message(RunWriter::create(&path, "", &manifest()).unwrap_err()),
        format!(
            "{shown} already holds a run: continue it with `cgcmarl resume {shown}`, or choose another place with `--out DIR`"
        )
    );
    assert!(message(resume(&path).unwrap_err()).contains("written by another cgcmarl"));
    drop(writer);
    fs::remove_file(path.join("checkpoints/latest")).unwrap();
    fs::remove_file(path.join("checkpoints/step_000000000000.safetensors")).unwrap();
    assert_eq!(
        message(resume(&path).unwrap_err()),
        format!(
            "{shown} was stopped before its first checkpoint: begin it again with `cgcmarl train --out {shown}` and its settings"
        )
    );
    fs::write(path.join("metrics.jsonl"), "{}\n").unwrap();
    assert_eq!(
        message(resume(&path).unwrap_err()),
        format!("{shown} holds no checkpoint to go on from")
    );
    assert_eq!(
        message(RunWriter::create(&path, "", &manifest()).unwrap_err()),
        format!("{shown} already holds a run: choose another place with `--out DIR`")
    );
    let occupied = root.path().display().to_string();
    assert_eq!(
        message(RunWriter::create(root.path(), "", &manifest()).unwrap_err()),
        format!("{occupied} exists and is not empty: choose another place with `--out DIR`")
    );
    assert_eq!(
        message(RunDir::open(root.path()).unwrap_err()),
        format!("{occupied} is not a run directory: it holds no config.toml")
    );
    assert!(message(RunDir::open("nowhere").unwrap_err()).ends_with("it does not exist"));
}

#[test]
fn lost_log_lines_are_noticed() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 2);
    fs::write(root.path().join("metrics.jsonl"), "").unwrap();
    let error = resume(root.path()).unwrap_err().to_string();
    assert!(error.contains("metrics.jsonl: 0 bytes long, but the checkpoint"), "{error}");
}

#[test]
fn edited_log_lines_are_noticed_and_nothing_is_cut() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 5);
    let file = root.path().join("metrics.jsonl");
    let original = fs::read_to_string(&file).unwrap();
    fs::write(&file, original.replacen("0.1", "0.9", 1)).unwrap();
    let error = resume(root.path()).unwrap_err().to_string();
    assert!(error.contains("metrics.jsonl: was changed since the checkpoint was taken"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap().len(), original.len());
    // What comes after the checkpoint is cut off anyway.
    fs::write(&file, format!("{original}more")).unwrap();
    assert_eq!(resume(root.path()).unwrap().1.step, 4);
}

#[test]
fn a_checkpoint_without_checksums_of_logs_still_serves() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 4);
    let newest = root.path().join("checkpoints/step_000000000004.safetensors");
    let mut old = Checkpoint::read(&newest).unwrap();
    assert_eq!(old.log_crc32.len(), 1);
    old.log_crc32.clear();
    old.write(&newest).unwrap();
    assert!(!String::from_utf8_lossy(&fs::read(&newest).unwrap()).contains("log_crc32"));
    let (mut writer, _) = resume(root.path()).unwrap();
    play(&mut writer, 4, 6);
    drop(writer);
    let newest = resume(root.path()).unwrap().1;
    let kept = fs::read(root.path().join("metrics.jsonl")).unwrap();
    assert_eq!(newest.log_crc32["metrics.jsonl"], crc32fast::hash(&kept));
}

/// What a kill leaves at every moment of a beginning, one more file each time.
const BEGINNING: [(&str, &str); 6] = [
    ("checkpoints/", ""),
    ("metrics.jsonl", ""),
    ("events.out.tfevents.cgcmarl", ""),
    (".unfinished-1-0", "{\"program\""),
    ("manifest.json", "{}"),
    ("config.toml", "seed = 7\n"),
];

fn leave(folder: &Path, entries: &[(&str, &str)]) {
    for (name, content) in entries {
        let path = folder.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::write(path, content).unwrap();
        }
    }
}

#[test]
fn a_beginning_that_was_cut_short_is_begun_again() {
    for n in 1..=BEGINNING.len() {
        let root = tempfile::tempdir().unwrap();
        leave(root.path(), &BEGINNING[..n]);
        if n == BEGINNING.len() {
            leave(root.path(), &[("checkpoints/.unfinished-1-3", "half")]);
        }
        let error = resume(root.path()).unwrap_err().to_string();
        assert!(error.contains("was stopped before its first checkpoint"), "{n}: {error}");
        play(&mut create(root.path()), 0, 2);
        let (writer, newest) = resume(root.path()).unwrap();
        assert_eq!((newest.step, writer.run().config().unwrap().as_str()), (2, "seed = 1\n"));
        let unfinished = content(root.path())
            .into_iter()
            .filter(|(path, _)| path.to_string_lossy().starts_with(".unfinished"));
        assert_eq!(unfinished.count(), 0);
    }
}

#[test]
fn what_is_not_the_rest_of_a_beginning_is_left_alone() {
    let strange: [&[(&str, &str)]; 5] = [
        &[("config.toml", "mine")],
        &[("checkpoints/", ""), ("config.toml", "mine")],
        &[("checkpoints/", ""), ("notes.txt", "mine")],
        &[("checkpoints/", ""), ("checkpoints/mine", "")],
        &[("checkpoints/", ""), ("metrics.jsonl", "{}\n")],
    ];
    for entries in strange {
        let root = tempfile::tempdir().unwrap();
        leave(root.path(), entries);
        let before = content(root.path());
        assert!(RunWriter::create(root.path(), "", &manifest()).is_err(), "{entries:?}");
        assert_eq!(content(root.path()), before);
    }
}

#[test]
fn a_place_that_is_no_directory_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "mine").unwrap();
    let error = RunWriter::create(&file, "", &manifest()).unwrap_err().to_string();
    assert!(error.ends_with("file is not a directory: choose another place with `--out DIR`"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_run_describes_itself() {
    let root = tempfile::tempdir().unwrap();
    play(&mut create(root.path()), 0, 3);
    let run = RunDir::open(root.path()).unwrap();
    assert_eq!(run.config().unwrap(), "seed = 1\n");
    assert_eq!(run.manifest().unwrap().environment["horizon"], 25);
    assert_eq!(run.metrics().unwrap().len(), 3);
    run.write_curves().unwrap();
    assert!(run.read("curves.csv").unwrap().starts_with("step,coverage,loss/primary\n1,0.1,1\n"));
    run.save_model(&checkpoint(3)).unwrap();
    assert_eq!(run.load_model().unwrap().step, 3);
    let place = RunDir::place(Path::new("runs"), "simple_spread", "cg_cmarl", 7);
    assert_eq!(place, Path::new("runs/simple_spread/cg_cmarl/seed_7"));
}
