//! The live page's server: who may ask, who is in a hurry, who has left, and what it costs.

use super::{View, trained};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs,
    io::Read,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread::{scope, sleep},
    time::{Duration, Instant},
};

fn post(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn measure(agents: usize, episodes: usize) -> String {
    let conditions = json!({"agents": agents, "options": {"layout": "random", "contact": "false"}});
    let message =
        json!({"conditions": conditions, "multipliers": [1], "first": 0, "episodes": episodes});
    post("/api/measure", &message)
}

#[test]
fn a_moment_that_cannot_be_is_refused_in_words() {
    let view = View::start(trained(), &[]);
    let conditions = json!({"agents": 3, "options": {"layout": "line"}});
    let (status, start) =
        view.ask(&post("/api/start", &json!({"conditions": conditions, "episode": 0})));
    assert_eq!(status, 200, "{start}");
    let start: Value = serde_json::from_str(start.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let message = json!({
        "conditions": conditions, "multipliers": [1], "episode": 0, "step": 0,
        "snapshot": start["snapshot"],
    });
    let ask = |key: &str, value: Value| {
        let mut message = message.clone();
        message[key] = value;
        view.ask(&post("/api/step", &message))
    };
    let (status, first) = ask("policy", json!("run"));
    assert_eq!(status, 200, "{first}");
    let without_time = |answer: &str| answer.split("decision_ms").next().unwrap().to_owned();
    let body = |answer: &str| without_time(answer.split("\r\n\r\n").nth(1).unwrap());
    assert_eq!(body(&ask("policy", json!("run")).1), body(&first), "a moment goes on the same way");
    let many = |n: usize| json!(vec![0.5; n]);
    for (key, value, told) in [
        ("snapshot", json!([0.5]), "has 19 numbers"),
        ("snapshot", many(20), "has 19 numbers"),
        ("snapshot", many(5000), "at most 4096"),
        ("snapshot", json!([null]), "invalid type: null"),
        ("multipliers", json!([]), "one for each of: collision"),
        ("multipliers", json!([1, 1]), "one for each of: collision"),
        ("policy", json!({"reference": "nobody"}), "`oracle`, `random`"),
        ("policy", json!("compare"), "there is no second run"),
        ("conditions", json!({"agents": 3, "options": {"layout": "x"}}), "one of random"),
        ("conditions", json!({"agents": 3, "options": {"horizon": "9"}}), "`horizon`"),
        ("conditions", json!({"agents": 1}), "`agents`"),
    ] {
        let (status, answer) = ask(key, value);
        assert!(status == 400 && answer.contains(told), "{key}: {answer}");
    }
}

#[test]
fn what_is_moved_by_hand_stands_still_where_it_is_dropped() {
    let view = View::start(trained(), &[]);
    let conditions = json!({"agents": 3});
    // Positions, velocities and landmarks of three agents, and the steps played.
    let snapshot: Vec<f64> = (0..18).map(|i| 0.05 * f64::from(i)).chain([2.0]).collect();
    let show = |moved: Value| -> Vec<f64> {
        let message = json!({"conditions": conditions, "snapshot": snapshot, "moved": moved});
        let (status, answer) = view.ask(&post("/api/show", &message));
        assert_eq!(status, 200, "{answer}");
        let look: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        serde_json::from_value(look["snapshot"].clone()).unwrap()
    };
    assert_eq!(show(Value::Null), snapshot);
    let mut stopped = snapshot.clone();
    stopped[8..10].fill(0.0);
    assert_eq!(show(json!(2)), stopped, "the second agent stands still");
    assert_eq!(show(json!(12)), snapshot, "a landmark never moved");
    assert_eq!(show(json!(99)), snapshot, "nothing has this handle");
}

#[test]
fn the_server_keeps_strangers_out() {
    let view = View::start(trained(), &[]);
    let (status, page) = view.ask("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n");
    assert_eq!(status, 200);
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    let ask = |more: &str| {
        view.ask(&format!("GET /api/run HTTP/1.1\r\nHost: HOST\r\n{more}Connection: close\r\n\r\n"))
    };
    let (_, answer) = ask("");
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(ask(&format!("If-None-Match: {tag}\r\n")).0, 304);
    for (request, expected) in [
        ("GET /../Cargo.toml HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 404),
        ("DELETE / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", 405),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 403),
        (
            "GET /api/run HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n",
            403,
        ),
        (
            "POST /api/step HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
            415,
        ),
        ("POST /api/step HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999\r\n\r\n", 413),
        (
            "POST /api/step HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
            400,
        ),
    ] {
        let (status, answer) = view.ask(request);
        assert_eq!(status, expected, "{request}{answer}");
        assert!(answer.contains("\"error\":"), "{answer}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_cleanly() {
    let mut view = View::start(trained(), &[]);
    let pid = view.process.id().to_string();
    // Neither a silent client nor one that waits for long work holds up the end.
    let _silent = view.send("GET / HT");
    let _waiting = view.send(&measure(30, 25));
    sleep(Duration::from_millis(300));
    let start = Instant::now();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(view.process.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// A number of a process after a name, as Linux tells it.
#[cfg(target_os = "linux")]
fn told_of(view: &View, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/{file}", view.process.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Nanoseconds that a process has computed.
#[cfg(target_os = "linux")]
fn computed(view: &View) -> Duration {
    let folder = format!("/proc/{}/task", view.process.id());
    let tasks = fs::read_dir(folder).unwrap();
    let of_task = |task: fs::DirEntry| -> Option<u64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    Duration::from_nanos(tasks.flatten().filter_map(of_task).sum())
}

#[cfg(target_os = "linux")]
#[test]
fn a_measurement_ends_when_its_client_leaves() {
    let view = View::start(trained(), &[]);
    let idle = computed(&view);
    let waiting = view.send(&measure(30, 25));
    let start = Instant::now();
    while computed(&view) < idle + Duration::from_millis(50) {
        assert!(start.elapsed() < Duration::from_secs(20), "it never began");
        sleep(Duration::from_millis(10));
    }
    drop(waiting);
    // The largest team decides once within this, on a busy machine too.
    sleep(Duration::from_secs(1));
    let before = computed(&view);
    sleep(Duration::from_secs(1));
    let more = computed(&view).saturating_sub(before);
    assert!(more < Duration::from_millis(100), "computed {more:?} more for nobody");
}

#[test]
fn a_measurement_answers_soon_with_the_episodes_it_has() {
    let view = View::start(trained(), &[]);
    let (status, answer) = view.ask(&measure(3, 1));
    assert_eq!(status, 200);
    let episodes = |answer: &str| {
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        body["episodes"].as_array().unwrap().len()
    };
    assert_eq!(episodes(&answer), 1);
    let (status, answer) = view.ask(&measure(30, 25));
    assert_eq!(status, 200);
    assert!((1..25).contains(&episodes(&answer)), "{answer}");
}

#[test]
fn sixty_busy_pages_leave_room_for_one_more() {
    let view = View::start(trained(), &[]);
    let stop = AtomicBool::new(false);
    scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let mut waiting = view.send(&measure(30, 25));
                    waiting.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
                    // Until the answer ends, or nobody asks any more.
                    while waiting.read(&mut [0; 1024]).is_err() && !stop.load(Ordering::SeqCst) {}
                }
            });
        }
        sleep(Duration::from_secs(1));
        let conditions = json!({"agents": 3});
        let asked = [
            ("GET /api/run HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n".to_owned(), 10),
            (post("/api/start", &json!({"conditions": conditions, "episode": 0})), 10),
            // The largest team takes a second over an episode; sixty-one of them would take a minute.
            (measure(3, 2), 30),
        ];
        let answers = asked.map(|(request, most)| {
            let start = Instant::now();
            (view.ask(&request).0, start.elapsed(), Duration::from_secs(most))
        });
        stop.store(true, Ordering::SeqCst);
        for (status, took, most) in answers {
            assert!(status == 200 && took < most, "{answers:?}");
        }
        // Whoever waits holds no policy: one of the largest team takes 25 MB.
        #[cfg(target_os = "linux")]
        assert!(told_of(&view, "status", "VmHWM:") < 200 << 10);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_run_costs_no_more_memory_than_a_short_one() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.toml", "manifest.json", "model.safetensors", "front.json"] {
        fs::copy(trained().join(file), folder.path().join(file)).unwrap();
    }
    let memory = || {
        let view = View::start(folder.path(), &[]);
        let ask = "GET /api/run HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
        let (status, answer) = view.ask(ask);
        assert_eq!(status, 200);
        (told_of(&view, "status", "VmHWM:") / 1024, answer)
    };
    let (short, _) = memory();
    let mut text = String::new();
    for step in 0..100_000 {
        let number = 0.123_456_789_012_345_6 + f64::from(step);
        let _ = write!(text, "{{\"step\":{step},\"coverage\":{number},\"coverage_0.15\":{number}");
        let _ = write!(text, ",\"collisions_per_step\":{number},\"collision_floor\":{number}");
        let _ = writeln!(
            text,
            ",\"loss_primary\":{number},\"loss_collision\":{number},\"noise\":{number}}}"
        );
    }
    fs::write(folder.path().join("metrics.jsonl"), &text).unwrap();
    let (long, answer) = memory();
    let told = |name: &str| answer.contains(&format!("{{\"name\":\"{name}\",\"points\":[["));
    assert!(told("collision_floor") && answer.len() < 200_000, "{}", answer.len());
    let file = text.len() >> 20;
    assert!(long < short + 8, "{file} MB of metrics: {short} MB became {long} MB");
}
