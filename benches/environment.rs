//! Joint steps per second with rewards, costs and agent observations, beside a naive peer.
//!
//! The peer keeps MPE2's structure: agents as objects, every quantity computed where it is asked
//! for, a fresh vector for each result.

#[path = "peers/naive.rs"]
mod naive;

use cgcmarl::{
    environment::{
        Environment, Outcome,
        simple_spread::{SimpleSpread, SimpleSpreadOptions, observation::ObservationOptions},
    },
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const N_ENVIRONMENTS: usize = 64;
const HORIZON: usize = 25;

fn random(index: u64) -> Rng {
    Streams::new(0).rng(Purpose::Problem, index)
}

fn joint_actions(agents: usize) -> Vec<Vec<usize>> {
    let mut rng = random(1);
    (0..97).map(|_| (0..agents).map(|_| rng.below(25)).collect()).collect()
}

fn spread(agents: usize) -> SimpleSpread {
    let options = SimpleSpreadOptions { agents, ..SimpleSpreadOptions::default() };
    SimpleSpread::new(&options).expect("valid options")
}

/// One episode in each environment: reset, then step, costs, rewards and every agent's row.
fn episodes(environments: &mut [SimpleSpread], actions: &[Vec<usize>], buffers: &mut Buffers) {
    for (slot, environment) in environments.iter_mut().enumerate() {
        environment.reset(&mut buffers.rng);
        for step in 0..HORIZON {
            let action = &actions[(slot + step) % actions.len()];
            environment.step(action, &mut buffers.rng, &mut buffers.outcome);
            environment.write_state(&mut buffers.state);
            let view = environment.view();
            let width = view.spec().agent_width;
            for (agent, row) in buffers.rows.chunks_exact_mut(width).enumerate() {
                view.agent_row(&buffers.state, agent, row);
            }
            black_box(&buffers.rows);
        }
    }
}

struct Buffers {
    outcome: Outcome,
    state: Vec<f32>,
    rows: Vec<f32>,
    rng: Rng,
}

fn steps(criterion: &mut Criterion) {
    for agents in [3, 10] {
        let mut group = criterion.benchmark_group(format!("environment/steps/{agents}"));
        group.throughput(Throughput::Elements((N_ENVIRONMENTS * HORIZON) as u64));
        let actions = joint_actions(agents);
        let mut environments = vec![spread(agents); N_ENVIRONMENTS];
        let spec = environments[0].view().spec().clone();
        let mut buffers = Buffers {
            outcome: Outcome::default(),
            state: vec![0.0; spec.state_width],
            rows: vec![0.0; agents * spec.agent_width],
            rng: random(0),
        };
        group.bench_function("cgcmarl", |bencher| {
            bencher.iter(|| episodes(&mut environments, &actions, &mut buffers));
        });
        let mut peers = vec![naive::Peer::default(); N_ENVIRONMENTS];
        let mut rng = random(0);
        group.bench_function("naive", |bencher| {
            bencher.iter(|| {
                for (slot, peer) in peers.iter_mut().enumerate() {
                    *peer = naive::Peer::new(agents, &mut rng);
                    for step in 0..HORIZON {
                        black_box(peer.step(&actions[(slot + step) % actions.len()]));
                    }
                }
            });
        });
        group.finish();
    }
}

/// Region rows of one state, as the learner recomputes them for each sampled state.
fn region_rows(criterion: &mut Criterion) {
    for agents in [3, 6, 10] {
        let mut group = criterion.benchmark_group(format!("environment/region_rows/{agents}"));
        let graph = CoordinationGraph::complete(agents);
        group.throughput(Throughput::Elements(graph.n_regions() as u64));
        for occupancy in [false, true] {
            let observation = ObservationOptions { occupancy, ..ObservationOptions::default() };
            let options = SimpleSpreadOptions { agents, observation, ..Default::default() };
            let mut environment = SimpleSpread::new(&options).expect("valid options");
            environment.reset(&mut random(2));
            let spec = environment.view().spec().clone();
            let mut state = vec![0.0; spec.state_width];
            environment.write_state(&mut state);
            let mut rows = vec![0.0; graph.n_regions() * spec.region_width];
            let view = environment.view();
            let name = if occupancy { "occupancy" } else { "relative" };
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    let state = black_box(&state);
                    view.region_rows(state, &graph, &[], &mut rows, spec.region_width);
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = steps, region_rows
}
criterion_main!(benches);
