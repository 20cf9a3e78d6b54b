//! The coordination graph: which groups of agents share a reward.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// One action index per agent.
pub type JointAction = Vec<usize>;

/// One agent's part in one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Index of the region.
    pub region: usize,
    /// Position among the region's members, from 0.
    pub slot: usize,
}

/// Agents and the regions that couple them; a region is a list of distinct agents of any length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoordinationGraph {
    n_agents: usize,
    members: Vec<usize>,
    region_starts: Vec<usize>,
    memberships: Vec<Membership>,
    membership_starts: Vec<usize>,
}

impl CoordinationGraph {
    /// The graph of the given agents and regions.
    pub fn new(n_agents: usize, regions: &[Vec<usize>]) -> Result<Self> {
        for (index, region) in regions.iter().enumerate() {
            let distinct = region.iter().enumerate().all(|(i, a)| !region[..i].contains(a));
            if region.is_empty() || !distinct || region.iter().any(|&a| a >= n_agents) {
                let reason = format!(
                    "region {index} must list distinct agents from 0 to {}",
                    n_agents.saturating_sub(1)
                );
                return Err(Error::setting("regions", format!("{region:?}"), reason));
            }
        }
        let mut graph = Self { n_agents, ..Self::default() };
        graph.rebuild(regions.iter().map(Vec::as_slice));
        Ok(graph)
    }

    /// Agents that share nothing yet.
    pub fn empty(n_agents: usize) -> Self {
        Self::of_pairs(n_agents, [])
    }

    /// Every pair of agents: N(N-1)/2 regions, the paper's graph.
    pub fn complete(n_agents: usize) -> Self {
        let pairs = (0..n_agents).flat_map(|i| (i + 1..n_agents).map(move |k| [i, k]));
        Self::of_pairs(n_agents, pairs)
    }

    /// A path 0-1-…-(N-1): a tree, so Max-Sum is exact on it.
    pub fn path(n_agents: usize) -> Self {
        Self::of_pairs(n_agents, (1..n_agents).map(|k| [k - 1, k]))
    }

    /// Agent 0 paired with every other: a tree.
    pub fn star(n_agents: usize) -> Self {
        Self::of_pairs(n_agents, (1..n_agents).map(|k| [0, k]))
    }

    /// The path closed by the pair of the last and the first agent.
    pub fn ring(n_agents: usize) -> Self {
        let closing = (n_agents > 2).then_some([0, n_agents - 1]);
        Self::of_pairs(n_agents, (1..n_agents).map(|k| [k - 1, k]).chain(closing))
    }

    /// Each agent paired with its `k` nearest others; ties go to the lower index. Who is nowhere (at a
    /// position that is not finite) is in no pair.
    pub fn k_nearest(positions: &[[f32; 2]], k: usize) -> Self {
        let mut graph = Self { n_agents: positions.len(), ..Self::default() };
        graph.rebuild_k_nearest(positions, k, &mut Vec::new());
        graph
    }

    /// [`Self::k_nearest`] in place: allocates nothing once its buffers are large enough.
    /// `near` is scratch space.
    pub fn rebuild_k_nearest(
        &mut self,
        positions: &[[f32; 2]],
        k: usize,
        near: &mut Vec<(f32, usize)>,
    ) {
        assert_eq!(positions.len(), self.n_agents, "one position per agent");
        let present =
            || positions.iter().enumerate().filter(|(_, p)| p[0].is_finite() && p[1].is_finite());
        self.members.clear();
        for (i, p) in present() {
            near.clear();
            near.extend(present().filter(|(j, _)| *j != i).map(|(j, q)| {
                let (dx, dy) = (p[0] - q[0], p[1] - q[1]);
                (dx * dx + dy * dy, j)
            }));
            let k = k.min(near.len());
            if k > 0 && k < near.len() {
                near.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            }
            self.members.extend(near[..k].iter().flat_map(|&(_, j)| [i.min(j), i.max(j)]));
        }
        let (pairs, _) = self.members.as_chunks_mut::<2>();
        pairs.sort_unstable();
        let n_pairs = dedup(pairs);
        self.members.truncate(2 * n_pairs);
        self.region_starts.clear();
        self.region_starts.extend((0..=n_pairs).map(|pair| 2 * pair));
        self.index_memberships();
    }

    /// Number of agents.
    pub fn n_agents(&self) -> usize {
        self.n_agents
    }

    /// Number of regions.
    pub fn n_regions(&self) -> usize {
        self.region_starts.len().saturating_sub(1)
    }

    /// The agents of one region; this order is the order of its table's axes.
    pub fn region(&self, region: usize) -> &[usize] {
        &self.members[self.region_starts[region]..self.region_starts[region + 1]]
    }

    /// All regions; their order is the order of every per-region array in the crate.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = &[usize]> + Clone {
        self.region_starts.windows(2).map(|w| &self.members[w[0]..w[1]])
    }

    /// Whether the regions are these: their members one after the other, and where each starts.
    pub(crate) fn has_regions(&self, members: &[usize], starts: &[usize]) -> bool {
        self.region_starts == starts && self.members == members
    }

    /// The regions of one agent, in rising order.
    pub fn memberships_of(&self, agent: usize) -> &[Membership] {
        &self.memberships[self.membership_starts[agent]..self.membership_starts[agent + 1]]
    }

    /// Number of agents in the largest region.
    pub fn max_region_size(&self) -> usize {
        self.regions().map(<[usize]>::len).max().unwrap_or(0)
    }

    fn of_pairs(n_agents: usize, pairs: impl IntoIterator<Item = [usize; 2]>) -> Self {
        let pairs: Vec<[usize; 2]> = pairs.into_iter().collect();
        let mut graph = Self { n_agents, ..Self::default() };
        graph.rebuild(pairs.iter().map(<[usize; 2]>::as_slice));
        graph
    }

    fn rebuild<'a>(&mut self, regions: impl Iterator<Item = &'a [usize]>) {
        self.region_starts.push(0);
        for region in regions {
            self.members.extend_from_slice(region);
            self.region_starts.push(self.members.len());
        }
        self.index_memberships();
    }

    /// Fills `memberships` from `members` by counting.
    fn index_memberships(&mut self) {
        self.membership_starts.clear();
        self.membership_starts.resize(self.n_agents + 2, 0);
        for &agent in &self.members {
            self.membership_starts[agent + 2] += 1;
        }
        (2..self.n_agents + 2)
            .for_each(|i| self.membership_starts[i] += self.membership_starts[i - 1]);
        self.memberships.clear();
        self.memberships.resize(self.members.len(), Membership { region: 0, slot: 0 });
        for region in 0..self.n_regions() {
            let start = self.region_starts[region];
            let members = &self.members[start..self.region_starts[region + 1]];
            for (slot, &agent) in members.iter().enumerate() {
                let next = &mut self.membership_starts[agent + 1];
                self.memberships[*next] = Membership { region, slot };
                *next += 1;
            }
        }
        self.membership_starts.truncate(self.n_agents + 1);
    }
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

/// Which coordination graph a run uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphOptions {
    /// The rule that makes the regions.
    pub topology: Topology,
    /// Neighbours of each agent in `k_nearest`.
    pub k: usize,
    /// The regions of `explicit`.
    pub regions: Vec<Vec<usize>>,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { topology: Topology::Complete, k: 3, regions: Vec::new() }
    }
}

/// A rule that makes regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// Every pair.
    Complete,
    /// 0-1-…-(N-1).
    Path,
    /// Agent 0 with every other.
    Star,
    /// The closed path.
    Ring,
    /// Each agent with its nearest others, rebuilt at each step.
    KNearest,
    /// The listed regions.
    Explicit,
}

impl GraphOptions {
    /// The graph of a team; `k_nearest` starts from agents in a row and is rebuilt from positions.
    pub fn build(&self, n_agents: usize) -> Result<CoordinationGraph> {
        match self.topology {
            Topology::Complete => Ok(CoordinationGraph::complete(n_agents)),
            Topology::Path => Ok(CoordinationGraph::path(n_agents)),
            Topology::Star => Ok(CoordinationGraph::star(n_agents)),
            Topology::Ring => Ok(CoordinationGraph::ring(n_agents)),
            Topology::KNearest if self.k == 0 => {
                Err(Error::setting("k", self.k, "k_nearest needs at least one neighbour"))
            }
            Topology::KNearest => {
                let row: Vec<[f32; 2]> = (0..n_agents).map(|i| [i as f32, 0.0]).collect();
                Ok(CoordinationGraph::k_nearest(&row, self.k))
            }
            Topology::Explicit if self.regions.is_empty() => {
                Err(Error::setting("regions", "[]", "topology `explicit` needs a list of regions"))
            }
            Topology::Explicit => CoordinationGraph::new(n_agents, &self.regions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memberships_mirror_regions() {
        let graph = CoordinationGraph::new(4, &[vec![2, 0], vec![1, 2, 3], vec![0]]).unwrap();
        assert_eq!(graph.region(1), [1, 2, 3]);
        assert_eq!(
            graph.memberships_of(2),
            [Membership { region: 0, slot: 0 }, Membership { region: 1, slot: 1 }]
        );
        assert_eq!(graph.memberships_of(0).len() + graph.memberships_of(3).len(), 3);
    }

    #[test]
    fn topologies_have_the_right_number_of_regions() {
        let count = |g: CoordinationGraph| g.n_regions();
        assert_eq!(count(CoordinationGraph::complete(10)), 45);
        assert_eq!(count(CoordinationGraph::path(5)), 4);
        assert_eq!(count(CoordinationGraph::star(5)), 4);
        assert_eq!(count(CoordinationGraph::ring(5)), 5);
        assert_eq!(count(CoordinationGraph::ring(2)), 1);
    }

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
    fn a_region_with_a_stranger_is_refused() {
        let error = CoordinationGraph::new(2, &[vec![0, 2]]).unwrap_err().to_string();
        assert!(error.contains("[0, 2]") && error.contains("from 0 to 1"), "{error}");
    }
}
