//! How many rounds of Max-Sum a trained team's tables need: `message_rounds RUN`.
//!
//! Plays the policy and solves the tables of each state as a target of learning does, with fewer rounds
//! and more; prints how much value is missing to the anytime coordinator's joint action.

use cgcmarl::{
    Model,
    algorithm::cg_cmarl::{Actor, Averaging},
    coordination::{Coordinator, MaxSum, MaxSumOptions, SolverOptions},
    environment::{Ending, Outcome},
    rng::{Purpose, Streams},
};

/// States of each multiplier.
const STATES: usize = 1000;

#[expect(clippy::print_stdout, reason = "its output is its purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let run = std::env::args().nth(1).ok_or("which run? Name its directory")?;
    let model = Model::open(run)?;
    let scenario = model.scenario()?;
    let mut environment = scenario.build()?;
    let trained = model.cg_cmarl(&scenario)?;
    let rounds = [2, 3, 4, 5, 6, 8, 10, 20];
    let solver = |msg_iterations| {
        MaxSum::new(MaxSumOptions { msg_iterations, tolerance: 1e-3, ..MaxSumOptions::default() })
    };
    let [mut start, mut chance] =
        [Purpose::Episode, Purpose::Dynamics].map(|purpose| Streams::new(7).rng(purpose, 0));
    println!(
        "| multiplier | rounds | mean loss of value | as good as 10 rounds | better | worse |"
    );
    println!("|---|---|---|---|---|---|");
    for multiplier in [0.0, 0.2, 1.0, 5.0] {
        let anytime = SolverOptions::default().build();
        let mut actor = Actor::new(environment.view(), anytime, Averaging::NONE);
        let mut solvers = rounds.map(solver);
        let mut values = vec![Vec::new(); rounds.len()];
        let mut best = Vec::new();
        let spec = environment.view().spec().clone();
        let (mut state, mut action) = (vec![0.0; spec.state_width], vec![0; spec.n_agents()]);
        let mut outcome = Outcome { ending: Ending::Truncated, ..Outcome::default() };
        for _ in 0..STATES {
            if outcome.ending != Ending::Running {
                environment.reset(&mut start);
            }
            environment.write_state(&mut state);
            let context = trained.context(environment.view());
            let multipliers = vec![multiplier; spec.n_constraints()];
            let (graph, tables, answer) = actor.decide(context, &state, &multipliers, &mut action);
            best.push(answer.value);
            for (solver, values) in solvers.iter_mut().zip(&mut values) {
                values.push(solver.coordinate(graph, tables, &mut Vec::new()).value);
            }
            environment.step(&action, &mut chance, &mut outcome);
        }
        let ten = rounds.iter().position(|&n| n == 10).map_or(0, |index| index);
        let ten = values[ten].clone();
        for (n, values) in rounds.iter().zip(&values) {
            let loss: f64 = best.iter().zip(values).map(|(best, value)| best - value).sum();
            let count = |is: fn(f64) -> bool| {
                let differences = values.iter().zip(&ten).map(|(value, ten)| value - ten);
                100.0 * differences.filter(|x| is(*x)).count() as f64 / STATES as f64
            };
            println!(
                "| {multiplier} | {n} | {:.4} | {:.1} % | {:.1} % | {:.1} % |",
                loss / STATES as f64,
                count(|x| x.abs() < 1e-6),
                count(|x| x >= 1e-6),
                count(|x| x <= -1e-6),
            );
        }
    }
    Ok(())
}
