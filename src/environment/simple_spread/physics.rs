//! The particle physics of MPE2 in double precision: forces, contact and the order of integration.
//!
//! One step of every particle, with F = 5·u plus contact, mass 1, dt = 0.1 and damping 0.25:
//!
//! `position ← position + dt · velocity` (the **old** velocity), then
//! `velocity ← (1 − damping) · velocity + dt · F`.
//!
//! So the force of a step moves nothing before the next step.

/// Seconds of one step.
pub const TIME_STEP: f64 = 0.1;
/// Share of the velocity lost in one step.
pub const DAMPING: f64 = 0.25;
/// Force of an action of length one.
pub const SENSITIVITY: f64 = 5.0;
/// Strength of the contact force.
pub const CONTACT_FORCE: f64 = 100.0;
/// Softness of the contact, in units of length.
pub const CONTACT_MARGIN: f64 = 1e-3;
/// Contact margins beyond which the contact force is below 1e-20 and is not computed.
const CONTACT_REACH: f64 = 50.0;

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

/// Moving particles of one size.
#[derive(Clone, Debug)]
pub struct Particles {
    /// Where they are.
    pub positions: Points,
    /// How fast they move.
    pub velocities: Points,
    /// What pushes them in the present step; set before [`Particles::advance`].
    pub forces: Points,
    radius: f64,
    contact: bool,
}

impl Particles {
    /// Particles at rest at the origin; `contact` makes overlapping ones push each other apart.
    pub fn new(n: usize, radius: f64, contact: bool) -> Self {
        let zeros = Points::zeros(n);
        Self { positions: zeros.clone(), velocities: zeros.clone(), forces: zeros, radius, contact }
    }

    /// Sets the force of one particle from its action u in [-1, 1]².
    #[inline]
    pub fn push(&mut self, particle: usize, action: [f64; 2]) {
        self.forces.x[particle] = SENSITIVITY * action[0];
        self.forces.y[particle] = SENSITIVITY * action[1];
    }

    /// One step of the world.
    pub fn advance(&mut self) {
        if self.contact {
            self.add_contact();
        }
        integrate(&mut self.positions.x, &mut self.velocities.x, &self.forces.x);
        integrate(&mut self.positions.y, &mut self.velocities.y, &self.forces.y);
    }

    /// Adds the contact force of every pair, at the positions before the step.
    fn add_contact(&mut self) {
        let n = self.positions.len();
        for a in 0..n {
            for b in a + 1..n {
                let delta = difference(self.positions.get(a), self.positions.get(b));
                if let Some([fx, fy]) = contact_force(delta, 2.0 * self.radius) {
                    self.forces.x[a] += fx;
                    self.forces.y[a] += fy;
                    self.forces.x[b] -= fx;
                    self.forces.y[b] -= fy;
                }
            }
        }
    }
}

fn integrate(positions: &mut [f64], velocities: &mut [f64], forces: &[f64]) {
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
fn contact_force(delta: [f64; 2], reach: f64) -> Option<[f64; 2]> {
    let distance = length(delta);
    let depth = -(distance - reach) / CONTACT_MARGIN;
    if depth < -CONTACT_REACH || distance == 0.0 {
        return None;
    }
    let penetration = CONTACT_MARGIN * (depth.max(0.0) + (-depth.abs()).exp().ln_1p());
    let scale = |component: f64| CONTACT_FORCE * component / distance * penetration;
    Some([scale(delta[0]), scale(delta[1])])
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
    fn the_action_of_a_step_moves_nothing_before_the_next() {
        let mut particles = Particles::new(1, 0.08, false);
        particles.push(0, [1.0, -0.5]);
        particles.advance();
        assert_eq!(particles.positions.get(0), [0.0, 0.0]);
        assert_eq!(particles.velocities.get(0), [0.5, -0.25]);
        particles.push(0, [0.0, 0.0]);
        particles.advance();
        assert_eq!(particles.positions.get(0), [0.05, -0.025]);
        assert_eq!(particles.velocities.get(0), [0.375, -0.1875]);
    }

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
