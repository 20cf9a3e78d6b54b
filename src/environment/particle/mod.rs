//! What MPE2's worlds of particles have in common, in double precision: points, contact, the order
//! of integration, and the format of recorded episodes.
//!
//! One step of a particle of mass 1 under a force F, with dt = 0.1 and damping 0.25:
//!
//! `position ← position + dt · velocity` (the **old** velocity), then
//! `velocity ← (1 − damping) · velocity + dt · F`.
//!
//! So the force of a step moves nothing before the next step.

pub mod recording;

/// Seconds of one step.
pub const TIME_STEP: f64 = 0.1;
/// Share of the velocity lost in one step.
pub const DAMPING: f64 = 0.25;
/// Strength of the contact force.
pub const CONTACT_FORCE: f64 = 100.0;
/// Softness of the contact, in units of length.
pub const CONTACT_MARGIN: f64 = 1e-3;
/// Contact margins beyond which the contact force is below 1e-20 and is not computed.
const CONTACT_REACH: f64 = 50.0;
/// Forces along one axis of the grid of actions.
pub const GRID: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// The forces of the grid {-1, -0.5, 0, 0.5, 1}²: action 5·ix + iy.
pub fn grid_of_forces() -> Vec<[f64; 2]> {
    GRID.iter().flat_map(|&x| GRID.iter().map(move |&y| [x, y])).collect()
}

/// Points of the plane, one array per axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// First coordinates.
    pub x: Vec<f64>,
    /// Second coordinates.
    pub y: Vec<f64>,
}

impl Points {
    /// As many points at the origin.
    pub fn zeros(n: usize) -> Self {
        Self { x: vec![0.0; n], y: vec![0.0; n] }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// One point.
    pub fn get(&self, index: usize) -> [f64; 2] {
        [self.x[index], self.y[index]]
    }

    /// Moves one point.
    pub fn set(&mut self, index: usize, point: [f64; 2]) {
        [self.x[index], self.y[index]] = point;
    }

    /// Moves all points.
    pub fn set_all(&mut self, points: &[[f64; 2]]) {
        assert_eq!(points.len(), self.len(), "one value per point");
        points.iter().enumerate().for_each(|(index, &point)| self.set(index, point));
    }

    /// Whether every point is somewhere.
    pub fn are_finite(&self) -> bool {
        self.x.iter().chain(&self.y).all(|c| c.is_finite())
    }

    /// All points as pairs.
    pub fn iter(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.x.iter().zip(&self.y).map(|(&x, &y)| [x, y])
    }

    /// Moves all points to the origin.
    pub fn clear(&mut self) {
        self.x.fill(0.0);
        self.y.fill(0.0);
    }
}

/// Moves positions by the old velocities, then changes velocities by damping and force.
pub(super) fn integrate(positions: &mut [f64], velocities: &mut [f64], forces: &[f64]) {
    for ((position, velocity), force) in positions.iter_mut().zip(velocities).zip(forces) {
        *position += *velocity * TIME_STEP;
        *velocity = *velocity * (1.0 - DAMPING) + force * TIME_STEP;
    }
}

/// The force on the first of two particles whose positions differ by `delta`:
/// `100 · delta/|delta| · k·ln(1 + exp(−(|delta| − reach)/k))` with k = 1e-3.
///
/// `None` where it is below 1e-20, and for two particles in the same place, where it has no
/// direction.
pub(super) fn contact_force(delta: [f64; 2], reach: f64) -> Option<[f64; 2]> {
    let distance = length(delta);
    let depth = -(distance - reach) / CONTACT_MARGIN;
    if depth < -CONTACT_REACH || distance == 0.0 {
        return None;
    }
    let penetration = CONTACT_MARGIN * (depth.max(0.0) + (-depth.abs()).exp().ln_1p());
    let scale = |component: f64| CONTACT_FORCE * component / distance * penetration;
    Some([scale(delta[0]), scale(delta[1])])
}

/// Particles further apart than this do not push each other, whose radii add up to `reach`.
pub(super) fn contact_reach(reach: f64) -> f64 {
    reach + CONTACT_REACH * CONTACT_MARGIN
}

/// The vector from `b` to `a`.
#[inline]
pub fn difference(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

/// Length of a vector.
#[inline]
pub fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_pushes_overlapping_particles_apart() {
        // 0.1 apart with reach 0.16: penetration 0.06 but for 1e-3·ln(1+e^-60), so force 100·0.06.
        let [fx, fy] = contact_force([0.1, 0.0], 0.16).unwrap();
        assert!((fx - 6.0).abs() < 1e-12 && fy == 0.0, "{fx} {fy}");
        let touching = contact_force([0.16, 0.0], 0.16).unwrap()[0];
        assert!((touching - 0.1 * 2f64.ln()).abs() < 1e-12, "{touching}");
        assert_eq!(contact_force([0.3, 0.0], 0.16), None);
        assert_eq!(contact_force([0.0, 0.0], 0.16), None);
    }
}
