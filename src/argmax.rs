//! The one tie-breaking rule: the first of the largest.

/// Values that are compared together.
const LANES: usize = 8;

/// Index of the largest value; the lowest index wins a tie.
///
/// ```
/// assert_eq!(cgcmarl::argmax::argmax(&[1.0, 3.0, 3.0]), 1);
/// ```
#[inline]
pub fn argmax(values: &[f32]) -> usize {
    debug_assert!(values.iter().all(|v| !v.is_nan()), "NaN among {values:?}");
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = larger(chunk[lane], lanes[lane]);
        }
    }
    for half in [4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = larger(lanes[lane], lanes[lane + half]);
        }
    }
    let largest = rest.iter().fold(lanes[0], |largest, &x| larger(x, largest));
    values.iter().position(|&x| x == largest).unwrap_or(0)
}

#[inline(always)]
fn larger(x: f32, y: f32) -> f32 {
    if x > y { x } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_at_every_length_and_place() {
        for n in 1..40 {
            for first in 0..n {
                let mut values = vec![-0.0_f32; n];
                values[first..].iter_mut().step_by(3).for_each(|x| *x = 2.0);
                assert_eq!(argmax(&values), first, "{values:?}");
            }
            assert_eq!(argmax(&vec![f32::NEG_INFINITY; n]), 0);
        }
        assert_eq!(argmax(&[-0.0, 0.0]), 0);
    }
}
