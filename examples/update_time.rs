//! CPU microseconds of one update on one thread: `update_time [preset] [agents] [updates]`.
//!
//! `benches/peers/compare.py` sets it beside PyTorch. Linux only: reads the thread's CPU time.

use cgcmarl::{
    algorithm::CgCmarl,
    config::Preset,
    environment::{Ending, Environment, Outcome, simple_spread::SimpleSpread},
    episode::{Player, Transition},
    rng::{Purpose, Streams},
};

/// Seconds this thread has spent on a processor.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) * 1e-9
}

/// Plays random actions and lets the learner remember them.
fn remember(learner: &mut CgCmarl, environment: &mut SimpleSpread, steps: usize, index: u64) {
    let spec = environment.view().spec().clone();
    let mut rng = Streams::new(1).rng(Purpose::Problem, index);
    let mut outcome = Outcome { ending: Ending::Truncated, ..Outcome::default() };
    let (mut before, mut after) = (vec![0.0; spec.state_width], vec![0.0; spec.state_width]);
    for _ in 0..steps {
        if outcome.ending != Ending::Running {
            environment.reset(&mut rng);
        }
        let action: Vec<usize> = (0..spec.n_agents).map(|_| rng.below(spec.n_actions)).collect();
        environment.write_state(&mut before);
        environment.step(&action, &mut outcome);
        environment.write_state(&mut after);
        let (before, after) = (&before, &after);
        learner.observe(Transition { slot: 0, before, action: &action, outcome: &outcome, after });
    }
}

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &str| arguments.get(i).map_or(default, |s| s).to_owned();
    let agents = word(1, "3").parse().expect("a number of agents");
    let updates = word(2, "1000").parse().expect("a number of updates");
    let mut config = Preset::named(&word(0, "paper")).expect("a preset").config(agents);
    let learning = &mut config.cg_cmarl.learning;
    (learning.learning_starts, learning.steps_per_update) = (0, 1.0);
    let mut environment = SimpleSpread::new(&config.environment).expect("valid options");
    let streams = Streams::new(1);
    let mut learner = CgCmarl::new(&config.cg_cmarl, environment.view(), 1, 1_000_000, streams)
        .expect("valid options");
    remember(&mut learner, &mut environment, 100, 0);
    learner.learn(environment.view());
    remember(&mut learner, &mut environment, updates, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let seconds = pool.install(|| {
        let start = cpu_seconds();
        learner.learn(environment.view());
        cpu_seconds() - start
    });
    println!("{:.1}", seconds * 1e6 / updates as f64);
}
