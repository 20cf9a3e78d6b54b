#![expect(clippy::unwrap_used, reason = "a failed call is a failed test")]

//! A task of one's own has every command: it is trained, swept, chosen from, reported and viewed.

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

const TRAIN: [&str; 8] = [
    "train",
    "total_steps=4000",
    "learning_starts=200",
    "multipliers=[0.0, 1.0]",
    "episodes=50",
    "--out",
    "run",
    "--quiet",
];

fn program(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own_task"));
    command.args(words).current_dir(folder);
    command
}

fn succeed(folder: &Path, words: &[&str]) -> String {
    let output = program(folder, words).output().unwrap();
    let remarks = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {remarks}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn every_command_takes_the_task() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let tasks = json(&succeed(place, &["tasks", "--format", "json"]));
    let names: Vec<_> = tasks.as_array().unwrap().iter().map(|task| &task["name"]).collect();
    assert!(names.contains(&&Value::from("bridge")), "{names:?}");

    let words = [&TRAIN[..1], &["task=bridge"], &TRAIN[1..]].concat();
    let table = succeed(place, &words);
    assert!(table.contains("arrived") && table.contains("one_by_one"), "{table}");
    let lines = fs::read_to_string(place.join("run/metrics.jsonl")).unwrap();
    let last = json(lines.lines().last().unwrap());
    for name in ["loss_primary", "loss_load", "loss_effort", "cost_effort"] {
        assert!(last[name].as_f64().unwrap() > 0.0, "nothing of `{name}` is learned: {last}");
    }
    let grid = ["--multipliers", "load=0,1", "--multipliers", "effort=0,0.5", "--format", "json"];
    let front = json(&succeed(place, &[&["sweep", "run"][..], &grid].concat()));
    assert_eq!(front["points"].as_array().unwrap().len(), 4, "{front}");
    assert_eq!(front["axes"], serde_json::json!(["arrived", "cost_load", "cost_effort"]));
    let point = &front["points"][3];
    assert_eq!(point["multipliers"], serde_json::json!({"load": 1.0, "effort": 0.5}));

    let limits = ["choose", "run", "--limit", "load=1.9", "--limit", "effort=0.99"];
    succeed(place, &limits);
    assert!(place.join("run/choice.json").exists());
    let score = json(&succeed(place, &["evaluate", "run", "--format", "json"]));
    assert!(score["metrics"]["arrived"]["mean"].is_f64(), "{score}");

    succeed(place, &["report", "run", "--out", "page.html"]);
    let page = fs::read_to_string(place.join("page.html")).unwrap();
    assert!(page.contains("arrived") && !page.contains("landmark"), "{} bytes", page.len());
    succeed(place, &["render", "run", "--out", "team.gif"]);
    assert!(fs::read(place.join("team.gif")).unwrap().starts_with(b"GIF8"));
}

#[test]
fn the_live_page_shows_the_task() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    succeed(place, &[&TRAIN[..1], &["task=bridge"], &TRAIN[1..]].concat());
    let mut child =
        program(place, &["view", "run", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let (page, run) = (get("/"), get("/api/run"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(run.contains("\"bridge\"") && run.contains("one_by_one"), "{run}");
}

#[test]
fn the_task_fits_a_hundred_lines() {
    let example = include_str!("../src/main.rs");
    let task = example.lines().skip_while(|line| !line.starts_with("#[derive(Serialize"));
    let task = task.take_while(|line| !line.starts_with("fn main"));
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let n_lines = task.filter(is_code).count();
    assert!((50..=100).contains(&n_lines), "{n_lines} lines of code");
}

#[test]
fn a_team_that_cannot_be_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for agents in ["1", "21", "1000000000000000000"] {
        let setting = format!("agents={agents}");
        let words = ["train", "task=bridge", &setting, "--out", "run"];
        let output = program(folder.path(), &words).output().unwrap();
        let remarks = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{remarks}");
        assert!(
            remarks.contains(&format!("`agents`: {agents} (must be from 2 to 20)")),
            "{remarks}"
        );
    }
}

#[test]
fn the_guide_quotes_the_example() {
    let guide = include_str!("../../../docs/own-task.md");
    let example = include_str!("../src/main.rs");
    let snippets: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert!(snippets.len() >= 4, "{} snippets", snippets.len());
    for snippet in snippets {
        let snippet = snippet.split("```").next().unwrap();
        assert!(example.contains(snippet), "not in the example:\n{snippet}");
    }
}
