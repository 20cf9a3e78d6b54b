//! The relative row: what a region sees in its own frame, of a width that does not depend on N.
//!
//! Velocity and, where shown, position of each member; where asked, the landmark that an auction gives
//! it; each pair's displacement, distance and direction; for each of the nearest landmarks, and of the
//! nearest others that nobody else covers, the members' displacements, distances and directions, how
//! near others are to it, and whether there is one; what the team is like.

use super::{
    CROWD,
    auction::Auction,
    bearing::{Bearing, write_bearing, write_occupancy},
    neighbourhood::{Extent, Neighbourhood},
    observation::{Parts, pairs_of, write_members},
    observation_options::ObservationOptions,
    row_features::{NOBODY, RowFeatures, TeamSize, insert},
};

/// An agent nearer than this to a landmark covers it.
const COVERED: f32 = super::COVER_DISTANCE as f32;
/// No landmark.
const NONE: (f32, usize) = (f32::INFINITY, usize::MAX);

/// Which entries a row has, and how they are measured.
#[derive(Clone, Debug)]
pub(super) struct RelativeRow {
    pub(super) features: RowFeatures,
    /// Landmarks shown beyond the nearest that nobody outside the region covers.
    pub(super) n_free: usize,
    /// Whether each member sees the landmark that an auction gives it.
    pub(super) auction: bool,
    pub(super) region_size: usize,
    /// Teams from this size on are crowds.
    pub(super) crowd: usize,
}

/// Measurements of one state, shared by the rows of all its regions.
#[derive(Default)]
pub(super) struct Scratch {
    /// Row = agent, column = landmark.
    bearings: Vec<Bearing>,
    /// Row = landmark: the nearest agents and their distances, enough to find one out of region.
    occupants: Vec<(f32, usize)>,
    /// The landmarks of the present row, nearest first.
    chosen: Vec<(f32, usize)>,
    /// Who is near what in a crowd; `bearings` are not kept there.
    near: Neighbourhood,
    auction: Auction,
    pub(super) crowd: bool,
}

impl Scratch {
    /// A landmark as an agent sees it, which coasts as far as `ahead` says.
    #[inline]
    fn bearing(&self, parts: Parts<'_>, agent: usize, landmark: usize, ahead: [f32; 2]) -> Bearing {
        if self.crowd {
            return Bearing::of(parts.positions[agent], parts.landmarks[landmark], ahead);
        }
        self.bearings[agent * parts.landmarks.len() + landmark]
    }
}

impl RelativeRow {
    pub(super) fn new(options: &ObservationOptions, team: TeamSize, region_size: usize) -> Self {
        Self {
            features: RowFeatures::new(options, team),
            n_free: options.free_landmarks,
            auction: options.auction,
            region_size,
            crowd: CROWD,
        }
    }

    /// Measures what the given agents see of a state.
    pub(super) fn measure(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize> + Clone,
    ) {
        if self.auction {
            scratch.auction.settle(parts);
        }
        let n = parts.landmarks.len();
        let finite = |points: &[[f32; 2]]| points.as_flattened().iter().all(|c| c.is_finite());
        scratch.crowd = n >= self.crowd
            && finite(parts.positions)
            && finite(parts.velocities)
            && finite(parts.landmarks);
        if scratch.crowd {
            return self.look_around(scratch, parts, agents);
        }
        scratch.bearings.resize(n * n, Bearing::default());
        for agent in agents {
            let ahead = self.features.ahead(parts.velocities[agent]);
            let cells = &mut scratch.bearings[agent * n..][..n];
            for (cell, &landmark) in cells.iter_mut().zip(parts.landmarks) {
                *cell = Bearing::of(parts.positions[agent], landmark, ahead);
            }
        }
        if self.needs_occupants() {
            let kept = self.region_size + 1;
            measure_occupants(&self.features, &mut scratch.occupants, parts, kept);
        }
    }

    /// [`Self::measure`] in a crowd: only what is near.
    fn look_around(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize> + Clone,
    ) {
        let Scratch { near, occupants, .. } = scratch;
        let extent = self.extent();
        near.find_landmarks(extent, parts, agents.clone());
        if self.needs_occupants() {
            near.find_occupants(extent, parts, occupants);
        }
        if self.n_free > 0 {
            near.find_open(extent, parts, occupants, agents);
        }
    }

    fn needs_occupants(&self) -> bool {
        self.features.occupancy || self.n_free > 0
    }

    fn extent(&self) -> Extent {
        Extent {
            n_landmarks: self.features.n_landmarks,
            n_open: if self.n_free > 0 { self.features.n_landmarks + self.n_free } else { 0 },
            region_size: self.region_size,
            look_ahead: self.features.look_ahead,
            covered: COVERED,
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
        let size = members.len();
        let rest = write_members(parts, members, symmetry, self.features.positions, row);
        let rest = self.write_claims(&scratch.auction, parts, members, symmetry, rest);
        let (pairs, rest) = rest.split_at_mut(5 * (size * (size - 1) / 2));
        for (cells, (a, b)) in pairs.chunks_exact_mut(5).zip(pairs_of(members)) {
            write_bearing(&self.features.between(parts, a, b), 0, 1, symmetry, cells);
        }
        let width = self.landmark_width(size);
        let (landmarks, team) =
            rest.split_at_mut(width * (self.features.n_landmarks + self.n_free));
        if let Some(numbers) = self.features.team {
            team.copy_from_slice(&numbers);
        }
        self.choose(scratch, parts, members);
        let mut columns = landmarks.chunks_exact_mut(width);
        for (&(_, landmark), cells) in scratch.chosen.iter().zip(columns.by_ref()) {
            if landmark == usize::MAX {
                self.features.write_padding(parts, members, symmetry, cells);
                continue;
            }
            for (slot, &agent) in members.iter().enumerate() {
                let ahead = self.features.ahead(parts.velocities[agent]);
                let bearing = scratch.bearing(parts, agent, landmark, ahead);
                write_bearing(&bearing, slot, size, symmetry, cells);
            }
            if self.features.occupancy {
                let outside = outsider(&scratch.occupants, landmark, members);
                write_occupancy(outside, &mut cells[5 * size..]);
            }
            if self.features.flags {
                cells[width - 1] = 1.0;
            }
        }
        for cells in columns {
            self.features.write_padding(parts, members, symmetry, cells);
        }
    }

    /// Writes the landmark of each member as it sees it; returns the rest of the row.
    fn write_claims<'r>(
        &self,
        auction: &Auction,
        parts: Parts<'_>,
        members: &[usize],
        symmetry: usize,
        row: &'r mut [f32],
    ) -> &'r mut [f32] {
        let width = if self.auction { 5 * members.len() } else { 0 };
        let (claims, rest) = row.split_at_mut(width);
        for (cells, &agent) in claims.chunks_exact_mut(5).zip(members) {
            match parts.landmarks.get(auction.landmark_of[agent]) {
                Some(&landmark) => {
                    let ahead = self.features.ahead(parts.velocities[agent]);
                    let bearing = Bearing::of(parts.positions[agent], landmark, ahead);
                    write_bearing(&bearing, 0, 1, symmetry, cells);
                }
                None => cells.fill(0.0),
            }
        }
        rest
    }

    /// Chooses the landmarks of a row: the nearest, then the nearest others that are free.
    fn choose(&self, scratch: &mut Scratch, parts: Parts<'_>, members: &[usize]) {
        let n = parts.landmarks.len();
        let mut chosen = std::mem::take(&mut scratch.chosen);
        let still = [0.0, 0.0];
        let key = |landmark: usize| {
            let distances = members
                .iter()
                .map(|&agent| scratch.bearing(parts, agent, landmark, still).distance);
            distances.fold(f32::INFINITY, f32::min)
        };
        chosen.clear();
        chosen.resize(self.features.n_landmarks.min(n), NONE);
        let extent = self.extent();
        if scratch.crowd {
            for landmark in members.iter().flat_map(|&a| scratch.near.nearest(extent, a)) {
                insert_once(&mut chosen, key(landmark), landmark);
            }
        } else {
            (0..n).for_each(|landmark| insert(&mut chosen, key(landmark), landmark));
        }
        if self.n_free > 0 {
            chosen.resize(self.features.n_landmarks, NONE);
            chosen.resize(self.features.n_landmarks + self.n_free, NONE);
            let (nearest, free) = chosen.split_at_mut(self.features.n_landmarks);
            let mut offer = |landmark: usize| {
                let shown = nearest.iter().any(|&(_, other)| other == landmark);
                if !shown && outsider(&scratch.occupants, landmark, members) >= COVERED {
                    insert_once(free, key(landmark), landmark);
                }
            };
            if scratch.crowd {
                members.iter().flat_map(|&a| scratch.near.free(extent, a)).for_each(offer);
            } else {
                (0..n).for_each(&mut offer);
            }
        }
        scratch.chosen = chosen;
    }

    /// Entries of a landmark.
    fn landmark_width(&self, size: usize) -> usize {
        5 * size + 2 * usize::from(self.features.occupancy) + usize::from(self.features.flags)
    }
}

/// Distance of the nearest agent outside the region to a landmark.
#[inline]
fn outsider(occupants: &[(f32, usize)], landmark: usize, members: &[usize]) -> f32 {
    let size = members.len();
    let kept = &occupants[landmark * (size + 1)..][..=size];
    kept.iter().find(|(_, agent)| !members.contains(agent)).map_or(NOBODY, |o| o.0)
}

/// Inserts what is not there yet; ties go to the lower index.
fn insert_once(sorted: &mut [(f32, usize)], key: f32, index: usize) {
    let Some(mut place) = sorted.len().checked_sub(1) else { return };
    if (key, index) >= sorted[place] || sorted.iter().any(|&(_, other)| other == index) {
        return;
    }
    while place > 0 && (key, index) < sorted[place - 1] {
        sorted[place] = sorted[place - 1];
        place -= 1;
    }
    sorted[place] = (key, index);
}

/// For each landmark the nearest agents.
fn measure_occupants(
    features: &RowFeatures,
    occupants: &mut Vec<(f32, usize)>,
    parts: Parts<'_>,
    kept: usize,
) {
    occupants.clear();
    occupants.resize(kept * parts.landmarks.len(), (NOBODY, usize::MAX));
    for (sorted, &landmark) in occupants.chunks_exact_mut(kept).zip(parts.landmarks) {
        features.find_occupants(parts, landmark, sorted);
    }
}
