//! Which agents share a region, and what each region is paid.

use super::game::{TAKERS, takers};
use crate::{
    environment::{Outcome, share},
    error::Result,
    graph::CoordinationGraph,
};
use serde::{Deserialize, Serialize};

/// Which groups of agents share a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regions {
    /// Every two agents that have a target in common: they cannot represent what three do.
    Pairs,
    /// The three agents of each target.
    #[default]
    Triplets,
    /// Both.
    Mixed,
}

impl Regions {
    /// The graph of a ring of agents.
    pub(super) fn graph(self, n: usize) -> Result<CoordinationGraph> {
        let triplets = (0..n).map(|target| takers(target, n).to_vec());
        let pairs = (0..n).flat_map(|one| [1, 2].map(|apart| vec![one, (one + apart) % n]));
        let regions: Vec<Vec<usize>> = match self {
            Self::Pairs => pairs.collect(),
            Self::Triplets => triplets.collect(),
            Self::Mixed => triplets.chain(pairs).collect(),
        };
        CoordinationGraph::new(n, &regions)
    }

    /// Members of the largest region.
    pub(super) fn size(self) -> usize {
        if self == Self::Pairs { 2 } else { TAKERS }
    }
}

/// Pays what the three agents of a target earn, to the region of all three or else to their pairs.
pub(super) fn earn(
    graph: &CoordinationGraph,
    agents: [usize; TAKERS],
    reward: f32,
    outcome: &mut Outcome,
) {
    let [a, b, c] = agents;
    outcome.team_reward += reward;
    outcome.agent_rewards.iter_mut().for_each(|sum| *sum += reward);
    let mut add = |region: usize, part| outcome.region_rewards[region] += part;
    if graph.max_region_size() == TAKERS {
        return share(graph, &agents, reward, &mut add);
    }
    for pair in [[a, b], [b, c], [a, c]] {
        share(graph, &pair, reward / TAKERS as f32, &mut add);
    }
}

/// Charges an agent that acts on a target in vain, to the region of all its agents or else to the two
/// pairs that it makes with the others.
pub(super) fn charge(
    graph: &CoordinationGraph,
    agents: [usize; TAKERS],
    slot: usize,
    outcome: &mut Outcome,
) {
    let agent = agents[slot];
    outcome.team_costs[0] += 1.0;
    outcome.agent_costs[agent] += 1.0;
    let mut add = |region: usize, part| outcome.region_costs[region] += part;
    if graph.max_region_size() == TAKERS {
        return share(graph, &agents, 1.0, &mut add);
    }
    for other in agents.into_iter().filter(|&other| other != agent) {
        share(graph, &[agent, other], 1.0 / (TAKERS - 1) as f32, &mut add);
    }
}
