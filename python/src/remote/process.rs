//! A Python process that holds environments: commands out, answers in.

use cgcmarl::{Error, Result};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// Times that a process is started again after it died or hung.
const RESTARTS: u32 = 1;

/// Whose Python runs the environments, and where it looks for modules.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    pub(crate) executable: PathBuf,
    pub(crate) path: String,
}

/// What an environment says about itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) agents: Vec<String>,
    pub(super) n_actions: usize,
    pub(super) width: usize,
    pub(super) costs: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The environment refused, or broke a promise: in its own words.
    Told(String),
    /// The process died, or did not answer in time.
    Gone(String),
}

/// An answer: whether all went well, and what it holds.
type Answer = (bool, Vec<u8>);

/// A process that runs.
struct Running {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<(u32, Answer)>,
    /// Answers for environments that did not ask yet.
    early: BTreeMap<u32, Answer>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How to start a process.
pub(super) struct Host {
    interpreter: Interpreter,
    settings: String,
    patience: Duration,
    number: usize,
    state: Mutex<State>,
}

struct State {
    running: Option<Running>,
    starts: u32,
    environments: u32,
}

impl Host {
    pub(super) fn new(
        interpreter: Interpreter,
        settings: String,
        patience: Duration,
        number: usize,
    ) -> Arc<Self> {
        let state = Mutex::new(State { running: None, starts: 0, environments: 0 });
        Arc::new(Self { interpreter, settings, patience, number, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for one more environment.
    pub(super) fn next_number(&self) -> u32 {
        let mut state = self.state();
        state.environments += 1;
        state.environments
    }

    /// How often the process was started: an environment of an earlier start is gone.
    pub(super) fn starts(&self) -> u32 {
        self.state().starts
    }

    /// Starts the process where it does not run; refuses to after too many starts.
    pub(super) fn wake(&self) -> Result<()> {
        let mut state = self.state();
        if state.running.is_some() {
            return Ok(());
        }
        if state.starts > RESTARTS {
            let text = format!("environment process {} died {} times", self.number, state.starts);
            return Err(Error::Refused(text));
        }
        state.starts += 1;
        let running = self
            .start()
            .map_err(|source| Error::File { path: self.interpreter.executable.clone(), source })?;
        state.running = Some(running);
        Ok(())
    }

    fn start(&self) -> std::io::Result<Running> {
        let mut child = Command::new(&self.interpreter.executable)
            .args(["-m", "cgcmarl._worker"])
            .env("PYTHONPATH", &self.interpreter.path)
            // One process for each core is plenty.
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || std::io::Error::other("no pipe");
        let mut commands = child.stdin.take().ok_or_else(missing)?;
        let mut output = child.stdout.take().ok_or_else(missing)?;
        commands.write_all(&(self.settings.len() as u32).to_le_bytes())?;
        commands.write_all(self.settings.as_bytes())?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            while let Ok(answer) = read_answer(&mut output) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, commands, answers, early: BTreeMap::new() })
    }

    /// Sends a command; a process that cannot hear it shows when its answer is waited for.
    pub(super) fn send(&self, letter: u8, environment: u32, content: &[u8]) {
        let mut message = vec![letter];
        message.extend_from_slice(&environment.to_le_bytes());
        message.extend_from_slice(content);
        if let Some(running) = &mut self.state().running {
            drop(running.commands.write_all(&message));
        }
    }

    /// Waits for the answer to an environment.
    pub(super) fn receive(&self, environment: u32) -> std::result::Result<Vec<u8>, Trouble> {
        let mut state = self.state();
        let gone =
            |what: &str| Trouble::Gone(format!("environment process {} {what}", self.number));
        loop {
            let Some(running) = &mut state.running else { return Err(gone("does not run")) };
            if let Some((ok, content)) = running.early.remove(&environment) {
                let told = || Trouble::Told(String::from_utf8_lossy(&content).into_owned());
                return if ok { Ok(content) } else { Err(told()) };
            }
            match running.answers.recv_timeout(self.patience) {
                Ok((from, answer)) => drop(running.early.insert(from, answer)),
                Err(error) => {
                    let hangs = error == mpsc::RecvTimeoutError::Timeout;
                    state.running = None;
                    let seconds = self.patience.as_secs();
                    let silent = format!("did not answer within {seconds} s");
                    return Err(gone(if hangs { &silent } else { "died" }));
                }
            }
        }
    }
}

fn read_answer(output: &mut impl Read) -> std::io::Result<(u32, Answer)> {
    let mut head = [0; 9];
    output.read_exact(&mut head)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let mut content = vec![0; word(5) as usize];
    output.read_exact(&mut content)?;
    Ok((word(0), (head[4] == 0, content)))
}
