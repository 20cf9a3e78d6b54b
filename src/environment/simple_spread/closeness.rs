//! Which agents are close to each other, at the distance of a collision and at the distance of a cost.

use super::{CROWD, physics::Points, reward::squared};
use crate::{cell_grid::CellGrid, environment::share, graph::CoordinationGraph};

/// Which pairs of agents are close, at two distances: `touch` (a collision) and `cost` (paid for).
#[derive(Clone, Debug)]
pub struct Closeness {
    n_agents: usize,
    touch_square: f64,
    cost_square: f64,
    /// Nothing further apart than this is close.
    reach: f64,
    /// For each agent, the number of others that touch it.
    touching: Vec<u32>,
    /// For each agent, the number of others it pays for.
    paying: Vec<u32>,
    /// The pairs that pay, in rising order.
    near: Vec<[usize; 2]>,
    grid: CellGrid,
    candidates: Vec<[usize; 2]>,
}

impl Closeness {
    /// Buffers for a team; both distances are strict.
    pub fn new(n_agents: usize, touch: f64, cost: f64) -> Self {
        Self {
            n_agents,
            touch_square: square_bound(touch),
            cost_square: square_bound(cost),
            reach: touch.max(cost),
            touching: vec![0; n_agents],
            paying: vec![0; n_agents],
            // Room for what is usual, so that steps allocate nothing.
            near: Vec::with_capacity((n_agents * (n_agents - 1) / 2).min(64 * n_agents)),
            grid: CellGrid::default(),
            candidates: Vec::new(),
        }
    }

    /// Finds the pairs that are close.
    pub fn measure(&mut self, agents: &Points) {
        if self.n_agents < CROWD || !agents.are_finite() {
            return self.measure_all(agents);
        }
        self.grid.fill(agents.iter());
        self.grid.near_pairs(self.reach, &mut self.candidates);
        self.touching.fill(0);
        self.paying.fill(0);
        self.near.clear();
        for &[a, b] in &self.candidates {
            let ([x, y], [to_x, to_y]) = (agents.get(a), agents.get(b));
            let square = squared([to_x - x, to_y - y]);
            for (counts, bound) in
                [(&mut self.touching, self.touch_square), (&mut self.paying, self.cost_square)]
            {
                let close = u32::from(square < bound);
                counts[a] += close;
                counts[b] += close;
            }
            if square < self.cost_square {
                self.near.push([a, b]);
            }
        }
    }

    /// [`Self::measure`] by looking at every pair.
    fn measure_all(&mut self, agents: &Points) {
        self.near.clear();
        for me in 0..self.n_agents {
            let [my_x, my_y] = agents.get(me);
            let (mut n_touching, mut n_near) = (0_u64, 0_u64);
            for (x, y) in agents.x.iter().zip(&agents.y) {
                let square = squared([x - my_x, y - my_y]);
                n_touching += u64::from(square < self.touch_square);
                n_near += u64::from(square < self.cost_square);
            }
            // Everybody is close to itself, unless lost at infinity.
            self.touching[me] = n_touching.saturating_sub(1) as u32;
            self.paying[me] = n_near.saturating_sub(1) as u32;
            if n_near > 1 {
                let later = me + 1..self.n_agents;
                let near = later.filter(|&other| {
                    let [x, y] = agents.get(other);
                    squared([x - my_x, y - my_y]) < self.cost_square
                });
                self.near.extend(near.map(|other| [me, other]));
            }
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

    /// The pairs closer than the cost distance, the lower index first, in rising order.
    pub fn near_pairs(&self) -> &[[usize; 2]] {
        &self.near
    }

    /// MPE2's local reward: minus the number of agents colliding with this one.
    pub fn local_reward(&self, agent: usize) -> f64 {
        -f64::from(self.touching[agent])
    }

    /// Collision cost of two agents: 1 where their distance is below `cost_distance`.
    pub fn pair_cost(&self, a: usize, b: usize) -> f32 {
        let pays = self.near.binary_search(&[a.min(b), a.max(b)]).is_ok();
        if pays { 1.0 } else { 0.0 }
    }

    /// Charges every near pair once, to the regions that share it, so that the regions' costs add up
    /// to the team's on any graph.
    pub fn charge_regions(&self, graph: &CoordinationGraph, charge: &mut dyn FnMut(usize, f32)) {
        for pair in &self.near {
            share(graph, pair, 1.0, charge);
        }
    }

    /// Collision cost of an agent: Σ over the others of 1 where the distance is below `cost_distance`.
    pub fn agent_cost(&self, agent: usize) -> f32 {
        self.paying[agent] as f32
    }
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
    }

    #[test]
    fn a_crowd_is_measured_as_by_looking_at_everybody() {
        use crate::rng::{Purpose, Streams};
        let mut rng = Streams::new(6).rng(Purpose::Problem, 0);
        for (n, step) in [(CROWD, 0.1), (90, 0.05), (90, 3.0)] {
            let team: Vec<[f64; 2]> =
                (0..n).map(|_| [0, 1].map(|_| rng.below(25) as f64 * step)).collect();
            let mut quick = Closeness::new(n, 0.16, 0.2);
            let mut slow = quick.clone();
            quick.measure(&points(&team));
            slow.measure_all(&points(&team));
            assert_eq!((&quick.touching, &quick.paying), (&slow.touching, &slow.paying));
            assert_eq!(quick.near, slow.near);
            assert_eq!(quick.near.len(), quick.pairs_near() as usize);
        }
    }
}
