//! What a joint step earns and costs: coverage utility, counterfactual credit, collisions, energy.

use super::physics::Points;
use crate::{environment::share, graph::CoordinationGraph};

/// For each landmark the two nearest agents, one array per quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearest {
    /// The nearest agent; ties go to the lower index.
    pub agents: Vec<u64>,
    /// Its distance.
    pub distances: Vec<f64>,
    /// Distance of the nearest other agent.
    pub seconds: Vec<f64>,
}

impl Nearest {
    /// Buffers for a number of landmarks.
    pub fn new(n_landmarks: usize) -> Self {
        let distances = vec![f64::INFINITY; n_landmarks];
        Self { agents: vec![0; n_landmarks], seconds: distances.clone(), distances }
    }

    /// Finds the two nearest agents of each landmark.
    ///
    /// Squares are compared, which orders as distances do, and only the two smallest are rooted.
    pub fn measure(&mut self, agents: &Points, landmarks: &Points) {
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

/// Which pairs of agents are close, at two distances: `touch` (a collision) and `cost` (paid for).
#[derive(Clone, Debug)]
pub struct Closeness {
    n_agents: usize,
    touch_square: f64,
    cost_square: f64,
    /// For each agent, the number of others that touch it.
    touching: Vec<u32>,
    /// For each agent, the number of others it pays for.
    paying: Vec<u32>,
    /// Row and column = agents: one where a pair pays.
    near: Vec<f32>,
}

impl Closeness {
    /// Buffers for a team; both distances are strict.
    pub fn new(n_agents: usize, touch: f64, cost: f64) -> Self {
        Self {
            n_agents,
            touch_square: square_bound(touch),
            cost_square: square_bound(cost),
            touching: vec![0; n_agents],
            paying: vec![0; n_agents],
            near: vec![0.0; n_agents * n_agents],
        }
    }

    /// Finds the pairs that are close.
    pub fn measure(&mut self, agents: &Points) {
        let counts = self.touching.iter_mut().zip(&mut self.paying);
        let rows = self.near.chunks_exact_mut(self.n_agents).zip(counts);
        for (me, (near, (touching, paying))) in rows.enumerate() {
            let [my_x, my_y] = agents.get(me);
            let (mut n_touching, mut n_near) = (0_u64, 0_u64);
            for (cell, (x, y)) in near.iter_mut().zip(agents.x.iter().zip(&agents.y)) {
                let square = squared([x - my_x, y - my_y]);
                let pays = square < self.cost_square;
                n_touching += u64::from(square < self.touch_square);
                n_near += u64::from(pays);
                *cell = if pays { 1.0 } else { 0.0 };
            }
            near[me] = 0.0;
            // Everybody is close to itself, unless lost at infinity.
            *touching = n_touching.saturating_sub(1) as u32;
            *paying = n_near.saturating_sub(1) as u32;
        }
    }

    /// Number of colliding pairs.
    pub fn pairs_touching(&self) -> u32 {
        self.touching.iter().sum::<u32>() / 2
    }

    /// Number of pairs closer than the cost distance.
    pub fn pairs_near(&self) -> u32 {
        self.paying.iter().sum::<u32>() / 2
    }

    /// MPE2's local reward: minus the number of agents colliding with this one.
    pub fn local_reward(&self, agent: usize) -> f64 {
        -f64::from(self.touching[agent])
    }

    /// Collision cost of two agents: 1 where their distance is below `cost_distance`.
    #[inline]
    pub fn pair_cost(&self, a: usize, b: usize) -> f32 {
        self.near[a * self.n_agents + b]
    }

    /// Charges every near pair once, to the regions that share it, so that the regions' costs add up
    /// to the team's on any graph.
    pub fn charge_regions(&self, graph: &CoordinationGraph, charge: &mut dyn FnMut(usize, f32)) {
        for a in 0..self.n_agents {
            for b in (a + 1..self.n_agents).filter(|&b| self.pair_cost(a, b) != 0.0) {
                share(graph, &[a, b], 1.0, charge);
            }
        }
    }

    /// Collision cost of an agent: Σ over the others of 1 where the distance is below `cost_distance`.
    pub fn agent_cost(&self, agent: usize) -> f32 {
        self.paying[agent] as f32
    }
}

/// Energy |u|² of one agent's action.
#[inline]
pub fn energy(action: [f64; 2]) -> f64 {
    squared(action)
}

#[inline]
fn squared([x, y]: [f64; 2]) -> f64 {
    x * x + y * y
}

/// The number `b` such that `square < b` exactly where `√square < distance`, rounding included.
fn square_bound(distance: f64) -> f64 {
    let mut bound = distance * distance;
    while bound.sqrt() >= distance {
        bound = bound.next_down();
    }
    while bound.sqrt() < distance {
        bound = bound.next_up();
    }
    bound
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

    #[test]
    fn squares_are_compared_as_their_roots_would_be() {
        for distance in [0.1, 0.16, 0.2, 2.4 * 0.08, 0.3, 1e-3, 1.0 / 3.0] {
            let bound = square_bound(distance);
            assert!(bound.sqrt() >= distance && bound.next_down().sqrt() < distance, "{distance}");
        }
    }

    #[test]
    fn a_near_pair_is_charged_once_on_every_graph() {
        let mut closeness = Closeness::new(4, 0.1, 0.2);
        // Agents 0, 1 and 2 in a row, each near the next; agent 3 far away.
        closeness.measure(&points(&[[0.0, 0.0], [0.15, 0.0], [0.3, 0.0], [9.0, 0.0]]));
        let charged = |regions: &[Vec<usize>]| {
            let graph = CoordinationGraph::new(4, regions).unwrap();
            let mut costs = vec![0.0; graph.n_regions()];
            closeness.charge_regions(&graph, &mut |region, share| costs[region] += share);
            costs
        };
        // Overlapping triplets share the pair (1, 2).
        assert_eq!(charged(&[vec![0, 1, 2], vec![1, 2, 3]]), [1.5, 0.5]);
        // Agents 1 and 2 share no region.
        assert_eq!(charged(&[vec![0, 1], vec![2, 3]]), [1.5, 0.5]);
        // Nobody is in a region but agent 3.
        assert_eq!(charged(&[vec![3], vec![3]]), [1.0, 1.0]);
    }

    #[test]
    fn costs_count_near_pairs() {
        let mut closeness = Closeness::new(3, 0.15, 0.2);
        closeness.measure(&points(&[[0.0, 0.0], [0.15, 0.0], [0.3, 0.0]]));
        // 0.15 is not strictly below 0.15, so nothing touches; two pairs are nearer than 0.2.
        assert_eq!(closeness.pairs_touching(), 0);
        assert_eq!(closeness.pair_cost(0, 1), 1.0);
        assert_eq!(closeness.pair_cost(0, 2), 0.0);
        assert_eq!([0, 1, 2].map(|i| closeness.agent_cost(i)), [1.0, 2.0, 1.0]);
        closeness.measure(&points(&[[0.0, 0.0], [0.1, 0.0], [0.12, 0.0]]));
        assert_eq!(closeness.pairs_touching(), 3);
        assert_eq!(closeness.local_reward(1), -2.0);
        assert_eq!(mixed(-4.0, -2.0, 0.25), -3.5);
    }
}
