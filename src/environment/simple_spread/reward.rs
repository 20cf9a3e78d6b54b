//! What a joint step earns and costs: coverage utility, counterfactual credit, energy.

pub use super::closeness::Closeness;
use super::{CROWD, physics::Points};
use crate::cell_grid::{CellGrid, NONE};

/// For each landmark the two nearest agents, one array per quantity.
#[derive(Clone, Debug, Default)]
pub struct Nearest {
    /// The nearest agent; ties go to the lower index.
    pub agents: Vec<u64>,
    /// Its distance.
    pub distances: Vec<f64>,
    /// Distance of the nearest other agent.
    pub seconds: Vec<f64>,
    grid: CellGrid,
}

impl Nearest {
    /// Buffers for a number of landmarks.
    pub fn new(n_landmarks: usize) -> Self {
        let distances = vec![f64::INFINITY; n_landmarks];
        let grid = CellGrid::default();
        Self { agents: vec![0; n_landmarks], seconds: distances.clone(), distances, grid }
    }

    /// Finds the two nearest agents of each landmark.
    ///
    /// Squares are compared, which orders as distances do, and only the two smallest are rooted.
    pub fn measure(&mut self, agents: &Points, landmarks: &Points) {
        if agents.len() < CROWD || !agents.are_finite() || !landmarks.are_finite() {
            return self.measure_all(agents, landmarks);
        }
        self.grid.fill(agents.iter());
        for (index, landmark) in landmarks.iter().enumerate() {
            let mut found = [NONE; 2];
            self.grid.nearest_by_square(landmark, &mut found, |agent| {
                let [x, y] = agents.get(agent);
                squared([x - landmark[0], y - landmark[1]])
            });
            self.agents[index] = found[0].1 as u64;
            self.distances[index] = found[0].0.sqrt();
            self.seconds[index] = found[1].0.sqrt();
        }
    }

    /// [`Self::measure`] by looking at every agent for every landmark.
    fn measure_all(&mut self, agents: &Points, landmarks: &Points) {
        self.distances.fill(f64::INFINITY);
        self.seconds.fill(f64::INFINITY);
        for (index, [x, y]) in agents.iter().enumerate() {
            let places = landmarks.x.iter().zip(&landmarks.y);
            let best = self.distances.iter_mut().zip(&mut self.seconds).zip(&mut self.agents);
            for ((to_x, to_y), ((first, second), agent)) in places.zip(best) {
                let square = squared([x - to_x, y - to_y]);
                let nearer = square < *first;
                let loser = if nearer { *first } else { square };
                *second = if loser < *second { loser } else { *second };
                *first = if nearer { square } else { *first };
                *agent = if nearer { index as u64 } else { *agent };
            }
        }
        self.distances.iter_mut().chain(&mut self.seconds).for_each(|d| *d = d.sqrt());
    }

    /// Global utility U(V) = −Σ over landmarks of the smallest agent distance.
    pub fn global_utility(&self) -> f64 {
        -self.distances.iter().sum::<f64>()
    }

    /// Counterfactual credit U(V) − U(V∖{i}) of each agent (Eq. diff-reward).
    ///
    /// Taking agent i away lengthens only the landmarks it is nearest to, to their second distance.
    pub fn counterfactual(&self, credit: &mut [f64]) {
        credit.fill(0.0);
        let pairs = self.distances.iter().zip(&self.seconds);
        for (&agent, (distance, second)) in self.agents.iter().zip(pairs) {
            credit[agent as usize] += second - distance;
        }
    }

    /// Fraction of landmarks with an agent within 0.1, 0.15 and 0.2, strictly.
    pub fn coverage(&self) -> [f32; 3] {
        let mut covered = [0_u32; 3];
        for distance in &self.distances {
            for (count, reach) in covered.iter_mut().zip([0.1, 0.15, 0.2]) {
                *count += u32::from(*distance < reach);
            }
        }
        covered.map(|count| count as f32 / self.distances.len() as f32)
    }
}

/// MPE2's agent reward (1 − ratio)·global + ratio·local.
#[inline]
pub fn mixed(global: f64, local: f64, local_ratio: f64) -> f64 {
    global * (1.0 - local_ratio) + local * local_ratio
}

/// Energy |u|² of one agent's action.
#[inline]
pub fn energy(action: [f64; 2]) -> f64 {
    squared(action)
}

#[inline]
pub(super) fn squared([x, y]: [f64; 2]) -> f64 {
    x * x + y * y
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(list: &[[f64; 2]]) -> Points {
        let mut points = Points::zeros(list.len());
        points.set_all(list);
        points
    }

    fn nearest(team: &[[f64; 2]], landmarks: &[[f64; 2]]) -> Nearest {
        let mut nearest = Nearest::new(landmarks.len());
        nearest.measure(&points(team), &points(landmarks));
        nearest
    }

    #[test]
    fn utility_and_credit_by_hand() {
        // Landmarks at 0 and 1 on a line; agents at 0.1, 0.4 and 3.
        let team = [[0.1, 0.0], [0.4, 0.0], [3.0, 0.0]];
        let near = nearest(&team, &[[0.0, 0.0], [1.0, 0.0]]);
        assert_eq!(near.agents, [0, 1]);
        assert!((near.global_utility() + 0.1 + 0.6).abs() < 1e-15);
        assert_eq!(near.coverage(), [0.0, 0.5, 0.5], "0.1 is not strictly within 0.1");
        let mut credit = [9.0; 3];
        near.counterfactual(&mut credit);
        // Without agent 0 landmark 0 is 0.4 away; without agent 1 landmark 1 is 0.9 away.
        let expected = [0.3, 0.3, 0.0];
        assert!(credit.iter().zip(expected).all(|(c, e)| (c - e).abs() < 1e-15), "{credit:?}");
    }

    #[test]
    fn rewards_mix() {
        assert_eq!(mixed(-4.0, -2.0, 0.25), -3.5);
    }

    #[test]
    fn a_crowd_is_measured_as_by_looking_at_everybody() {
        use crate::rng::{Purpose, Streams};
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        for n in [CROWD, 90] {
            // On a lattice, so that places and distances repeat.
            let mut draw = || -> Vec<[f64; 2]> {
                (0..n).map(|_| [0, 1].map(|_| rng.below(9) as f64 * 0.25)).collect()
            };
            let (team, landmarks) = (points(&draw()), points(&draw()));
            let (mut quick, mut slow) = (Nearest::new(n), Nearest::new(n));
            quick.measure(&team, &landmarks);
            slow.measure_all(&team, &landmarks);
            assert_eq!(
                (&quick.agents, &quick.distances, &quick.seconds),
                (&slow.agents, &slow.distances, &slow.seconds)
            );
        }
    }

    #[test]
    fn credit_equals_the_definition() {
        use crate::rng::{Purpose, Streams};
        let mut rng = Streams::new(2).rng(Purpose::Problem, 0);
        let mut draw = || -> Vec<[f64; 2]> {
            (0..5).map(|_| [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0)]).collect()
        };
        let (team, landmarks) = (draw(), draw());
        let utility = |team: &[[f64; 2]]| nearest(team, &landmarks).global_utility();
        let mut credit = [0.0; 5];
        nearest(&team, &landmarks).counterfactual(&mut credit);
        for (i, credit) in credit.iter().enumerate() {
            let mut without = team.clone();
            without.remove(i);
            assert!((utility(&team) - utility(&without) - credit).abs() < 1e-12);
        }
    }
}
