//! Starts the program in a temporary directory and reads what it leaves there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A training of ten rounds that fills its memory several times over; about a second.
pub(crate) const TINY: [&str; 7] = [
    "total_steps=2000",
    "learning_starts=100",
    "log_interval=200",
    "checkpoint_interval=400",
    "buffer_size=1800",
    "episodes=10",
    "multipliers=[0.0, 1.0]",
];

/// What a call of the program brought.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
    pub(crate) remarks: String,
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            text: String::from_utf8(output.stdout).unwrap(),
            remarks: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A directory of its own for one test.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cgcmarl"));
        command.args(words).current_dir(self.0.path());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn call(&self, words: &[&str]) -> Answer {
        self.command(words).output().unwrap().into()
    }

    /// Runs the program and expects success.
    pub(crate) fn succeed(&self, words: &[&str]) -> Answer {
        let answer = self.call(words);
        assert_eq!(answer.code, Some(0), "{words:?}: {answer:?}");
        answer
    }

    /// Runs the program and expects an error, with nothing on standard output.
    pub(crate) fn fail(&self, words: &[&str]) -> String {
        let answer = self.call(words);
        assert_eq!(answer.code, Some(2), "{words:?}: {answer:?}");
        assert_eq!(answer.text, "", "{words:?}");
        assert!(answer.remarks.contains("error: "), "{words:?}: {answer:?}");
        answer.remarks
    }

    /// Starts a tiny training or its continuation without waiting for it.
    pub(crate) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Trains a tiny run to its end.
    pub(crate) fn train(&self, name: &str, more: &[&str]) {
        self.succeed(&tiny(name, more));
    }

    /// Lines of a run's metrics so far.
    pub(crate) fn n_lines(&self, run: &str) -> usize {
        let text = fs::read_to_string(self.path(run).join("metrics.jsonl")).unwrap_or_default();
        text.matches('\n').count()
    }

    /// Waits until a run has so many lines of metrics.
    pub(crate) fn wait_for_lines(&self, run: &str, n_lines: usize) {
        let started = Instant::now();
        while self.n_lines(run) < n_lines {
            assert!(started.elapsed() < Duration::from_secs(600), "{run} does not move");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Asserts that two runs hold the same bytes in everything that a seed determines.
    pub(crate) fn assert_equal_runs(&self, one: &str, other: &str) {
        let files = ["metrics.jsonl", "model.safetensors", "curves.csv", "front.json", "front.csv"];
        for file in files.into_iter().chain(["README.md"]) {
            let (one, other) = (format!("{one}/{file}"), format!("{other}/{file}"));
            assert!(self.read(&one) == self.read(&other), "{one} and {other} differ");
        }
    }
}

/// The words that train a tiny run.
pub(crate) fn tiny<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["train", "--out", name, "--quiet"], &TINY[..], more].concat()
}

/// Every file below a folder with its content.
pub(crate) fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(content(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}
