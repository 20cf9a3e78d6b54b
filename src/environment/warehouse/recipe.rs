//! What learns well in the warehouse; the numbers are explained in docs/results.md.

use toml::{Table, toml};

/// Settings for an algorithm.
pub(super) fn recipe(algorithm: &str) -> Table {
    let mut recipe = toml! {
        [training]
        total_steps = 250_000
        [evaluation]
        episodes = 200
        [evaluation.grid]
        conflict = [0.0, 0.05, 0.1, 0.2, 0.5, 1.0]
        energy = [0.0]
    };
    if algorithm == "cg_cmarl" {
        recipe.extend(toml! {
            [cg_cmarl.learning]
            gamma = 0.9
            lr = 8e-4
            lr_final_share = 0.03
            own_error = 0.2
            [cg_cmarl.multipliers]
            sample_low = 0.02
            sample_high = 3.0
        });
    }
    recipe
}
