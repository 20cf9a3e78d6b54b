//! What the rows of regions and of single agents show alike, and how it is measured.

use super::{
    bearing::{Bearing, write_bearing, write_occupancy},
    observation::Parts,
    observation_options::ObservationOptions,
};
use crate::environment::symmetry::transform;

/// Seconds by which other agents are moved ahead before their distances are taken.
const LOOK_AHEAD: f32 = 0.2;
/// Where the landmarks stand that pad a row for a team smaller than the row: outside the square.
pub const PADDING_LANDMARK: [f32; 2] = [2.0, 2.0];
/// Distance shown where there is no other agent.
pub(super) const NOBODY: f32 = 4.0;

/// A team and its square.
#[derive(Clone, Copy, Debug)]
pub(super) struct TeamSize {
    pub(super) n_agents: usize,
    pub(super) radius: f64,
    pub(super) half_side: f64,
}

/// Which of these entries a row has, and how they are measured.
#[derive(Clone, Debug)]
pub(super) struct RowFeatures {
    pub(super) n_landmarks: usize,
    pub(super) positions: bool,
    pub(super) occupancy: bool,
    /// Whether a landmark tells that it is there.
    pub(super) flags: bool,
    /// Seconds of coasting before an agent's directions are taken.
    pub(super) coast: f32,
    /// Seconds by which other agents are moved ahead.
    pub(super) look_ahead: f32,
    padding: [f32; 2],
    /// What the team is like, where it is shown.
    pub(super) team: Option<[f32; 2]>,
}

impl RowFeatures {
    pub(super) fn new(options: &ObservationOptions, team: TeamSize) -> Self {
        let TeamSize { n_agents, radius, half_side } = team;
        let density = half_side / (n_agents as f64).sqrt();
        Self {
            n_landmarks: options.n_landmarks(n_agents),
            positions: options.positions,
            occupancy: options.occupancy,
            flags: options.landmark_flags,
            coast: options.coast as f32,
            look_ahead: if options.occupancy_velocities { LOOK_AHEAD } else { 0.0 },
            padding: PADDING_LANDMARK.map(|c| c * half_side as f32),
            team: options.team.then_some([10.0 * radius as f32, density as f32]),
        }
    }

    /// How far an agent coasts before its directions are taken.
    pub(super) fn ahead(&self, velocity: [f32; 2]) -> [f32; 2] {
        velocity.map(|v| self.coast * v)
    }

    /// One agent as another sees it, which coasts with the difference of their velocities.
    pub(super) fn between(&self, parts: Parts<'_>, from: usize, to: usize) -> Bearing {
        let [v, w] = [parts.velocities[from], parts.velocities[to]];
        let ahead = self.ahead([v[0] - w[0], v[1] - w[1]]);
        Bearing::of(parts.positions[from], parts.positions[to], ahead)
    }

    /// Fills a list with the nearest agents, by where they will be; `usize::MAX` at [`NOBODY`] where
    /// there are too few.
    pub(super) fn find_occupants(
        &self,
        parts: Parts<'_>,
        landmark: [f32; 2],
        sorted: &mut [(f32, usize)],
    ) {
        sorted.fill((f32::INFINITY, usize::MAX));
        for (agent, (p, v)) in parts.positions.iter().zip(parts.velocities).enumerate() {
            let dx = landmark[0] - (p[0] + self.look_ahead * v[0]);
            let dy = landmark[1] - (p[1] + self.look_ahead * v[1]);
            insert(sorted, (dx * dx + dy * dy).sqrt(), agent);
        }
        for cell in sorted.iter_mut().filter(|cell| cell.1 == usize::MAX) {
            cell.0 = NOBODY;
        }
    }

    /// A landmark that the team does not have: nothing where that is flagged, else one far away in the
    /// frame of the row that is taken.
    pub(super) fn write_padding(
        &self,
        parts: Parts<'_>,
        members: &[usize],
        symmetry: usize,
        cells: &mut [f32],
    ) {
        if self.flags {
            return cells.fill(0.0);
        }
        for (slot, &agent) in members.iter().enumerate() {
            let at = transform(symmetry, parts.positions[agent]);
            let ahead = self.ahead(transform(symmetry, parts.velocities[agent]));
            let bearing = Bearing::of(at, self.padding, ahead);
            write_bearing(&bearing, slot, members.len(), 0, cells);
        }
        // Nothing is left of the cells where occupancy is not shown.
        let occupancies = cells[5 * members.len()..].chunks_exact_mut(2);
        occupancies.for_each(|cells| write_occupancy(0.0, cells));
    }
}

/// Inserts into a list that stays sorted and keeps its length.
#[inline]
pub(super) fn insert(sorted: &mut [(f32, usize)], key: f32, index: usize) {
    let Some(mut place) = sorted.len().checked_sub(1) else { return };
    if key >= sorted[place].0 {
        return;
    }
    while place > 0 && sorted[place - 1].0 > key {
        sorted[place] = sorted[place - 1];
        place -= 1;
    }
    sorted[place] = (key, index);
}
