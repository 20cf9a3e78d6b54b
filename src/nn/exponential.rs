//! Exponentials of many numbers at once, as `f32::exp` of the GNU C library has them on processors with fused
//! products, bit for bit.
//!
//! e^x = 2^(k / 32) · e^r with k = round(32 x / ln 2): the power comes from a table, the rest from a
//! polynomial, all in double precision (Szabolcs Nagy's method; no crate has it for vectors).

use super::vectorised;

/// Parts of an octave that the table knows.
const PARTS: usize = 32;

/// Numbers at least this far from zero are left to `f32::exp`: their powers may not fit a number.
const FAR: f32 = 87.0;

/// What is added to round to a whole number, which the lowest bits then hold.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// e^(r ln 2 / 32) = 1 + c₀ r + c₁ r² + c₂ r³ between −½ and ½.
const POLYNOMIAL: [f64; 3] =
    [0.021_660_849_396_613_134, 0.000_234_598_097_895_090_04, 1.693_835_925_092_021_2e-6];

/// The bits of 2^(i / 32), less i in the lowest bits of the exponent, where k brings it.
const POWERS: [u64; PARTS] = [
    0x3ff0_0000_0000_0000,
    0x3fef_d9b0_d315_8574,
    0x3fef_b558_6cf9_890f,
    0x3fef_9301_d012_5b51,
    0x3fef_72b8_3c7d_517b,
    0x3fef_5487_3168_b9aa,
    0x3fef_387a_6e75_6238,
    0x3fef_1e9d_f51f_dee1,
    0x3fef_06fe_0a31_b715,
    0x3fee_f1a7_373a_a9cb,
    0x3fee_dea6_4c12_3422,
    0x3fee_ce08_6061_892d,
    0x3fee_bfda_d536_2a27,
    0x3fee_b42b_569d_4f82,
    0x3fee_ab07_dd48_5429,
    0x3fee_a47e_b03a_5585,
    0x3fee_a09e_667f_3bcd,
    0x3fee_9f75_e8ec_5f74,
    0x3fee_a114_73eb_0187,
    0x3fee_a589_994c_ce13,
    0x3fee_ace5_422a_a0db,
    0x3fee_b737_b0cd_c5e5,
    0x3fee_c491_82a3_f090,
    0x3fee_d503_b23e_255d,
    0x3fee_e89f_995a_d3ad,
    0x3fee_ff76_f2fb_5e47,
    0x3fef_199b_dd85_529c,
    0x3fef_3720_dcef_9069,
    0x3fef_5818_dcfb_a487,
    0x3fef_7c97_337b_9b5f,
    0x3fef_a4af_a2a4_90da,
    0x3fef_d076_5b6e_4540,
];

/// Replaces every number by its exponential.
pub fn exponentiate(numbers: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            let n_near = numbers.iter().filter(|x| x.abs() < FAR).count();
            if n_near == numbers.len() {
                numbers.iter_mut().for_each(|x| *x = exponential(*x));
            } else {
                let each = |x: f32| if x.abs() < FAR { exponential(x) } else { x.exp() };
                numbers.iter_mut().for_each(|x| *x = each(*x));
            }
        },
    );
}

/// e^x of a number that is not far from zero.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let (x, scale) = (f64::from(x), PARTS as f64 * std::f64::consts::LOG2_E);
    let rounded = x * scale + ROUNDING;
    let k = rounded.to_bits();
    let r = x.mul_add(scale, ROUNDING - rounded);
    let power = POWERS[(k % PARTS as u64) as usize].wrapping_add(k << (52 - PARTS.ilog2()));
    let [c0, c1, c2] = POLYNOMIAL;
    let rest = c2.mul_add(r, c1).mul_add(r * r, c0.mul_add(r, 1.0));
    (rest * f64::from_bits(power)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 4099th number there is, two whose last bits hang on how r is rounded, the ends, and what is no
    /// number; the far ones beside some near. Libraries that round r otherwise differ in the last bit.
    #[test]
    fn exponentials_are_those_of_the_library() {
        #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
        let most = u32::from(!is_x86_feature_detected!("fma"));
        #[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
        let most = 1;
        let near = (0..=u32::MAX).step_by(4099).map(f32::from_bits);
        let mut numbers: Vec<f32> = near.filter(|x| x.abs() < FAR).collect();
        assert!(numbers.len() > 100_000);
        numbers.extend([
            32.564_632,
            -63.099_46,
            0.0,
            -0.0,
            1.0,
            f32::MIN_POSITIVE,
            -1e-45,
            86.99,
            -86.99,
        ]);
        let far = [f32::NEG_INFINITY, -104.0, -100.5, 3.0, 88.5, 89.0, f32::INFINITY, f32::NAN];
        for row in numbers.chunks(25).chain([&far[..]]) {
            let mut found = row.to_vec();
            exponentiate(&mut found);
            for (x, found) in row.iter().zip(found) {
                let (expected, off) = (x.exp(), found.to_bits().abs_diff(x.exp().to_bits()));
                assert!(off <= most, "{x}: {found} instead of {expected}");
            }
        }
    }
}
