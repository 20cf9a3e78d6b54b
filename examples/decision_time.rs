//! CPU microseconds of one decision of a policy on one thread: `decision_time RUN|agents=N [key=value …]`.
//!
//! Of a trained run under these settings, or of a fresh network with them; plays episodes with the policy at
//! multiplier 1. Linux only: reads the thread's CPU time.

#[path = "../benches/peers/cpu_time.rs"]
mod cpu_time;

use cgcmarl::{
    Model,
    algorithm::Start,
    checkpoint::Checkpoint,
    environment::{Batch, Ending, Environment, Outcome, Policy},
    rng::{Purpose, Streams},
    run::Config,
};
use cpu_time::cpu_seconds;

type Subject = (Box<dyn Environment>, Box<dyn Policy>);

/// The policy of a network that has learned nothing.
fn fresh(settings: &[(String, String)]) -> Result<Subject, Box<dyn std::error::Error>> {
    let config = Config::resolve(None, settings)?;
    let environment = config.scenario()?.build()?;
    let start = Start {
        teams: &[environment.view()],
        n_environments: 1,
        total_steps: 1,
        streams: Streams::new(1),
    };
    let algorithm = config.algorithm()?;
    let learner = algorithm.learner(&config.options, start)?;
    let mut weights = Checkpoint::new(0, serde_json::json!({}));
    learner.save_model(&mut weights);
    let model = algorithm.model(&config.options, environment.view(), &weights)?;
    let n_constraints = environment.view().spec().n_constraints();
    let policy = model.policy(&vec![1.0; n_constraints]);
    Ok((environment, policy))
}

/// The policy of a run, with some settings changed.
fn trained(
    run: &str,
    settings: &[(String, String)],
) -> Result<Subject, Box<dyn std::error::Error>> {
    let mut model = Model::open(run)?;
    let config = model.config.with(settings)?;
    model.act_as(&config)?;
    let scenario = config.scenario()?;
    let environment = scenario.build()?;
    let multipliers = vec![1.0; environment.view().spec().n_constraints()];
    let policy = model.trained(&scenario)?.policy(&multipliers);
    Ok((environment, policy))
}

/// The states that a policy meets.
fn play(environment: &mut dyn Environment, policy: &mut dyn Policy, n_states: usize) -> Vec<f32> {
    let spec = environment.view().spec().clone();
    let [mut start, mut chance] =
        [Purpose::Episode, Purpose::Dynamics].map(|purpose| Streams::new(7).rng(purpose, 0));
    let (mut states, mut actions) = (Vec::new(), [vec![0; spec.n_agents()]]);
    let mut outcome = Outcome { ending: Ending::Truncated, ..Outcome::default() };
    for index in 0..n_states {
        if outcome.ending != Ending::Running {
            environment.reset(&mut start);
        }
        states.resize((index + 1) * spec.state_width, 0.0);
        let state = &mut states[index * spec.state_width..];
        environment.write_state(state);
        policy.act(Batch { view: environment.view(), states: state, slots: &[0] }, &mut actions);
        environment.step(&actions[0], &mut chance, &mut outcome);
    }
    states
}

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pairs = arguments.iter().filter_map(|word| word.split_once('='));
    let settings: Vec<_> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let (mut environment, mut policy) = match arguments.first() {
        Some(run) if !run.contains('=') => trained(run, &settings)?,
        _ => fresh(&settings)?,
    };
    let states = play(environment.as_mut(), policy.as_mut(), 500);
    let (width, rounds) = (environment.view().spec().state_width, 8);
    let mut actions = [vec![0; environment.view().spec().n_agents()]];
    let mut digest = 0_u64;
    let start = cpu_seconds();
    for state in std::iter::repeat_n(&states, rounds).flat_map(|states| states.chunks(width)) {
        policy.act(Batch { view: environment.view(), states: state, slots: &[0] }, &mut actions);
        let fold =
            |digest: u64, action: &usize| digest.wrapping_mul(31).wrapping_add(*action as u64);
        digest = actions[0].iter().fold(digest, fold);
    }
    let decisions = (rounds * states.len() / width) as f64;
    println!("{:.1} (decisions {digest:016x})", (cpu_seconds() - start) * 1e6 / decisions);
    Ok(())
}
