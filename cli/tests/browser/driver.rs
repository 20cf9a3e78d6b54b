//! A small `WebDriver` client: enough to open a page, run scripts in it and press its keys.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A browser with one window; closed when dropped.
pub(crate) struct Browser {
    process: Child,
    port: u16,
    session: String,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; `None` where none is installed.
    pub(crate) fn start() -> Option<Result<Self, String>> {
        let is_installed = |name| Command::new(name).arg("--version").output().is_ok();
        ["chromium", "chromedriver"].into_iter().all(is_installed).then(Self::launch)
    }

    fn launch() -> Result<Self, String> {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromedriver: {error}"))?;
        let output = BufReader::new(process.stdout.take().ok_or("no output")?);
        let port = output
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                line.split("successfully on port ")
                    .nth(1)?
                    .trim_end_matches('.')
                    .parse::<u16>()
                    .ok()
            })
            .ok_or("chromedriver names no port")?;
        let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut browser = Self { process, port, session: String::new(), profile };
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1300,1000",
            &format!("--user-data-dir={}", browser.profile.path().display()),
        ];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        }}});
        let answer = browser.call("POST", "/session", &capabilities)?;
        let session = answer["sessionId"].as_str().ok_or_else(|| answer.to_string())?;
        session.clone_into(&mut browser.session);
        Ok(browser)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = body.to_string();
        let host = format!("127.0.0.1:{}", self.port);
        let mut stream = TcpStream::connect(&host).map_err(|error| error.to_string())?;
        let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).map_err(|error| error.to_string())?;
        let text = read_body(stream).map_err(|error| format!("{method} {path}: {error}"))?;
        let mut value: Value = serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))?;
        let value = value["value"].take();
        if value["error"].is_string() { Err(value["message"].to_string()) } else { Ok(value) }
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        self.call("POST", &path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Opens an address.
    pub(crate) fn open(&self, address: &str) {
        self.ask("url", &json!({ "url": address }));
    }

    /// Runs a script in the page; it may `return` or `await`.
    pub(crate) fn run(&self, script: &str) -> Value {
        let body = format!(
            "const done = arguments[arguments.length - 1];
             (async () => {{ {script} }})().then(done, (error) => done('failed: ' + error));"
        );
        let value = self.ask("execute/async", &json!({ "script": body, "args": [] }));
        let failed = value.as_str().is_some_and(|text| text.starts_with("failed: "));
        assert!(!failed, "{value} in {script}");
        value
    }

    /// Waits until a script returns something true.
    pub(crate) fn wait(&self, seconds: u64, condition: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(seconds);
        loop {
            let value = self.run(&format!("return {condition};"));
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            let page = || self.run("return document.body.innerText;");
            assert!(Instant::now() < end, "never: {condition}\n{}", page());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Drags the mouse from one place of the window to another.
    pub(crate) fn drag(&self, from: [f64; 2], to: [f64; 2]) {
        let go = |[x, y]: [f64; 2]| json!({ "type": "pointerMove", "duration": 60, "x": x as i64, "y": y as i64 });
        let press = json!({ "type": "pointerDown", "button": 0 });
        let release = json!({ "type": "pointerUp", "button": 0 });
        self.ask(
            "actions",
            &json!({ "actions": [{
                "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" },
                "actions": [go(from), press, go(to), release],
            }]}),
        );
    }

    /// Presses keys, one after the other.
    pub(crate) fn press(&self, keys: &[&str]) {
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        self.ask(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
    }

    /// Complaints of the page since the last call.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let lines = self.ask("se/log", &json!({ "type": "browser" }));
        let severe = |line: &&Value| line["level"] == "SEVERE";
        lines.as_array().into_iter().flatten().filter(severe).map(Value::to_string).collect()
    }

    /// Addresses the page asked for since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let lines = self.ask("se/log", &json!({ "type": "performance" }));
        let address = |line: &Value| {
            let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let sent = message["message"]["method"] == "Network.requestWillBeSent";
            let url = message["message"]["params"]["request"]["url"].as_str()?.to_owned();
            sent.then_some(url)
        };
        lines.as_array().into_iter().flatten().filter_map(address).collect()
    }
}

/// The body of an answer: the driver does not close the connection after it.
fn read_body(stream: TcpStream) -> std::io::Result<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("DELETE", &format!("/session/{}", self.session), &json!({}));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
