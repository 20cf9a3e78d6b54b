#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

//! Both pages in a real browser: what a person does there has the effect it should.
//!
//! `.ci/browser` looks for Chromium. Without a browser these tests say so and pass; with `CI=true` they fail.

mod controls;
mod driver;
#[cfg(unix)]
mod installation;
mod server;

use driver::Browser;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cgcmarl");

/// A trained run: the one that ships, or a small one trained here once.
fn trained() -> &'static Path {
    static RUN: OnceLock<(PathBuf, Option<tempfile::TempDir>)> = OnceLock::new();
    let found = RUN.get_or_init(|| {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/simple_spread_3");
        if shipped.join("config.toml").exists() {
            return (shipped, None);
        }
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let settings = ["total_steps=16000", "episodes=100", "multipliers=[0.0, 1.0, 10.0]"];
        let out = ["--quiet", "--out", run.to_str().unwrap()];
        let train = Command::new(PROGRAM).arg("train").args(settings).args(out).output().unwrap();
        assert!(train.status.success(), "{train:?}");
        (run, Some(folder))
    });
    &found.0
}

/// The browser; where none is installed, a word on how to get one.
fn browser() -> Option<Browser> {
    if let Some(started) = Browser::start() {
        return Some(started.unwrap());
    }
    let text = "no chromium and chromedriver on the PATH; `.ci/browser` tells how to get them";
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{text}");
    let _ = writeln!(std::io::stderr(), "skipped: {text}");
    None
}

/// `cgcmarl view`, ended when dropped.
struct View {
    process: Child,
    address: String,
}

impl View {
    fn start(run: &Path, more: &[&str]) -> Self {
        let mut process = Command::new(PROGRAM)
            .arg("view")
            .arg(run)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        Self { process, address: address.to_owned() }
    }

    /// Sends a request by hand.
    fn send(&self, request: &str) -> TcpStream {
        let host = self.address.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(host).unwrap();
        let request = request.replace("HOST", host);
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The status of a request sent by hand, and its answer.
    fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = self.send(request);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split_whitespace().nth(1).unwrap().parse().unwrap();
        (status, answer)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sets a field and tells the page.
fn set(browser: &Browser, name: &str, value: &str, event: &str) {
    browser.run(&format!(
        "const field = document.getElementById('{name}'); field.value = '{value}';
         field.dispatchEvent(new Event('{event}', {{ bubbles: true }}));"
    ));
}

/// What the page measures of the limited metric over its fixed start states.
fn measured_cost(browser: &Browser, slider: &str) -> f64 {
    set(browser, "multiplier-collision", slider, "input");
    let field = "document.getElementById('measured-collisions_per_step').textContent";
    let done = "document.getElementById('measured').dataset.done === 'true'";
    let text = browser.wait(60, &format!("{done} && {field}"));
    text.as_str().unwrap().parse().unwrap()
}

/// Trains a small run with these settings.
fn small_run(folder: &Path, settings: &[&str]) -> PathBuf {
    let run = folder.join("run");
    let size = ["total_steps=400", "episodes=2", "multipliers=[0.0, 1.0]"];
    let out = ["--quiet", "--out", run.to_str().unwrap()];
    let train =
        Command::new(PROGRAM).arg("train").args(settings).args(size).args(out).output().unwrap();
    assert!(train.status.success(), "{train:?}");
    run
}

/// Where the agents (`true`) or the other things that can be moved are, on one of the screens.
fn places(browser: &Browser, screen: usize, agents: bool) -> Vec<[f64; 2]> {
    let value = browser.run(&format!(
        "return window.cgcmarl.playback.screens[{screen}].now.drawing.shapes
           .filter((shape) => (shape.agent !== undefined) === {agents}).map((shape) => shape.at);"
    ));
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_slider_changes_the_measured_behaviour() {
    let Some(browser) = browser() else { return };
    let view = View::start(trained(), &[]);
    browser.open(&view.address);
    browser.wait(20, "window.cgcmarl && window.cgcmarl.playback && true");
    let careless = measured_cost(&browser, "0");
    assert_eq!(
        browser.run("return document.getElementById('multiplier-collision-value').textContent;"),
        "λ = 0"
    );
    let dot =
        || browser.run("return document.querySelector('[data-name=dot]').getAttribute('cx');");
    let at_zero = dot();
    let careful = measured_cost(&browser, "100");
    assert_ne!(at_zero, dot(), "the dot on the front moves");
    assert!(careful < careless, "λ=0: {careless}, λ=10: {careful} collisions per step");
    let step = "window.cgcmarl.playback.step";
    browser.wait(10, &format!("{step} > 3"));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn dragging_and_keys_move_things() {
    let Some(browser) = browser() else { return };
    let view = View::start(trained(), &["--compare", "oracle"]);
    browser.open(&view.address);
    browser.wait(20, "window.cgcmarl && window.cgcmarl.playback && true");
    browser.run("window.cgcmarl.playback.pause(); document.getElementById('restart').click();");
    let spot: [f64; 2] = serde_json::from_value(browser.run(
        "const box = document.getElementById('screen-run').getBoundingClientRect();
         const { bounds: [left, bottom, right, top], shapes } = window.cgcmarl.playback.screens[0].now.drawing;
         const [x, y] = shapes.find((shape) => shape.agent === 0).at;
         return [box.left + box.width * (x - left) / (right - left), box.top + box.height * (top - y) / (top - bottom)];",
    ))
    .unwrap();
    let before = places(&browser, 1, true)[0];
    let aside = if before[0] > 0.0 { -60.0 } else { 60.0 };
    browser.drag(spot, [spot[0] + aside, spot[1]]);
    let after = places(&browser, 1, true)[0];
    assert!((after[0] - before[0]).abs() > 0.1, "{before:?} to {after:?}, on the other screen too");
    let snapshot = "window.cgcmarl.playback.screens[1].now.snapshot[0]";
    assert_eq!(browser.run(&format!("return {snapshot};")), after[0], "the snapshot follows");
    // The same without a mouse: focus, choose the first thing after the agents, move it.
    let n_agents = places(&browser, 0, true).len();
    browser.run("document.getElementById('screen-run').focus();");
    let target = places(&browser, 1, false)[0];
    browser.press(&vec!["."; n_agents + 1]);
    browser.press(&["\u{E013}"]);
    let moved = places(&browser, 1, false)[0];
    assert!((moved[1] - target[1] - 0.05).abs() < 1e-9, "{target:?} to {moved:?}");
    browser.run("document.getElementById('screen-run').blur();");
    browser.press(&["s"]);
    browser.wait(10, "window.cgcmarl.playback.step === 1");
    browser.wait(10, "document.getElementById('status').textContent.startsWith('Step 1 of')");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn ten_agents_move_smoothly_and_conditions_that_cannot_be_are_refused_in_words() {
    let Some(browser) = browser() else { return };
    let view = View::start(trained(), &[]);
    browser.open(&view.address);
    browser.wait(20, "window.cgcmarl && window.cgcmarl.playback && true");
    set(&browser, "agents", "10", "change");
    let team = "window.cgcmarl.playback.screens[0].now.drawing.shapes.filter((s) => s.agent !== undefined)";
    browser.wait(20, &format!("{team}.length === 10"));
    browser.wait(30, "window.cgcmarl.playback.step > 5");
    let frames = browser.run("return window.cgcmarl.playback.framesPerSecond();");
    let decision = browser.run("return window.cgcmarl.playback.decisionTime();");
    let _ = writeln!(std::io::stderr(), "N=10: {frames} frames/s, decision {decision} ms");
    // Generous: the machine may be busy with other tests. The aim of 60 is measured by hand.
    assert!(frames.as_f64().unwrap() > 15.0, "{frames}");
    set(&browser, "agents", "1", "change");
    let error = browser.wait(10, "document.getElementById('error').textContent || false");
    assert!(error.as_str().unwrap().contains("`agents`"), "{error}");
    let told = browser.run(
        "try { await window.cgcmarl.request('api/step', { nonsense: 1 }); return ''; }
         catch (error) { return error.message; }",
    );
    assert!(told.as_str().unwrap().contains("unknown field `nonsense`"), "{told}");
}

#[test]
fn a_run_that_changes_is_followed_beside_another_run() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.toml", "manifest.json", "model.safetensors", "front.json"] {
        std::fs::copy(trained().join(file), folder.path().join(file)).unwrap();
    }
    let view = View::start(folder.path(), &["--compare", trained().to_str().unwrap()]);
    let ask = || view.ask("GET /api/run HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").1;
    let before = ask();
    assert!(
        before.contains("\"curves\":[]") && before.contains("\"beside\":\"compare\""),
        "{before}"
    );
    let browser = browser();
    if let Some(browser) = &browser {
        browser.open(&view.address);
        browser.wait(20, "window.cgcmarl && window.cgcmarl.playback && true");
        browser.wait(20, "window.cgcmarl.playback.screens.length === 2");
        browser.wait(20, "document.getElementById('curves-card').hidden");
    }
    let lines = "{\"step\":1000,\"coverage\":0.1}\n{\"step\":2000,\"coverage\":0.2}\n";
    std::fs::write(folder.path().join("metrics.jsonl"), lines).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !ask().contains("[2000.0,20.0]") {
        assert!(std::time::Instant::now() < deadline, "{}", ask());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    if let Some(browser) = &browser {
        browser.wait(20, "document.querySelectorAll('#curves svg').length === 1");
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

#[test]
fn the_report_opens_from_disk_without_a_complaint_or_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    for file in ["config.toml", "manifest.json", "model.safetensors", "front.json", "metrics.jsonl"]
    {
        std::fs::copy(trained().join(file), run.join(file)).unwrap();
    }
    let loss = r#"{"missed":0.1,"mean":0.01,"largest":0.2}"#;
    let budget = format!(
        r#"{{"n_agents":3,"episodes":4,"decisions":5,"gamma":0.85,"points":[{{"multiplier":0.5,
        "max_sum":{loss},"acting":{loss},"proven":1.0,"deficit":[0.1,0.2],"predicted_cost":0.3,
        "realised_cost":0.4,"standard_error":0.01,"td_errors":[0.1,0.2],"step_scale":[1.0,1.0]}}],
        "is_conservative":"holds"}}"#
    );
    std::fs::write(run.join("error_budget.json"), budget).unwrap();
    let report =
        Command::new(PROGRAM).arg("report").arg(&run).arg("--out").arg(&page).output().unwrap();
    assert!(report.status.success(), "{report:?}");
    assert!(std::fs::metadata(&page).unwrap().len() < 3_000_000);
    let Some(browser) = browser() else { return };
    browser.open("about:blank");
    let address = format!("file://{}", page.display());
    browser.open(&address);
    browser.wait(10, "document.querySelectorAll('#front .spot').length > 2");
    let title = || browser.run("return document.getElementById('picked-title').textContent;");
    browser.run("document.querySelector('#front .spot[aria-label^=oracle]').dispatchEvent(new Event('click'));");
    assert_eq!(title(), "An episode at oracle");
    assert_eq!(browser.run("return document.querySelectorAll('#side canvas').length;"), 3);
    assert_eq!(browser.run("return document.querySelectorAll('#budget tbody td').length;"), 10);
    assert_eq!(browser.run("return document.querySelectorAll('#curves svg').length;"), 4);
    let inked = "const canvas = document.querySelector('#side canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.some((value) => value > 0);";
    assert_eq!(browser.run(inked), Value::Bool(true));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let outside: Vec<_> = browser
        .requests()
        .into_iter()
        // The browser's own first page is its own affair.
        .filter(|url| *url != address && !url.starts_with("data:") && !url.starts_with("chrome"))
        .collect();
    assert_eq!(outside, Vec::<String>::new());
}

#[test]
fn a_folder_that_is_no_run_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ["report", "view", "render"] {
        let output = Command::new(PROGRAM).arg(verb).arg(folder.path()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("is not a run directory"), "{verb}: {error}");
    }
}
