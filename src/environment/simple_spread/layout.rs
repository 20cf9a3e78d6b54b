//! Start states: where agents and landmarks are when an episode begins.

use super::physics::Points;
use crate::rng::Rng;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Radius of the circle of `spread_uniform`.
const CIRCLE: f64 = 0.7;
/// `line` reaches from minus to plus this.
const LINE_END: f64 = 0.8;
/// `clustered_pair` has its clusters at plus and minus this on both axes.
const CLUSTER_CENTRE: f64 = 0.5;
/// Radius of the small circle of each cluster.
const CLUSTER_RADIUS: f64 = 0.2;

/// Where the landmarks are in a square of half side 1, with which they grow; agents always start
/// anywhere in the square, at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Anywhere in [-1, 1]².
    #[default]
    Random,
    /// Evenly on a circle of radius 0.7.
    SpreadUniform,
    /// Evenly on y = 0, from x = -0.8 to 0.8.
    Line,
    /// Half of them (rounded up) around (-0.5, -0.5), the others around (0.5, 0.5), each half evenly
    /// on a circle of radius 0.2, or at its centre if alone.
    ClusteredPair,
}

impl Layout {
    /// Draws agents, then places landmarks (drawn after the agents where random), in a square of this
    /// half side.
    pub fn place(self, rng: &mut Rng, half_side: f64, agents: &mut Points, landmarks: &mut Points) {
        self.place_in_unit_square(rng, agents, landmarks);
        for points in [agents, landmarks] {
            points.x.iter_mut().chain(&mut points.y).for_each(|c| *c *= half_side);
        }
    }

    fn place_in_unit_square(self, rng: &mut Rng, agents: &mut Points, landmarks: &mut Points) {
        scatter(rng, agents);
        let n = landmarks.len();
        match self {
            Self::Random => scatter(rng, landmarks),
            Self::SpreadUniform => {
                (0..n).for_each(|k| landmarks.set(k, on_circle([0.0, 0.0], CIRCLE, k, n)));
            }
            Self::Line => {
                let gap = 2.0 * LINE_END / (n.max(2) - 1) as f64;
                (0..n).for_each(|k| landmarks.set(k, [-LINE_END + k as f64 * gap, 0.0]));
            }
            Self::ClusteredPair => {
                let first = n.div_ceil(2);
                (0..n).for_each(|k| landmarks.set(k, in_cluster(k, first, n)));
            }
        }
    }
}

fn scatter(rng: &mut Rng, points: &mut Points) {
    for index in 0..points.len() {
        points.set(index, [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0)]);
    }
}

/// Place `k` of `n` on a circle, counted from the positive x axis.
fn on_circle(centre: [f64; 2], radius: f64, k: usize, n: usize) -> [f64; 2] {
    let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
    [centre[0] + radius * cos, centre[1] + radius * sin]
}

fn in_cluster(k: usize, first: usize, n: usize) -> [f64; 2] {
    let (centre, place, size) = if k < first {
        (-CLUSTER_CENTRE, k, first)
    } else {
        (CLUSTER_CENTRE, k - first, n - first)
    };
    let radius = if size == 1 { 0.0 } else { CLUSTER_RADIUS };
    on_circle([centre, centre], radius, place, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn landmarks(layout: Layout, n: usize) -> Vec<[f64; 2]> {
        let (mut agents, mut landmarks) = (Points::zeros(n), Points::zeros(n));
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        layout.place(&mut rng, 1.0, &mut agents, &mut landmarks);
        assert!(agents.iter().flatten().all(|c| (-1.0..1.0).contains(&c)));
        let (mut far_agents, mut far) = (Points::zeros(n), Points::zeros(n));
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        layout.place(&mut rng, 3.0, &mut far_agents, &mut far);
        let grows = |(a, b): ([f64; 2], [f64; 2])| near([3.0 * a[0], 3.0 * a[1]], b);
        assert!(agents.iter().zip(far_agents.iter()).all(grows));
        assert!(landmarks.iter().zip(far.iter()).all(grows));
        landmarks.iter().collect()
    }

    fn near(a: [f64; 2], b: [f64; 2]) -> bool {
        (a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12
    }

    #[test]
    fn fixed_layouts_are_where_the_paper_puts_them() {
        let circle = landmarks(Layout::SpreadUniform, 4);
        assert!(near(circle[0], [0.7, 0.0]) && near(circle[1], [0.0, 0.7]), "{circle:?}");
        assert_eq!(landmarks(Layout::Line, 3), [[-0.8, 0.0], [0.0, 0.0], [0.8, 0.0]]);
        let clusters = landmarks(Layout::ClusteredPair, 3);
        assert!(near(clusters[0], [-0.3, -0.5]) && near(clusters[1], [-0.7, -0.5]));
        assert!(near(clusters[2], [0.5, 0.5]));
    }

    #[test]
    fn random_landmarks_fill_the_square() {
        let drawn = landmarks(Layout::Random, 100);
        assert!(drawn.iter().flatten().all(|c| (-1.0..1.0).contains(c)));
        assert!(drawn.iter().any(|p| p[0] > 0.5) && drawn.iter().any(|p| p[1] < -0.5));
    }
}
