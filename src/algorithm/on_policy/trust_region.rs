//! A step within a trust region that keeps a cost below its limit (Achiam et al. 2017): conjugate
//! gradients, and the dual of one linear constraint.

/// Keeps divisions finite.
const TINY: f64 = 1e-8;

/// The sum of products, in double precision.
pub(super) fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

/// x + share · y.
fn add(x: &mut [f32], share: f64, y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x = (f64::from(*x) + share * f64::from(*y)) as f32);
}

/// Conjugate gradients: the x of H x = b for a positive H that is known by its products only.
pub(super) fn conjugate_gradients(
    b: &[f32],
    iterations: usize,
    mut product: impl FnMut(&[f32]) -> Vec<f32>,
) -> Vec<f32> {
    let mut x = vec![0.0; b.len()];
    let (mut residual, mut direction) = (b.to_vec(), b.to_vec());
    let mut square = dot(b, b);
    for _ in 0..iterations {
        if square < TINY * TINY {
            break;
        }
        let turned = product(&direction);
        let share = square / (dot(&direction, &turned) + TINY * TINY);
        add(&mut x, share, &direction);
        add(&mut residual, -share, &turned);
        let next = dot(&residual, &residual);
        let kept = next / square;
        let pairs = direction.iter_mut().zip(&residual);
        pairs.for_each(|(d, r)| *d = (f64::from(*r) + kept * f64::from(*d)) as f32);
        square = next;
    }
    x
}

/// How a step came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// No step within the region keeps the limit: costs only.
    Recovery,
    /// The limit is exceeded, and part of the region keeps it.
    Return,
    /// The limit crosses the region.
    Bounded,
    /// The whole region keeps the limit.
    Free,
}

/// The largest fall of g·Δ with c + b·Δ ≤ 0 and ½ Δᵀ H Δ ≤ δ, in numbers: q = gᵀH⁻¹g, r = gᵀH⁻¹b,
/// s = bᵀH⁻¹b.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) q: f64,
    pub(super) r: f64,
    pub(super) s: f64,
    /// What is paid beyond the limit.
    pub(super) c: f64,
    /// Half the square of the region's radius.
    pub(super) delta: f64,
}

/// Δ = −(along · H⁻¹g + across · H⁻¹b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) along: f64,
    pub(super) across: f64,
    pub(super) case: Case,
}

impl Problem {
    fn case(&self) -> Case {
        let Self { s, c, delta, .. } = *self;
        if s < TINY {
            return if c <= 0.0 { Case::Free } else { Case::Recovery };
        }
        match (c < 0.0, 2.0 * delta - c * c / s < 0.0) {
            (true, true) => Case::Free,
            (true, false) => Case::Bounded,
            (false, false) => Case::Return,
            (false, true) => Case::Recovery,
        }
    }

    /// The best step, by the larger of the dual's two pieces.
    pub(super) fn solve(&self) -> Step {
        let Self { q, r, s, c, delta } = *self;
        let case = self.case();
        let free = (q / (2.0 * delta)).sqrt();
        match case {
            Case::Recovery => {
                return Step { along: 0.0, across: (2.0 * delta / (s + TINY)).sqrt(), case };
            }
            Case::Free => return Step { along: 1.0 / (free + TINY), across: 0.0, case },
            Case::Return | Case::Bounded => {}
        }
        let (a, b) = ((q - r * r / s).max(0.0), (2.0 * delta - c * c / s).max(TINY));
        // Where λc > r the constraint has a price; the pieces meet at λ = r / c.
        let meet = if c.abs() < TINY { f64::INFINITY.copysign(r * c) } else { r / c };
        let (below, above) = ((0.0, meet.max(0.0)), (meet.max(0.0), f64::INFINITY));
        let (priced, unpriced) = if c < 0.0 { (below, above) } else { (above, below) };
        let within = |(low, high): (f64, f64), x: f64| x.max(low).min(high);
        let (one, other) = (within(priced, (a / b).sqrt()), within(unpriced, free));
        let value_one = -0.5 * (a / (one + TINY) + b * one) - r * c / s;
        let value_other = -0.5 * (q / (other + TINY) + 2.0 * delta * other);
        let lambda = if value_one >= value_other { one } else { other };
        let price = (lambda * c - r).max(0.0) / s;
        Step { along: 1.0 / (lambda + TINY), across: price / (lambda + TINY), case }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn conjugate_gradients_solve_a_positive_system() {
        // H = [[4, 1], [1, 3]], x = (1, 2).
        let product = |v: &[f32]| vec![4.0 * v[0] + v[1], v[0] + 3.0 * v[1]];
        let x = conjugate_gradients(&[6.0, 7.0], 5, product);
        assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 2.0).abs() < 1e-5, "{x:?}");
    }

    /// On a disc (H is the identity) every step can be compared with all points of a grid.
    #[test]
    fn the_step_is_the_best_of_a_grid() {
        let mut rng = Streams::new(3).rng(Purpose::Problem, 0);
        let mut seen = [0; 4];
        for _ in 0..300 {
            let [g, b] = [(); 2].map(|()| [rng.normal(), rng.normal()]);
            let (c, delta) = (0.5 * rng.normal(), 0.1);
            let product = |x: [f64; 2], y: [f64; 2]| x[0] * y[0] + x[1] * y[1];
            let problem =
                Problem { q: product(g, g), r: product(g, b), s: product(b, b), c, delta };
            let step = problem.solve();
            seen[step.case as usize] += 1;
            let found = [0, 1].map(|i| -(step.along * g[i] + step.across * b[i]));
            assert!(product(found, found) <= 2.0 * delta + 1e-6, "{problem:?} {step:?}");
            let radius = (2.0_f64 * delta).sqrt();
            let points = (0..200).flat_map(|i| (1..=50).map(move |j| (i, j)));
            let points = points.map(|(i, j)| {
                let angle = f64::from(i) * std::f64::consts::TAU / 200.0;
                let r = f64::from(j) / 50.0 * radius;
                [r * angle.cos(), r * angle.sin()]
            });
            if step.case == Case::Recovery {
                let least = points.map(|x| product(b, x)).fold(0.0, f64::min);
                assert!(product(b, found) < least + 0.01, "{problem:?} {step:?}");
                continue;
            }
            assert!(c + product(b, found) < 1e-6, "{problem:?} {step:?}");
            let kept = points.filter(|x| c + product(b, *x) <= 0.0);
            let best = kept.map(|x| product(g, x)).fold(f64::INFINITY, f64::min);
            assert!(product(g, found) < best + 0.02, "{problem:?} {step:?} {best}");
        }
        assert!(seen.iter().all(|n| *n > 10), "{seen:?}");
    }
}
