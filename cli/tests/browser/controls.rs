//! The controls of the live page: each changes what is played.

use super::{View, browser, driver::Browser, places, set, small_run, trained};
use serde_json::Value;

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

#[test]
fn a_layout_begins_anew_with_its_landmarks() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    let layout = |name: &str| {
        begin(&browser, || set(&browser, "option-layout", name, "change"));
        places(&browser, 0, false)
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
    let agents = || places(&browser, 0, true);
    let first = agents();
    assert_eq!((first.len(), places(&browser, 0, false).len()), (5, 5));
    two_steps(&browser);
    assert_ne!(agents(), first);
    press(&browser, "restart");
    assert_eq!(agents(), first);
    begin(&browser, || press(&browser, "next"));
    assert_ne!(agents(), first);
    press(&browser, "play");
    browser.wait(20, "playback.step > 2");
    press(&browser, "play");
    assert_eq!(browser.run("return playback.playing;"), Value::Bool(false));
}

#[test]
fn a_model_for_one_team_offers_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let run = small_run(folder.path(), &["preset=paper"]);
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
        "const agents = playback.screens[0].now.drawing.shapes.filter((shape) => shape.agent !== undefined);
         const [x, y] = agents[1].at;
         playback.move(agents[0].handle, [x - 0.02 * Math.sign(x), y]);
         await playback.settle();",
    );
    two_steps(browser);
    let positions = places(browser, 0, true);
    (positions[0][0] - positions[1][0]).hypot(positions[0][1] - positions[1][1])
}

#[test]
fn contact_pushes_agents_apart() {
    let view = View::start(trained(), &[]);
    let Some(browser) = paused(&view) else { return };
    let mut distance = [0.0; 2];
    for _ in 0..2 {
        begin(&browser, || press(&browser, "option-contact"));
        let on = browser.run("return document.getElementById('option-contact').checked;");
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

#[test]
fn several_constraints_have_a_slider_each_and_a_choice_of_axis() {
    let folder = tempfile::tempdir().unwrap();
    let run = small_run(folder.path(), &["constraints=[\"collision\", \"energy\"]"]);
    let view = View::start(&run, &[]);
    let Some(browser) = paused(&view) else { return };
    let count = |what: &str| {
        browser
            .run(&format!("return document.querySelectorAll('{what}').length;"))
            .as_u64()
            .unwrap()
    };
    assert_eq!(count("#multipliers input[type=range]"), 2);
    let axis =
        || browser.run("return document.getElementById('front').getAttribute('aria-label');");
    assert_eq!(axis(), "Front: coverage against collisions per step");
    set(&browser, "constraint", "1", "change");
    assert_eq!(axis(), "Front: coverage against cost energy");
    set(&browser, "multiplier-collision", "0", "input");
    set(&browser, "multiplier-energy", "100", "input");
    let sent = "document.getElementById('measured').dataset.multipliers";
    browser.wait(10, &format!("{sent} === '{{\"collision\":0,\"energy\":10}}'"));
    two_steps_more(&browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Two more steps, from wherever the page is.
fn two_steps_more(browser: &Browser) {
    let step = browser.run("return playback.step;").as_u64().unwrap();
    for more in 1..=2 {
        press(browser, "step");
        browser.wait(10, &format!("playback.step === {}", step + more));
    }
}

#[test]
fn a_baseline_has_no_slider_and_plays_beside_any_reference() {
    let folder = tempfile::tempdir().unwrap();
    let run = small_run(folder.path(), &["algorithm=vdn"]);
    let view = View::start(&run, &[]);
    let Some(browser) = paused(&view) else { return };
    let hidden = "return document.getElementById('lambda-card').hidden;";
    assert_eq!(browser.run(hidden), Value::Bool(true));
    for name in ["oracle", "random"] {
        set(&browser, "beside", &format!("{{\"reference\":\"{name}\"}}"), "change");
        browser.wait(10, "playback.screens.length === 2 && playback.step === 0");
        assert_eq!(
            browser.run("return document.getElementById('name-compare').textContent;"),
            name
        );
        let before = places(&browser, 1, true);
        two_steps(&browser);
        assert_ne!(places(&browser, 1, true), before, "{name}");
    }
    set(&browser, "beside", "null", "change");
    browser.wait(10, "playback.screens.length === 1");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
