//! Who takes which landmark, settled by an auction among neighbours (Bertsekas 1988; in moving
//! teams Zavlanos et al. 2008).
//!
//! Every agent bids for the landmarks nearest to where it will come to rest: a landmark is worth minus
//! the square of its distance, minus its price. Who is outbid bids again; who finds nothing worth its
//! price leaves, and takes the nearest landmark that is left. Squares make many share a way that would
//! be long for one.

use super::{
    observation::Parts,
    physics::{DAMPING, TIME_STEP},
};
use crate::cell_grid::{CellGrid, Found, NONE};
use std::collections::VecDeque;

/// Landmarks for which an agent bids.
const CANDIDATES: usize = 16;
/// Least rise of a price: the sum of squares is best up to this per agent.
const LEAST_BID: f64 = 0.2;
/// Who would pay more than the square of this leaves the auction.
const REACH: f64 = 8.0;
/// Bids of an agent on average after which the auction is closed, whoever is left.
const MOST_BIDS: usize = 300;
/// How far an agent coasts per unit of velocity.
const COAST: f32 = (TIME_STEP / DAMPING) as f32;

/// The auction of one state; its buffers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Auction {
    /// The landmark of each agent.
    pub(super) landmark_of: Vec<usize>,
    /// The state that was settled last.
    state: Vec<[f32; 2]>,
    grid: CellGrid,
    found: Vec<Found>,
    /// Row = agent: candidates and the squares of their distances.
    candidates: Vec<Found>,
    prices: Vec<f64>,
    owners: Vec<usize>,
    bidders: VecDeque<usize>,
    left: Vec<usize>,
}

impl Auction {
    /// Settles who takes what in a state; does nothing where that is known.
    pub(super) fn settle(&mut self, parts: Parts<'_>) {
        let points = || parts.positions.iter().chain(parts.velocities).chain(parts.landmarks);
        if self.state.len() == 3 * parts.positions.len() && points().eq(&self.state) {
            return;
        }
        self.state.clear();
        self.state.extend(points());
        let n = parts.positions.len();
        self.landmark_of.clear();
        self.landmark_of.resize(n, usize::MAX);
        if self.state.as_flattened().iter().all(|c| c.is_finite()) {
            self.find_candidates(parts);
            self.bid(n);
            self.give_out_the_rest(parts);
        }
    }

    fn find_candidates(&mut self, parts: Parts<'_>) {
        let n = parts.positions.len();
        self.grid.fill(parts.landmarks.iter().map(|point| point.map(f64::from)));
        self.found.resize(CANDIDATES.min(n), NONE);
        self.candidates.clear();
        for agent in 0..n {
            let here = resting(parts, agent);
            self.grid.nearest_by_square(here.map(f64::from), &mut self.found, |landmark| {
                square(here, parts.landmarks[landmark])
            });
            self.candidates.extend_from_slice(&self.found);
        }
    }

    /// Bids until everybody owns a landmark or has left.
    fn bid(&mut self, n: usize) {
        let width = self.found.len();
        self.prices.clear();
        self.prices.resize(n, 0.0);
        self.owners.clear();
        self.owners.resize(n, usize::MAX);
        self.bidders.clear();
        self.bidders.extend(0..n);
        for _ in 0..MOST_BIDS * n {
            let Some(agent) = self.bidders.pop_front() else { return };
            let mut best = [(-REACH * REACH, usize::MAX); 2];
            for &(square, landmark) in &self.candidates[agent * width..][..width] {
                let worth = -square - self.prices[landmark];
                if worth > best[0].0 {
                    best = [(worth, landmark), best[0]];
                } else if worth > best[1].0 {
                    best[1] = (worth, landmark);
                }
            }
            let [(worth, landmark), (second, _)] = best;
            if landmark == usize::MAX {
                continue;
            }
            self.prices[landmark] += worth - second + LEAST_BID;
            let outbid = std::mem::replace(&mut self.owners[landmark], agent);
            self.landmark_of[agent] = landmark;
            if outbid != usize::MAX {
                self.landmark_of[outbid] = usize::MAX;
                self.bidders.push_back(outbid);
            }
        }
    }

    /// Who has none takes the nearest landmark that is left, the lower index first.
    fn give_out_the_rest(&mut self, parts: Parts<'_>) {
        self.left.clear();
        self.left
            .extend((0..self.owners.len()).filter(|&landmark| self.owners[landmark] == usize::MAX));
        for agent in 0..self.landmark_of.len() {
            if self.landmark_of[agent] != usize::MAX {
                continue;
            }
            let here = resting(parts, agent);
            let far = |place: &usize| square(here, parts.landmarks[self.left[*place]]);
            let nearest = (0..self.left.len()).min_by(|a, b| far(a).total_cmp(&far(b)));
            if let Some(place) = nearest {
                self.landmark_of[agent] = self.left.remove(place);
            }
        }
    }
}

/// Where an agent comes to rest if nothing pushes it.
fn resting(parts: Parts<'_>, agent: usize) -> [f32; 2] {
    let (p, v) = (parts.positions[agent], parts.velocities[agent]);
    [p[0] + COAST * v[0], p[1] + COAST * v[1]]
}

fn square(from: [f32; 2], to: [f32; 2]) -> f64 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    f64::from(dx * dx + dy * dy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::simple_spread::assignment::Assignment,
        rng::{Purpose, Streams},
    };

    fn settled(positions: &[[f32; 2]], landmarks: &[[f32; 2]]) -> Vec<usize> {
        let velocities = vec![[0.0, 0.0]; positions.len()];
        let mut auction = Auction::default();
        auction.settle(Parts { positions, velocities: &velocities, landmarks });
        auction.landmark_of
    }

    #[test]
    fn a_long_way_is_shared() {
        // The first agent is nearest to both landmarks; the second to the first landmark only.
        let landmarks = [[0.0, 0.0], [1.0, 0.0]];
        assert_eq!(settled(&[[0.1, 0.0], [-1.0, 0.0]], &landmarks), [1, 0]);
        assert_eq!(settled(&[[0.1, 0.0], [1.5, 0.0]], &landmarks), [0, 1]);
    }

    #[test]
    fn everybody_has_a_landmark_and_squares_are_nearly_smallest() {
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        for n in [2, 5, 10, 60, 120] {
            let half = (n as f64 / 4.0).sqrt();
            let mut draw = || -> Vec<[f32; 2]> {
                (0..n).map(|_| [0, 1].map(|_| rng.range(-half, half) as f32)).collect()
            };
            let (team, landmarks) = (draw(), draw());
            let found = settled(&team, &landmarks);
            let mut taken = found.clone();
            taken.sort_unstable();
            assert!(taken.iter().copied().eq(0..n), "{found:?}");
            let mut best = vec![0; n];
            let cost = |a: usize, l: usize| square(team[a], landmarks[l]);
            Assignment::new(n).solve(cost, &mut best);
            let sum = |columns: &[usize]| -> f64 {
                columns.iter().enumerate().map(|(agent, &landmark)| cost(agent, landmark)).sum()
            };
            assert!(sum(&found) <= 1.5 * sum(&best) + LEAST_BID * n as f64, "{n} agents");
        }
    }
}
