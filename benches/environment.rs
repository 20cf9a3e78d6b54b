//! Joint steps per second with rewards, costs and agent observations, beside a naive peer.
//!
//! The peer keeps MPE2's structure: agents as objects, every quantity computed where it is asked
//! for, a fresh vector for each result.

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

/// Simple Spread as a reader of MPE2's source would first write it.
mod naive {
    use cgcmarl::{environment::simple_spread::GRID, rng::Rng};

    #[derive(Clone, Default)]
    struct Agent {
        position: Vec<f64>,
        velocity: Vec<f64>,
        action: Vec<f64>,
    }

    #[derive(Clone, Default)]
    pub(super) struct Peer {
        agents: Vec<Agent>,
        landmarks: Vec<Vec<f64>>,
    }

    /// Rewards, costs and observations.
    pub(super) type Results = (Vec<f64>, Vec<f64>, Vec<Vec<f64>>);

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    impl Peer {
        pub(super) fn new(n: usize, rng: &mut Rng) -> Self {
            let mut point = || vec![rng.range(-1.0, 1.0), rng.range(-1.0, 1.0)];
            let agents = (0..n).map(|_| Agent {
                position: point(),
                velocity: vec![0.0; 2],
                action: vec![0.0; 2],
            });
            let agents = agents.collect();
            Self { agents, landmarks: (0..n).map(|_| point()).collect() }
        }

        pub(super) fn step(&mut self, action: &[usize]) -> Results {
            for (agent, &index) in self.agents.iter_mut().zip(action) {
                agent.action = vec![GRID[index / 5], GRID[index % 5]];
                for axis in 0..2 {
                    agent.position[axis] += agent.velocity[axis] * 0.1;
                    agent.velocity[axis] = agent.velocity[axis] * 0.75 + 0.5 * agent.action[axis];
                }
            }
            let rewards = self.agents.iter().map(|agent| self.reward(agent)).collect();
            let observations = self.agents.iter().map(|agent| self.observe(agent)).collect();
            (rewards, self.costs(), observations)
        }

        fn others<'a>(&'a self, me: &'a Agent) -> impl Iterator<Item = &'a Agent> {
            self.agents.iter().filter(move |other| !std::ptr::eq(*other, me))
        }

        fn reward(&self, me: &Agent) -> f64 {
            let nearest = self.landmarks.iter().map(|landmark| {
                let distances = self.agents.iter().map(|a| distance(&a.position, landmark));
                distances.fold(f64::INFINITY, f64::min)
            });
            let touching = |other: &&Agent| distance(&other.position, &me.position) < 0.16;
            let local = self.others(me).filter(touching).count();
            0.5 * -nearest.sum::<f64>() - 0.5 * local as f64
        }

        fn costs(&self) -> Vec<f64> {
            let near = |a: &Agent, b: &Agent| distance(&a.position, &b.position) < 0.2;
            let pairs = self.agents.iter().enumerate().flat_map(|(i, a)| {
                self.agents[i + 1..].iter().map(move |b| f64::from(u8::from(near(a, b))))
            });
            pairs.collect()
        }

        fn observe(&self, me: &Agent) -> Vec<f64> {
            let landmarks = self.landmarks.iter().flat_map(|l| minus(l, &me.position));
            let others = self.others(me).flat_map(|a| minus(&a.position, &me.position));
            let own = me.velocity.iter().chain(&me.position).copied();
            own.chain(landmarks).chain(others).collect()
        }
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
