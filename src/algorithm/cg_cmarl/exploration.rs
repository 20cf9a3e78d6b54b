//! Coordinated exploration: Gaussian noise on the tables before message passing.

use crate::rng::Rng;

const N_QUANTILES: usize = 4096;

/// A fast source of Gaussian noise: 4096 equally likely quantiles, four numbers per 64 random bits.
#[derive(Clone, Debug)]
pub struct TableNoise {
    quantiles: Vec<f32>,
}

impl Default for TableNoise {
    fn default() -> Self {
        let middle = |i: usize| (i as f64 + 0.5) / N_QUANTILES as f64;
        Self { quantiles: (0..N_QUANTILES).map(|i| normal_quantile(middle(i)) as f32).collect() }
    }
}

impl TableNoise {
    /// Adds noise of the given scale to every entry.
    pub fn add(&self, table: &mut [f32], scale: f32, rng: &mut Rng) {
        for cells in table.chunks_mut(4) {
            let mut bits = rng.next_u64();
            for cell in cells {
                *cell += scale * self.quantiles[bits as usize % N_QUANTILES];
                bits >>= 16;
            }
        }
    }
}

/// Inverse of the normal distribution function (Acklam), relative error below 1.2e-9.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        return horner(&C, q) / (horner(&D, q) * q + 1.0);
    }
    let q = p - 0.5;
    let r = q * q;
    horner(&A, r) * q / (horner(&B, r) * r + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn quantiles_are_the_known_ones() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.01, -2.326_348)] {
            assert!((normal_quantile(p) - z).abs() < 1e-5, "{p}");
        }
    }

    #[test]
    fn noise_has_the_scale_it_was_given() {
        let mut table = vec![1.0; 100_000];
        let mut rng = Streams::new(1).rng(Purpose::Exploration, 0);
        TableNoise::default().add(&mut table, 0.5, &mut rng);
        let n = table.len() as f64;
        let mean = table.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let variance = table.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 0.25).abs() < 0.005, "{mean} {variance}");
    }
}
