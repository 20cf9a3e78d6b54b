//! How long one update and one decision of a learner take, on one thread.

use cgcmarl::{
    algorithm::CgCmarl,
    config::{Config, Preset},
    environment::{Ending, Environment, Outcome, simple_spread::SimpleSpread},
    episode::{Player, Scene, Transition},
    rng::{Purpose, Rng, Streams},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::{Duration, Instant};

/// Environments that act together.
const N_ENVIRONMENTS: usize = 8;

/// A learner with a world to learn in, and the buffers to step it.
struct Bench {
    learner: CgCmarl,
    environment: SimpleSpread,
    rng: Rng,
    outcome: Outcome,
    before: Vec<f32>,
    after: Vec<f32>,
    action: Vec<usize>,
}

impl Bench {
    fn new(mut config: Config) -> Self {
        let learning = &mut config.cg_cmarl.learning;
        (learning.learning_starts, learning.steps_per_update) = (0, 1.0);
        let environment = SimpleSpread::new(&config.environment).expect("valid options");
        let (view, streams) = (environment.view(), Streams::new(1));
        let spec = view.spec();
        let learner = CgCmarl::new(&config.cg_cmarl, view, N_ENVIRONMENTS, 1_000_000, streams)
            .expect("valid options");
        let mut bench = Self {
            learner,
            rng: streams.rng(Purpose::Problem, 0),
            outcome: Outcome { ending: Ending::Truncated, ..Outcome::default() },
            before: vec![0.0; spec.state_width],
            after: vec![0.0; spec.state_width],
            action: vec![0; spec.n_agents],
            environment,
        };
        bench.remember(400);
        bench.learner.learn(bench.environment.view());
        bench
    }

    /// Plays random actions and lets the learner remember them.
    fn remember(&mut self, steps: u64) {
        let n_actions = self.environment.view().spec().n_actions;
        for _ in 0..steps {
            if self.outcome.ending != Ending::Running {
                self.environment.reset(&mut self.rng);
            }
            self.action.iter_mut().for_each(|action| *action = self.rng.below(n_actions));
            self.environment.write_state(&mut self.before);
            self.environment.step(&self.action, &mut self.outcome);
            self.environment.write_state(&mut self.after);
            let Self { before, action, outcome, after, .. } = self;
            self.learner.observe(Transition { slot: 0, before, action, outcome, after });
        }
    }

    /// One update for each step remembered; remembering is not timed.
    fn updates(&mut self, count: u64) -> Duration {
        self.remember(count);
        let start = Instant::now();
        self.learner.learn(self.environment.view());
        start.elapsed()
    }
}

/// The recipe at three team sizes and the paper's heads with a batch of 64.
fn configurations() -> impl Iterator<Item = (String, Config)> {
    let recipes = [3, 6, 10].map(|agents| (agents.to_string(), Preset::Default.config(agents)));
    recipes.into_iter().chain([("paper".to_owned(), Preset::Paper.config(3))])
}

fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training/update");
    for (name, config) in configurations() {
        let mut bench = Bench::new(config);
        group.bench_function(name, |bencher| bencher.iter_custom(|n| bench.updates(n)));
    }
    group.finish();
}

fn act(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("training/act");
    group.throughput(Throughput::Elements(N_ENVIRONMENTS as u64));
    for (name, config) in configurations() {
        let mut bench = Bench::new(config);
        let states: Vec<f32> = (0..N_ENVIRONMENTS)
            .flat_map(|_| {
                bench.remember(1);
                bench.before.clone()
            })
            .collect();
        let mut rngs = vec![bench.rng.clone(); N_ENVIRONMENTS];
        let mut actions = vec![bench.action.clone(); N_ENVIRONMENTS];
        let Bench { learner, environment, .. } = &mut bench;
        let scene = Scene { view: environment.view(), states: &states };
        group.bench_function(name, |bencher| {
            bencher.iter(|| learner.act(scene, &mut rngs, &mut actions));
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
