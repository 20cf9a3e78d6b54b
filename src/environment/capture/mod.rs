//! Targets that only three agents can take together: the paper's example of a reward that pairs cannot
//! represent and triplets can. Small enough that the best joint action of every state is known.

mod game;
mod regions;
#[cfg(test)]
mod representation;
mod task;

pub use regions::Regions;
pub use task::{CaptureOptions, CaptureTask};

use super::{
    Better, Constraint, Drawing, Ending, Environment, Metric, Outcome, Reduce, Role, Shape, Spec,
    View,
};
use crate::{error::Result, graph::CoordinationGraph, rng::Rng};
use game::{MOST_WORTH, N_ACTIONS, TAKERS, acting, aim, best, takers};
use std::f64::consts::TAU;

/// What an agent sees: for each target in reach, whether it is there and what it is worth.
const AGENT_WIDTH: usize = 2 * TAKERS;
/// What kind of region it is: two neighbours, two with one between them, or three.
const N_KINDS: usize = 3;
/// Radii of what is drawn.
const RING: f64 = 1.0;
const DRAWN_AGENT: f64 = 0.09;
const DRAWN_TARGET: f64 = 0.06;

/// The environment; its state is what each target is worth, and the steps that have passed.
#[derive(Clone, Debug)]
pub struct Capture {
    view: CaptureView,
    state: Vec<f32>,
    /// What was done last, for the picture.
    last: Vec<usize>,
    /// What could be done best in the present state.
    best: f32,
}

/// How the ring is seen.
#[derive(Clone, Debug)]
struct CaptureView {
    spec: Spec,
    graph: CoordinationGraph,
}

impl Capture {
    /// The environment with the given options.
    pub fn new(options: &CaptureOptions) -> Result<Self> {
        options.validate()?;
        let n = options.agents;
        let graph = options.regions.graph(n)?;
        let most = (n / TAKERS * MOST_WORTH * options.horizon) as f64;
        let sum = |name: &str, unit: &str, better, most| {
            Metric::new(name, unit, Reduce::Sum, better, [0.0, most])
        };
        let metrics = [
            sum("worth", "worth of the targets taken", Better::Higher, most),
            sum("vain", "acts in vain", Better::Lower, (n * options.horizon) as f64),
            sum("missed", "worth that the best joint actions would take too", Better::Lower, most),
        ];
        let constraint = Constraint::new("act", "acts in vain").limits("vain").at_most(1.0);
        let region_width = options.regions.size() * AGENT_WIDTH + N_KINDS;
        let spec = Spec {
            region_size: options.regions.size(),
            max_regions: graph.n_regions(),
            ..Spec::new(task::NAME, n, N_ACTIONS, options.horizon)
                .rows(n + 1, AGENT_WIDTH, region_width)
                .measures(metrics, [constraint])
        };
        let view = CaptureView { spec, graph };
        Ok(Self { view, state: vec![0.0; n + 1], last: vec![0; n], best: 0.0 })
    }

    fn n(&self) -> usize {
        self.last.len()
    }

    /// Draws what each target is worth.
    fn deal(&mut self, rng: &mut Rng) {
        let n = self.n();
        self.state[..n].fill_with(|| rng.below(MOST_WORTH + 1) as f32);
        self.best = best(&self.state[..n]).0;
    }
}

impl View for CaptureView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        if *graph != self.graph {
            graph.clone_from(&self.graph);
        }
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        row.fill(0.0);
        let (agents, kinds) = row.split_at_mut(self.spec.region_size * AGENT_WIDTH);
        for (cells, &agent) in agents.chunks_exact_mut(AGENT_WIDTH).zip(members) {
            self.agent_row(state, agent, cells);
        }
        let n = self.spec.n_agents();
        let kind = match members {
            [one, other] if (one + 1) % n == *other || (other + 1) % n == *one => 0,
            [_, _] => 1,
            _ => 2,
        };
        kinds[kind] = 1.0;
    }

    fn row_layout(&self) -> Vec<(String, usize)> {
        let member = |member: usize| {
            let words =
                format!("agent {member}, each target in reach: whether it is there, its worth");
            (words, AGENT_WIDTH)
        };
        let kind = "neighbours, two with one between them, or three".to_owned();
        (0..self.spec.region_size).map(member).chain([(kind, N_KINDS)]).collect()
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        let n = self.spec.n_agents();
        for (action, cells) in (1..N_ACTIONS).zip(row.chunks_exact_mut(2)) {
            let worth = aim(agent, action, n).map_or(0.0, |target| state[target]);
            cells.copy_from_slice(&[worth.min(1.0), worth / MOST_WORTH as f32]);
        }
    }

    /// Nobody acts on a target that is not there.
    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        let n = self.spec.n_agents();
        for (action, allowed) in allowed.iter_mut().enumerate() {
            *allowed = aim(agent, action, n).is_none_or(|target| state[target] > 0.0);
        }
    }
}

impl Environment for Capture {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.deal(rng);
        self.last.fill(0);
        let n = self.n();
        self.state[n] = 0.0;
    }

    fn write_state(&self, state: &mut [f32]) {
        state.copy_from_slice(&self.state);
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        let (n, graph) = (self.n(), &self.view.graph);
        outcome.begin(&self.view.spec, graph);
        let mut taken = 0.0;
        for target in 0..n {
            let (agents, acts) = (takers(target, n), acting(target, action));
            if acts == [true; TAKERS] {
                taken += self.state[target];
                regions::earn(graph, agents, self.state[target], outcome);
                continue;
            }
            for slot in (0..TAKERS).filter(|&slot| acts[slot]) {
                regions::charge(graph, agents, slot, outcome);
            }
        }
        let missed = f64::from(self.best - taken);
        outcome.metrics.extend([f64::from(taken), f64::from(outcome.team_costs[0]), missed]);
        self.last.copy_from_slice(action);
        self.state[n] += 1.0;
        outcome.ending = Ending::after(self.state[n] as usize, &self.view.spec, false);
        self.deal(rng);
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        self.view.spec.read_snapshot(snapshot, &mut self.state)?;
        let n = self.n();
        self.best = best(&self.state[..n]).0;
        self.last.fill(0);
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let n = self.n();
        let place = |position: f64, radius: f64| {
            let (sin, cos) = (TAU * position / n as f64).sin_cos();
            [radius * sin, radius * cos]
        };
        let mut shapes = Vec::new();
        for (target, &worth) in
            self.state[..n].iter().enumerate().filter(|(_, worth)| **worth > 0.0)
        {
            let at = place(target as f64 + 1.0, 0.6 * RING);
            let shape = Shape::square(Role::Ground, at, DRAWN_TARGET * f64::from(worth));
            shapes.push(shape.labelled(format!("{worth}")));
        }
        for agent in 0..n {
            let aimed = aim(agent, self.last[agent], n);
            let in_vain = aimed.is_some_and(|target| acting(target, &self.last) != [true; TAKERS]);
            let role = if in_vain { Role::Alarm } else { Role::Agent };
            shapes.push(Shape::disc(role, place(agent as f64, RING), DRAWN_AGENT).of_agent(agent));
        }
        Drawing { bounds: [-1.25, -1.25, 1.25, 1.25], shapes }
    }
}
