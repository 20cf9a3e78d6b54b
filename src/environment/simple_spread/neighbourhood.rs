//! What is near whom in a crowd: the landmarks near each agent and the agents near each landmark, from
//! grids of cells instead of everybody with everything.

use super::observation::Parts;
use crate::cell_grid::{CellGrid, Found, NONE};

/// How much of its neighbourhood a region may need to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Nearest landmarks of an agent.
    pub(super) n_landmarks: usize,
    /// Nearest landmarks of an agent that nobody covers; none where that is not asked.
    pub(super) n_open: usize,
    /// Agents of a region.
    pub(super) region_size: usize,
    /// Seconds by which agents are moved ahead before they are near a landmark.
    pub(super) look_ahead: f32,
    /// An agent nearer than this to a landmark covers it.
    pub(super) covered: f32,
}

/// The neighbourhoods of one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbourhood {
    grid: CellGrid,
    found: Vec<Found>,
    /// Row = agent: its nearest landmarks.
    nearest: Vec<usize>,
    /// Numbers of the landmarks that nobody covers.
    open: Vec<usize>,
    /// Row = agent: the nearest landmarks that nobody covers, `usize::MAX` where there are too few.
    nearest_open: Vec<usize>,
    /// Agents and the landmarks they cover, where not too many do for a region; in rising order.
    covering: Vec<[usize; 2]>,
}

impl Neighbourhood {
    /// Lists the landmarks near each of these agents.
    pub(super) fn find_landmarks(
        &mut self,
        extent: Extent,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize>,
    ) {
        self.grid.fill(parts.landmarks.iter().map(|point| point.map(f64::from)));
        self.found.resize(extent.n_landmarks, NONE);
        self.nearest.resize(parts.positions.len() * extent.n_landmarks, usize::MAX);
        for agent in agents {
            let here = parts.positions[agent];
            self.grid.nearest(here.map(f64::from), &mut self.found, |landmark| {
                f64::from(distance(here, parts.landmarks[landmark]))
            });
            let row = &mut self.nearest[agent * extent.n_landmarks..][..extent.n_landmarks];
            row.iter_mut().zip(&self.found).for_each(|(cell, found)| *cell = found.1);
        }
    }

    /// For each landmark the nearest agents, one more than a region has: row = landmark.
    pub(super) fn find_occupants(
        &mut self,
        extent: Extent,
        parts: Parts<'_>,
        occupants: &mut Vec<(f32, usize)>,
    ) {
        let kept = extent.region_size + 1;
        let ahead = |agent: usize| {
            let (p, v) = (parts.positions[agent], parts.velocities[agent]);
            [p[0] + extent.look_ahead * v[0], p[1] + extent.look_ahead * v[1]]
        };
        self.grid.fill((0..parts.positions.len()).map(|agent| ahead(agent).map(f64::from)));
        self.found.resize(kept, NONE);
        occupants.clear();
        for &landmark in parts.landmarks {
            self.grid.nearest(landmark.map(f64::from), &mut self.found, |agent| {
                f64::from(distance(ahead(agent), landmark))
            });
            occupants.extend(self.found.iter().map(|found| (found.0 as f32, found.1)));
        }
    }

    /// Lists the landmarks that nobody covers near each of these agents, and who covers the others;
    /// `occupants` as [`Self::find_occupants`] leaves them.
    pub(super) fn find_open(
        &mut self,
        extent: Extent,
        parts: Parts<'_>,
        occupants: &[(f32, usize)],
        agents: impl Iterator<Item = usize>,
    ) {
        let kept = extent.region_size + 1;
        self.open.clear();
        self.covering.clear();
        for (landmark, nearest) in occupants.chunks_exact(kept).enumerate() {
            let coverers = nearest.iter().take_while(|(far, _)| *far < extent.covered);
            match coverers.clone().count() {
                0 => self.open.push(landmark),
                n if n < kept => {
                    self.covering.extend(coverers.map(|&(_, agent)| [agent, landmark]));
                }
                _ => {}
            }
        }
        self.covering.sort_unstable();
        self.grid.fill(self.open.iter().map(|&landmark| parts.landmarks[landmark].map(f64::from)));
        self.found.resize(extent.n_open, NONE);
        self.nearest_open.resize(parts.positions.len() * extent.n_open, usize::MAX);
        for agent in agents {
            let here = parts.positions[agent];
            self.grid.nearest(here.map(f64::from), &mut self.found, |index| {
                f64::from(distance(here, parts.landmarks[self.open[index]]))
            });
            let row = &mut self.nearest_open[agent * extent.n_open..][..extent.n_open];
            for (cell, &(_, index)) in row.iter_mut().zip(&self.found) {
                *cell = self.open.get(index).copied().unwrap_or(usize::MAX);
            }
        }
    }

    /// The landmarks nearest to an agent.
    pub(super) fn nearest(&self, extent: Extent, agent: usize) -> impl Iterator<Item = usize> + '_ {
        let row = &self.nearest[agent * extent.n_landmarks..][..extent.n_landmarks];
        row.iter().copied().filter(|&landmark| landmark != usize::MAX)
    }

    /// The landmarks that may be free for a region of this agent: the nearest that nobody covers, and
    /// those that the agent covers itself.
    pub(super) fn free(&self, extent: Extent, agent: usize) -> impl Iterator<Item = usize> + '_ {
        let row = &self.nearest_open[agent * extent.n_open..][..extent.n_open];
        let first = self.covering.partition_point(|pair| pair[0] < agent);
        let own = self.covering[first..].iter().take_while(move |pair| pair[0] == agent);
        let open = row.iter().copied().filter(|&landmark| landmark != usize::MAX);
        open.chain(own.map(|pair| pair[1]))
    }
}

#[inline]
fn distance(from: [f32; 2], to: [f32; 2]) -> f32 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    (dx * dx + dy * dy).sqrt()
}
