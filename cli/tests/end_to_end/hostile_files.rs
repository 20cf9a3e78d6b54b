//! Files that lie and places that are no files: refused by name or left as they are, never a panic.

use crate::program::{Place, content, tiny};
use cgcmarl::checkpoint::{Checkpoint, Values};
use flate2::read::GzDecoder;
use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

/// The settings of the training that the crafted checkpoints pretend to come from.
const CRAFTED: [&str; 12] = [
    "seed=5",
    "hidden=[8,8]",
    "buffer_size=500",
    "learning_starts=200",
    "steps_per_update=20",
    "total_steps=2000",
    "log_interval=100",
    "checkpoint_interval=1000",
    "episodes=2",
    "multipliers=[1.0]",
    "--threads",
    "1",
];

fn hostile(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/hostile");
    let mut bytes = vec![];
    GzDecoder::new(File::open(folder.join(name)).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn crafted_checkpoints_are_refused_by_what_is_wrong_with_them() {
    let place = Place::new();
    place.succeed(&[&["train", "--out", "run", "--quiet"], &CRAFTED[..]].concat());
    fs::remove_file(place.path("run/checkpoints/step_000000002000.safetensors")).unwrap();
    let newest = place.path("run/checkpoints/step_000000001000.safetensors");
    let (honest, metrics) = (fs::read(&newest).unwrap(), place.read("run/metrics.jsonl"));
    for (name, told) in [
        ("checkpoint_0.gz", "the checkpoint remembers action 128, but there are only 25"),
        ("checkpoint_1.gz", "counts 9223372036854775807 in `learner_steps`, which cannot be"),
        ("checkpoint_2.gz", "tensor `replay.states` holds -inf"),
    ] {
        fs::write(&newest, hostile(name)).unwrap();
        let remarks = place.fail(&["resume", "run", "--quiet"]);
        assert!(remarks.contains("step_000000001000.safetensors: "), "{name}: {remarks}");
        assert!(remarks.contains(told), "{name}: {remarks}");
        assert!(metrics == place.read("run/metrics.jsonl"), "{name}: the metrics were cut");
    }
    fs::write(&newest, honest).unwrap();
    place.succeed(&["resume", "run", "--quiet"]);
    assert!(metrics == place.read("run/metrics.jsonl"));
}

/// The same checkpoint with one entry of its state changed, and checksums that fit again.
fn with_entry(bytes: &Path, key: &str, value: u64) {
    let mut checkpoint = Checkpoint::read(bytes).unwrap();
    assert_ne!(checkpoint.entry::<u64>(key).unwrap(), value);
    checkpoint.set(key, value);
    checkpoint.write(bytes).unwrap();
}

#[test]
fn counters_that_no_training_leaves_are_refused() {
    let place = Place::new();
    place.succeed(&[&["train", "--out", "run", "--quiet"], &CRAFTED[..]].concat());
    let newest = place.path("run/checkpoints/step_000000002000.safetensors");
    let honest = fs::read(&newest).unwrap();
    for (key, value) in [
        ("steps", 1000),
        ("episodes", u64::MAX),
        ("episodes", 1 << 50),
        ("updates", 0),
        ("updates", 91),
        ("learner_steps", 1999),
        ("adam_steps", u64::MAX),
        ("replay_next", 165),
        ("replay_next", u64::MAX),
    ] {
        fs::write(&newest, &honest).unwrap();
        with_entry(&newest, key, value);
        let remarks = place.fail(&["resume", "run", "--quiet"]);
        assert!(remarks.contains("step_000000002000.safetensors: the checkpoint"), "{remarks}");
    }
}

#[test]
fn a_model_with_a_number_that_is_none_does_not_play() {
    let place = Place::new();
    place.train("run", &["total_steps=200"]);
    let path = place.path("run/model.safetensors");
    let honest = Checkpoint::read(&path).unwrap();
    for number in [f32::NAN, f32::INFINITY] {
        let mut broken = Checkpoint::new(honest.step, honest.state.clone());
        for tensor in honest.tensors() {
            let Values::F32(values) = &tensor.values else { panic!("{}", tensor.name) };
            let mut values = values.to_vec();
            if tensor.name == "averaged.trunk.1.weight" {
                values[3] = number;
            }
            broken.push(&*tensor.name, &tensor.shape, values);
        }
        broken.write(&path).unwrap();
        let told = format!("model.safetensors: tensor `averaged.trunk.1.weight` holds {number}");
        for words in [
            &["evaluate", "run", "--episodes", "2"][..],
            &["sweep", "run", "--episodes", "2"],
            &["render", "run"],
            &["report", "run"],
        ] {
            let remarks = place.fail(words);
            assert!(remarks.contains(&told), "{words:?}: {remarks}");
        }
        let remarks = place.fail(&tiny("other", &["start_from=run"]));
        assert!(remarks.contains(&told) && !place.path("other").exists(), "{remarks}");
    }
}

#[test]
fn lines_of_metrics_that_were_edited_are_noticed() {
    let place = Place::new();
    place.train("whole", &[]);
    place.train("run", &[]);
    let path = place.path("run/metrics.jsonl");
    let original = fs::read_to_string(&path).unwrap();
    let edited = original.replacen("\"agents\":3", "\"agents\":4", 1);
    assert_ne!(edited, original);
    fs::write(&path, &edited).unwrap();
    let remarks = place.fail(&["resume", "run"]);
    assert!(remarks.contains("metrics.jsonl: was changed since the checkpoint"), "{remarks}");
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
    fs::write(&path, original).unwrap();
    place.succeed(&["resume", "run", "--quiet"]);
    place.assert_equal_runs("whole", "run");
}

#[test]
fn results_that_nobody_can_have_measured_are_refused_by_name() {
    let place = Place::new();
    fs::create_dir(place.path("huge")).unwrap();
    let text = String::from_utf8(hostile("results.json.gz")).unwrap();
    for (from, to, told) in [
        ("1e308", "1e308", "is 1e308"),
        ("1e308", "-1e308", "is -1e308"),
        ("\"n_agents\": 3", "\"n_agents\": 0", ""),
        ("\"n_agents\": 3", "\"n_agents\": 18446744073709551615", ""),
    ] {
        assert!(text.contains(from));
        fs::write(place.path("huge/results.json"), text.replace(from, to)).unwrap();
        for words in [&["report", "huge"][..], &["paper-check", "--reproduction", "huge"]] {
            let remarks = place.fail(words);
            assert!(remarks.contains("huge/results.json: "), "{to}: {remarks}");
            assert!(remarks.contains(told), "{to}: {remarks}");
        }
    }
    fs::write(place.path("huge/results.json"), text.replace("1e308", "1e-320")).unwrap();
    place.succeed(&["report", "huge", "--out", "page.html"]);
    assert!(place.read("page.html").ends_with(b"</html>\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_ordinary_file_stays_what_it_is() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = Place::new();
    place.train("run", &["total_steps=200"]);
    // Devices are reached through links of our own: a mistake here must not cost the machine one.
    symlink("/dev/null", place.path("null")).unwrap();
    symlink("/dev/full", place.path("full")).unwrap();
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink("elsewhere/page.html", place.path("link")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(made.unwrap().success());
    place.succeed(&["report", "run", "--out", "null"]);
    place.succeed(&["report", "run", "--out", "link"]);
    let remarks = place.fail(&["report", "run", "--out", "full"]);
    assert!(remarks.contains("full: the disk is full") && !remarks.contains("resume"), "{remarks}");
    for name in ["null", "full", "link"] {
        assert!(place.path(name).is_symlink(), "{name} was replaced");
    }
    let page = place.read("elsewhere/page.html");
    assert!(page.ends_with(b"</html>\n"));
    // Open for both, so that neither side waits for the other for ever.
    let mut pipe = fs::OpenOptions::new();
    let mut pipe = pipe.read(true).write(true).open(place.path("pipe")).unwrap();
    let length = page.len();
    let reader = std::thread::spawn(move || {
        let mut read = vec![0; length];
        pipe.read_exact(&mut read).map(|()| read)
    });
    place.succeed(&["report", "run", "--out", "pipe"]);
    let kind = fs::symlink_metadata(place.path("pipe")).unwrap().file_type();
    assert!(kind.is_fifo(), "the pipe was replaced");
    assert!(reader.join().unwrap().unwrap() == page);
}

#[cfg(unix)]
#[test]
fn planted_links_are_not_followed() {
    let place = Place::new();
    place.train("run", &["total_steps=200"]);
    fs::write(place.path("precious"), "precious").unwrap();
    for name in ["front.json", "front.csv", "front.svg", "front.png"] {
        let planted = place.path("run").join(format!(".unfinished-{name}"));
        std::os::unix::fs::symlink(place.path("precious"), planted).unwrap();
    }
    place.succeed(&["sweep", "run", "--episodes", "20"]);
    assert_eq!(place.read("precious"), b"precious");
    assert!(!place.path("run/front.json").is_symlink());
}

#[test]
fn places_that_cannot_be_written_are_refused_before_any_work() {
    let place = Place::new();
    place.train("run", &["total_steps=200"]);
    fs::write(place.path("file"), "mine").unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    let before = content(&place.path(""));
    for (words, told) in [
        (tiny("file", &[]), "file is not a directory: choose another place with `--out DIR`"),
        (vec!["sweep", "run", "--out", "file"], "file is not a directory"),
        (vec!["summary", "run", "--out", "file"], "file is not a directory"),
        (vec!["theory", "--out", "file"], "file is not a directory"),
        (vec!["reproduce", "--out", "file"], "file is not a directory"),
        (vec!["report", "run", "--out", "folder"], "folder is a directory"),
        (vec!["report", "run", "--out", "no/page.html"], "no/page.html: there is no directory no"),
        (vec!["render", "run", "--out", "no/film.gif"], "no/film.gif: there is no directory no"),
        (vec!["evaluate", "run", "--export-uai", "folder"], "folder is a directory"),
    ] {
        let remarks = place.fail(&words);
        assert!(remarks.contains(told), "{words:?}: {remarks}");
        assert_eq!(remarks.lines().count(), 1, "{words:?} did some work first: {remarks}");
    }
    assert!(before == content(&place.path("")), "something was touched");
}
