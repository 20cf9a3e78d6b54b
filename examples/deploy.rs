//! A trained model at work without its trainer: `cargo run --release --example deploy -- RUN [MULTIPLIER]`.

use cgcmarl::{Ending, Model, Outcome, Streams, rng::Purpose};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = arguments.next().ok_or("which run? Name its directory")?;
    let multiplier: f32 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;

    // A run directory is all it takes; the trade-off is chosen here, not in training.
    let model = Model::open(run)?;
    let mut policy = model.policy(multiplier)?;

    // The environment stands for whatever tells you the state of your team.
    let mut environment = model.scenario()?.build()?;
    let (mut start, mut chance) =
        (Streams::new(7).rng(Purpose::Episode, 0), Streams::new(7).rng(Purpose::Dynamics, 0));
    environment.reset(&mut start);
    let mut state = vec![0.0; policy.spec().state_width];
    let mut outcome = Outcome::default();
    let mut out = std::io::stdout().lock();
    while outcome.ending == Ending::Running {
        environment.write_state(&mut state);
        let actions = policy.act(&state)?;
        environment.step(actions, &mut chance, &mut outcome);
        writeln!(out, "actions {actions:?} cost the team {:?}", outcome.team_costs)?;
    }
    for (metric, value) in policy.spec().metrics.iter().zip(&outcome.metrics) {
        writeln!(out, "{} at the last step: {value:.3} ({})", metric.name, metric.unit)?;
    }
    Ok(())
}
