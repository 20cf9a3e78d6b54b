//! Simple Spread: N agents cover N landmarks and should not collide, with MPE2's physics.

mod agent_row;
mod assignment;
mod auction;
mod bearing;
pub mod closeness;
#[cfg(test)]
mod crowd_tests;
pub mod layout;
mod neighbourhood;
pub mod observation;
mod observation_options;
pub mod options;
pub mod oracle;
pub mod physics;
mod recipe;
pub mod recording;
mod relative_row;
pub mod reward;
mod row_features;
mod row_layout;
mod task;

pub use super::particle::GRID;
pub use options::{ActionSet, Cost, Physics, RewardRule, SimpleSpreadOptions, StartSquare};
pub use task::SimpleSpreadTask;

use super::{Drawing, Ending, Environment, Outcome, Role, Shape, View, check_snapshot, share};
use crate::{
    error::Result,
    graph::{CoordinationGraph, Topology},
    rng::Rng,
};
use closeness::Closeness;
use observation::SpreadView;
use physics::{Particles, Points};
use reward::Nearest;

/// What is drawn reaches this far from the centre, in half sides of the square.
const DRAWN: f64 = 1.25;
/// A landmark is covered by an agent nearer than this.
pub(crate) const COVER_DISTANCE: f64 = 0.1;

/// Teams from this size on are looked up in grids of cells; below, looking at everybody is quicker.
pub(crate) const CROWD: usize = 40;

/// The environment.
#[derive(Clone, Debug)]
pub struct SimpleSpread {
    view: SpreadView,
    options: SimpleSpreadOptions,
    local_ratio: f64,
    vectors: Vec<[f64; 2]>,
    particles: Particles,
    landmarks: Points,
    steps: usize,
    graph: CoordinationGraph,
    state: Vec<f32>,
    nearest: Nearest,
    credit: Vec<f64>,
    closeness: Closeness,
}

impl SimpleSpread {
    /// The environment with the given options.
    pub fn new(options: &SimpleSpreadOptions) -> Result<Self> {
        options.validate()?;
        let options = options.resolved();
        let n = options.agents;
        let radius = options.radius.unwrap_or_default();
        let cost_distance = options.cost_distance.unwrap_or_default();
        let vectors = options.actions.unwrap_or(ActionSet::Grid).vectors();
        let graph = options.graph.build(n)?;
        let spec = options.spec(vectors.len(), &graph)?;
        let view = SpreadView::new(
            spec,
            graph.clone(),
            &options.graph,
            &options.observation,
            &vectors,
            (radius, options.square.half_side(n)),
        );
        Ok(Self {
            view,
            local_ratio: options.local_ratio.unwrap_or_default(),
            vectors,
            particles: Particles::new(n, radius, options.contact.unwrap_or_default()),
            landmarks: Points::zeros(n),
            steps: 0,
            graph,
            state: vec![0.0; 6 * n],
            nearest: Nearest::new(n),
            credit: vec![0.0; n],
            closeness: Closeness::new(n, 2.0 * radius, cost_distance),
            options,
        })
    }

    /// The options in force, every rule replaced by its value.
    pub fn options(&self) -> &SimpleSpreadOptions {
        &self.options
    }

    /// Half the side of the square in which everything starts.
    fn half_side(&self) -> f64 {
        self.options.square.half_side(self.options.agents)
    }

    /// Where the agents are.
    pub fn positions(&self) -> &Points {
        &self.particles.positions
    }

    /// How fast the agents move.
    pub fn velocities(&self) -> &Points {
        &self.particles.velocities
    }

    /// Where the landmarks are.
    pub fn landmarks(&self) -> &Points {
        &self.landmarks
    }

    /// The agents nearest to each landmark after the last step.
    pub fn nearest(&self) -> &Nearest {
        &self.nearest
    }

    /// Which agents were close after the last step.
    pub fn closeness(&self) -> &Closeness {
        &self.closeness
    }

    /// Starts an episode from a given state.
    pub fn place(
        &mut self,
        positions: &[[f64; 2]],
        velocities: &[[f64; 2]],
        landmarks: &[[f64; 2]],
    ) {
        self.particles.positions.set_all(positions);
        self.particles.velocities.set_all(velocities);
        self.landmarks.set_all(landmarks);
        self.steps = 0;
    }

    /// The graph in force when the action was chosen.
    fn find_graph(&mut self) {
        if self.options.graph.follows_positions() {
            let mut state = std::mem::take(&mut self.state);
            self.write_state(&mut state);
            self.view.graph(&state, &mut self.graph);
            self.state = state;
        }
    }

    fn write_rewards(&mut self, outcome: &mut Outcome) {
        let utility = self.nearest.global_utility();
        outcome.team_reward = utility as f32;
        outcome.agent_rewards.clear();
        outcome.agent_rewards.extend((0..self.options.agents).map(|agent| {
            reward::mixed(utility, self.closeness.local_reward(agent), self.local_ratio) as f32
        }));
        outcome.region_rewards.clear();
        match self.options.reward {
            RewardRule::Counterfactual => {
                self.nearest.counterfactual(&mut self.credit);
                let credit = |members: &[usize]| members.iter().map(|&i| self.credit[i]).sum();
                let regions = self.graph.regions().map(|members| -> f64 { credit(members) });
                outcome.region_rewards.extend(regions.map(|credit| credit as f32));
            }
            RewardRule::Shared => {
                let regions = self.graph.n_regions();
                let share = 0.5 * (self.options.agents - 1) as f64 * utility / regions as f64;
                outcome.region_rewards.resize(regions, share as f32);
            }
        }
    }

    fn write_costs(&self, action: &[usize], outcome: &mut Outcome) {
        let energy = |agent: usize| reward::energy(self.vectors[action[agent]]) as f32;
        let Outcome { team_costs, region_costs, agent_costs, .. } = outcome;
        let (n, width) = (self.options.agents, self.options.constraints.len());
        team_costs.resize(width, 0.0);
        region_costs.resize(self.graph.n_regions() * width, 0.0);
        agent_costs.resize(n * width, 0.0);
        for (column, cost) in self.options.constraints.iter().enumerate() {
            match cost {
                Cost::Collision => {
                    team_costs[column] = self.closeness.pairs_near() as f32;
                    self.charge_collisions(&mut region_costs[column..], width);
                    for agent in 0..n {
                        agent_costs[agent * width + column] = self.closeness.agent_cost(agent);
                    }
                }
                Cost::Energy => {
                    team_costs[column] = (0..n).map(energy).sum();
                    region_costs[column..].iter_mut().step_by(width).for_each(|cost| *cost = 0.0);
                    for agent in 0..n {
                        share(&self.graph, &[agent], energy(agent), &mut |r, part| {
                            region_costs[column + r * width] += part;
                        });
                        agent_costs[agent * width + column] = energy(agent);
                    }
                }
            }
        }
    }

    /// Charges the near pairs to the regions; one cost of a region in each `width` cells.
    fn charge_collisions(&self, costs: &mut [f32], width: usize) {
        costs.iter_mut().step_by(width).for_each(|cost| *cost = 0.0);
        if self.options.graph.topology == Topology::Complete {
            let n = self.options.agents;
            for &[a, b] in self.closeness.near_pairs() {
                // Regions are all pairs in rising order: n − 1 of agent 0, then n − 2 of agent 1, …
                let region = a * (2 * n - a - 1) / 2 + b - a - 1;
                costs[region * width] = self.closeness.pair_cost(a, b);
            }
        } else {
            let charge = &mut |region: usize, part| costs[region * width] += part;
            self.closeness.charge_regions(&self.graph, charge);
        }
    }

    /// The step's metrics, in the order of [`SimpleSpreadOptions::metrics`].
    fn write_metrics(&self, metrics: &mut Vec<f64>) {
        let collisions = f64::from(self.closeness.pairs_touching());
        let n_pairs = (self.options.agents * (self.options.agents - 1) / 2) as f64;
        // The first step moves nobody by its action, so what overlaps after it had to.
        let unavoidable = if self.steps == 1 { collisions } else { 0.0 };
        let free = if collisions == 0.0 { 1.0 } else { 0.0 };
        let [near, nearer, nearest] = self.nearest.coverage().map(f64::from);
        metrics.clear();
        metrics.extend([
            near,
            nearer,
            nearest,
            collisions,
            collisions / n_pairs,
            unavoidable,
            free,
        ]);
    }
}

impl Environment for SimpleSpread {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        let half_side = self.half_side();
        let Self { options, particles, landmarks, .. } = self;
        options.layout.place(rng, half_side, &mut particles.positions, landmarks);
        self.particles.velocities.clear();
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        let parts = [self.positions(), self.velocities(), &self.landmarks];
        for (cells, part) in state.chunks_exact_mut(2 * self.options.agents).zip(parts) {
            for (cells, (x, y)) in cells.chunks_exact_mut(2).zip(part.x.iter().zip(&part.y)) {
                cells[0] = *x as f32;
                cells[1] = *y as f32;
            }
        }
    }

    fn step(&mut self, action: &[usize], _rng: &mut Rng, outcome: &mut Outcome) {
        self.find_graph();
        for (agent, &index) in action.iter().enumerate() {
            self.particles.push(agent, self.vectors[index]);
        }
        self.particles.advance();
        self.steps += 1;
        self.nearest.measure(&self.particles.positions, &self.landmarks);
        self.closeness.measure(&self.particles.positions);
        self.write_rewards(outcome);
        self.write_costs(action, outcome);
        self.write_metrics(&mut outcome.metrics);
        let over = self.steps >= self.options.horizon;
        outcome.ending = if over { Ending::Truncated } else { Ending::Running };
    }

    fn snapshot(&self) -> Vec<f64> {
        let points =
            self.positions().iter().chain(self.velocities().iter()).chain(self.landmarks.iter());
        points.flatten().chain([self.steps as f64]).collect()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        let n = self.options.agents;
        check_snapshot(snapshot, 6 * n + 1)?;
        let (points, steps) = snapshot.split_at(6 * n);
        let points: &[[f64; 2]] = bytemuck::cast_slice(points);
        self.place(&points[..n], &points[n..2 * n], &points[2 * n..]);
        self.steps = steps[0] as usize;
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let n = self.options.agents;
        let radius = self.options.radius.unwrap_or_default();
        let (team, landmarks) = (self.positions(), &self.landmarks);
        let distance = |a: [f64; 2], b: [f64; 2]| physics::length(physics::difference(a, b));
        let mut shapes = Vec::with_capacity(2 * n);
        for (index, at) in landmarks.iter().enumerate() {
            let reached = team.iter().any(|agent| distance(agent, at) < COVER_DISTANCE);
            let role = if reached { Role::Reached } else { Role::Target };
            shapes.push(Shape::disc(role, at, COVER_DISTANCE).movable(4 * n + 2 * index));
        }
        for (index, at) in team.iter().enumerate() {
            let touches = |(other, place): (usize, [f64; 2])| {
                other != index && distance(at, place) < 2.0 * radius
            };
            let role = if team.iter().enumerate().any(touches) { Role::Alarm } else { Role::Agent };
            let shape = Shape::disc(role, at, radius).of_agent(index);
            shapes.push(shape.movable(2 * index).moving(2 * n + 2 * index));
        }
        let drawn = DRAWN * self.half_side();
        Drawing { bounds: [-drawn, -drawn, drawn, drawn], shapes }
    }
}
