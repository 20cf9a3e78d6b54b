//! A point as an agent sees it, and how a row shows it.

use crate::environment::symmetry::transform;

/// Softens a unit vector near the origin: d/(|d| + 0.1).
pub(super) const SOFTENING: f32 = 0.1;

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

/// Writes what one member of a region sees of a landmark.
#[inline]
pub(super) fn write_bearing(
    bearing: &Bearing,
    slot: usize,
    size: usize,
    symmetry: usize,
    cells: &mut [f32],
) {
    let displacement = transform(symmetry, bearing.displacement);
    let direction = transform(symmetry, bearing.direction);
    cells[2 * slot..2 * slot + 2].copy_from_slice(&displacement);
    cells[2 * size + slot] = bearing.distance;
    cells[3 * size + 2 * slot..3 * size + 2 * slot + 2].copy_from_slice(&direction);
}

/// Writes how near the nearest agent outside the region is.
#[inline]
pub(super) fn write_occupancy(distance: f32, cells: &mut [f32]) {
    cells[0] = distance;
    cells[1] = 0.2 / (distance + SOFTENING);
}
