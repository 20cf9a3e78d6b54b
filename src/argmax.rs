//! The one tie-breaking rule: the first of the largest.

/// Index of the largest value; the lowest index wins a tie.
///
/// ```
/// assert_eq!(cgcmarl::argmax::argmax(&[1.0, 3.0, 3.0]), 1);
/// ```
pub fn argmax(values: &[f32]) -> usize {
    debug_assert!(values.iter().all(|v| !v.is_nan()), "NaN among {values:?}");
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}
