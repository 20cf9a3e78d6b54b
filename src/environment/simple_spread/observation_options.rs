//! What a region is shown, as users choose it, and how wide the rows are.

use crate::{
    environment::frame::Frame,
    error::{Error, Result, count, within},
};
use serde::{Deserialize, Serialize};

/// What a region sees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObservationOptions {
    /// Which row.
    pub kind: ObservationKind,
    /// Nearest landmarks shown in a relative row; all up to 5 unless set. A row wider than the team
    /// has landmarks is padded with landmarks at (2, 2) that count as occupied.
    pub landmarks: Option<usize>,
    /// Whether a relative row shows how near the closest out-of-region agent is to each landmark.
    pub occupancy: bool,
    /// Whether that agent is taken where it will be 0.2 s ahead, which shows its velocity; MPE shows
    /// an agent the positions of the others, not their velocities.
    pub occupancy_velocities: bool,
    /// The frame in which a region sees the world, turned to fit the region itself.
    pub frame: Frame,
    /// Seconds of coasting after which a relative row takes the directions to landmarks and partners.
    pub coast: f64,
    /// Whether a landmark that the team does not have is flagged and empty, instead of one at (2, 2)
    /// that counts as occupied.
    pub landmark_flags: bool,
    /// Whether a relative row shows the agents' radius and how dense the team is.
    pub team: bool,
    /// Whether a relative row shows where the members are in the square; without, it looks the same
    /// wherever they are, in squares of any size.
    #[serde(skip_serializing_if = "is_true")]
    pub positions: bool,
    /// Landmarks that a relative row shows beyond the nearest: the nearest others that no agent outside
    /// the region covers.
    #[serde(skip_serializing_if = "is_zero")]
    pub free_landmarks: usize,
    /// Whether a relative row shows each member the landmark that an auction among neighbours gives it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auction: bool,
}

impl Default for ObservationOptions {
    fn default() -> Self {
        Self {
            kind: ObservationKind::default(),
            landmarks: None,
            occupancy: false,
            occupancy_velocities: true,
            frame: Frame::World,
            coast: 0.0,
            landmark_flags: false,
            team: false,
            positions: true,
            free_landmarks: 0,
            auction: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_true(flag: &bool) -> bool {
    *flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Which region row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationKind {
    /// Velocities, positions, all landmarks, relative positions: 4|R| + 2N + |R|(|R|−1) entries.
    Paper,
    /// Relative and sorted by distance, of a width that does not depend on N.
    #[default]
    Relative,
}

impl ObservationOptions {
    /// Refuses what cannot be shown.
    pub(super) fn check(&self, most: usize) -> Result<()> {
        if let Some(landmarks) = self.landmarks {
            count("landmarks", landmarks as u64, 1..=most as u64)?;
        }
        within("coast", self.coast, 0.0..=10.0)?;
        count("free_landmarks", self.free_landmarks as u64, 0..=most as u64)?;
        if self.kind == ObservationKind::Paper && !self.positions {
            return Err(Error::setting("positions", false, "the paper's row shows positions"));
        }
        Ok(())
    }

    /// Numbers that a relative row shows of each member.
    pub(super) fn member_width(&self) -> usize {
        2 + 2 * usize::from(self.positions) + 5 * usize::from(self.auction)
    }

    /// Landmarks shown in a relative row of a team: as set, or all up to 5.
    pub fn n_landmarks(&self, n_agents: usize) -> usize {
        self.landmarks.unwrap_or(n_agents.min(5))
    }

    /// Width of a region row.
    pub fn region_width(&self, n_agents: usize, region_size: usize) -> usize {
        let pairs = region_size * (region_size - 1) / 2;
        match self.kind {
            ObservationKind::Paper => 4 * region_size + 2 * n_agents + 2 * pairs,
            ObservationKind::Relative => {
                let per_landmark = 5 * region_size
                    + 2 * usize::from(self.occupancy)
                    + usize::from(self.landmark_flags);
                self.member_width() * region_size
                    + 5 * pairs
                    + (self.n_landmarks(n_agents) + self.free_landmarks) * per_landmark
                    + 2 * usize::from(self.team)
            }
        }
    }
}

/// Width of an agent row: MPE2's observation without its communication zeros.
pub const fn agent_width(n_agents: usize) -> usize {
    4 + 2 * n_agents + 2 * (n_agents - 1)
}
