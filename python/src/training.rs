//! Training from Python: lines of metrics to a callback, an interrupt that saves.

use crate::{
    failure::{raised, refused},
    remote,
};
use cgcmarl::{
    Config, Session,
    run::{End, Watch, on_threads},
};
use pyo3::{Py, PyAny, PyErr, PyResult, Python, pyfunction};
use std::{
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

/// How often the interpreter is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sends lines of metrics to the thread that may call Python.
struct Lines<'a> {
    lines: Sender<(u64, String)>,
    stop: &'a AtomicBool,
}

impl Watch for Lines<'_> {
    fn round(&mut self, steps: u64, line: Option<&serde_json::Value>) {
        if let Some(line) = line {
            // Nobody listens any more only when everything is over.
            drop(self.lines.send((steps, line.to_string())));
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Lets environments that others wrote run in this Python, which looks for modules along this path.
#[pyfunction]
pub(crate) fn set_interpreter(executable: PathBuf, path: String) {
    remote::register(remote::Interpreter { executable, path });
}

/// Trains to the end in `out` (or the usual place under `root`), or goes on where `resume`. Returns
/// the run's directory and whether it is finished; an exception from the callback or an interrupt
/// is raised after everything is saved.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    settings: Vec<(String, String)>,
    out: Option<PathBuf>,
    root: PathBuf,
    resume: bool,
    threads: usize,
    callback: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let mut session =
        py.detach(|| start(&settings, out.as_deref(), &root, resume)).map_err(raised)?;
    let place = session.run_dir().path().to_owned();
    let (lines, mut heard) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let mut failed: Option<PyErr> = None;
    let end = thread::scope(|scope| {
        let mut watch = Lines { lines, stop: &stop };
        let worker = scope.spawn(move || {
            let end = on_threads(threads, || session.run(&mut watch));
            end.and_then(|end| end)
        });
        loop {
            let ear = &mut heard;
            let told = py.detach(move || ear.recv_timeout(PATIENCE));
            let answer = match told {
                Ok((steps, line)) if failed.is_none() => match &callback {
                    Some(callback) => callback.call1(py, (steps, line)).map(drop),
                    None => Ok(()),
                },
                Err(RecvTimeoutError::Disconnected) => break,
                _ => Ok(()),
            };
            if let Err(error) = answer.and_then(|()| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                failed.get_or_insert(error);
            }
        }
        py.detach(|| worker.join())
    });
    let end = end.map_err(|_| refused("the training ended in a panic"))?.map_err(raised)?;
    failed.map_or(Ok((place, end == End::Finished)), Err)
}

fn start(
    settings: &[(String, String)],
    out: Option<&Path>,
    root: &Path,
    resume: bool,
) -> cgcmarl::Result<Session> {
    match (resume, out) {
        (true, Some(out)) => Session::resume(out),
        _ => Session::start(Config::resolve(None, settings)?, out, root),
    }
}
