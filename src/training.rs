//! Training: rounds of episodes that the learner plays, observes and learns from.

use crate::{
    algorithm::Learner,
    checkpoint::Checkpoint,
    episode::{EpisodeStreams, Summary, VectorEnvironment},
    error::{Result, count, positive},
    rng::{Purpose, Streams},
    threads::awake,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Range;

/// How long and how wide training runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingOptions {
    /// Environment steps in all, over all environments.
    pub total_steps: u64,
    /// Sizes of the teams that learn together, the largest the task's own, where the network fits any
    /// team; the task's own team alone where there are none. `agents=2..6` sets it too.
    pub teams: Vec<usize>,
    /// Smaller teams to train first, for shares of the steps in proportion to their size, where the
    /// network fits any team; left out where `start_from` gives the weights.
    pub curriculum: Vec<usize>,
    /// Environments side by side.
    pub environments: usize,
    /// Environment steps between lines of metrics.
    pub log_interval: u64,
    /// Environment steps between checkpoints.
    pub checkpoint_interval: u64,
    /// Most memory that a training may ask for, in GiB; more is refused before anything is done.
    pub memory_limit: f64,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            total_steps: 300_000,
            teams: Vec::new(),
            curriculum: Vec::new(),
            environments: 8,
            log_interval: 2_000,
            checkpoint_interval: 50_000,
            memory_limit: 4.0,
        }
    }
}

/// Most environment steps of a training.
const MAX_STEPS: u64 = 1_000_000_000_000;
/// Most environments side by side.
const MAX_ENVIRONMENTS: u64 = 100_000;

impl TrainingOptions {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<()> {
        count("total_steps", self.total_steps, 1..=MAX_STEPS)?;
        count("environments", self.environments as u64, 1..=MAX_ENVIRONMENTS)?;
        count("log_interval", self.log_interval, 1..=u64::MAX)?;
        count("checkpoint_interval", self.checkpoint_interval, 1..=u64::MAX)?;
        positive("memory_limit", self.memory_limit, 1e6)
    }
}

/// Sums over the episodes since the last line of metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Window {
    episodes: u64,
    metrics: Vec<f64>,
}

impl Window {
    fn add(&mut self, summary: &Summary) {
        self.episodes += 1;
        self.metrics.resize(summary.metrics.len(), 0.0);
        self.metrics.iter_mut().zip(&summary.metrics).for_each(|(sum, value)| *sum += value);
    }
}

/// One of the teams that learn together.
pub struct Team {
    /// Where it plays.
    pub environments: VectorEnvironment,
    /// Steps of the whole training between which it plays.
    pub plays: Range<u64>,
    window: Window,
}

impl Team {
    /// A team that plays while the training's steps are in a range.
    pub fn new(environments: VectorEnvironment, plays: Range<u64>) -> Self {
        Self { environments, plays, window: Window::default() }
    }
}

/// A training in progress.
pub struct Training {
    options: TrainingOptions,
    /// The training's own team last.
    teams: Vec<Team>,
    learner: Box<dyn Learner>,
    streams: Streams,
    steps: u64,
    episodes: u64,
}

/// What a round of training brought.
pub struct Round {
    /// A line for the metrics file, when one was due.
    pub line: Option<Value>,
    /// A checkpoint is due.
    pub checkpoint: bool,
    /// All steps are done.
    pub finished: bool,
}

impl Training {
    /// A training of one team at its start.
    pub fn new(
        options: &TrainingOptions,
        environments: VectorEnvironment,
        learner: Box<dyn Learner>,
        seed: u64,
    ) -> Self {
        Self::of_teams(options, vec![Team::new(environments, 0..u64::MAX)], learner, seed)
    }

    /// A training of several teams, its own last, at its start.
    pub fn of_teams(
        options: &TrainingOptions,
        teams: Vec<Team>,
        learner: Box<dyn Learner>,
        seed: u64,
    ) -> Self {
        let streams = Streams::new(seed);
        Self { options: options.clone(), teams, learner, streams, steps: 0, episodes: 0 }
    }

    /// Environment steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether all steps are done.
    pub fn finished(&self) -> bool {
        self.steps >= self.options.total_steps
    }

    /// The learner.
    pub fn learner(&self) -> &dyn Learner {
        self.learner.as_ref()
    }

    /// The learner, to give it weights.
    pub fn learner_mut(&mut self) -> &mut dyn Learner {
        self.learner.as_mut()
    }

    /// Plays one episode in every environment of every team whose time it is, in step with each other.
    pub fn round(&mut self) -> Result<Round> {
        let before = self.steps;
        let plays = |team: &usize| self.teams[*team].plays.contains(&before);
        let playing: Vec<usize> = (0..self.teams.len()).filter(plays).collect();
        for &team in &playing {
            let streams = EpisodeStreams {
                streams: self.streams,
                start: Purpose::Episode,
                dynamics: Purpose::Dynamics,
                act: Purpose::Exploration,
                first: self.episodes,
            };
            let environments = &mut self.teams[team].environments;
            let n = environments.len();
            self.episodes += n as u64;
            self.learner.turn_to(team);
            environments.start(self.learner.as_mut(), streams, n);
        }
        awake(|| while self.step(&playing) {});
        for &team in &playing {
            self.teams[team].environments.failure().map_or(Ok(()), Err)?;
        }
        for &team in &playing {
            self.learner.turn_to(team);
            let Team { environments, window, .. } = &mut self.teams[team];
            for slot in 0..environments.len() {
                let summary = environments.summary(slot);
                self.steps += u64::from(summary.steps);
                window.add(summary);
                self.learner.end_episode(slot, summary);
            }
        }
        if let Some(error) = self.learner.failure() {
            return Err(error);
        }
        let (finished, after) = (self.finished(), self.steps);
        let passed = |interval: u64| {
            let interval = interval.max(1);
            finished || before / interval != after / interval
        };
        let line = passed(self.options.log_interval).then(|| self.line());
        Ok(Round { line, checkpoint: passed(self.options.checkpoint_interval), finished })
    }

    /// Steps every team that still runs; tells whether any goes on.
    fn step(&mut self, playing: &[usize]) -> bool {
        let mut goes_on = false;
        for &team in playing {
            let environments = &mut self.teams[team].environments;
            if environments.is_running() {
                self.learner.turn_to(team);
                goes_on |= environments.step(self.learner.as_mut());
            }
        }
        goes_on
    }

    /// Writes everything needed to go on exactly from here.
    pub fn save(&self) -> Checkpoint<'_> {
        let own = self.teams.len() - 1;
        let state = json!({
            "seed": self.streams.seed(),
            "steps": self.steps,
            "episodes": self.episodes,
            "window": self.teams[own].window,
            "windows": self.teams[..own].iter().map(|team| &team.window).collect::<Vec<_>>(),
        });
        let mut checkpoint = Checkpoint::new(self.steps, state);
        self.learner.save(&mut checkpoint);
        checkpoint
    }

    /// What playing needs.
    pub fn model(&self) -> Checkpoint<'_> {
        let mut checkpoint = Checkpoint::new(self.steps, json!({"steps": self.steps}));
        self.learner.save_model(&mut checkpoint);
        checkpoint
    }

    /// Goes on from a checkpoint of the same configuration.
    pub fn load(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let seed: u64 = checkpoint.entry("seed")?;
        if seed != self.streams.seed() {
            let text = format!("is of a run with seed {seed}, not {}", self.streams.seed());
            return Err(checkpoint.mismatch(&text));
        }
        self.steps = checkpoint.count("steps")?;
        self.episodes = checkpoint.count("episodes")?;
        // Only lines of metrics hang on them, and earlier versions kept them in another form.
        let mut windows: Vec<Window> = checkpoint.entry("windows").unwrap_or_default();
        windows.truncate(self.teams.len() - 1);
        windows.resize(self.teams.len() - 1, Window::default());
        windows.push(checkpoint.entry("window").unwrap_or_default());
        let counted: u64 = windows.iter().fold(0, |sum, w| sum.saturating_add(w.episodes));
        let fits = |(team, window): (&Team, &Window)| {
            let n_metrics = window.metrics.len();
            n_metrics == 0 || n_metrics == team.environments.spec().reported().len()
        };
        if self.steps != checkpoint.step
            || self.episodes > self.steps
            || counted > self.episodes
            || !self.teams.iter().zip(&windows).all(fits)
        {
            let text = format!(
                "counts {} steps, {} episodes and {counted} since the last line, which cannot be",
                self.steps, self.episodes
            );
            return Err(checkpoint.mismatch(&text));
        }
        self.teams.iter_mut().zip(windows).for_each(|(team, window)| team.window = window);
        self.learner.load(checkpoint)
    }

    /// The means since the last line of the largest team that played, what the learner says of itself,
    /// and the means of the other teams under their sizes.
    fn line(&mut self) -> Value {
        let mut line = json!({ "step": self.steps, "episode": self.episodes });
        for (index, team) in self.teams.iter_mut().enumerate().rev() {
            let (window, spec) = (std::mem::take(&mut team.window), team.environments.spec());
            if window.episodes == 0 {
                continue;
            }
            let is_largest = line.get("agents").is_none();
            let place = if is_largest {
                line["agents"] = json!(spec.n_agents());
                &mut line
            } else {
                &mut line["teams"][spec.n_agents().to_string()]
            };
            for (metric, sum) in spec.reported().iter().zip(&window.metrics) {
                place[&metric.name] = json!(sum / window.episodes as f64);
            }
            if is_largest {
                self.learner.turn_to(index);
                for (name, value) in self.learner.report() {
                    line[name] = json!(value);
                }
            }
        }
        line
    }
}
