//! Graphs that follow the agents: who is near whom, found anew in every state.

use super::CoordinationGraph;
use crate::cell_grid::{CellGrid, Found, NONE, keep_nearest};

/// Teams from this size on are looked up in a grid of cells; below, looking at everybody is quicker.
const CROWD: usize = 40;

/// Working memory of those who rebuild graphs.
#[derive(Clone, Debug, Default)]
pub struct Nearby {
    found: Vec<Found>,
    grid: CellGrid,
    pairs: Vec<[usize; 2]>,
    /// Who is in a pair.
    paired: Vec<bool>,
}

impl CoordinationGraph {
    /// Each agent paired with its `k` nearest others; ties go to the lower index. Who is nowhere (at a
    /// position that is not finite) is in no pair.
    pub fn k_nearest(positions: &[[f32; 2]], k: usize) -> Self {
        let mut graph = Self { n_agents: positions.len(), ..Self::default() };
        graph.rebuild_k_nearest(positions, k, &mut Nearby::default());
        graph
    }

    /// [`Self::k_nearest`] in place: allocates nothing once its buffers are large enough.
    ///
    /// Complexity: O(N k) for a crowd that is spread out.
    pub fn rebuild_k_nearest(&mut self, positions: &[[f32; 2]], k: usize, nearby: &mut Nearby) {
        assert_eq!(positions.len(), self.n_agents, "one position per agent");
        self.members.clear();
        nearby.begin(positions);
        for agent in (0..positions.len()).filter(|&agent| is_present(positions[agent])) {
            for &(_, other) in nearby.nearest(positions, agent, k) {
                self.members.extend([agent.min(other), agent.max(other)]);
            }
        }
        self.index_pairs();
    }

    /// Each pair of agents nearer than `reach`; who has nobody so near is paired with the nearest,
    /// unless nowhere.
    pub fn within(positions: &[[f32; 2]], reach: f32) -> Self {
        let mut graph = Self { n_agents: positions.len(), ..Self::default() };
        graph.rebuild_within(positions, reach, &mut Nearby::default());
        graph
    }

    /// [`Self::within`] in place: allocates nothing once its buffers are large enough.
    pub fn rebuild_within(&mut self, positions: &[[f32; 2]], reach: f32, nearby: &mut Nearby) {
        assert_eq!(positions.len(), self.n_agents, "one position per agent");
        self.members.clear();
        nearby.grid.fill(positions.iter().map(|point| point.map(f64::from)));
        nearby.grid.near_pairs(f64::from(reach), &mut nearby.pairs);
        let near =
            |pair: &&[usize; 2]| square(positions[pair[0]], positions[pair[1]]) < reach * reach;
        self.members.extend(nearby.pairs.iter().filter(near).flatten());
        nearby.paired.clear();
        nearby.paired.resize(self.n_agents, false);
        self.members.iter().for_each(|&agent| nearby.paired[agent] = true);
        nearby.begin(positions);
        for agent in (0..positions.len()).filter(|&agent| is_present(positions[agent])) {
            if !nearby.paired[agent] {
                for &(_, other) in nearby.nearest(positions, agent, 1) {
                    self.members.extend([agent.min(other), agent.max(other)]);
                }
            }
        }
        self.index_pairs();
    }

    /// Makes regions of the pairs that `members` lists, each once.
    fn index_pairs(&mut self) {
        let (pairs, _) = self.members.as_chunks_mut::<2>();
        pairs.sort_unstable();
        let n_pairs = dedup(pairs);
        self.members.truncate(2 * n_pairs);
        self.region_starts.clear();
        self.region_starts.extend((0..=n_pairs).map(|pair| 2 * pair));
        self.index_memberships();
    }
}

impl Nearby {
    /// Takes in where a team is.
    fn begin(&mut self, positions: &[[f32; 2]]) {
        if positions.len() >= CROWD {
            self.grid.fill(positions.iter().map(|point| point.map(f64::from)));
        }
    }

    /// The `k` agents nearest to one, fewer where there are not so many.
    fn nearest(&mut self, positions: &[[f32; 2]], agent: usize, k: usize) -> &[Found] {
        let here = positions[agent];
        self.found.clear();
        self.found.resize(k.min(positions.len() - 1), NONE);
        let far = |other: usize| match positions[other] {
            there if other != agent && is_present(there) => f64::from(square(here, there)),
            _ => f64::INFINITY,
        };
        if positions.len() >= CROWD {
            self.grid.nearest_by_square(here.map(f64::from), &mut self.found, far);
        } else {
            (0..positions.len()).for_each(|other| keep_nearest(&mut self.found, far(other), other));
        }
        let n_found = self.found.iter().take_while(|found| **found != NONE).count();
        &self.found[..n_found]
    }
}

fn is_present(point: [f32; 2]) -> bool {
    point[0].is_finite() && point[1].is_finite()
}

fn square(p: [f32; 2], q: [f32; 2]) -> f32 {
    let (dx, dy) = (p[0] - q[0], p[1] - q[1]);
    dx * dx + dy * dy
}

/// Moves the first of each run of equal pairs to the front; returns how many there are.
fn dedup(pairs: &mut [[usize; 2]]) -> usize {
    let mut n_distinct = 0;
    for index in 0..pairs.len() {
        if n_distinct == 0 || pairs[index] != pairs[n_distinct - 1] {
            pairs[n_distinct] = pairs[index];
            n_distinct += 1;
        }
    }
    n_distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn k_nearest_joins_neighbours_once() {
        let graph = CoordinationGraph::k_nearest(&[[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], 1);
        let regions: Vec<_> = graph.regions().collect();
        assert_eq!(regions, [[0, 1], [1, 2]]);
    }

    #[test]
    fn who_is_nowhere_has_no_neighbours() {
        let nowhere = [f32::INFINITY, 0.0];
        let graph = CoordinationGraph::k_nearest(&[[0.0, 0.0], nowhere, [3.0, 0.0]], 2);
        assert!(graph.regions().eq([[0, 2]]));
        assert!(graph.memberships_of(1).is_empty());
        assert_eq!(CoordinationGraph::k_nearest(&[[0.0, 0.0], nowhere], 2).n_regions(), 0);
    }

    #[test]
    fn who_is_alone_is_paired_with_the_nearest() {
        let positions = [[0.0, 0.0], [0.3, 0.0], [0.6, 0.0], [5.0, 0.0], [f32::NAN, 0.0]];
        let graph = CoordinationGraph::within(&positions, 0.4);
        assert!(graph.regions().eq([[0, 1], [1, 2], [2, 3]]));
        let graph = CoordinationGraph::within(&positions, 0.7);
        assert!(graph.regions().eq([[0, 1], [0, 2], [1, 2], [2, 3]]));
    }

    /// Positions on a lattice (ties, equal places) or anywhere, in crowds small and large.
    fn crowd() -> impl Strategy<Value = Vec<[f32; 2]>> {
        let lattice = || (-9_i16..9).prop_map(|c| f32::from(c) * 0.25);
        let point = prop_oneof![
            2 => [lattice(), lattice()],
            2 => [-3.0..3.0_f32, -3.0..3.0_f32],
            1 => Just([f32::INFINITY, 0.0]),
        ];
        prop::collection::vec(point, 2..150)
    }

    proptest! {
        #[test]
        fn neighbours_are_those_of_looking_at_everybody(
            positions in crowd(),
            k in 1_usize..6,
            reach in 0.05..0.8_f32,
        ) {
            let present: Vec<usize> =
                (0..positions.len()).filter(|&i| is_present(positions[i])).collect();
            let ranked = |i: usize| {
                let others = present.iter().filter(|&&j| j != i);
                let mut others: Vec<_> =
                    others.map(|&j| (square(positions[i], positions[j]), j)).collect();
                others.sort_by(|a, b| a.partial_cmp(b).unwrap());
                others
            };
            let (mut by_rank, mut by_reach) = (Vec::new(), Vec::new());
            for &i in &present {
                let others = ranked(i);
                let near = others.iter().filter(|o| o.0 < reach * reach).count();
                by_rank.extend(others.iter().take(k).map(|&(_, j)| [i.min(j), i.max(j)]));
                by_reach.extend(others.iter().take(near.max(1)).map(|&(_, j)| [i.min(j), i.max(j)]));
            }
            for (mut expected, graph) in [
                (by_rank, CoordinationGraph::k_nearest(&positions, k)),
                (by_reach, CoordinationGraph::within(&positions, reach)),
            ] {
                expected.sort_unstable();
                expected.dedup();
                prop_assert!(graph.regions().eq(expected.iter().map(|pair| &pair[..])));
            }
        }
    }
}
