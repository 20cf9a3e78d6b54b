//! The shared agent row: what a region sees, of a region of one agent, so that learners without regions
//! have the same eyes.
//!
//! A relative row of the agent alone, in which each landmark shows the two nearest other agents (a pair
//! sees its partner and one more); then for each of the nearest other agents its displacement, distance
//! and direction, its velocity, and whether there is one. The frame is turned to fit the nearest
//! landmark: ahead and to the left, at most 45° off.

use super::{
    observation::Parts,
    observation_options::ObservationOptions,
    relative_row::{Bearing, RelativeRow, Scratch, choose_nearest},
};
use crate::environment::{frame::Frame, symmetry::transform};

/// Other agents whose distances to a landmark are shown.
const OCCUPANTS: usize = 2;
/// Entries of another agent.
const OTHER: usize = 8;

/// Width of a row.
pub(super) fn width(options: &ObservationOptions, n_agents: usize) -> usize {
    let per_landmark =
        5 + 2 * OCCUPANTS * usize::from(options.occupancy) + usize::from(options.landmark_flags);
    4 + options.n_landmarks(n_agents) * per_landmark
        + 2 * usize::from(options.team)
        + options.n_others(n_agents) * OTHER
}

/// Which entries a row has, and in which frame.
#[derive(Clone, Debug)]
pub(super) struct SharedRow {
    alone: RelativeRow,
    n_others: usize,
    width: usize,
    frame: Frame,
}

impl SharedRow {
    pub(super) fn new(options: &ObservationOptions, n_agents: usize, radius: f64) -> Self {
        Self {
            alone: RelativeRow::new(options, n_agents, (1, OCCUPANTS), radius),
            n_others: options.n_others(n_agents),
            width: width(options, n_agents),
            frame: options.frame,
        }
    }

    /// Measures what the given agents see of a state.
    pub(super) fn measure(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize>,
    ) {
        self.alone.measure(scratch, parts, agents);
    }

    /// The symmetry that takes the world into the frame of an agent.
    pub(super) fn frame(&self, scratch: &mut Scratch, parts: Parts<'_>, agent: usize) -> usize {
        if self.frame == Frame::World {
            return 0;
        }
        let n = parts.landmarks.len();
        let own = &scratch.bearings[agent * n..][..n];
        let nearest =
            own.iter().fold(
                own[0],
                |best, bearing| {
                    if bearing.distance < best.distance { *bearing } else { best }
                },
            );
        self.frame.symmetry(nearest.displacement, 0, |symmetry, row| {
            row.resize(self.width, 0.0);
            self.write(scratch, parts, agent, symmetry, row);
        })
    }

    /// Writes the row of an agent as it looks under a symmetry.
    pub(super) fn write(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agent: usize,
        symmetry: usize,
        row: &mut [f32],
    ) {
        let (alone, others) = row.split_at_mut(self.width - self.n_others * OTHER);
        self.alone.write(scratch, parts, &[agent], symmetry, alone);
        let Parts { positions, velocities, .. } = parts;
        let (n, me) = (positions.len(), positions[agent]);
        // The agent itself is its own nearest and left out.
        choose_nearest(&mut scratch.chosen, self.n_others.min(n - 1), n, |other| {
            let [dx, dy] = [positions[other][0] - me[0], positions[other][1] - me[1]];
            if other == agent { f32::INFINITY } else { dx * dx + dy * dy }
        });
        let mut cells = others.chunks_exact_mut(OTHER);
        for (&(_, other), cells) in scratch.chosen.iter().zip(cells.by_ref()) {
            let [v, w] = [velocities[agent], velocities[other]];
            let ahead = self.alone.ahead([v[0] - w[0], v[1] - w[1]]);
            let bearing = Bearing::of(me, positions[other], ahead);
            cells[..2].copy_from_slice(&transform(symmetry, bearing.displacement));
            cells[2] = bearing.distance;
            cells[3..5].copy_from_slice(&transform(symmetry, bearing.direction));
            cells[5..7].copy_from_slice(&transform(symmetry, w));
            cells[7] = 1.0;
        }
        cells.for_each(|cells| cells.fill(0.0));
    }
}
