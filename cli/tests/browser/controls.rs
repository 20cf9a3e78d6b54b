//! The controls of the live page: each changes what is played.

use super::{PROGRAM, View, browser, driver::Browser, set, trained};
use serde_json::Value;
use std::process::Command;

/// The live page, paused after two steps.
fn paused(view: &View) -> Option<Browser> {
    let browser = browser()?;
    browser.open(&view.address);
    browser.wait(20, "window.cgcmarl && window.cgcmarl.playback && true");
    browser.run("window.playback = window.cgcmarl.playback; playback.pause();");
    press(&browser, "restart");
    two_steps(&browser);
    Some(browser)
}

fn press(browser: &Browser, name: &str) {
    browser.run(&format!("document.getElementById('{name}').click();"));
}

/// Two steps from the start: agents begin at rest, so that the first one moves nobody.
fn two_steps(browser: &Browser) {
    for step in 1..=2 {
        press(browser, "step");
        browser.wait(10, &format!("playback.step === {step}"));
    }
}

/// Does something that makes the page ask for a start state, and waits for that.
fn begin(browser: &Browser, act: impl FnOnce()) {
    browser.run("playback.start.old = true;");
    act();
    browser.wait(10, "!playback.start.old && playback.step === 0");
}

fn points(browser: &Browser, kind: &str) -> Vec<[f64; 2]> {
    let value = browser.run(&format!("return playback.screens[0].now.{kind};"));
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_layout_begins_anew_with_its_landmarks() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    let layout = |name: &str| {
        begin(&browser, || set(&browser, "layout", name, "change"));
        points(&browser, "landmarks")
    };
    assert_eq!(layout("line"), [[-0.8, 0.0], [0.0, 0.0], [0.8, 0.0]]);
    let circle = layout("spread_uniform");
    assert!(circle.iter().all(|[x, y]| (x.hypot(*y) - 0.7).abs() < 1e-9), "{circle:?}");
    let clusters = layout("clustered_pair");
    assert!(clusters.iter().all(|[x, y]| x * y > 0.0), "{clusters:?}");
    let random = layout("random");
    assert!(random.iter().all(|[_, y]| y.abs() > 1e-9), "{random:?}");
}

#[test]
fn a_team_and_its_start_are_chosen() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    begin(&browser, || set(&browser, "agents", "5", "change"));
    let first = points(&browser, "positions");
    assert_eq!((first.len(), points(&browser, "landmarks").len()), (5, 5));
    two_steps(&browser);
    assert_ne!(points(&browser, "positions"), first);
    press(&browser, "restart");
    assert_eq!(points(&browser, "positions"), first);
    begin(&browser, || press(&browser, "next"));
    assert_ne!(points(&browser, "positions"), first);
    press(&browser, "play");
    browser.wait(20, "playback.step > 2");
    press(&browser, "play");
    assert_eq!(browser.run("return playback.playing;"), Value::Bool(false));
}

#[test]
fn a_model_for_one_team_offers_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let settings = ["preset=paper", "total_steps=400", "episodes=2", "multipliers=[0.0]"];
    let out = ["--quiet", "--out", run.to_str().unwrap()];
    let train = Command::new(PROGRAM).arg("train").args(settings).args(out).output().unwrap();
    assert!(train.status.success(), "{train:?}");
    let view = View::start(&run, &[]);
    let Some(browser) = paused(&view) else { return };
    assert_eq!(
        browser.run("return document.getElementById('agents').disabled;"),
        Value::Bool(true)
    );
}

/// How far apart two agents are, two steps after they were put at almost the same place.
fn apart(browser: &Browser) -> f64 {
    browser.run(
        "const [x, y] = playback.screens[0].now.positions[1];
         playback.move({ kind: 'positions', index: 0 }, [x - 0.02 * Math.sign(x), y]);",
    );
    two_steps(browser);
    let positions = points(browser, "positions");
    (positions[0][0] - positions[1][0]).hypot(positions[0][1] - positions[1][1])
}

#[test]
fn contact_pushes_agents_apart() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    let mut distance = [0.0; 2];
    for _ in 0..2 {
        begin(&browser, || press(&browser, "contact"));
        let on = browser.run("return document.getElementById('contact').checked;");
        distance[usize::from(on == Value::Bool(true))] = apart(&browser);
    }
    assert!(distance[1] > distance[0] + 0.2, "off, on: {distance:?}");
}

/// Steps per second that the page plays, over five intervals.
fn pace(browser: &Browser, speed: &str) -> f64 {
    set(browser, "speed", speed, "input");
    let told = "return document.getElementById('speed').getAttribute('aria-valuetext');";
    assert_eq!(browser.run(told), format!("{speed} steps per second"));
    let measured = browser.run(
        "const until = (step) => new Promise((done) => {
           const look = () => (playback.step >= step ? done(performance.now()) : setTimeout(look, 1));
           look();
         });
         document.getElementById('restart').click();
         playback.play();
         const from = await until(1);
         const to = await until(6);
         playback.pause();
         return 5000 / (to - from);",
    );
    measured.as_f64().unwrap()
}

#[test]
fn speed_is_steps_per_second() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    let (slow, fast) = (pace(&browser, "2"), pace(&browser, "40"));
    assert!((1.0..2.2).contains(&slow), "{slow}");
    // Generous: the machine may be busy with other tests.
    assert!(fast > 3.0 * slow && fast < 50.0, "{slow} and {fast}");
}
