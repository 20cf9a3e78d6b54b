//! The oracle of Simple Spread, which sees all and plans: the reference for what the physics allows.
//!
//! It assigns agents to landmarks so that the sum of distances is smallest, then lets every
//! agent plan a few steps ahead with MPE2's dynamics against the plans of the others.

use super::{
    ActionSet, SimpleSpread,
    assignment::Assignment,
    observation::Parts,
    physics::{DAMPING, SENSITIVITY, TIME_STEP},
};
use crate::{
    environment::{Batch, Policy},
    graph::JointAction,
};
use std::f64::consts::FRAC_PI_4;

/// Steps a plan looks ahead.
const LOOK_AHEAD: usize = 14;
/// Steps a plan may hold one action before it steers for its landmark.
const HOLDS: [usize; 4] = [1, 2, 4, 7];
/// Rounds in which each agent answers the plans of the others.
const ROUNDS: usize = 3;
/// Price of one overlap in a plan, in units of distance times steps.
const OVERLAP_PRICE: f64 = 20.0;
/// Added to two radii where plans keep apart.
const MARGIN: f64 = 0.002;
/// An agent this near to its landmark covers it, with a little to spare.
const COVERED: f64 = 0.098;
/// Price of each step at which the landmark is not covered.
const UNCOVERED_PRICE: f64 = 0.3;
/// Weight of the distance, small beside the prices.
const DISTANCE_WEIGHT: f64 = 0.2;
/// How far beside its landmark an agent may aim to keep clear of others.
const ASIDE: [f64; 2] = [0.05, 0.09];
/// How far an agent coasts per unit of velocity: 0.1 · (1 + 0.75 + 0.75² + …).
const COAST: f64 = TIME_STEP / DAMPING;

/// Positions after each step of a plan.
type Path = [[f64; 2]; LOOK_AHEAD];

/// Position and velocity of one agent.
#[derive(Clone, Copy, Debug)]
struct Body {
    position: [f64; 2],
    velocity: [f64; 2],
}

impl Body {
    /// One step of MPE2's order: position by the old velocity, then velocity by the force.
    #[inline]
    fn advance(&mut self, action: [f64; 2]) {
        for (axis, push) in action.iter().enumerate() {
            self.position[axis] += TIME_STEP * self.velocity[axis];
            self.velocity[axis] =
                (1.0 - DAMPING) * self.velocity[axis] + TIME_STEP * SENSITIVITY * push;
        }
    }
}

/// An upright rectangle that a path stays in.
#[derive(Clone, Copy, Debug)]
struct Box2 {
    low: [f64; 2],
    high: [f64; 2],
}

impl Box2 {
    fn of(path: &Path) -> Self {
        let mut around = Self { low: path[0], high: path[0] };
        for place in path {
            for axis in [0, 1] {
                around.low[axis] = around.low[axis].min(place[axis]);
                around.high[axis] = around.high[axis].max(place[axis]);
            }
        }
        around
    }

    /// Whether two boxes are apart by no more than about this along both axes.
    fn is_near(&self, other: &Self, clearance: f64) -> bool {
        let margin = clearance + 1e-9;
        (0..2).all(|axis| {
            self.low[axis] - other.high[axis] <= margin
                && other.low[axis] - self.high[axis] <= margin
        })
    }
}

/// Assignment, controller and avoidance on the force grid.
#[derive(Clone, Debug)]
pub struct Oracle {
    actions: ActionSet,
    vectors: Vec<[f64; 2]>,
    clearance: f64,
    assignment: Assignment,
    landmark_of: Vec<usize>,
    bodies: Vec<Body>,
    targets: Vec<[f64; 2]>,
    paths: Vec<Path>,
    /// What each path stays in.
    boxes: Vec<Box2>,
    /// Those whose paths come near the one that is priced.
    near: Vec<usize>,
}

impl Oracle {
    /// Team size.
    pub fn n_agents(&self) -> usize {
        self.bodies.len()
    }

    /// The oracle of an environment.
    pub fn new(environment: &SimpleSpread) -> Self {
        let options = environment.options();
        let n = options.agents;
        let actions = options.actions.unwrap_or(ActionSet::Grid);
        let rest = Body { position: [0.0; 2], velocity: [0.0; 2] };
        Self {
            actions,
            vectors: actions.vectors(),
            clearance: 2.0 * options.radius.unwrap_or_default() + MARGIN,
            assignment: Assignment::new(n),
            landmark_of: vec![0; n],
            bodies: vec![rest; n],
            targets: vec![[0.0; 2]; n],
            paths: vec![[[0.0; 2]; LOOK_AHEAD]; n],
            boxes: vec![Box2::of(&[[0.0; 2]; LOOK_AHEAD]); n],
            near: Vec::new(),
        }
    }

    /// Writes the joint action for a state row.
    pub fn act(&mut self, state: &[f32], action: &mut [usize]) {
        self.read(state);
        for (agent, chosen) in action.iter_mut().enumerate() {
            *chosen = self.plan_alone(agent);
        }
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (agent, chosen) in action.iter_mut().enumerate() {
                if self.answer(agent, chosen) {
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// Takes in a state and assigns the landmarks, from where the agents would coast to.
    fn read(&mut self, state: &[f32]) {
        let parts = Parts::of(state, self.bodies.len());
        let wide = |point: [f32; 2]| point.map(f64::from);
        for (body, (&p, &v)) in
            self.bodies.iter_mut().zip(parts.positions.iter().zip(parts.velocities))
        {
            *body = Body { position: wide(p), velocity: wide(v) };
        }
        let Self { bodies, landmark_of, .. } = self;
        let cost = |agent: usize, landmark: usize| {
            distance(coasted(&bodies[agent]), wide(parts.landmarks[landmark]))
        };
        self.assignment.solve(cost, landmark_of);
        for (target, &landmark) in self.targets.iter_mut().zip(landmark_of.iter()) {
            *target = wide(parts.landmarks[landmark]);
        }
    }

    /// Steers straight for the landmark; returns the first action.
    fn plan_alone(&mut self, agent: usize) -> usize {
        let first = self.steer(&self.bodies[agent], self.targets[agent]);
        self.paths[agent] = self.path(agent, first, 1, self.targets[agent]);
        self.boxes[agent] = Box2::of(&self.paths[agent]);
        first
    }

    /// Replans one agent if its plan overlaps with others; tells whether the plan changed.
    fn answer(&mut self, agent: usize, chosen: &mut usize) -> bool {
        let present = self.paths[agent];
        if !self.overlaps(agent, &present) {
            return false;
        }
        let mut near = std::mem::take(&mut self.near);
        let mut best = (self.price(agent, &present, f64::INFINITY, &mut near), *chosen, present);
        let mut consider = |action: usize, hold: usize, aim: [f64; 2]| {
            let path = self.path(agent, action, hold, aim);
            let price = self.price(agent, &path, best.0, &mut near);
            if price < best.0 {
                best = (price, action, path);
            }
        };
        let target = self.targets[agent];
        for action in 0..self.vectors.len() {
            for hold in HOLDS {
                consider(action, hold, target);
            }
        }
        for aim in beside(target) {
            consider(self.steer(&self.bodies[agent], aim), 1, aim);
        }
        let changed = best.2 != present;
        (*chosen, self.paths[agent]) = (best.1, best.2);
        self.boxes[agent] = Box2::of(&self.paths[agent]);
        self.near = near;
        changed
    }

    /// Where an agent goes that holds an action for some steps and then steers for a point.
    fn path(&self, agent: usize, action: usize, hold: usize, aim: [f64; 2]) -> Path {
        let mut body = self.bodies[agent];
        let mut path = [[0.0; 2]; LOOK_AHEAD];
        for (step, place) in path.iter_mut().enumerate() {
            let action = if step < hold { action } else { self.steer(&body, aim) };
            body.advance(self.vectors[action]);
            *place = body.position;
        }
        path
    }

    /// The action after which coasting ends nearest to the target.
    #[inline]
    fn steer(&self, body: &Body, target: [f64; 2]) -> usize {
        let resting = coasted(body);
        let reach = COAST * TIME_STEP * SENSITIVITY;
        let wanted = [0, 1].map(|axis| (target[axis] - resting[axis]) / reach);
        match self.actions {
            ActionSet::Grid => {
                let index = wanted.map(|w| (2.0 * w.clamp(-1.0, 1.0)).round() as isize + 2);
                (5 * index[0] + index[1]) as usize
            }
            ActionSet::Discrete => {
                let axis = usize::from(wanted[1].abs() > wanted[0].abs());
                let forward = usize::from(wanted[axis] > 0.0);
                if wanted[axis].abs() < 0.5 { 0 } else { 1 + 2 * axis + forward }
            }
        }
    }

    fn overlaps(&self, agent: usize, path: &Path) -> bool {
        self.others_near(agent, path).any(|other| {
            let other = &self.paths[other];
            path.iter().zip(other).any(|(&a, &b)| distance(a, b) < self.clearance)
        })
    }

    /// The others whose paths may come near a path: whose boxes do.
    fn others_near(&self, agent: usize, path: &Path) -> impl Iterator<Item = usize> {
        let (around, clearance) = (Box2::of(path), self.clearance);
        let others = self.boxes.iter().enumerate();
        let near =
            others.filter(move |(other, own)| *other != agent && around.is_near(own, clearance));
        near.map(|(other, _)| other)
    }

    /// Distance from the landmark and overlaps along a path; stops adding above `limit`.
    fn price(&self, agent: usize, path: &Path, limit: f64, near: &mut Vec<usize>) -> f64 {
        near.clear();
        near.extend(self.others_near(agent, path));
        let mut price = 0.0;
        for (step, &place) in path.iter().enumerate() {
            let away = distance(place, self.targets[agent]);
            price += DISTANCE_WEIGHT * away + if away < COVERED { 0.0 } else { UNCOVERED_PRICE };
            for &other in near.iter() {
                if distance(place, self.paths[other][step]) < self.clearance {
                    price += OVERLAP_PRICE;
                }
            }
            if price >= limit {
                return f64::INFINITY;
            }
        }
        price
    }
}

impl Policy for Oracle {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        for (index, action) in actions.iter_mut().enumerate() {
            action.resize(self.n_agents(), 0);
            Self::act(self, batch.state(index), action);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

/// Points around a landmark from which it is still covered.
fn beside(landmark: [f64; 2]) -> impl Iterator<Item = [f64; 2]> {
    (0..8).flat_map(move |eighth| {
        let (sin, cos) = (f64::from(eighth) * FRAC_PI_4).sin_cos();
        ASIDE.map(|far| [landmark[0] + far * cos, landmark[1] + far * sin])
    })
}

/// Where an agent comes to rest if nothing pushes it.
#[inline]
fn coasted(body: &Body) -> [f64; 2] {
    [0, 1].map(|axis| body.position[axis] + COAST * body.velocity[axis])
}

#[inline]
fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    (dx * dx + dy * dy).sqrt()
}
