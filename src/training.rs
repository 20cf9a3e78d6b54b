//! Training: rounds of episodes that the learner plays, observes and learns from.

use crate::{
    algorithm::Learner,
    checkpoint::Checkpoint,
    episode::{Arena, Draws, Summary},
    error::Result,
    rng::{Purpose, Streams},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long and how wide training runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingOptions {
    /// Environment steps in all, over all environments.
    pub total_steps: u64,
    /// Smaller teams to train first, for shares of the steps in proportion to their size. For CG-CMARL with the relative
    /// observation, whose network fits any team; left out where `start_from` gives the weights.
    pub curriculum: Vec<usize>,
    /// Environments side by side.
    pub environments: usize,
    /// Environment steps between lines of metrics.
    pub log_interval: u64,
    /// Environment steps between checkpoints.
    pub checkpoint_interval: u64,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            total_steps: 300_000,
            curriculum: Vec::new(),
            environments: 8,
            log_interval: 2_000,
            checkpoint_interval: 50_000,
        }
    }
}

/// Sums over the episodes since the last line of metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Window {
    episodes: u64,
    coverage: [f64; 3],
    collisions: f64,
    floor: f64,
    team_return: f64,
    costs: Vec<f64>,
}

impl Window {
    fn add(&mut self, summary: &Summary, n_constraints: usize) {
        self.episodes += 1;
        self.coverage.iter_mut().zip(summary.coverage).for_each(|(sum, c)| *sum += f64::from(c));
        self.collisions += summary.collisions;
        self.floor += summary.floor;
        self.team_return += summary.team_return;
        self.costs.resize(n_constraints, 0.0);
        let n_agents = summary.agent_costs.len() / n_constraints.max(1);
        for (i, cost) in summary.agent_costs.iter().enumerate() {
            self.costs[i % n_constraints] += f64::from(*cost) / n_agents as f64;
        }
    }
}

/// A training in progress.
pub struct Training {
    options: TrainingOptions,
    arena: Arena,
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
        arena: Arena,
        learner: Box<dyn Learner>,
        seed: u64,
    ) -> Self {
        Self {
            options: options.clone(),
            arena,
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
        let n = self.arena.len();
        let n_constraints = self.arena.view().spec().constraints.len();
        let draws = Draws {
            streams: self.streams,
            start: Purpose::Episode,
            act: Purpose::Exploration,
            first: self.episodes,
        };
        let before = self.steps;
        for (slot, summary) in self.arena.play(self.learner.as_mut(), draws, n).iter().enumerate() {
            self.steps += u64::from(summary.steps);
            self.window.add(summary, n_constraints);
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
        self.window = checkpoint.entry("window")?;
        let n_costs = self.window.costs.len();
        if self.steps != checkpoint.step
            || self.episodes > self.steps
            || self.window.episodes > self.episodes
            || (n_costs > 0 && n_costs != self.arena.view().spec().constraints.len())
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
            "agents": self.arena.view().spec().n_agents,
            "coverage": window.coverage[0] / n,
            "coverage_0.15": window.coverage[1] / n,
            "coverage_0.2": window.coverage[2] / n,
            "collisions_per_step": window.collisions / n,
            "collision_floor": window.floor / n,
            "episode_return": window.team_return / n,
        });
        let names = &self.arena.view().spec().constraints;
        for (name, cost) in names.iter().zip(&window.costs) {
            line[format!("cost_{name}")] = json!(cost / n);
        }
        for (name, value) in self.learner.report() {
            line[name] = json!(value);
        }
        line
    }
}
