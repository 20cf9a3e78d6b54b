//! The physical limit of Simple Spread: `cargo run --release --example oracle -- [EPISODES] [LAYOUT]`.

use cgcmarl::{
    environment::{
        Environment, Outcome,
        layout::Layout,
        oracle::Oracle,
        simple_spread::{SimpleSpread, SimpleSpreadOptions},
    },
    rng::{Purpose, Streams},
};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let episodes: u64 = arguments.next().map_or(Ok(1000), |n| n.parse())?;
    let layout = match arguments.next() {
        Some(name) => serde_json::from_value(name.into())?,
        None => Layout::Random,
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "agents  coverage@0.1  collisions/step  floor   collision-free")?;
    for agents in [3, 4, 6, 10] {
        let options = SimpleSpreadOptions { agents, layout, ..SimpleSpreadOptions::default() };
        let [coverage, collisions, floor, free] = score(&options, episodes)?;
        writeln!(
            out,
            "{agents:>6}  {coverage:>11.2}%  {collisions:>15.5}  {floor:.5}  {free:.2}%"
        )?;
    }
    Ok(())
}

/// Coverage in percent, collisions and floor per step, percent of collision-free episodes.
fn score(options: &SimpleSpreadOptions, episodes: u64) -> cgcmarl::error::Result<[f64; 4]> {
    let mut environment = SimpleSpread::new(options)?;
    let mut oracle = Oracle::new(&environment);
    let mut state = vec![0.0; environment.view().spec().state_width];
    let (mut action, mut outcome) = (vec![0; options.agents], Outcome::default());
    let mut sums = [0.0; 4];
    for episode in 0..episodes {
        environment.reset(&mut Streams::new(0).rng(Purpose::Evaluation, episode));
        let mut collisions = 0;
        for _ in 0..options.horizon {
            environment.write_state(&mut state);
            oracle.act(&state, &mut action);
            environment.step(&action, &mut outcome);
            collisions += outcome.metrics.collisions;
            sums[2] += f64::from(outcome.metrics.unavoidable) / options.horizon as f64;
        }
        sums[0] += 100.0 * f64::from(outcome.metrics.coverage[0]);
        sums[1] += f64::from(collisions) / options.horizon as f64;
        sums[3] += 100.0 * f64::from(u8::from(collisions == 0));
    }
    Ok(sums.map(|sum| sum / episodes as f64))
}
