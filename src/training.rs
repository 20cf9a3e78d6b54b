//! Training: rounds of episodes that the learner plays, observes and learns from.

use crate::{
    algorithm::Learner,
    checkpoint::Checkpoint,
    episode::{EpisodeStreams, Summary, VectorEnvironment},
    error::{Result, count, positive},
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long and how wide training runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingOptions {
    /// Environment steps in all, over all environments.
    pub total_steps: u64,
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

/// A training in progress.
pub struct Training {
    options: TrainingOptions,
    environments: VectorEnvironment,
    learner: Box<dyn Learner>,
    streams: Streams,
    steps: u64,
    episodes: u64,
    window: Window,
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
    /// A training at its start.
    pub fn new(
        options: &TrainingOptions,
        environments: VectorEnvironment,
        learner: Box<dyn Learner>,
        seed: u64,
    ) -> Self {
        Self {
            options: options.clone(),
            environments,
            learner,
            streams: Streams::new(seed),
            steps: 0,
            episodes: 0,
            window: Window::default(),
        }
    }

    /// Takes the place of a training of a smaller team: its weights, and the steps it has behind it.
    pub fn follow(&mut self, earlier: &Self) -> Result<()> {
        (self.steps, self.episodes) = (earlier.steps, earlier.episodes);
        self.learner.load_model(&earlier.model())
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

    /// Plays one episode in every environment.
    pub fn round(&mut self) -> Result<Round> {
        let n = self.environments.len();
        let streams = EpisodeStreams {
            streams: self.streams,
            start: Purpose::Episode,
            dynamics: Purpose::Dynamics,
            act: Purpose::Exploration,
            first: self.episodes,
        };
        let before = self.steps;
        let played = self.environments.play(self.learner.as_mut(), streams, n);
        for (slot, summary) in played.iter().enumerate() {
            self.steps += u64::from(summary.steps);
            self.window.add(summary);
            self.learner.end_episode(slot, summary);
        }
        self.episodes += n as u64;
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

    /// Writes everything needed to go on exactly from here.
    pub fn save(&self) -> Checkpoint<'_> {
        let state = json!({
            "seed": self.streams.seed(),
            "steps": self.steps,
            "episodes": self.episodes,
            "window": self.window,
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
        // Only a line of metrics hangs on it, and earlier versions kept it in another form.
        self.window = checkpoint.entry("window").unwrap_or_default();
        let n_metrics = self.window.metrics.len();
        if self.steps != checkpoint.step
            || self.episodes > self.steps
            || self.window.episodes > self.episodes
            || (n_metrics > 0 && n_metrics != self.environments.spec().reported().len())
        {
            let text = format!(
                "counts {} steps, {} episodes and {} since the last line, which cannot be",
                self.steps, self.episodes, self.window.episodes
            );
            return Err(checkpoint.mismatch(&text));
        }
        self.learner.load(checkpoint)
    }

    /// The means since the last line, and what the learner says of itself.
    fn line(&mut self) -> Value {
        let window = std::mem::take(&mut self.window);
        let n = window.episodes as f64;
        let mut line = json!({
            "step": self.steps,
            "episode": self.episodes,
            "agents": self.environments.spec().n_agents(),
        });
        for (metric, sum) in self.environments.spec().reported().iter().zip(&window.metrics) {
            line[&metric.name] = json!(sum / n);
        }
        for (name, value) in self.learner.report() {
            line[name] = json!(value);
        }
        line
    }
}
