//! Simple Spread as a reader of MPE2's source would first write it.

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
