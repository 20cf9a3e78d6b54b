//! What learns well on Simple Spread, by team size; the numbers are explained in docs/results.md.

use super::{SimpleSpreadOptions, observation::AgentRowKind};
use toml::{Table, Value, toml};

/// Up to this size a team learns at once, without smaller ones before it.
const SMALL_TEAM: usize = 4;
/// Up to this size MAPPO-Lagrangian was tuned with the same eyes.
const TUNED_TEAM: usize = 7;
/// Up to this size DCG was, whose batches would grow with the square of the team.
const TUNED_PAIRS: usize = 10;

/// Settings for a team, or for several that learn together, an algorithm and a preset.
pub(super) fn recipe(
    options: &SimpleSpreadOptions,
    algorithm: &str,
    preset: &str,
    teams: &[usize],
) -> Table {
    let agents = options.agents;
    let mut recipe = Table::new();
    recipe.insert("environment".into(), Value::Table(environment(agents, preset, teams)));
    let shared = options.observation.agent_row == AgentRowKind::Shared;
    if shared {
        let is_small = agents <= SMALL_TEAM && teams.is_empty();
        let is_tuned = preset == "default"
            && match algorithm {
                "mappo" | "qmix" => is_small,
                "iql" | "vdn" => teams.is_empty(),
                "dcg" => agents <= TUNED_PAIRS && teams.is_empty(),
                "mappo_lag" => agents <= TUNED_TEAM && teams.is_empty(),
                _ => false,
            };
        overlay_shared(&mut recipe, (algorithm, agents), is_small, is_tuned);
    }
    let ours = algorithm == "cg_cmarl" && preset != "paper";
    let total_steps = match agents {
        _ if !teams.is_empty() => 2_000_000,
        ..=3 if ours => 400_000,
        ..=3 => 300_000,
        4 => 500_000,
        5..=7 => 800_000,
        _ => 1_200_000,
    };
    let mut training = Table::new();
    training.insert("total_steps".into(), Value::Integer(total_steps));
    // The mixer of QMIX and the policies of MACPO fit one team.
    if teams.is_empty()
        && (algorithm == "cg_cmarl" || shared && !["qmix", "macpo"].contains(&algorithm))
    {
        training.insert("curriculum".into(), curriculum(agents));
    }
    if algorithm == "cg_cmarl" {
        if agents > 7 {
            training.insert("checkpoint_interval".into(), Value::Integer(200_000));
        }
        let mut own = Table::new();
        own.insert("learning".into(), Value::Table(learning(agents, teams)));
        recipe.insert("cg_cmarl".into(), Value::Table(own));
    }
    if preset == "paper" {
        training.insert("curriculum".into(), Value::Array(vec![]));
        let environments = if agents >= 6 { 8 } else { 1 };
        training.insert("environments".into(), Value::Integer(environments));
    }
    recipe.insert("training".into(), Value::Table(training));
    recipe
}

/// What regions see and are paid.
fn environment(agents: usize, preset: &str, teams: &[usize]) -> Table {
    if preset == "paper" {
        return paper_environment();
    }
    let mut observation = toml! { coast = 0.2 };
    // Few agents learn best from the mirror images too; many would need too many rows for them.
    let small = agents <= SMALL_TEAM && teams.is_empty();
    observation.insert("frame".into(), if small { "cone" } else { "octant" }.into());
    observation.insert("landmark_flags".into(), (!small).into());
    observation.insert("team".into(), (!teams.is_empty()).into());
    observation.insert("occupancy".into(), (preset != "two_head").into());
    let mut environment = Table::new();
    environment.insert("observation".into(), Value::Table(observation));
    environment
}

/// Agents that see as regions do are alike: nobody needs a number, and one network fits every team.
/// Where payoffs join two agents, both must see the world in the same frame.
fn overlay_shared(
    recipe: &mut Table,
    (algorithm, agents): (&str, usize),
    is_small: bool,
    is_tuned: bool,
) {
    if ["dcg", "casec"].contains(&algorithm) {
        recipe["environment"]["observation"]["frame"] = "world".into();
    }
    let mut alike = toml! { identity = false };
    let under =
        |key: &str, table: Table| [(key.to_owned(), Value::Table(table))].into_iter().collect();
    let own = match algorithm {
        "cg_cmarl" => return,
        "macpo" => under("ppo", tuned_trust_region()),
        "mappo" | "mappo_lag" | "mappo_lambda" => {
            // The width of a global state is that of one team; larger ones begin as small ones.
            alike.insert("global_state".into(), is_small.into());
            if is_tuned {
                alike.extend(tuned_ppo());
            }
            let mut own = if algorithm == "mappo" { alike } else { under("ppo", alike) };
            if is_tuned && algorithm == "mappo_lag" {
                own.insert("lambda_lr".into(), 0.05.into());
            }
            own
        }
        _ => {
            let mut own = under("network", alike);
            if is_tuned {
                own.insert("learning".into(), Value::Table(tuned_q_learning(algorithm, agents)));
            }
            own
        }
    };
    recipe.insert(algorithm.into(), Value::Table(own));
}

/// What MAPPO and MAPPO-Lagrangian learn better with from rows from which they learn at all
/// (docs/ppo-tuning.md).
fn tuned_ppo() -> Table {
    toml! {
        lr = 0.0015
        gamma = 0.85
        gae_lambda = 0.8
    }
}

/// What MACPO learns better with from the same rows, whatever the team (docs/ppo-tuning.md).
fn tuned_trust_region() -> Table {
    toml! {
        gamma = 0.8
        gae_lambda = 0.6
    }
}

/// What values learn better with from the same rows (docs/baselines-tuning.md): up to seven agents half of
/// the updates that raw rows need, and for payoffs of pairs larger batches.
fn tuned_q_learning(algorithm: &str, agents: usize) -> Table {
    let mut learning = toml! {
        gamma = 0.85
        steps_per_update = 4.0
        max_grad_norm = 1.0
    };
    if algorithm == "dcg" {
        let batch_size = match agents {
            ..=3 => 128,
            4 => 96,
            _ => 64,
        };
        learning.insert("batch_size".into(), Value::Integer(batch_size));
    }
    learning
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

fn learning(agents: usize, teams: &[usize]) -> Table {
    let (gamma, batch_size, steps_per_update) = match agents {
        ..=3 => (0.82, 128, 4.0),
        4 => (0.82, 192, 4.0),
        5..=7 => (0.85, 240, 4.0),
        _ if !teams.is_empty() => (0.86, 360, 4.0),
        _ => (0.87, 360, 8.0),
    };
    let (lr, lr_final_share) = match agents {
        _ if !teams.is_empty() => (9e-4, 0.02),
        ..=4 => (8e-4, 0.03),
        _ => (8e-4, 0.02),
    };
    let own_error = if agents <= SMALL_TEAM && teams.is_empty() { 0.2 } else { 0.1 };
    let mut learning = Table::new();
    if agents > 7 {
        // A state has many regions; fewer states than these are forgotten too soon.
        learning.insert("buffer_size".into(), Value::Integer(2_000_000));
    }
    if !teams.is_empty() {
        // Teams pull at the network in turn; a longer average evens that out.
        learning.insert("average_rate".into(), Value::Float(0.0005));
    }
    learning.insert("own_error".into(), Value::Float(own_error));
    learning.insert("gamma".into(), Value::Float(gamma));
    learning.insert("batch_size".into(), Value::Integer(batch_size));
    learning.insert("steps_per_update".into(), Value::Float(steps_per_update));
    learning.insert("lr".into(), Value::Float(lr));
    learning.insert("lr_final_share".into(), Value::Float(lr_final_share));
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
