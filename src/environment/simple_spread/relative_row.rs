//! The relative row: what a region sees in its own frame, of a width that does not depend on N.
//!
//! Velocity and position of each member; each pair's displacement, distance and direction; for each
//! of the nearest landmarks the members' displacements, distances and directions, how near others
//! are to it, and whether there is one; what the team is like.

use super::{
    observation::{Parts, pairs_of, write_members},
    observation_options::ObservationOptions,
};
use crate::environment::symmetry::transform;

/// Softens a unit vector near the origin: d/(|d| + 0.1).
const SOFTENING: f32 = 0.1;
/// Seconds by which out-of-region agents are moved ahead before their distances are taken.
const LOOK_AHEAD: f32 = 0.2;
/// Where the landmarks stand that pad a row for a team smaller than the row: outside the square.
pub const PADDING_LANDMARK: [f32; 2] = [2.0, 2.0];
/// Distance shown where no agent is outside the region.
const NOBODY: f32 = 4.0;

/// Which entries a row has, and how they are measured.
#[derive(Clone, Debug)]
pub(super) struct RelativeRow {
    n_landmarks: usize,
    occupancy: bool,
    flags: bool,
    /// Seconds of coasting before an agent's directions are taken.
    coast: f32,
    /// Seconds by which out-of-region agents are moved ahead.
    look_ahead: f32,
    region_size: usize,
    /// Agents outside the region whose distances to a landmark are shown.
    n_occupants: usize,
    /// What the team is like, where it is shown.
    team: Option<[f32; 2]>,
}

/// A point as one agent sees it: displacement, distance, softened direction.
#[derive(Clone, Copy, Default)]
pub(super) struct Bearing {
    pub(super) displacement: [f32; 2],
    pub(super) distance: f32,
    pub(super) direction: [f32; 2],
}

impl Bearing {
    /// The direction is taken `ahead` of where the displacement is.
    #[inline]
    pub(super) fn of(from: [f32; 2], to: [f32; 2], ahead: [f32; 2]) -> Self {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let distance = (dx * dx + dy * dy).sqrt();
        if ahead == [0.0, 0.0] {
            let scale = 1.0 / (distance + SOFTENING);
            return Self { displacement: [dx, dy], distance, direction: [dx * scale, dy * scale] };
        }
        let (x, y) = (dx - ahead[0], dy - ahead[1]);
        let scale = 1.0 / ((x * x + y * y).sqrt() + SOFTENING);
        Self { displacement: [dx, dy], distance, direction: [x * scale, y * scale] }
    }
}

/// Measurements of one state, shared by the rows of all its regions.
#[derive(Default)]
pub(super) struct Scratch {
    /// Row = agent, column = landmark.
    pub(super) bearings: Vec<Bearing>,
    /// Row = landmark: the nearest agents and their distances, enough to find one out of region.
    occupants: Vec<(f32, usize)>,
    /// The landmarks (or other agents) of the present row, nearest first.
    pub(super) chosen: Vec<(f32, usize)>,
}

impl RelativeRow {
    pub(super) fn new(
        options: &ObservationOptions,
        n_agents: usize,
        (region_size, n_occupants): (usize, usize),
        radius: f64,
    ) -> Self {
        let density = 1.0 / (n_agents as f64).sqrt();
        Self {
            n_landmarks: options.n_landmarks(n_agents),
            occupancy: options.occupancy,
            flags: options.landmark_flags,
            coast: options.coast as f32,
            look_ahead: if options.occupancy_velocities { LOOK_AHEAD } else { 0.0 },
            region_size,
            n_occupants,
            team: options.team.then_some([10.0 * radius as f32, density as f32]),
        }
    }

    pub(super) fn ahead(&self, velocity: [f32; 2]) -> [f32; 2] {
        velocity.map(|v| self.coast * v)
    }

    /// Measures what the given agents see of a state.
    pub(super) fn measure(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize>,
    ) {
        let n = parts.landmarks.len();
        scratch.bearings.resize(n * n, Bearing::default());
        for agent in agents {
            let ahead = self.ahead(parts.velocities[agent]);
            let cells = &mut scratch.bearings[agent * n..][..n];
            for (cell, &landmark) in cells.iter_mut().zip(parts.landmarks) {
                *cell = Bearing::of(parts.positions[agent], landmark, ahead);
            }
        }
        if self.occupancy {
            let kept = self.region_size + self.n_occupants;
            measure_occupants(&mut scratch.occupants, parts, kept, self.look_ahead);
        }
    }

    /// Writes the row of a region as it looks under a symmetry.
    pub(super) fn write(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        members: &[usize],
        symmetry: usize,
        row: &mut [f32],
    ) {
        let (n, size) = (parts.landmarks.len(), members.len());
        let rest = write_members(parts, members, symmetry, row);
        let (pairs, rest) = rest.split_at_mut(5 * (size * (size - 1) / 2));
        for (cells, (a, b)) in pairs.chunks_exact_mut(5).zip(pairs_of(members)) {
            let [v, w] = [parts.velocities[a], parts.velocities[b]];
            let ahead = self.ahead([v[0] - w[0], v[1] - w[1]]);
            let bearing = Bearing::of(parts.positions[a], parts.positions[b], ahead);
            cells[..2].copy_from_slice(&transform(symmetry, bearing.displacement));
            cells[2] = bearing.distance;
            cells[3..].copy_from_slice(&transform(symmetry, bearing.direction));
        }
        let width = self.landmark_width(size);
        let (landmarks, team) = rest.split_at_mut(width * self.n_landmarks);
        if let Some(numbers) = self.team {
            team.copy_from_slice(&numbers);
        }
        let Scratch { bearings, chosen, occupants } = scratch;
        choose_nearest(chosen, self.n_landmarks.min(n), n, |landmark| {
            let distances = members.iter().map(|agent| bearings[agent * n + landmark].distance);
            distances.fold(f32::INFINITY, f32::min)
        });
        let mut columns = landmarks.chunks_exact_mut(width);
        for (&(_, landmark), cells) in chosen.iter().zip(columns.by_ref()) {
            for (slot, agent) in members.iter().enumerate() {
                write_bearing(&bearings[agent * n + landmark], slot, size, symmetry, cells);
            }
            if self.occupancy {
                let kept = size + self.n_occupants;
                let kept = occupants[landmark * kept..][..kept].iter();
                let outside = kept.filter(|(_, agent)| !members.contains(agent));
                let cells = cells[5 * size..].chunks_exact_mut(2).take(self.n_occupants);
                cells.zip(outside).for_each(|(cells, o)| write_occupancy(o.0, cells));
            }
            if self.flags {
                cells[width - 1] = 1.0;
            }
        }
        for cells in columns {
            self.write_padding(parts, members, symmetry, cells);
        }
    }

    /// Entries of a landmark.
    fn landmark_width(&self, size: usize) -> usize {
        5 * size + 2 * self.n_occupants * usize::from(self.occupancy) + usize::from(self.flags)
    }

    /// A landmark that the team does not have: nothing where that is flagged, else one far away in
    /// the region's frame that is taken.
    fn write_padding(
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
            let bearing = Bearing::of(at, PADDING_LANDMARK, ahead);
            write_bearing(&bearing, slot, members.len(), 0, cells);
        }
        if self.occupancy {
            let cells = cells[5 * members.len()..].chunks_exact_mut(2);
            cells.take(self.n_occupants).for_each(|cells| write_occupancy(0.0, cells));
        }
    }
}

#[inline]
fn write_bearing(bearing: &Bearing, slot: usize, size: usize, symmetry: usize, cells: &mut [f32]) {
    let displacement = transform(symmetry, bearing.displacement);
    let direction = transform(symmetry, bearing.direction);
    cells[2 * slot..2 * slot + 2].copy_from_slice(&displacement);
    cells[2 * size + slot] = bearing.distance;
    cells[3 * size + 2 * slot..3 * size + 2 * slot + 2].copy_from_slice(&direction);
}

#[inline]
fn write_occupancy(distance: f32, cells: &mut [f32]) {
    cells[0] = distance;
    cells[1] = 0.2 / (distance + SOFTENING);
}

/// Keeps the `kept` smallest of `n` keys in rising order; ties go to the lower index.
#[inline]
pub(super) fn choose_nearest(
    chosen: &mut Vec<(f32, usize)>,
    kept: usize,
    n: usize,
    key: impl Fn(usize) -> f32,
) {
    chosen.clear();
    chosen.resize(kept, (f32::INFINITY, usize::MAX));
    for index in 0..n {
        insert(chosen, key(index), index);
    }
}

/// Inserts into a list that stays sorted and keeps its length.
#[inline]
fn insert(sorted: &mut [(f32, usize)], key: f32, index: usize) {
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

/// For each landmark the nearest agents by where they will be in `look_ahead` seconds; `usize::MAX`
/// where the team is too small.
fn measure_occupants(
    occupants: &mut Vec<(f32, usize)>,
    parts: Parts<'_>,
    kept: usize,
    look_ahead: f32,
) {
    occupants.clear();
    occupants.resize(kept * parts.landmarks.len(), (NOBODY, usize::MAX));
    for (sorted, landmark) in occupants.chunks_exact_mut(kept).zip(parts.landmarks) {
        sorted.fill((f32::INFINITY, usize::MAX));
        for (agent, (p, v)) in parts.positions.iter().zip(parts.velocities).enumerate() {
            let dx = landmark[0] - (p[0] + look_ahead * v[0]);
            let dy = landmark[1] - (p[1] + look_ahead * v[1]);
            insert(sorted, (dx * dx + dy * dy).sqrt(), agent);
        }
        for cell in sorted.iter_mut().filter(|cell| cell.1 == usize::MAX) {
            cell.0 = NOBODY;
        }
    }
}
