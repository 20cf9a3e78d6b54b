//! How long one update and one decision of a learner take, on one thread.

use cgcmarl::{
    algorithm::{Learner, Start},
    environment::{Batch, Ending, Environment, Outcome},
    episode::Transition,
    rng::{Purpose, Rng, Streams},
    run::Config,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::{Duration, Instant};

/// Environments that act together.
const N_ENVIRONMENTS: usize = 8;

/// A learner with an environment to learn in, and the buffers to step it.
struct Bench {
    learner: Box<dyn Learner>,
    environment: Box<dyn Environment>,
    rng: Rng,
    outcome: Outcome,
    state: Vec<f32>,
    next_state: Vec<f32>,
    action: Vec<usize>,
}

impl Bench {
    fn new(config: &Config) -> Self {
        let environment = config.scenario().and_then(|s| s.build()).expect("valid options");
        let (view, streams) = (environment.view(), Streams::new(1));
        let start = Start {
            teams: &[view],
            n_environments: N_ENVIRONMENTS,
            total_steps: 1_000_000,
            streams,
        };
        let algorithm = config.algorithm().expect("an algorithm");
        let learner = algorithm.learner(&config.options, start).expect("valid options");
        let spec = view.spec();
        let mut bench = Self {
            learner,
            rng: streams.rng(Purpose::Problem, 0),
            outcome: Outcome { ending: Ending::Truncated, ..Outcome::default() },
            state: vec![0.0; spec.state_width],
            next_state: vec![0.0; spec.state_width],
            action: vec![0; spec.n_agents()],
            environment,
        };
        bench.remember(400);
        bench.learner.update(bench.environment.view());
        bench
    }

    /// Plays random actions and lets the learner remember them.
    fn remember(&mut self, steps: u64) {
        let n_actions = self.environment.view().spec().n_actions();
        for _ in 0..steps {
            if self.outcome.ending != Ending::Running {
                self.environment.reset(&mut self.rng);
            }
            self.action.iter_mut().for_each(|action| *action = self.rng.below(n_actions));
            self.environment.write_state(&mut self.state);
            self.environment.step(&self.action, &mut self.rng, &mut self.outcome);
            self.environment.write_state(&mut self.next_state);
            let Self { state, action, outcome, next_state, .. } = self;
            self.learner.observe(Transition { slot: 0, state, action, outcome, next_state });
        }
    }

    /// One update for each step remembered; remembering is not timed.
    fn updates(&mut self, count: u64) -> Duration {
        self.remember(count);
        let start = Instant::now();
        self.learner.update(self.environment.view());
        start.elapsed()
    }
}

/// A preset for a team, with an update for every step.
fn config(preset: &str, agents: &str) -> Config {
    let settings = [
        ("preset", preset),
        ("agents", agents),
        ("learning_starts", "0"),
        ("steps_per_update", "1"),
    ];
    let pairs = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Config::resolve(None, &pairs).expect("settings")
}

/// The recipe at three team sizes and the paper's heads with a batch of 64.
fn configurations() -> impl Iterator<Item = (&'static str, Config)> {
    let recipes = ["3", "6", "10"].map(|agents| (agents, config("default", agents)));
    recipes.into_iter().chain([("paper", config("paper", "3"))])
}

fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training/update");
    for (name, config) in configurations() {
        let mut bench = Bench::new(&config);
        group.bench_function(name, |bencher| bencher.iter_custom(|n| bench.updates(n)));
    }
    group.finish();
}

fn act(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training/act");
    group.throughput(Throughput::Elements(N_ENVIRONMENTS as u64));
    for (name, config) in configurations() {
        let mut bench = Bench::new(&config);
        let states: Vec<f32> = (0..N_ENVIRONMENTS)
            .flat_map(|_| {
                bench.remember(1);
                bench.state.clone()
            })
            .collect();
        let mut rngs = vec![bench.rng.clone(); N_ENVIRONMENTS];
        let mut actions = vec![bench.action.clone(); N_ENVIRONMENTS];
        let Bench { learner, environment, .. } = &mut bench;
        let slots: Vec<usize> = (0..N_ENVIRONMENTS).collect();
        let batch = Batch { view: environment.view(), states: &states, slots: &slots };
        group.bench_function(name, |bencher| {
            bencher.iter(|| learner.act(batch, &mut rngs, &mut actions));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = update, act
}
criterion_main!(benches);
