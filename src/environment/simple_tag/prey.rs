//! How the prey runs: a rule of the present moment without chance, in a weaker and a stronger form.

use super::physics::{Bodies, OBSTACLE_RADIUS, PREY, limited};
use crate::environment::particle::{DAMPING, GRID, TIME_STEP, difference, length};
use serde::{Deserialize, Serialize};

/// The prey keeps inside the square that reaches this far.
const BORDER: f64 = 0.9;
/// How far from the border the weaker prey begins to turn back.
const TURN: f64 = 0.25;
/// Steps that the stronger prey looks ahead.
const LOOK_AHEAD: usize = 8;
/// Softens the fear of a predator very near.
const SOFTENING: f64 = 0.02;
/// Price of a unit beyond the border, for each step ahead.
const BORDER_PRICE: f64 = 60.0;
/// Price of a unit inside an obstacle, for each step ahead.
const OBSTACLE_PRICE: f64 = 30.0;

/// Which rule the prey follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prey {
    /// Straight away from the nearest predator, and back from the border.
    #[default]
    Runner,
    /// Looks ahead at every force of the grid, while predators move on as they do, and takes the one
    /// that keeps away from all of them, the border and the obstacles.
    Evader,
}

impl Prey {
    /// The force u in [-1, 1]² that the prey takes.
    pub fn act(self, bodies: &Bodies) -> [f64; 2] {
        match self {
            Self::Runner => run(bodies),
            Self::Evader => evade(bodies),
        }
    }
}

/// Away from the nearest predator, pushed back inside near the border.
fn run(bodies: &Bodies) -> [f64; 2] {
    let me = bodies.positions.get(bodies.prey());
    let nearest = (0..bodies.prey())
        .map(|predator| difference(me, bodies.positions.get(predator)))
        .min_by(|a, b| length(*a).total_cmp(&length(*b)))
        .unwrap_or_default();
    let far = length(nearest).max(1e-6);
    let wanted = [0, 1].map(|axis| {
        let inside = BORDER - me[axis].abs();
        let back = ((TURN - inside) / TURN).max(0.0);
        nearest[axis] / far - 2.0 * back * me[axis].signum()
    });
    let largest = wanted[0].abs().max(wanted[1].abs()).max(1e-6);
    wanted.map(|w| w / largest)
}

/// The force of the grid with the least fear.
fn evade(bodies: &Bodies) -> [f64; 2] {
    let mut best = (f64::INFINITY, [0.0, 0.0]);
    for x in GRID {
        for y in GRID {
            let fear = fear(bodies, [x, y], best.0);
            if fear < best.0 {
                best = (fear, [x, y]);
            }
        }
    }
    best.1
}

/// What the steps ahead are like if the prey holds a force and the predators their velocities; stops
/// adding above `limit`.
fn fear(bodies: &Bodies, force: [f64; 2], limit: f64) -> f64 {
    let prey = bodies.prey();
    let (mut at, mut velocity) = (bodies.positions.get(prey), bodies.velocities.get(prey));
    let mut fear = 0.0;
    for step in 1..=LOOK_AHEAD {
        for axis in 0..2 {
            at[axis] += TIME_STEP * velocity[axis];
            velocity[axis] =
                (1.0 - DAMPING) * velocity[axis] + TIME_STEP * PREY.acceleration * force[axis];
        }
        velocity = limited(velocity, PREY.max_speed);
        let passed = TIME_STEP * step as f64;
        for predator in 0..prey {
            let (p, v) = (bodies.positions.get(predator), bodies.velocities.get(predator));
            let [dx, dy] = difference(at, [p[0] + passed * v[0], p[1] + passed * v[1]]);
            fear += 1.0 / (dx * dx + dy * dy + SOFTENING);
        }
        let beyond: f64 = at.iter().map(|x| (x.abs() - BORDER).max(0.0)).sum();
        fear += BORDER_PRICE * beyond;
        for obstacle in bodies.obstacles.iter() {
            let inside = OBSTACLE_RADIUS + PREY.radius - length(difference(at, obstacle));
            fear += OBSTACLE_PRICE * inside.max(0.0);
        }
        if fear >= limit {
            return f64::INFINITY;
        }
    }
    fear
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(predators: &[[f64; 2]], prey: [f64; 2]) -> Bodies {
        let mut bodies = Bodies::new(predators.len(), 0, true);
        let mut all = predators.to_vec();
        all.push(prey);
        bodies.positions.set_all(&all);
        bodies
    }

    #[test]
    fn both_flee_from_the_predator() {
        let bodies = bodies(&[[-0.3, 0.0]], [0.0, 0.0]);
        assert_eq!(Prey::Runner.act(&bodies), [1.0, 0.0]);
        assert_eq!(Prey::Evader.act(&bodies)[0], 1.0);
    }

    #[test]
    fn both_turn_back_at_the_border() {
        let bodies = bodies(&[[0.3, 0.0]], [0.95, 0.0]);
        assert!(Prey::Runner.act(&bodies)[0] < 0.0);
        // The stronger one leaves along the border.
        let [x, y] = Prey::Evader.act(&bodies);
        assert!(x <= 0.0 && y.abs() == 1.0, "{x} {y}");
    }

    #[test]
    fn the_stronger_sees_all_predators() {
        // The nearest is on the left, two more wait on the right.
        let bodies = bodies(&[[-0.3, 0.0], [0.35, 0.1], [0.35, -0.1]], [0.0, 0.0]);
        assert_eq!(Prey::Runner.act(&bodies), [1.0, 0.0]);
        let [x, y] = Prey::Evader.act(&bodies);
        assert!(y.abs() == 1.0 && x < 1.0, "{x} {y}");
    }
}
