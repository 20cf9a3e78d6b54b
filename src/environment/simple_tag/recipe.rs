//! What learns well on Simple Tag; the numbers are explained in docs/results.md.

use toml::{Table, toml};

/// Settings for a team, an algorithm and a preset.
pub(super) fn recipe(agents: usize, algorithm: &str, teams: &[usize]) -> Table {
    let mut recipe = toml! {
        [training]
        total_steps = 400_000
        [evaluation]
        multipliers = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0]
    };
    if agents > 4 || !teams.is_empty() {
        // Many pairs would need too many rows for the mirror images too.
        recipe.extend(toml! { environment.frame = "octant" });
    }
    if algorithm == "cg_cmarl" {
        recipe.extend(toml! {
            [cg_cmarl.learning]
            gamma = 0.95
            lr = 8e-4
            lr_final_share = 0.03
            own_error = 0.2
            [cg_cmarl.multipliers]
            sample_low = 0.02
            sample_high = 5.0
        });
    }
    recipe
}
