//! A trained model at work without its trainer: `cargo run --release --example deploy -- RUN [MULTIPLIER]`.

use cgcmarl::{
    environment::{Environment, Outcome, simple_spread::SimpleSpread},
    episode::Scene,
    experiment::Model,
    rng::{Purpose, Streams},
};
use std::{io::Write, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = arguments.next().ok_or("which run? Name its directory")?;
    let multiplier: f32 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;

    // A run directory is all it takes; the trade-off is chosen here, not in training.
    let model = Model::open(Path::new(&run))?;
    let options = &model.config.environment;
    let mut policy = model.operating_points(options, &[multiplier])?.remove(0).policy;

    // The world stands for whatever tells you positions, velocities and landmarks.
    let mut world = SimpleSpread::new(options)?;
    let streams = Streams::new(7);
    world.reset(&mut streams.rng(Purpose::Episode, 0));
    let forces = world.options().actions.ok_or("actions are resolved")?.vectors();
    let mut state = vec![0.0; world.view().spec().state_width];
    let mut outcome = Outcome::default();
    // A greedy policy draws nothing, and acts on as many states at once as there are streams.
    let mut rngs = [streams.rng(Purpose::Exploration, 0)];
    let mut joint_actions = [Vec::new()];
    let mut out = std::io::stdout().lock();
    for step in 1..=options.horizon {
        // One row per state: all positions, all velocities, all landmarks.
        world.write_state(&mut state);
        policy.act(Scene { view: world.view(), states: &state }, &mut rngs, &mut joint_actions);
        let chosen: Vec<_> = joint_actions[0].iter().map(|&action| forces[action]).collect();
        world.step(&joint_actions[0], &mut outcome);
        let overlaps = outcome.metrics.collisions;
        writeln!(out, "step {step:>2}: forces {chosen:?}, {overlaps} pairs overlap")?;
    }
    writeln!(out, "landmarks covered: {:.0} %", 100.0 * outcome.metrics.coverage[0])?;
    Ok(())
}
