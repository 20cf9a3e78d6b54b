//! The composition root: configurations become trainings, run directories become policies and fronts.

use crate::{
    algorithm::{CgCmarl, Learner, Mappo, MappoLag, OperatingPoint, RandomPolicy, Setting},
    checkpoint::Checkpoint,
    config::{Algorithm, Config},
    coordination::{Coordination, FactorTables},
    curriculum::{Stage, stages},
    environment::{
        Environment, Outcome, View, oracle::Oracle, simple_spread::SimpleSpread,
        spread_options::SimpleSpreadOptions,
    },
    episode::{Arena, Player, Summary},
    error::{Error, Result},
    evaluation::{EvaluationOptions, Front, Score, play_episodes},
    graph::{CoordinationGraph, JointAction},
    rng::{Purpose, Streams},
    run_dir::{Manifest, RunDir, RunWriter, files},
    training::Training,
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

/// Name of the task in paths and reports.
pub const TASK: &str = "simple_spread";
/// Environments side by side in an evaluation.
const EVALUATION_WIDTH: usize = 250;

/// Runs `work` on exactly `threads` threads; results never depend on the number.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let pool = pool.map_err(|error| Error::setting("threads", threads, error.to_string()))?;
    Ok(pool.install(work))
}

/// Environments of one kind side by side.
pub fn build_arena(options: &SimpleSpreadOptions, n: usize) -> Result<Arena> {
    let environments = (0..n.max(1))
        .map(|_| Ok(Box::new(SimpleSpread::new(options)?) as Box<dyn Environment>))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arena::new(environments))
}

/// Follows a training from outside, and may ask it to stop.
pub trait Watch {
    /// A round is over.
    fn round(&mut self, steps: u64, line: Option<&Value>);
    /// Whether to save and stop now.
    fn stop(&self) -> bool {
        false
    }
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps are done.
    Finished,
    /// It was asked to stop; everything is saved.
    Stopped,
}

/// A training tied to its run directory.
pub struct Session {
    training: Training,
    /// Trainings still to come, the next one first.
    stages: VecDeque<Stage>,
    writer: RunWriter,
    /// The resolved configuration.
    pub config: Config,
}

impl Session {
    /// Starts a run in a new directory.
    pub fn start(config: Config, out: Option<&Path>, root: &Path) -> Result<Self> {
        let path = out.map_or_else(|| default_place(root, &config), PathBuf::from);
        RunWriter::refuse_occupied(&path)?;
        let mut stages = stages(&config, 0)?;
        let mut training = next_training(&mut stages)?;
        if let Some(path) = &config.start_from {
            let start = RunDir::open(path)?.load_model()?;
            training.learner_mut().load_model(&start)?;
        }
        let manifest =
            Manifest::new(TASK, config.algorithm.name(), config.seed, card(&config.environment));
        let mut writer = RunWriter::create(path, &config.to_toml(), &manifest)?;
        writer.save_checkpoint(&mut training.save())?;
        Ok(Self { training, stages, writer, config })
    }

    /// Takes a run up at its newest checkpoint.
    pub fn resume(path: &Path) -> Result<Self> {
        // Locked before anything is read, so that no other process saves a newer state meanwhile.
        let mut writer = RunWriter::open(path)?;
        let config = read_config(writer.run())?;
        let checkpoint = writer.run().load_latest()?;
        let mut stages = stages(&config, checkpoint.step)?;
        let mut training = next_training(&mut stages)?;
        training.load(&checkpoint)?;
        // The logs are cut back only once the checkpoint is known to fit.
        writer.go_back(&checkpoint)?;
        Ok(Self { training, stages, writer, config })
    }

    /// The run as readers see it.
    pub fn run_dir(&self) -> &RunDir {
        self.writer.run()
    }

    /// Environment steps so far.
    pub fn steps(&self) -> u64 {
        self.training.steps()
    }

    /// Trains to the end, or until asked to stop.
    pub fn run(&mut self, watch: &mut dyn Watch) -> Result<End> {
        while !self.training.finished() {
            let round = self.training.round()?;
            if let Some(line) = &round.line {
                self.writer.append_metrics(line)?;
            }
            watch.round(self.training.steps(), round.line.as_ref());
            let stop = watch.stop();
            if round.finished && !self.stages.is_empty() {
                let mut larger = next_training(&mut self.stages)?;
                larger.follow(&self.training)?;
                self.training = larger;
            }
            if round.checkpoint || stop {
                let mut checkpoint = self.training.save();
                refuse_diverged(&checkpoint)?;
                self.writer.save_checkpoint(&mut checkpoint)?;
            }
            if stop && !self.training.finished() {
                return Ok(End::Stopped);
            }
        }
        self.writer.finish(&self.training.model())?;
        Ok(End::Finished)
    }
}

/// A trained run, ready to play.
pub struct Model {
    /// The resolved configuration it was trained with.
    pub config: Config,
    /// Where it lives.
    pub run: RunDir,
    /// Environment steps it was trained for.
    pub steps: u64,
    checkpoint: Checkpoint<'static>,
}

impl Model {
    /// Opens a run directory. How many landmarks its regions see is fixed here, so that the network
    /// fits teams of other sizes.
    pub fn open(path: &Path) -> Result<Self> {
        let run = RunDir::open(path)?;
        let mut config = read_config(&run)?;
        let SimpleSpreadOptions { agents, observation, .. } = &mut config.environment;
        observation.landmarks = Some(observation.n_landmarks(*agents));
        let checkpoint = run.load_model()?;
        Ok(Self { config, run, steps: checkpoint.step, checkpoint })
    }

    /// The policies at these multipliers, for an environment of the same kind (its team may differ
    /// where the observation allows).
    pub fn operating_points(
        &self,
        environment: &SimpleSpreadOptions,
        multipliers: &[f32],
    ) -> Result<Vec<OperatingPoint>> {
        let arena = build_arena(environment, 1)?;
        let mut learner = build_learner(&self.config, arena.view(), 1, 1)?;
        self.give_weights(learner.as_mut(), environment)?;
        Ok(learner.operating_points(multipliers))
    }

    /// Takes over how a changed configuration acts; what was trained stays.
    pub fn act_as(&mut self, config: &Config) {
        self.config.cg_cmarl.act_as(&config.cg_cmarl);
        self.config.dcg.acting.clone_from(&config.dcg.acting);
    }

    /// Whether it plays at any multiplier; a baseline has the one trade-off it was trained with.
    pub fn has_multipliers(&self) -> bool {
        self.config.algorithm == Algorithm::CgCmarl
    }

    /// A CG-CMARL learner with the trained weights in another environment of the same kind.
    pub fn learner(&self, environment: &SimpleSpreadOptions) -> Result<CgCmarl> {
        let Config { algorithm, seed, .. } = self.config;
        if algorithm != Algorithm::CgCmarl {
            return Err(Error::Refused(format!(
                "{}: trained with {}; only a cg_cmarl run has tables to look into",
                self.run.path().display(),
                algorithm.name()
            )));
        }
        let arena = build_arena(environment, 1)?;
        let options = &self.config.cg_cmarl;
        let mut learner = CgCmarl::new(options, arena.view(), 1, 1, Streams::new(seed))?;
        self.give_weights(&mut learner, environment)?;
        Ok(learner)
    }

    fn give_weights(
        &self,
        learner: &mut dyn Learner,
        environment: &SimpleSpreadOptions,
    ) -> Result<()> {
        learner.load_model(&self.checkpoint).map_err(|error| {
            let agents = (self.config.environment.agents, environment.agents);
            if agents.0 == agents.1 {
                return error;
            }
            Error::setting(
                "agents",
                agents.1,
                format!(
                    "this model was trained with {} agents and its observation does not carry over: {error}",
                    agents.0
                ),
            )
        })
    }

    /// One decision of one evaluation episode: its graph, its tables and what the policy does.
    pub fn decision(
        &self,
        environment: &SimpleSpreadOptions,
        start_seed: u64,
        multiplier: f32,
        (episode, step): (u64, usize),
    ) -> Result<Decision> {
        let mut world = SimpleSpread::new(environment)?;
        let horizon = world.view().spec().horizon;
        if step >= horizon {
            return Err(Error::setting(
                "decision",
                step,
                format!("an episode has {horizon} steps"),
            ));
        }
        let mut policy = self.learner(environment)?.policy_at(multiplier);
        world.reset(&mut Streams::new(start_seed).rng(Purpose::Evaluation, episode));
        let mut state = vec![0.0; world.view().spec().state_width];
        let (mut action, mut outcome) = (JointAction::new(), Outcome::default());
        for _ in 0..step {
            world.write_state(&mut state);
            policy.decide(world.view(), &state, &mut action);
            world.step(&action, &mut outcome);
        }
        world.write_state(&mut state);
        let (graph, tables, answer) = policy.decide(world.view(), &state, &mut action);
        let (graph, tables) = (graph.clone(), tables.clone());
        Ok(Decision { graph, tables, action, answer })
    }

    /// Scores every operating point on the same start states, with the random policy and the oracle.
    pub fn sweep(
        &self,
        environment: &SimpleSpreadOptions,
        options: &EvaluationOptions,
        done: &mut dyn FnMut(&Score),
    ) -> Result<Front> {
        let points = self.operating_points(environment, &options.multipliers)?;
        let random = play(environment, options, "random", None, &mut RandomPolicy)?;
        let mut oracle = Oracle::new(&SimpleSpread::new(environment)?);
        let oracle = play(environment, options, "oracle", None, &mut oracle)?;
        let mut scores = Vec::new();
        for mut point in points {
            let OperatingPoint { setting, policy } = &mut point;
            let (label, multiplier) = (setting.label(), setting.multiplier());
            scores.push(play(environment, options, &label, multiplier, policy.as_mut())?);
            scores.last().into_iter().for_each(&mut *done);
        }
        let mut front =
            Front::new(TASK, self.config.algorithm.name(), environment.agents, scores, random);
        front.oracle = Some(oracle);
        front.environment = card(environment);
        Ok(front)
    }
}

/// One decision, laid open.
pub struct Decision {
    /// Who coordinates with whom.
    pub graph: CoordinationGraph,
    /// The augmented tables.
    pub tables: FactorTables,
    /// The joint action that was chosen.
    pub action: JointAction,
    /// What the coordinator says about it.
    pub answer: Coordination,
}

/// The score of one policy.
pub fn play(
    environment: &SimpleSpreadOptions,
    options: &EvaluationOptions,
    label: &str,
    multiplier: Option<f64>,
    policy: &mut dyn Player,
) -> Result<Score> {
    let episodes = episodes_of(environment, options, policy)?;
    Ok(Score::of_episodes(label, multiplier, environment.agents, &episodes))
}

/// The episodes of one policy.
pub fn episodes_of(
    environment: &SimpleSpreadOptions,
    options: &EvaluationOptions,
    policy: &mut dyn Player,
) -> Result<Vec<Summary>> {
    if options.episodes == 0 {
        return Err(Error::setting("episodes", 0, "must be positive"));
    }
    let mut arena = build_arena(environment, options.episodes.min(EVALUATION_WIDTH))?;
    Ok(play_episodes(&mut arena, policy, options.episodes, options.start_seed))
}

/// The environment card: everything that defines a score, with every rule replaced by its value.
pub fn card(environment: &SimpleSpreadOptions) -> Value {
    json!({
        "task": TASK,
        "options": environment.resolved(),
        "physics": "MPE2 order: positions move with the old velocity; dt 0.1, damping 0.25, force 5u",
        "coverage_distances": [0.1, 0.15, 0.2],
        "collision": "pairs closer than two radii after a step, per step",
    })
}

/// A loss is checked before its update only, so the last update of a round is checked here.
fn refuse_diverged(checkpoint: &Checkpoint) -> Result<()> {
    match checkpoint.not_finite() {
        None => Ok(()),
        Some((name, value)) => {
            Err(Error::Diverged { step: checkpoint.step, what: name.into(), value: value as f32 })
        }
    }
}

fn default_place(root: &Path, config: &Config) -> PathBuf {
    let task = format!("{TASK}_{}", config.environment.agents);
    RunDir::place(root, &task, config.algorithm.name(), config.seed)
}

fn read_config(run: &RunDir) -> Result<Config> {
    Config::parse(&run.config()?)
        .map_err(|message| Error::format(run.file(files::CONFIG), None, message))
}

/// The training of the first of the stages.
fn next_training(stages: &mut VecDeque<Stage>) -> Result<Training> {
    let Some(Stage { config, n_steps }) = stages.pop_front() else {
        return Err(Error::Refused("there is nothing left to train".into()));
    };
    let arena = build_arena(&config.environment, config.training.environments)?;
    let learner = build_learner(&config, arena.view(), arena.len(), n_steps)?;
    Ok(Training::new(&config.training, arena, learner, config.seed))
}

/// The learner of a configuration: the one place that knows all algorithms.
fn build_learner(
    config: &Config,
    view: &dyn View,
    n_environments: usize,
    total_steps: u64,
) -> Result<Box<dyn Learner>> {
    let (spec, streams) = (view.spec(), Streams::new(config.seed));
    let ratio = config.environment.resolved().local_ratio.unwrap_or_default();
    let mixing = Setting::MixingRatio(ratio as f32);
    Ok(match config.algorithm {
        Algorithm::CgCmarl => {
            Box::new(CgCmarl::new(&config.cg_cmarl, view, n_environments, total_steps, streams)?)
        }
        Algorithm::Iql => Box::new(config.iql.learner(spec, mixing, total_steps, streams)?),
        Algorithm::Vdn => Box::new(config.vdn.learner(spec, mixing, total_steps, streams)?),
        Algorithm::Qmix => Box::new(config.qmix.learner(spec, mixing, total_steps, streams)?),
        Algorithm::Dcg => Box::new(config.dcg.learner(spec, mixing, total_steps, streams)?),
        Algorithm::Mappo => {
            let options = &config.mappo;
            Box::new(Mappo::new(options, view, n_environments, mixing, total_steps, streams)?)
        }
        Algorithm::MappoLag => {
            let options = &config.mappo_lag;
            Box::new(MappoLag::new(options, view, n_environments, total_steps, streams)?)
        }
    })
}
