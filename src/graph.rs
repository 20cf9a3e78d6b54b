//! The coordination graph: which groups of agents share a reward.

mod nearby;
mod options;

pub use nearby::Nearby;
pub use options::{GraphOptions, Topology};

use crate::error::{Error, Result};

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

    /// Takes over some regions of another graph, in the order given; allocates nothing once its
    /// buffers are large enough.
    pub(crate) fn keep(&mut self, of: &Self, regions: impl Iterator<Item = usize>) {
        self.n_agents = of.n_agents;
        self.members.clear();
        self.region_starts.clear();
        self.rebuild(regions.map(|region| of.region(region)));
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
    fn a_region_with_a_stranger_is_refused() {
        let error = CoordinationGraph::new(2, &[vec![0, 2]]).unwrap_err().to_string();
        assert!(error.contains("[0, 2]") && error.contains("from 0 to 1"), "{error}");
    }
}
