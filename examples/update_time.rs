//! CPU microseconds of one update on one thread: `update_time [preset] [agents] [updates]`.
//!
//! `benches/peers/compare.py` sets it beside PyTorch. Linux only: reads the thread's CPU time.

#[path = "../benches/peers/cpu_time.rs"]
mod cpu_time;

use cgcmarl::{
    algorithm::{Learner, Start},
    environment::{Ending, Environment, Outcome},
    episode::Transition,
    rng::{Purpose, Streams},
    run::Config,
};
use cpu_time::cpu_seconds;

/// Plays random actions and lets the learner remember them.
fn remember(
    learner: &mut dyn Learner,
    environment: &mut dyn Environment,
    steps: usize,
    index: u64,
) {
    let spec = environment.view().spec().clone();
    let mut rng = Streams::new(1).rng(Purpose::Problem, index);
    let mut outcome = Outcome { ending: Ending::Truncated, ..Outcome::default() };
    let (mut state, mut next_state) = (vec![0.0; spec.state_width], vec![0.0; spec.state_width]);
    for _ in 0..steps {
        if outcome.ending != Ending::Running {
            environment.reset(&mut rng);
        }
        let action: Vec<usize> =
            (0..spec.n_agents()).map(|_| rng.below(spec.n_actions())).collect();
        environment.write_state(&mut state);
        environment.step(&action, &mut rng, &mut outcome);
        environment.write_state(&mut next_state);
        let (state, next_state, outcome) = (&state, &next_state, &outcome);
        learner.observe(Transition { slot: 0, state, action: &action, outcome, next_state });
    }
}

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &str| arguments.get(i).map_or(default, |s| s).to_owned();
    let updates: usize = word(2, "1000").parse()?;
    let settings = [
        ("preset", word(0, "paper")),
        ("agents", word(1, "3")),
        ("learning_starts", "0".to_owned()),
        ("steps_per_update", "1".to_owned()),
    ];
    let config = Config::resolve(None, &settings.map(|(key, value)| (key.to_owned(), value)))?;
    let mut environment = config.scenario()?.build()?;
    let start = Start {
        teams: &[environment.view()],
        n_environments: 1,
        total_steps: 1_000_000,
        streams: Streams::new(1),
    };
    let mut learner = config.algorithm()?.learner(&config.options, start)?;
    remember(learner.as_mut(), environment.as_mut(), 100, 0);
    learner.update(environment.view());
    remember(learner.as_mut(), environment.as_mut(), updates, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let seconds = pool.install(|| {
        let start = cpu_seconds();
        learner.update(environment.view());
        cpu_seconds() - start
    });
    println!("{:.1}", seconds * 1e6 / updates as f64);
    Ok(())
}
