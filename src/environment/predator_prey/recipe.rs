//! What learns well on the hunt; the numbers are explained in docs/results.md.

use toml::{Table, Value, toml};

/// Settings for an algorithm.
pub(super) fn recipe(algorithm: &str) -> Table {
    let mut recipe = toml! {
        [training]
        total_steps = 300_000

        [evaluation]
        multipliers = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0]
    };
    let own = match algorithm {
        "cg_cmarl" => ours(),
        "dcg" | "casec" | "vdn" | "iql" | "qmix" => toml! {
            [learning]
            gamma = 0.9
            batch_size = 32
            steps_per_update = 4.0

            [exploration]
            start = 1.0
            end = 0.05
            steps = 100_000
        },
        _ => return recipe,
    };
    recipe.insert(algorithm.into(), Value::Table(own));
    recipe
}

/// Values of pairs, each learned from its own error: a pair sees all that it is paid for.
fn ours() -> Table {
    toml! {
        [network]
        head = "free"

        [learning]
        gamma = 0.9
        error = "regional"
        next_action = "coupled"
        batch_size = 192

        [exploration]
        start = 0.2
        end = 0.02
        steps = 60_000

        [multipliers]
        zero_share = 0.05
        sample_low = 0.1
        sample_high = 15.0
    }
}
