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
    row_features::{RowFeatures, TeamSize, insert},
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
    features: RowFeatures,
    landmark_width: usize,
    n_others: usize,
    width: usize,
    frame: Frame,
}

impl SharedRow {
    pub(super) fn new(options: &ObservationOptions, team: TeamSize) -> Self {
        Self {
            features: RowFeatures::new(options, team),
            landmark_width: landmark_width(options),
            n_others: options.n_others(team.n_agents),
            width: width(options, team.n_agents),
            frame: options.frame,
        }
    }

    /// Measures what all agents of a state see alike.
    pub(super) fn measure(&self, scratch: &mut AgentScratch, parts: Parts<'_>) {
        scratch.occupants.clear();
        if self.features.occupancy {
            scratch.occupants.extend(parts.landmarks.iter().map(|landmark| {
                let mut nearest = [(0.0, 0); OCCUPANTS + 1];
                self.features.find_occupants(parts, *landmark, &mut nearest);
                nearest
            }));
        }
    }

    /// Finds what is nearest to an agent of a state that was measured.
    pub(super) fn look(&self, scratch: &mut AgentScratch, parts: Parts<'_>, agent: usize) {
        let Parts { positions, landmarks, .. } = parts;
        let me = positions[agent];
        let away = landmarks.iter().map(|landmark| distance(me, *landmark));
        nearest(&mut scratch.landmarks, self.features.n_landmarks.min(landmarks.len()), away);
        let away = positions.iter().enumerate().map(|(other, position)| {
            if other == agent { f32::INFINITY } else { distance(me, *position) }
        });
        nearest(&mut scratch.others, self.n_others.min(positions.len() - 1), away);
    }

    /// The symmetry that takes the world into the frame of an agent that has looked.
    pub(super) fn frame(&self, scratch: &AgentScratch, parts: Parts<'_>, agent: usize) -> usize {
        if self.frame == Frame::World {
            return 0;
        }
        let (me, landmark) = (parts.positions[agent], parts.landmarks[scratch.landmarks[0].1]);
        let displacement = [landmark[0] - me[0], landmark[1] - me[1]];
        let row = |symmetry, row: &mut Vec<f32>| {
            row.resize(self.width, 0.0);
            self.write(scratch, parts, agent, symmetry, row);
        };
        let world = |symmetry| {
            let points = [parts.positions, parts.velocities, parts.landmarks].into_iter().flatten();
            points.flat_map(|point| transform(symmetry, *point)).collect()
        };
        self.frame.symmetry(displacement, 0, row, world)
    }

    /// Writes the row of an agent that has looked, as it is under a symmetry.
    pub(super) fn write(
        &self,
        scratch: &AgentScratch,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        row: &mut [f32],
    ) {
        let rest = write_members(parts, &[agent], symmetry, self.features.positions, row);
        let (landmarks, rest) = rest.split_at_mut(self.features.n_landmarks * self.landmark_width);
        let shown = self.features.team.as_ref().map_or(&[][..], |numbers| &numbers[..]);
        let (team, others) = rest.split_at_mut(shown.len());
        team.copy_from_slice(shown);
        self.write_landmarks(scratch, parts, agent, symmetry, landmarks);
        self.write_others(scratch, parts, agent, symmetry, others);
    }

    fn write_landmarks(
        &self,
        scratch: &AgentScratch,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        cells: &mut [f32],
    ) {
        let (me, features) = (parts.positions[agent], &self.features);
        let ahead = features.ahead(parts.velocities[agent]);
        let mut columns = cells.chunks_exact_mut(self.landmark_width);
        for (&(_, landmark), cells) in scratch.landmarks.iter().zip(columns.by_ref()) {
            let bearing = Bearing::of(me, parts.landmarks[landmark], ahead);
            write_bearing(&bearing, 0, 1, symmetry, cells);
            if features.occupancy {
                let others = scratch.occupants[landmark].iter().filter(|near| near.1 != agent);
                let cells = cells[5..].chunks_exact_mut(2).zip(others);
                cells.for_each(|(cells, (distance, _))| write_occupancy(*distance, cells));
            }
            if features.flags {
                cells[self.landmark_width - 1] = 1.0;
            }
        }
        columns.for_each(|cells| features.write_padding(parts, &[agent], symmetry, cells));
    }

    fn write_others(
        &self,
        scratch: &AgentScratch,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        cells: &mut [f32],
    ) {
        let mut cells = cells.chunks_exact_mut(OTHER);
        for (&(_, other), cells) in scratch.others.iter().zip(cells.by_ref()) {
            write_bearing(&self.features.between(parts, agent, other), 0, 1, symmetry, cells);
            cells[5..7].copy_from_slice(&transform(symmetry, parts.velocities[other]));
            cells[7] = 1.0;
        }
        cells.for_each(|cells| cells.fill(0.0));
    }
}

/// What is near what, in one state.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentScratch {
    /// The agents nearest to each landmark, one of whom may be the one that looks.
    occupants: Vec<[(f32, usize); OCCUPANTS + 1]>,
    /// What is nearest to the agent that looks.
    landmarks: Near,
    others: Near,
}

/// The nearest of something, nearest first.
type Near = Vec<(f32, usize)>;

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
