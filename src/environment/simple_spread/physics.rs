//! The particles of Simple Spread: agents of one size, F = 5·u plus contact.

use super::CROWD;
pub use crate::environment::particle::{
    CONTACT_FORCE, CONTACT_MARGIN, DAMPING, Points, TIME_STEP, difference, length,
};
use crate::{
    cell_grid::CellGrid,
    environment::particle::{contact_force, contact_reach, integrate},
};

/// Force of an action of length one.
pub const SENSITIVITY: f64 = 5.0;

/// Moving particles of one size.
#[derive(Clone, Debug)]
pub struct Particles {
    /// Where they are.
    pub positions: Points,
    /// How fast they move.
    pub velocities: Points,
    /// What pushes them in the present step; set before [`Particles::advance`].
    pub forces: Points,
    radius: f64,
    contact: bool,
    grid: CellGrid,
    near: Vec<[usize; 2]>,
}

impl Particles {
    /// Particles at rest at the origin; `contact` makes overlapping ones push each other apart.
    pub fn new(n: usize, radius: f64, contact: bool) -> Self {
        let zeros = Points::zeros(n);
        let (grid, near) = (CellGrid::default(), Vec::new());
        Self {
            positions: zeros.clone(),
            velocities: zeros.clone(),
            forces: zeros,
            radius,
            contact,
            grid,
            near,
        }
    }

    /// Sets the force of one particle from its action u in [-1, 1]².
    #[inline]
    pub fn push(&mut self, particle: usize, action: [f64; 2]) {
        self.forces.x[particle] = SENSITIVITY * action[0];
        self.forces.y[particle] = SENSITIVITY * action[1];
    }

    /// One step of the world.
    pub fn advance(&mut self) {
        if self.contact {
            self.add_contact();
        }
        integrate(&mut self.positions.x, &mut self.velocities.x, &self.forces.x);
        integrate(&mut self.positions.y, &mut self.velocities.y, &self.forces.y);
    }

    /// Adds the contact force of every pair, at the positions before the step.
    fn add_contact(&mut self) {
        let n = self.positions.len();
        if n < CROWD || !self.positions.are_finite() {
            for a in 0..n {
                (a + 1..n).for_each(|b| self.add_contact_of(a, b));
            }
            return;
        }
        let mut near = std::mem::take(&mut self.near);
        self.grid.fill(self.positions.iter());
        self.grid.near_pairs(contact_reach(2.0 * self.radius), &mut near);
        near.iter().for_each(|&[a, b]| self.add_contact_of(a, b));
        self.near = near;
    }

    fn add_contact_of(&mut self, a: usize, b: usize) {
        let delta = difference(self.positions.get(a), self.positions.get(b));
        if let Some([fx, fy]) = contact_force(delta, 2.0 * self.radius) {
            self.forces.x[a] += fx;
            self.forces.y[a] += fy;
            self.forces.x[b] -= fx;
            self.forces.y[b] -= fy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_pushed_apart_as_by_looking_at_every_pair() {
        use crate::rng::{Purpose, Streams};
        let mut rng = Streams::new(8).rng(Purpose::Problem, 0);
        let mut particles = Particles::new(70, 0.15, true);
        for index in 0..70 {
            particles.positions.set(index, [0, 1].map(|_| rng.range(-2.0, 2.0)));
        }
        let mut slow = particles.clone();
        for a in 0..70 {
            (a + 1..70).for_each(|b| slow.add_contact_of(a, b));
        }
        particles.add_contact();
        assert_eq!(particles.forces, slow.forces);
        assert!(slow.forces.x.iter().filter(|force| **force != 0.0).count() > 20);
    }

    #[test]
    fn the_action_of_a_step_moves_nothing_before_the_next() {
        let mut particles = Particles::new(1, 0.08, false);
        particles.push(0, [1.0, -0.5]);
        particles.advance();
        assert_eq!(particles.positions.get(0), [0.0, 0.0]);
        assert_eq!(particles.velocities.get(0), [0.5, -0.25]);
        particles.push(0, [0.0, 0.0]);
        particles.advance();
        assert_eq!(particles.positions.get(0), [0.05, -0.025]);
        assert_eq!(particles.velocities.get(0), [0.375, -0.1875]);
    }
}
