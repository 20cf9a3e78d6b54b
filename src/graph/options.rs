//! Which coordination graph a run uses, by name.

use super::{CoordinationGraph, Nearby};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which coordination graph a run uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphOptions {
    /// The rule that makes the regions.
    pub topology: Topology,
    /// Neighbours of each agent in `k_nearest`.
    pub k: usize,
    /// Agents nearer than this share a region in `radius`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<f32>,
    /// The regions of `explicit`.
    pub regions: Vec<Vec<usize>>,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self { topology: Topology::Complete, k: 3, reach: None, regions: Vec::new() }
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
    /// Agents nearer than a distance, rebuilt at each step; who is alone has the nearest.
    Radius,
    /// The listed regions.
    Explicit,
}

impl GraphOptions {
    /// The graph of a team; one that follows positions starts from agents in a row.
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
            Topology::Radius => match self.reach {
                Some(reach) if reach > 0.0 && reach.is_finite() => {
                    Ok(CoordinationGraph::path(n_agents))
                }
                Some(reach) => Err(Error::setting("reach", reach, "must be a positive distance")),
                None => {
                    let reason =
                        "topology `radius` needs the distance of neighbours, such as reach=0.5";
                    Err(Error::setting("reach", "", reason))
                }
            },
            Topology::Explicit if self.regions.is_empty() => {
                Err(Error::setting("regions", "[]", "topology `explicit` needs a list of regions"))
            }
            Topology::Explicit => CoordinationGraph::new(n_agents, &self.regions),
        }
    }
    /// Whether the graph follows the agents' positions.
    pub fn follows_positions(&self) -> bool {
        matches!(self.topology, Topology::KNearest | Topology::Radius)
    }

    /// Most regions that a graph which follows positions can have.
    pub fn most_regions(&self, n_agents: usize) -> usize {
        let n_pairs = n_agents * n_agents.saturating_sub(1) / 2;
        match self.topology {
            Topology::KNearest => n_pairs.min(n_agents.saturating_mul(self.k)),
            _ => n_pairs,
        }
    }

    /// Lets a graph follow the agents to where they are.
    pub fn rebuild(
        &self,
        graph: &mut CoordinationGraph,
        positions: &[[f32; 2]],
        nearby: &mut Nearby,
    ) {
        match self.topology {
            Topology::KNearest => graph.rebuild_k_nearest(positions, self.k, nearby),
            Topology::Radius => {
                graph.rebuild_within(positions, self.reach.unwrap_or_default(), nearby);
            }
            _ => {}
        }
    }
}
