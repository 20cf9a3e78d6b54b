//! The bodies of Simple Tag: predators, then the prey, among fixed obstacles; forces, contact and
//! speed limits as MPE2 has them.

use crate::environment::particle::{Points, contact_force, difference, integrate, length};

/// What a kind of body is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Its radius.
    pub radius: f64,
    /// Force of an action of length one.
    pub acceleration: f64,
    /// It never moves faster.
    pub max_speed: f64,
}

/// One of the team.
pub const PREDATOR: Kind = Kind { radius: 0.075, acceleration: 3.0, max_speed: 1.0 };
/// The one they are after.
pub const PREY: Kind = Kind { radius: 0.05, acceleration: 4.0, max_speed: 1.3 };
/// Radius of an obstacle.
pub const OBSTACLE_RADIUS: f64 = 0.2;
/// A predator nearer to the prey than this touches it.
pub const TOUCH: f64 = PREDATOR.radius + PREY.radius;
/// Predators nearer to each other than this collide.
pub const COLLISION: f64 = 2.0 * PREDATOR.radius;
/// A predator nearer to an obstacle than this hits it.
pub const HIT: f64 = PREDATOR.radius + OBSTACLE_RADIUS;

/// Everything that moves, and what is in the way; the prey is the last body.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// Where they are.
    pub positions: Points,
    /// How fast they move.
    pub velocities: Points,
    /// Where the obstacles are.
    pub obstacles: Points,
    forces: Points,
    contact: bool,
}

impl Bodies {
    /// Bodies at rest at the origin; `contact` makes what overlaps push apart.
    pub fn new(n_predators: usize, n_obstacles: usize, contact: bool) -> Self {
        let zeros = Points::zeros(n_predators + 1);
        Self {
            positions: zeros.clone(),
            velocities: zeros.clone(),
            forces: zeros,
            obstacles: Points::zeros(n_obstacles),
            contact,
        }
    }

    /// Number of the body that is the prey.
    pub fn prey(&self) -> usize {
        self.positions.len() - 1
    }

    /// What a body is like.
    #[inline]
    pub fn kind(&self, body: usize) -> Kind {
        if body == self.prey() { PREY } else { PREDATOR }
    }

    /// Sets the force of one body from its action u in [-1, 1]².
    #[inline]
    pub fn push(&mut self, body: usize, action: [f64; 2]) {
        let acceleration = self.kind(body).acceleration;
        self.forces.set(body, action.map(|u| acceleration * u));
    }

    /// One step of the world.
    pub fn advance(&mut self) {
        if self.contact {
            self.add_contact();
        }
        integrate(&mut self.positions.x, &mut self.velocities.x, &self.forces.x);
        integrate(&mut self.positions.y, &mut self.velocities.y, &self.forces.y);
        for body in 0..self.positions.len() {
            let velocity = limited(self.velocities.get(body), self.kind(body).max_speed);
            self.velocities.set(body, velocity);
        }
    }

    /// Adds the contact force of every pair, at the positions before the step.
    fn add_contact(&mut self) {
        let n = self.positions.len();
        for a in 0..n {
            let (at, radius) = (self.positions.get(a), self.kind(a).radius);
            for b in a + 1..n {
                let delta = difference(at, self.positions.get(b));
                if let Some([fx, fy]) = contact_force(delta, radius + self.kind(b).radius) {
                    self.add_force(a, [fx, fy]);
                    self.add_force(b, [-fx, -fy]);
                }
            }
            for obstacle in 0..self.obstacles.len() {
                let delta = difference(at, self.obstacles.get(obstacle));
                if let Some(force) = contact_force(delta, radius + OBSTACLE_RADIUS) {
                    self.add_force(a, force);
                }
            }
        }
    }

    fn add_force(&mut self, body: usize, [fx, fy]: [f64; 2]) {
        self.forces.x[body] += fx;
        self.forces.y[body] += fy;
    }

    /// Whether a predator touches the prey.
    #[inline]
    pub fn touches(&self, predator: usize) -> bool {
        self.distance(predator, self.prey()) < TOUCH
    }

    /// How far two bodies are apart.
    #[inline]
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        length(difference(self.positions.get(a), self.positions.get(b)))
    }

    /// How far a body is from the centre of an obstacle.
    #[inline]
    pub fn obstacle_distance(&self, body: usize, obstacle: usize) -> f64 {
        length(difference(self.positions.get(body), self.obstacles.get(obstacle)))
    }
}

/// A velocity whose length is at most `max_speed`.
#[inline]
pub fn limited(velocity: [f64; 2], max_speed: f64) -> [f64; 2] {
    let speed = length(velocity);
    if speed > max_speed { velocity.map(|v| v / speed * max_speed) } else { velocity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_faster_than_its_kind() {
        let mut bodies = Bodies::new(1, 0, false);
        for _ in 0..40 {
            bodies.push(0, [1.0, 1.0]);
            bodies.push(1, [-1.0, 0.0]);
            bodies.advance();
        }
        // Without a limit: 0.3/0.25 on each axis, and 0.4/0.25.
        assert!((length(bodies.velocities.get(0)) - 1.0).abs() < 1e-12);
        assert!((length(bodies.velocities.get(1)) - 1.3).abs() < 1e-12);
    }

    #[test]
    fn an_obstacle_stays_and_pushes() {
        let mut bodies = Bodies::new(1, 1, true);
        bodies.positions.set(0, [0.2, 0.0]);
        bodies.positions.set(1, [5.0, 0.0]);
        bodies.push(0, [0.0, 0.0]);
        bodies.push(1, [0.0, 0.0]);
        bodies.advance();
        // 0.075 inside: force 7.5, velocity 0.75.
        let [vx, vy] = bodies.velocities.get(0);
        assert!((vx - 0.75).abs() < 1e-12 && vy == 0.0, "{vx} {vy}");
        assert_eq!(bodies.obstacles.get(0), [0.0, 0.0]);
        assert_eq!(bodies.velocities.get(1), [0.0, 0.0]);
    }
}
