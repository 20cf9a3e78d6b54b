//! What learns well on Simple Spread, by team size; the numbers are explained in docs/results.md.

use toml::{Table, Value, toml};

/// Settings for a team, an algorithm and a preset.
pub(super) fn recipe(agents: usize, algorithm: &str, preset: &str) -> Table {
    let mut recipe = toml! { [environment.observation] occupancy = true };
    let total_steps = match agents {
        ..=3 => 300_000,
        4 => 500_000,
        5..=7 => 900_000,
        _ => 1_200_000,
    };
    let mut training = Table::new();
    training.insert("total_steps".into(), Value::Integer(total_steps));
    if algorithm == "cg_cmarl" {
        training.insert("curriculum".into(), curriculum(agents));
        let mut own = Table::new();
        own.insert("learning".into(), Value::Table(learning(agents)));
        recipe.insert("cg_cmarl".into(), Value::Table(own));
    }
    match preset {
        "two_head" => {
            recipe.insert(
                "environment".into(),
                Value::Table(toml! { observation.occupancy = false }),
            );
        }
        "paper" => {
            recipe.insert("environment".into(), Value::Table(paper_environment()));
            training.insert("curriculum".into(), Value::Array(vec![]));
            let environments = if agents >= 6 { 8 } else { 1 };
            training.insert("environments".into(), Value::Integer(environments));
        }
        _ => {}
    }
    recipe.insert("training".into(), Value::Table(training));
    recipe
}

/// Smaller teams to train first.
fn curriculum(agents: usize) -> Value {
    let teams: &[i64] = match agents {
        ..=4 => &[],
        5..=7 => &[3],
        _ => &[3, 6],
    };
    Value::Array(teams.iter().map(|&team| Value::Integer(team)).collect())
}

fn learning(agents: usize) -> Table {
    let (gamma, batch_size, steps_per_update) = match agents {
        ..=3 => (0.85, 128, 4.0),
        4 => (0.85, 192, 4.0),
        5..=7 => (0.85, 240, 4.0),
        _ => (0.87, 360, 8.0),
    };
    let lr = if agents > 4 { 4e-4 } else { 7e-4 };
    let mut learning = Table::new();
    learning.insert("gamma".into(), Value::Float(gamma));
    learning.insert("batch_size".into(), Value::Integer(batch_size));
    learning.insert("steps_per_update".into(), Value::Float(steps_per_update));
    learning.insert("lr".into(), Value::Float(lr));
    learning
}

/// What the paper's regions see and are paid (docs/paper.md, readings).
fn paper_environment() -> Table {
    toml! {
        reward = "counterfactual"
        cost_distance = 0.2
        [observation]
        kind = "paper"
        occupancy = false
    }
}
