//! Several trainings at once: workers take jobs from a list, one board shows how far all are.

use super::output::cores;
use crate::{interrupt::Interrupt, progress::Progress};
use cgcmarl::run::{Watch, on_threads};
use cgcmarl_paper::reproduction::{Job, JobEnd, Places, Plan, is_done, run_job, run_reference};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Who works on what.
pub(crate) struct JobRunner<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) places: &'a Places,
    pub(crate) n_workers: usize,
    pub(crate) quiet: bool,
}

/// How the work ended.
pub(crate) struct JobsEnd {
    /// It was asked to stop; everything is saved.
    pub(crate) stopped: bool,
    /// Jobs that failed, in words.
    pub(crate) failures: Vec<String>,
}

/// What all workers tell.
struct Board {
    progress: Progress,
    /// Weighted steps of each job so far.
    done: Vec<u64>,
    /// What is being done, by the number of the job.
    active: BTreeMap<usize, String>,
    n_finished: usize,
    failures: Vec<String>,
}

impl Board {
    fn show(&mut self) {
        let step: u64 = self.done.iter().sum();
        let (n_jobs, left) = (self.done.len(), self.progress.time_left(step));
        let place = format!("{} of {n_jobs} trainings done", self.n_finished);
        let active: Vec<&str> = self.active.values().map(String::as_str).collect();
        let text = format!("{}; about {left} left", active.join("; "));
        self.progress.show(step, &place, text);
    }
}

impl JobRunner<'_> {
    /// Does every job, or as many as there is time for until Ctrl-C.
    pub(crate) fn run(&self) -> anyhow::Result<JobsEnd> {
        let jobs = self.plan.jobs();
        let stop = Interrupt::listen()?;
        let is_trained = |job: &Job| is_done(self.plan, job, self.places);
        let done: Vec<u64> =
            jobs.iter().map(|job| if is_trained(job) { self.weight(job) } else { 0 }).collect();
        let total = jobs.iter().map(|job| self.weight(job)).sum();
        let progress = Progress::new(done.iter().sum(), total, self.quiet);
        let board = Mutex::new(Board {
            progress,
            done,
            active: BTreeMap::new(),
            n_finished: 0,
            failures: vec![],
        });
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.n_workers.min(jobs.len()) {
                scope.spawn(|| self.worker(&jobs, &next, &board, &stop));
            }
        });
        let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut failures = board.failures;
        let stopped = stop.is_asked();
        stop.leave_at_once("stopped; every training is saved".into());
        let arms: BTreeSet<_> = self.plan.rows.iter().map(|row| row.arm).collect();
        for n_agents in self.plan.agents.iter().filter(|_| !stopped) {
            for arm in &arms {
                let reference = run_reference(self.plan, *arm, *n_agents, self.places);
                failures.extend(reference.err().map(|error| error.to_string()));
            }
        }
        Ok(JobsEnd { stopped, failures })
    }

    /// Steps of a job, larger teams counting for more: what a step costs grows with the team.
    fn weight(&self, job: &Job) -> u64 {
        let steps = self.plan.config(job).map_or(1, |config| config.training.total_steps);
        steps * job.n_agents as u64
    }

    fn worker(&self, jobs: &[Job], next: &AtomicUsize, board: &Mutex<Board>, stop: &Interrupt) {
        let n_threads = cores().div_ceil(self.n_workers);
        while !stop.is_asked() {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(job) = jobs.get(index) else { return };
            let mut watch = JobWatch { index, job, board, stop, weight: job.n_agents as u64 };
            lock(board).active.insert(index, job.name());
            let end = on_threads(n_threads, || run_job(self.plan, job, self.places, &mut watch));
            let mut board = lock(board);
            board.active.remove(&index);
            match end.and_then(|end| end) {
                Ok(JobEnd::Stopped) => {}
                Ok(JobEnd::Done) => {
                    board.n_finished += 1;
                    board.done[index] = self.weight(job);
                    board.show();
                }
                Err(error) => board.failures.push(format!("{}: {error}", job.name())),
            }
        }
    }
}

/// A panic of one worker must not silence the others.
fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One job as its worker watches it.
struct JobWatch<'a> {
    index: usize,
    job: &'a Job,
    board: &'a Mutex<Board>,
    stop: &'a Interrupt,
    weight: u64,
}

impl Watch for JobWatch<'_> {
    fn round(&mut self, steps: u64, line: Option<&Value>) {
        // The board is for people: a look at every line of metrics is enough.
        if line.is_none() {
            return;
        }
        let mut board = lock(self.board);
        board.done[self.index] = steps * self.weight;
        let shown = format!("{}, step {steps}", self.job.name());
        board.active.insert(self.index, shown);
        board.show();
    }

    fn stop(&self) -> bool {
        self.stop.is_asked()
    }
}
