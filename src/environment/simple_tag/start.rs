//! Start states: where predators, prey and obstacles are when an episode begins.

use super::{
    options::Start,
    physics::{Bodies, OBSTACLE_RADIUS},
};
use crate::{
    environment::particle::{Points, difference, length},
    rng::Rng,
};

/// Bodies start in the square that reaches this far.
const SQUARE: f64 = 1.0;
/// Obstacles stand in the square that reaches this far.
const OBSTACLE_SQUARE: f64 = 0.9;
/// Places that are tried before one that overlaps is taken.
const TRIES: usize = 200;

impl Start {
    /// A start in which nothing moves.
    pub(super) fn place(self, rng: &mut Rng, bodies: &mut Bodies, clearance: f64) {
        bodies.velocities.clear();
        match self {
            Self::Mpe2 => {
                (0..=bodies.prey()).for_each(|i| bodies.positions.set(i, anywhere(rng, SQUARE)));
                for obstacle in 0..bodies.obstacles.len() {
                    bodies.obstacles.set(obstacle, anywhere(rng, OBSTACLE_SQUARE));
                }
            }
            Self::Apart => place_apart(rng, bodies, clearance),
        }
    }
}

fn anywhere(rng: &mut Rng, reach: f64) -> [f64; 2] {
    [rng.range(-reach, reach), rng.range(-reach, reach)]
}

/// Obstacles first, then bodies, each where nothing is nearer than `clearance` times the distance of
/// touching.
fn place_apart(rng: &mut Rng, bodies: &mut Bodies, clearance: f64) {
    let is_clear = |at: [f64; 2], others: &Points, count: usize, reach: &dyn Fn(usize) -> f64| {
        let far = |(other, place)| length(difference(at, place)) > clearance * reach(other);
        others.iter().take(count).enumerate().all(far)
    };
    for obstacle in 0..bodies.obstacles.len() {
        let place = draw(rng, OBSTACLE_SQUARE, |at| {
            is_clear(at, &bodies.obstacles, obstacle, &|_| 2.0 * OBSTACLE_RADIUS)
        });
        bodies.obstacles.set(obstacle, place);
    }
    for body in 0..bodies.positions.len() {
        let radius = bodies.kind(body).radius;
        let place = draw(rng, SQUARE, |at| {
            let n_obstacles = bodies.obstacles.len();
            is_clear(at, &bodies.obstacles, n_obstacles, &|_| radius + OBSTACLE_RADIUS)
                && is_clear(at, &bodies.positions, body, &|other| {
                    radius + bodies.kind(other).radius
                })
        });
        bodies.positions.set(body, place);
    }
}

/// The first place that is clear, or the last that was drawn.
fn draw(rng: &mut Rng, reach: f64, is_clear: impl Fn([f64; 2]) -> bool) -> [f64; 2] {
    let mut place = anywhere(rng, reach);
    for _ in 1..TRIES {
        if is_clear(place) {
            break;
        }
        place = anywhere(rng, reach);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn apart_means_that_nothing_touches() {
        let overlaps = |start: Start| {
            let mut bodies = Bodies::new(6, 2, true);
            let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
            let mut n_overlaps = 0;
            for _ in 0..200 {
                start.place(&mut rng, &mut bodies, 1.05);
                for a in 0..bodies.positions.len() {
                    let radius = bodies.kind(a).radius;
                    let hits = |o| bodies.obstacle_distance(a, o) < radius + OBSTACLE_RADIUS;
                    n_overlaps += (0..2).filter(|&o| hits(o)).count();
                    let meets = |b| bodies.distance(a, b) < radius + bodies.kind(b).radius;
                    n_overlaps += (0..a).filter(|&b| meets(b)).count();
                }
            }
            n_overlaps
        };
        assert_eq!(overlaps(Start::Apart), 0);
        assert!(overlaps(Start::Mpe2) > 50);
    }
}
