//! The physical limit of Simple Spread: `cargo run --release --example oracle -- [EPISODES] [LAYOUT]`.

use cgcmarl::{
    environment::Scenario,
    episode::Acting,
    evaluation::{EvaluationOptions, Named},
    run::play,
};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let episodes = arguments.next().map_or(Ok(1000), |n| n.parse())?;
    let layout = arguments.next().unwrap_or_else(|| "random".to_owned());
    let measured = EvaluationOptions { episodes, start_seed: 0, ..EvaluationOptions::default() };
    let mut out = std::io::stdout().lock();
    writeln!(out, "agents  coverage@0.1  collisions/step  floor   collision-free")?;
    for agents in [3, 4, 6, 10] {
        let options = toml::toml! {
            agents = agents
            layout = (layout.clone())
        };
        let scenario = Scenario::new("simple_spread", &options)?;
        let mut oracle = scenario.references()?.remove(0);
        let mut acting = Acting(oracle.policy.as_mut());
        let score = play(&scenario, &measured, &oracle.name, Named::default(), &mut acting)?;
        let [coverage, free] = ["coverage", "collision_free"].map(|name| 100.0 * score.mean(name));
        let [collisions, floor] =
            ["collisions_per_step", "collision_floor"].map(|name| score.mean(name));
        writeln!(
            out,
            "{agents:>6}  {coverage:>11.2}%  {collisions:>15.5}  {floor:.5}  {free:.2}%"
        )?;
    }
    Ok(())
}
