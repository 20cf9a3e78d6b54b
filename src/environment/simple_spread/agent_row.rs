//! The shared agent row: what a region sees, of a region of one agent, so that learners without regions
//! have the same eyes.
//!
//! Velocity and, where shown, position; for each of the nearest landmarks its displacement, distance and
//! direction, how near the two nearest other agents are to it (a pair sees its partner and one more), and
//! whether there is one; what the team is like; for each of the nearest other agents its displacement,
//! distance and direction, its velocity, and whether there is one. The frame is turned to fit the nearest
//! landmark: ahead and to the left, at most 45° off.

use super::{
    bearing::{Bearing, write_bearing, write_occupancy},
    observation::{Parts, write_members},
    observation_options::ObservationOptions,
    relative_row::{LOOK_AHEAD, NOBODY, PADDING_LANDMARK, TeamSize, insert},
};
use crate::environment::{frame::Frame, symmetry::transform};

/// Other agents whose distances to a landmark are shown.
const OCCUPANTS: usize = 2;
/// Entries of another agent.
const OTHER: usize = 8;

/// Entries of a landmark.
fn landmark_width(options: &ObservationOptions) -> usize {
    5 + 2 * OCCUPANTS * usize::from(options.occupancy) + usize::from(options.landmark_flags)
}

/// Width of a row.
pub(super) fn width(options: &ObservationOptions, n_agents: usize) -> usize {
    2 + 2 * usize::from(options.positions)
        + options.n_landmarks(n_agents) * landmark_width(options)
        + 2 * usize::from(options.team)
        + options.n_others(n_agents) * OTHER
}

/// Which entries a row has, and in which frame.
#[derive(Clone, Debug)]
pub(super) struct SharedRow {
    n_landmarks: usize,
    landmark_width: usize,
    n_others: usize,
    width: usize,
    positions: bool,
    occupancy: bool,
    flags: bool,
    coast: f32,
    look_ahead: f32,
    padding: [f32; 2],
    team: Option<[f32; 2]>,
    frame: Frame,
}

impl SharedRow {
    pub(super) fn new(options: &ObservationOptions, team: TeamSize) -> Self {
        let TeamSize { n_agents, radius, half_side } = team;
        let density = half_side / (n_agents as f64).sqrt();
        Self {
            n_landmarks: options.n_landmarks(n_agents),
            landmark_width: landmark_width(options),
            n_others: options.n_others(n_agents),
            width: width(options, n_agents),
            positions: options.positions,
            occupancy: options.occupancy,
            flags: options.landmark_flags,
            coast: options.coast as f32,
            look_ahead: if options.occupancy_velocities { LOOK_AHEAD } else { 0.0 },
            padding: PADDING_LANDMARK.map(|c| c * half_side as f32),
            team: options.team.then_some([10.0 * radius as f32, density as f32]),
            frame: options.frame,
        }
    }

    fn ahead(&self, velocity: [f32; 2]) -> [f32; 2] {
        velocity.map(|v| self.coast * v)
    }

    /// The symmetry that takes the world into the frame of an agent.
    pub(super) fn frame(&self, near: &mut Near, parts: Parts<'_>, agent: usize) -> usize {
        if self.frame == Frame::World {
            return 0;
        }
        let me = parts.positions[agent];
        nearest(near, 1, parts.landmarks.iter().map(|landmark| distance(me, *landmark)));
        let landmark = parts.landmarks[near[0].1];
        let displacement = [landmark[0] - me[0], landmark[1] - me[1]];
        self.frame.symmetry(displacement, 0, |symmetry, row| {
            row.resize(self.width, 0.0);
            self.write(near, parts, agent, symmetry, row);
        })
    }

    /// Writes the row of an agent as it looks under a symmetry.
    pub(super) fn write(
        &self,
        near: &mut Near,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        row: &mut [f32],
    ) {
        let rest = write_members(parts, &[agent], symmetry, self.positions, row);
        let (landmarks, rest) = rest.split_at_mut(self.n_landmarks * self.landmark_width);
        let (team, others) = rest.split_at_mut(if self.team.is_some() { 2 } else { 0 });
        team.copy_from_slice(self.team.as_ref().map_or(&[][..], |numbers| &numbers[..]));
        self.write_landmarks(near, parts, agent, symmetry, landmarks);
        self.write_others(near, parts, agent, symmetry, others);
    }

    fn write_landmarks(
        &self,
        near: &mut Near,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        cells: &mut [f32],
    ) {
        let (me, velocity) = (parts.positions[agent], parts.velocities[agent]);
        let kept = self.n_landmarks.min(parts.landmarks.len());
        nearest(near, kept, parts.landmarks.iter().map(|landmark| distance(me, *landmark)));
        let mut columns = cells.chunks_exact_mut(self.landmark_width);
        for (&(_, landmark), cells) in near.iter().zip(columns.by_ref()) {
            let landmark = parts.landmarks[landmark];
            write_bearing(&Bearing::of(me, landmark, self.ahead(velocity)), 0, 1, symmetry, cells);
            if self.occupancy {
                let occupants = self.occupants(parts, agent, landmark);
                let cells = cells[5..].chunks_exact_mut(2).zip(occupants);
                cells.for_each(|(cells, distance)| write_occupancy(distance, cells));
            }
            if self.flags {
                cells[self.landmark_width - 1] = 1.0;
            }
        }
        // A landmark that the team does not have: nothing where that is flagged, else one far away in
        // the agent's frame that is taken.
        for cells in columns {
            cells.fill(0.0);
            if self.flags {
                continue;
            }
            let ahead = self.ahead(transform(symmetry, velocity));
            let far = Bearing::of(transform(symmetry, me), self.padding, ahead);
            write_bearing(&far, 0, 1, 0, cells);
            if self.occupancy {
                let cells = cells[5..].chunks_exact_mut(2).take(OCCUPANTS);
                cells.for_each(|cells| write_occupancy(0.0, cells));
            }
        }
    }

    /// How near the nearest other agents are to a landmark.
    fn occupants(&self, parts: Parts<'_>, agent: usize, landmark: [f32; 2]) -> [f32; OCCUPANTS] {
        let mut sorted = [(f32::INFINITY, usize::MAX); OCCUPANTS];
        for (other, (p, v)) in parts.positions.iter().zip(parts.velocities).enumerate() {
            if other != agent {
                let to = [p[0] + self.look_ahead * v[0], p[1] + self.look_ahead * v[1]];
                insert(&mut sorted, distance(to, landmark), other);
            }
        }
        sorted.map(|(distance, other)| if other == usize::MAX { NOBODY } else { distance })
    }

    fn write_others(
        &self,
        near: &mut Near,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        cells: &mut [f32],
    ) {
        let Parts { positions, velocities, .. } = parts;
        let (n, me) = (positions.len(), positions[agent]);
        let away = positions.iter().enumerate().map(|(other, position)| {
            if other == agent { f32::INFINITY } else { distance(me, *position) }
        });
        nearest(near, self.n_others.min(n - 1), away);
        let mut cells = cells.chunks_exact_mut(OTHER);
        for (&(_, other), cells) in near.iter().zip(cells.by_ref()) {
            let [v, w] = [velocities[agent], velocities[other]];
            let ahead = self.ahead([v[0] - w[0], v[1] - w[1]]);
            write_bearing(&Bearing::of(me, positions[other], ahead), 0, 1, symmetry, cells);
            cells[5..7].copy_from_slice(&transform(symmetry, w));
            cells[7] = 1.0;
        }
        cells.for_each(|cells| cells.fill(0.0));
    }
}

/// The nearest of something, nearest first.
pub(super) type Near = Vec<(f32, usize)>;

fn distance(from: [f32; 2], to: [f32; 2]) -> f32 {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    (dx * dx + dy * dy).sqrt()
}

/// Keeps the smallest of some keys in rising order; ties go to the lower index.
fn nearest(near: &mut Near, kept: usize, keys: impl Iterator<Item = f32>) {
    near.clear();
    near.resize(kept, (f32::INFINITY, usize::MAX));
    keys.enumerate().for_each(|(index, key)| insert(near, key, index));
}
