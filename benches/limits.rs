//! How near one thread and two come to what this machine can do, as a table in Markdown.
//!
//! The limit of an update and of a decision is the arithmetic of their matrix products at the speed of
//! a loop of multiplications and additions that never leaves the registers. That of the environment
//! is the arithmetic of its rules, one number at a time, as a team is too small to fill a vector.

#[path = "peers/naive.rs"]
mod naive;

use cgcmarl::{
    algorithm::{
        Learner, Start,
        cg_cmarl::{CgCmarlOptions, TwoHead},
    },
    checkpoint::Checkpoint,
    environment::{
        Batch, Ending, Environment, Outcome, Policy,
        simple_spread::{SimpleSpread, SimpleSpreadOptions},
    },
    episode::Transition,
    rng::{Purpose, Rng, Streams},
    run::Config,
    threads::awake,
};
use pulp::{Arch, Simd, WithSimd};
use std::{hint::black_box, time::Instant};

/// How often everything is measured; the shortest time counts, the longest is shown.
const ROUNDS: usize = 7;

/// Registers that the loop of the limit works on at once.
const REGISTERS: usize = 12;

/// A loop of fused multiplications and additions in registers; answers with numbers per register.
struct Fused {
    count: usize,
}

impl WithSimd for Fused {
    type Output = (f32, usize);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f32, usize) {
        let [factor, term] = [0.999, 0.001].map(|x| simd.splat_f32s(black_box(x)));
        let mut sums = [simd.splat_f32s(1.0); REGISTERS];
        for _ in 0..self.count {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        (sums.iter().map(|&sum| simd.reduce_sum_f32s(sum)).sum(), S::F32_LANES)
    }
}

/// What this machine can do.
#[derive(Clone, Copy)]
struct Limit {
    /// Floating-point operations per microsecond, in vectors.
    vectors: f64,
    /// The same one number at a time.
    numbers: f64,
}

/// Microseconds of the fastest round and of the slowest.
#[derive(Clone, Copy)]
struct Times {
    least: f64,
    most: f64,
}

impl Times {
    /// All rounds, each of which tells its microseconds, of `count` parts: of one of them.
    fn of(mut round: impl FnMut() -> f64, count: usize) -> Self {
        let times: Vec<f64> = (0..ROUNDS).map(|_| round() / count as f64).collect();
        Self {
            least: times.iter().copied().fold(f64::INFINITY, f64::min),
            most: times.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// Microseconds that some work takes.
fn microseconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6
}

impl Limit {
    fn measure() -> Self {
        let (count, mut lanes) = (1_000_000, 1);
        let mut round = || lanes = black_box(Arch::new().dispatch(Fused { count })).1;
        let time = Times::of(|| microseconds(&mut round), 1).least;
        let numbers = (2 * REGISTERS * count) as f64 / time;
        Self { vectors: numbers * lanes as f64, numbers }
    }
}

/// The multiplications and additions of a network, two for each number of a weight.
struct Arithmetic {
    first_layer: f64,
    trunk: f64,
    /// All outputs of the heads that an action is chosen by.
    choice: f64,
    /// All outputs of one head: of all heads with their multipliers where those are the same for all.
    head: f64,
    /// The outputs of all heads that one joint action adds up.
    selected: f64,
}

impl Arithmetic {
    fn of(network: &TwoHead) -> Self {
        let weights = network.layout().tensors().iter().filter(|tensor| tensor.shape.len() == 2);
        let sizes: Vec<f64> =
            weights.map(|tensor| 2.0 * (tensor.shape[0] * tensor.shape[1]) as f64).collect();
        let (heads, trunk) = sizes.split_last().expect("a network has heads");
        let n_outputs = (network.n_heads() * network.head().n_terms()) as f64;
        Self {
            first_layer: trunk[0],
            trunk: trunk.iter().sum(),
            choice: if network.n_multipliers() > 0 {
                *heads
            } else {
                heads / network.n_heads() as f64
            },
            head: heads / network.n_heads() as f64,
            selected: heads / n_outputs * (network.n_heads() * network.head().n_selected()) as f64,
        }
    }

    /// Of a row of an update: the choice of the next action, its value, the value now, the gradient.
    fn update(&self) -> f64 {
        let forward = 3.0 * self.trunk + self.choice + 2.0 * self.selected;
        forward + 2.0 * self.trunk - self.first_layer + 2.0 * self.selected
    }

    /// Of a row of a decision.
    fn decision(&self) -> f64 {
        self.trunk + self.head
    }
}

/// A learner of a configuration with an environment to learn in.
struct Subject {
    options: CgCmarlOptions,
    environment: Box<dyn Environment>,
    learner: Box<dyn Learner>,
    policy: Box<dyn Policy>,
    network: TwoHead,
    rng: Rng,
}

impl Subject {
    fn new(settings: &[(&str, &str)]) -> Self {
        let settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let settings: Vec<_> = settings.collect();
        let config = Config::resolve(None, &settings).expect("settings");
        let environment = config.scenario().and_then(|s| s.build()).expect("a task");
        let (view, streams) = (environment.view(), Streams::new(1));
        let start = Start { teams: &[view], n_environments: 1, total_steps: 1_000_000, streams };
        let algorithm = config.algorithm().expect("an algorithm");
        let learner = algorithm.learner(&config.options, start).expect("valid options");
        let mut weights = Checkpoint::new(0, serde_json::json!({}));
        learner.save_model(&mut weights);
        let model = algorithm.model(&config.options, view, &weights).expect("its own weights");
        let options: CgCmarlOptions = config.typed_options().expect("options of CG-CMARL");
        Self {
            network: TwoHead::for_view(&options.network, view).expect("a network"),
            policy: model.policy(&vec![1.0; view.spec().n_constraints()]),
            rng: streams.rng(Purpose::Problem, 0),
            options,
            learner,
            environment,
        }
    }

    /// Plays random actions; the learner remembers them. Returns the states.
    fn remember(&mut self, steps: usize) -> Vec<f32> {
        let spec = self.environment.view().spec().clone();
        let mut outcome = Outcome { ending: Ending::Truncated, ..Outcome::default() };
        let (mut states, mut next_state) = (Vec::new(), vec![0.0; spec.state_width]);
        for step in 0..steps {
            if outcome.ending != Ending::Running {
                self.environment.reset(&mut self.rng);
            }
            let action: Vec<usize> =
                (0..spec.n_agents()).map(|_| self.rng.below(spec.n_actions())).collect();
            states.resize((step + 1) * spec.state_width, 0.0);
            let state = &mut states[step * spec.state_width..];
            self.environment.write_state(state);
            self.environment.step(&action, &mut self.rng, &mut outcome);
            self.environment.write_state(&mut next_state);
            let transition = Transition {
                slot: 0,
                state,
                action: &action,
                outcome: &outcome,
                next_state: &next_state,
            };
            self.learner.observe(transition);
        }
        states
    }

    /// Microseconds of an update, and operations of its products.
    fn update(&mut self) -> (Times, f64) {
        let count = 100;
        self.remember(count);
        self.learner.update(self.environment.view());
        let round = || {
            self.remember(count);
            microseconds(|| awake(|| self.learner.update(self.environment.view())))
        };
        let time = Times::of(round, count);
        let n_rows = self.options.learning.batch_size as f64;
        (time, n_rows * Arithmetic::of(&self.network).update())
    }

    /// Microseconds of a decision, and operations of its products.
    fn decision(&mut self) -> (Times, f64) {
        let states = self.remember(200);
        let Self { environment, policy, options, .. } = self;
        let view = environment.view();
        let spec = view.spec();
        let mut actions = [vec![0; spec.n_agents()]];
        let mut round = || {
            for states in states.chunks_exact(spec.state_width) {
                policy.act(Batch { view, states, slots: &[0] }, &mut actions);
            }
        };
        let n_states = states.len() / spec.state_width;
        let time = Times::of(|| microseconds(&mut round), n_states);
        let n_frames = options.average_symmetries.min(view.n_frames());
        let n_views = n_frames * (1 + usize::from(options.average_orders));
        let n_rows = (n_views * spec.max_regions) as f64;
        (time, n_rows * Arithmetic::of(&self.network).decision())
    }
}

/// Steps of one episode.
const HORIZON: usize = 25;

/// Microseconds of a step with rewards, costs and every agent's row; those of the naive peer; and the
/// operations that its rules need.
fn step(agents: usize) -> (Times, Times, f64) {
    let options = SimpleSpreadOptions { agents, ..SimpleSpreadOptions::default() };
    let mut environment = SimpleSpread::new(&options).expect("valid options");
    let spec = environment.view().spec().clone();
    let mut rng = Streams::new(0).rng(Purpose::Problem, 0);
    let actions: Vec<Vec<usize>> =
        (0..97).map(|_| (0..agents).map(|_| rng.below(25)).collect()).collect();
    let (mut outcome, mut state) = (Outcome::default(), vec![0.0; spec.state_width]);
    let mut rows = vec![0.0; agents * spec.agent_width];
    let steps = 200 * HORIZON;
    let mut ours = || {
        for step in 0..steps {
            if step % HORIZON == 0 {
                environment.reset(&mut rng);
            }
            environment.step(&actions[step % actions.len()], &mut rng, &mut outcome);
            environment.write_state(&mut state);
            let view = environment.view();
            for (agent, row) in rows.chunks_exact_mut(spec.agent_width).enumerate() {
                view.agent_row(&state, agent, row);
            }
            black_box(&rows);
        }
    };
    let ours = Times::of(|| microseconds(&mut ours), steps);
    let mut naive = || {
        let mut peer = naive::Peer::default();
        for step in 0..steps {
            if step % HORIZON == 0 {
                peer = naive::Peer::new(agents, &mut rng);
            }
            black_box(peer.step(&actions[step % actions.len()]));
        }
    };
    let naive = Times::of(|| microseconds(&mut naive), steps);
    // Motion: position and velocity in two axes. Six operations for the distance of two points and
    // what is made of it, of each pair and of each agent from each landmark. Then every row's
    // differences.
    let n = agents as f64;
    let operations = 8.0 * n + 6.0 * (n * (n - 1.0) / 2.0 + n * n) + 2.0 * n * (2.0 * n - 1.0);
    (ours, naive, operations)
}

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn print(name: &str, (time, operations): (Times, f64), limit: f64, note: &str) {
    let Times { least, most } = time;
    let share = 100.0 * operations / limit / least;
    let speed = operations / least / 1e3;
    println!(
        "| {name} | {least:.2} - {most:.2} | {:.4} | {speed:.1} | {share:.0} % | {note} |",
        operations / 1e6
    );
}

/// Runs `work` on so many threads.
fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(work)
}

/// The update of a preset: on one thread beside its limit, on two beside twice that.
fn updates(preset: &str, agents: &str) {
    let every_step = [("learning_starts", "0"), ("steps_per_update", "1")];
    let settings = [&[("preset", preset), ("agents", agents)][..], &every_step].concat();
    let mut alone = f64::NAN;
    for (threads, called) in [(1_u32, "one thread"), (2, "two threads")] {
        let (limit, update) =
            on(threads as usize, || (Limit::measure(), Subject::new(&settings).update()));
        alone = if threads == 1 { update.0.least } else { alone };
        let name = format!("update, {preset}, {agents} agents, {called}");
        let note = format!("{:.2} × one thread", alone / update.0.least);
        print(&name, update, f64::from(threads) * limit.vectors, &note);
    }
}

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() {
    let limit = on(1, Limit::measure);
    println!(
        "The limit of one thread is {:.1} GFLOP/s in vectors, {:.1} GFLOP/s one number at a time.\n",
        limit.vectors / 1e3,
        limit.numbers / 1e3
    );
    println!("| | µs, least - most | MFLOP | GFLOP/s | of the limit | |");
    println!("|---|---|---|---|---|---|");
    for (preset, agents) in [("paper", "3"), ("default", "3"), ("default", "6"), ("default", "10")]
    {
        updates(preset, agents);
    }
    for agents in ["3", "6", "10", "20"] {
        let (limit, decision) =
            on(1, || (Limit::measure(), Subject::new(&[("agents", agents)]).decision()));
        print(&format!("decision, {agents} agents"), decision, limit.vectors, "");
    }
    for agents in [3, 10] {
        let (limit, (time, naive, operations)) = on(1, || (Limit::measure(), step(agents)));
        let Times { least, most } = naive;
        let note = format!("naive: {least:.2} - {most:.2} µs, {:.1} ×", least / time.least);
        let name = format!("environment step, {agents} agents");
        print(&name, (time, operations), limit.numbers, &note);
    }
}
