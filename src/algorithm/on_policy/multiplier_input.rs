//! How agents see the multipliers of an episode: as CG-CMARL's regions do, 0.3 ln(1 + 20 λ).

/// Writes multipliers into the last entries of every row of a width.
pub(super) fn write_multipliers(multipliers: &[f32], width: usize, rows: &mut [f32]) {
    for row in rows.chunks_exact_mut(width) {
        let cells = row[width - multipliers.len()..].iter_mut().zip(multipliers);
        cells.for_each(|(cell, multiplier)| *cell = 0.3 * (20.0 * multiplier).ln_1p());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_ends_with_the_multipliers() {
        let mut rows = [7.0; 6];
        write_multipliers(&[0.0, 1.0], 3, &mut rows);
        let one = 0.3 * 21.0_f32.ln();
        assert_eq!(rows, [7.0, 0.0, one, 7.0, 0.0, one]);
    }
}
