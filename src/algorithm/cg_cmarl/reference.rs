//! Updates of the default learning rule agree with PyTorch: tied heads that see the multiplier,
//! coupled targets, summed error, pairs in either order.

use super::{options::rule, *};
use crate::{
    algorithm::reference::{Blocks, Rule, Weights, assert_moved, assert_near, flat, part},
    coordination::{Solver, SolverOptions},
    nn::{Adam, AdamOptions},
    replay::{Replay, Row, RowShape},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    initial: Weights,
    cost_weight: f32,
    batches: Vec<Transitions>,
    online: Weights,
    target: Weights,
}

#[derive(Deserialize)]
struct Transitions {
    states: Vec<f32>,
    next_states: Vec<f32>,
    actions: Vec<usize>,
    rewards: Vec<f32>,
    costs: Vec<f32>,
    discounts: Vec<f32>,
    multipliers: Vec<f32>,
    reversed: Vec<bool>,
}

const N_AGENTS: usize = 3;
const N_REGIONS: usize = 3;
const STATE: usize = 6;

impl Transitions {
    fn replay(&self) -> Replay {
        let n = self.discounts.len();
        let shape = RowShape { state: STATE, agents: N_AGENTS, actions: 9, outcome: 2 * N_REGIONS };
        let mut replay = Replay::new(shape, n);
        for i in 0..n {
            let of = |numbers: &'_ [f32]| numbers[i * N_REGIONS..][..N_REGIONS].to_vec();
            replay.push(Row {
                state: &self.states[i * STATE..][..STATE],
                next_state: &self.next_states[i * STATE..][..STATE],
                actions: &self.actions[i * N_AGENTS..][..N_AGENTS],
                outcome: &[of(&self.rewards), of(&self.costs)].concat(),
                terminal: self.discounts[i] == 0.0,
            });
        }
        replay
    }

    fn samples(&self) -> Vec<Sample> {
        let bits = |flags: &[bool]| flags.iter().rev().fold(0, |bits, &b| 2 * bits + u64::from(b));
        let flags = self.reversed.chunks_exact(N_REGIONS).zip(&self.multipliers).enumerate();
        let sample = flags.map(|(row, (flags, &multiplier))| Sample {
            row,
            reversed: bits(flags),
            multipliers: vec![multiplier],
            ..Sample::new(1)
        });
        sample.collect()
    }
}

#[test]
fn default_updates_agree_with_pytorch() {
    let Fixture { initial, cost_weight, batches, online, target } = part("cg_cmarl");
    let Rule { lr, tau, gamma, .. } = part("rule");
    let view = Blocks::new(N_AGENTS, 2, 9, 1);
    let options = NetworkOptions { hidden: vec![8], ..NetworkOptions::default() };
    let network = TwoHead::for_view(&options, &view).unwrap();
    let initial = flat(network.layout(), &initial);
    let (mut ours, mut ours_target) = (initial.clone(), initial.clone());
    let mut adam = Adam::new(AdamOptions::default(), ours.len());
    let exact = SolverOptions { solver: Solver::Exact, ..SolverOptions::default() };
    let mut shard = TdShard::new(&network, &view, exact.build());
    // The constants that are not the fixture's are those of the default.
    let rule = TdRule { gamma, cost_weight, ..rule(&LearningOptions::default()) };
    assert_eq!(batches.len(), 6);
    for batch in &batches {
        let (replay, samples) = (batch.replay(), batch.samples());
        let inputs = TdInputs {
            network: &network,
            online: &ours,
            target: &ours_target,
            view: &view,
            replay: &replay,
            rule,
            n_rows: samples.len() * N_REGIONS,
        };
        shard.accumulate(inputs, &samples);
        adam.step(lr, &shard.gradient, &mut ours);
        polyak(&mut ours_target, &ours, tau);
    }
    assert_moved("online weights", &ours, &initial);
    assert_near("online weights", &ours, &flat(network.layout(), &online));
    assert_near("target weights", &ours_target, &flat(network.layout(), &target));
}
