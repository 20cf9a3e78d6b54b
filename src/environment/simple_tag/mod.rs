//! Simple Tag: predators touch a faster prey among obstacles, with MPE2's physics; touching each
//! other and touching obstacles are paid for.

mod heuristic;
pub mod observation;
mod options;
pub mod physics;
mod prey;
mod recipe;
pub mod recording;
mod start;
mod task;

pub use options::{SimpleTagOptions, Start};
pub use prey::Prey;
pub use task::SimpleTagTask;

use super::{
    Drawing, Ending, Environment, Outcome, Role, Shape, View, check_snapshot,
    particle::grid_of_forces,
};
use crate::{error::Result, graph::CoordinationGraph, rng::Rng};
use observation::TagView;
use physics::{Bodies, COLLISION, HIT, OBSTACLE_RADIUS, PREDATOR, PREY};

/// What is drawn reaches this far from the centre.
const DRAWN: f64 = 1.3;
/// Constraint of predators near each other.
const COLLISIONS: usize = 0;
/// Constraint of predators near obstacles.
const OBSTACLES: usize = 1;

/// The environment.
#[derive(Clone, Debug)]
pub struct SimpleTag {
    view: TagView,
    options: SimpleTagOptions,
    vectors: Vec<[f64; 2]>,
    bodies: Bodies,
    steps: usize,
    graph: CoordinationGraph,
    state: Vec<f32>,
}

impl SimpleTag {
    /// The environment with the given options.
    pub fn new(options: &SimpleTagOptions) -> Result<Self> {
        options.validate()?;
        let vectors = grid_of_forces();
        let graph = options.graph.build(options.agents)?;
        let spec = options.spec(vectors.len(), &graph);
        let state = vec![0.0; spec.state_width];
        Ok(Self {
            view: TagView::new(options, spec, graph.clone(), &vectors),
            vectors,
            bodies: Bodies::new(options.agents, options.obstacles, options.contact),
            steps: 0,
            graph,
            state,
            options: options.clone(),
        })
    }

    /// Predators, prey and obstacles.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Starts an episode from a given state; the prey is the last body.
    pub fn place(
        &mut self,
        positions: &[[f64; 2]],
        velocities: &[[f64; 2]],
        obstacles: &[[f64; 2]],
    ) {
        self.bodies.positions.set_all(positions);
        self.bodies.velocities.set_all(velocities);
        self.bodies.obstacles.set_all(obstacles);
        self.steps = 0;
    }

    /// Moves everybody by one step: predators by their actions, the prey by a force.
    pub fn advance(&mut self, action: &[usize], prey: [f64; 2]) {
        for (predator, &index) in action.iter().enumerate() {
            self.bodies.push(predator, self.vectors[index]);
        }
        self.bodies.push(self.bodies.prey(), prey);
        self.bodies.advance();
        self.steps += 1;
    }

    /// Whether the episode's time is over.
    pub fn is_over(&self) -> bool {
        self.steps >= self.options.horizon
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

    /// Pays touches, takes off distances, charges what is near.
    fn write_outcome(&self, outcome: &mut Outcome) {
        let Self { bodies, graph, .. } = self;
        let (n, margin) = (self.options.agents, self.options.cost_margin);
        outcome.begin(self.view.spec(), graph);
        let (mut touches, mut collisions, mut hits) = (0, 0, 0);
        let mut nearest = f64::INFINITY;
        for predator in 0..n {
            let distance = bodies.distance(predator, bodies.prey());
            let touching = bodies.touches(predator);
            let reward = f64::from(touching) - self.options.shaping * distance;
            outcome.earn(graph, &[predator], reward as f32);
            nearest = nearest.min(distance);
            touches += u32::from(touching);
            for other in 0..predator {
                let distance = bodies.distance(other, predator);
                collisions += u32::from(distance < COLLISION);
                if distance < margin * COLLISION {
                    outcome.charge(graph, COLLISIONS, &[other, predator], 1.0);
                }
            }
            for obstacle in 0..self.options.obstacles {
                let distance = bodies.obstacle_distance(predator, obstacle);
                hits += u32::from(distance < HIT);
                if distance < margin * HIT {
                    outcome.charge(graph, OBSTACLES, &[predator], 1.0);
                }
            }
        }
        outcome.metrics.extend([touches, collisions, hits].map(f64::from));
        outcome.metrics.push(nearest);
        outcome.ending = if self.is_over() { Ending::Truncated } else { Ending::Running };
    }
}

impl Environment for SimpleTag {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.options.start.place(rng, &mut self.bodies, self.options.clearance());
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        let Bodies { positions, velocities, obstacles, .. } = &self.bodies;
        let points = positions.iter().chain(velocities.iter()).chain(obstacles.iter());
        for (cells, point) in state.chunks_exact_mut(2).zip(points) {
            cells.copy_from_slice(&point.map(|x| x as f32));
        }
    }

    fn step(&mut self, action: &[usize], _rng: &mut Rng, outcome: &mut Outcome) {
        self.find_graph();
        let prey = self.options.prey.act(&self.bodies);
        self.advance(action, prey);
        self.write_outcome(outcome);
    }

    fn snapshot(&self) -> Vec<f64> {
        let Bodies { positions, velocities, obstacles, .. } = &self.bodies;
        let points = positions.iter().chain(velocities.iter()).chain(obstacles.iter());
        points.flatten().chain([self.steps as f64]).collect()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        let (n, m) = (self.options.agents + 1, self.options.obstacles);
        check_snapshot(snapshot, 4 * n + 2 * m + 1)?;
        let (points, steps) = snapshot.split_at(4 * n + 2 * m);
        let points: &[[f64; 2]] = bytemuck::cast_slice(points);
        self.place(&points[..n], &points[n..2 * n], &points[2 * n..]);
        self.steps = steps[0] as usize;
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let bodies = &self.bodies;
        let n = self.options.agents;
        let mut shapes = Vec::with_capacity(n + 1 + self.options.obstacles);
        for (obstacle, at) in bodies.obstacles.iter().enumerate() {
            let shape = Shape::disc(Role::Obstacle, at, OBSTACLE_RADIUS);
            shapes.push(shape.movable(4 * (n + 1) + 2 * obstacle));
        }
        let caught = (0..n).any(|predator| bodies.touches(predator));
        for (body, at) in bodies.positions.iter().enumerate() {
            let shape = if body == bodies.prey() {
                let role = if caught { Role::Reached } else { Role::Target };
                Shape::disc(role, at, PREY.radius)
            } else {
                let meets = |other| other != body && bodies.distance(body, other) < COLLISION;
                let hits = |obstacle| bodies.obstacle_distance(body, obstacle) < HIT;
                let alarm = (0..n).any(meets) || (0..self.options.obstacles).any(hits);
                let role = if alarm { Role::Alarm } else { Role::Agent };
                Shape::disc(role, at, PREDATOR.radius).of_agent(body)
            };
            shapes.push(shape.movable(2 * body).moving(2 * (n + 1) + 2 * body));
        }
        Drawing { bounds: [-DRAWN, -DRAWN, DRAWN, DRAWN], shapes }
    }
}
