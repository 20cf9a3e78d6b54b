//! Whether a trained model can be played under changed settings: its network must keep its shape, and
//! what it sees its meaning. What cannot be is refused by its key.

use super::{Config, Model};
use crate::{
    environment::{Ending, Environment, Outcome, Pose, Scenario},
    error::{Error, Result},
    graph::CoordinationGraph,
    rng::{Purpose, Streams},
};
use toml::{Table, Value};

/// Episodes in which two environments are compared.
const EPISODES: u64 = 4;
/// Most steps of each.
const STEPS: usize = 60;

/// Groups of an algorithm's options that nothing but its training reads.
const OF_TRAINING: [&str; 3] = ["learning", "exploration", "random_actions"];

/// Refuses a setting of `played` that does not fit the model.
pub(super) fn check(model: &Model, played: &Config) -> Result<()> {
    let own = &model.config;
    let algorithm = differences(&own.options, &played.options);
    let environment = differences(&own.environment, &played.environment);
    let reverted = |key: &str, is_environment: bool| {
        let mut config = played.clone();
        if is_environment {
            put_back(&mut config.environment, &own.environment, key);
        } else {
            put_back(&mut config.options, &own.options, key);
        }
        config
    };
    refuse_training(own, played)?;
    refuse_other_constraints(model, played)?;
    let all = algorithm.iter().map(|key| (key, false));
    let all: Vec<_> = all.chain(environment.iter().map(|key| (key, true))).collect();
    if !all.is_empty()
        && let Err(error) = model.trained_as(played)
    {
        if matches!(error, Error::Setting { .. }) {
            return Err(error);
        }
        for &(key, is_environment) in &all {
            if key != "agents" && model.trained_as(&reverted(key, is_environment)).is_ok() {
                let reason = "the trained network has another shape";
                return Err(refused(own, played, (key, is_environment), reason));
            }
        }
    }
    for &(key, is_environment) in all.iter().filter(|(key, of_task)| *of_task && *key != "agents") {
        let (with, without) = (played.scenario()?, reverted(key, true).scenario()?);
        if differs_in_rows_alone(&with, &without, own.algorithm == "cg_cmarl").unwrap_or(false) {
            let reason = "it changes what the trained network sees";
            return Err(refused(own, played, (key, is_environment), reason));
        }
    }
    Ok(())
}

/// Whether an option of the algorithm that both know differs.
pub(super) fn acts_otherwise(own: &Config, played: &Config) -> bool {
    let (own, played) = (&own.options, &played.options);
    let is_known = |key: &String| lookup(own, key).is_some() && lookup(played, key).is_some();
    differences(own, played).iter().any(is_known)
}

/// The settings of what a network sees and is that differ between two runs, in words.
pub(super) fn other_shape(there: &Config, here: &Config) -> Vec<String> {
    let [there, here] = [there, here].map(Config::to_tree);
    let shapes = |key: &String| {
        key.starts_with("environment.observation.")
            || ["environment.agents", "environment.constraints"].contains(&key.as_str())
            || key.split('.').nth(1) == Some("network")
    };
    let value = |tree: &Table, key: &str| {
        lookup(tree, key).map_or_else(|| "its default".into(), ToString::to_string)
    };
    let told = |key: String| {
        let name = key.split_once('.').map_or(key.as_str(), |(_, rest)| rest);
        format!("`{name}` is {} there and {} here", value(&there, &key), value(&here, &key))
    };
    differences(&there, &here).into_iter().filter(shapes).map(told).collect()
}

/// What only a training reads would be taken and change nothing.
fn refuse_training(own: &Config, played: &Config) -> Result<()> {
    let [own, played] = [own, played].map(Config::to_tree);
    for key in differences(&own, &played) {
        // A run of an earlier version lacks the options that came later.
        let (Some(_), Some(value)) = (lookup(&own, &key), lookup(&played, &key)) else { continue };
        let over = "belongs to the training, which is over";
        let reason = match key.split('.').collect::<Vec<_>>()[..] {
            ["seed"] => "is that of the training, which is over; start states have `start_seed`",
            ["training", "memory_limit"] => continue,
            ["preset" | "start_from"] | ["training", ..] => over,
            [_, group, ..] if OF_TRAINING.contains(&group) => over,
            _ => continue,
        };
        return Err(Error::setting(&key, value, reason));
    }
    Ok(())
}

/// A head that was trained for one constraint knows nothing of another.
fn refuse_other_constraints(model: &Model, played: &Config) -> Result<()> {
    let names = |config: &Config| Ok(config.scenario()?.spec()?.constraint_names());
    let (own, names) = (names(&model.config)?, names(played)?);
    if own == names || own.len() != names.len() || !model.has_multipliers()? {
        return Ok(());
    }
    let reason = format!("the network was trained for {}", own.join(", "));
    Err(Error::setting("constraints", names.join(", "), reason))
}

fn refused(own: &Config, played: &Config, (key, of_task): (&str, bool), reason: &str) -> Error {
    let value = |config: &Config| {
        let table = if of_task { &config.environment } else { &config.options };
        lookup(table, key).map_or_else(|| "unset".into(), ToString::to_string)
    };
    let reason = format!("{reason}; it was trained with {}", value(own));
    Error::setting(key, value(played), reason)
}

/// The paths of all values that differ, in the order of their names.
fn differences(own: &Table, other: &Table) -> Vec<String> {
    let mut keys: Vec<&String> = own.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut found = Vec::new();
    for key in keys {
        match (own.get(key), other.get(key)) {
            (Some(Value::Table(own)), Some(Value::Table(other))) => {
                let below = differences(own, other).into_iter();
                found.extend(below.map(|rest| format!("{key}.{rest}")));
            }
            (own, other) if own != other => found.push(key.clone()),
            _ => {}
        }
    }
    found
}

fn lookup<'t>(table: &'t Table, path: &str) -> Option<&'t Value> {
    match path.split_once('.') {
        Some((group, rest)) => lookup(table.get(group)?.as_table()?, rest),
        None => table.get(path),
    }
}

/// Gives one value of a table back what it was.
fn put_back(table: &mut Table, own: &Table, path: &str) {
    match path.split_once('.') {
        Some((group, rest)) => {
            if let (Some(Value::Table(inner)), Some(Value::Table(own))) =
                (table.get_mut(group), own.get(group))
            {
                put_back(inner, own, rest);
            }
        }
        None => match own.get(path) {
            Some(value) => drop(table.insert(path.into(), value.clone())),
            None => drop(table.remove(path)),
        },
    }
}

/// Whether two environments go alike, step by step, while a network would see them differently. What
/// changes the world itself is a condition to play under, and may well be seen.
fn differs_in_rows_alone(one: &Scenario, other: &Scenario, of_regions: bool) -> Result<bool> {
    let (mut one, mut other) = (one.build()?, other.build()?);
    let [spec, second] = [&one, &other].map(|environment| environment.view().spec().clone());
    if spec.state_width != second.state_width || spec.agents != second.agents {
        return Ok(false);
    }
    let mut differs = false;
    for episode in 0..EPISODES {
        let streams = Streams::new(episode);
        let mut rngs = [(); 2].map(|()| streams.rng(Purpose::Problem, 0));
        let mut draw = streams.rng(Purpose::Problem, 1);
        one.reset(&mut rngs[0]);
        other.reset(&mut rngs[1]);
        for _ in 0..STEPS.min(spec.horizon) {
            let states = [state(&*one), state(&*other)];
            if states[0] != states[1] {
                return Ok(false);
            }
            differs |= sees(&*one, &states[0], of_regions) != sees(&*other, &states[1], of_regions);
            let allowed = masks(&*one, &states[0]);
            let action: Vec<usize> =
                allowed.iter().map(|actions| actions[draw.below(actions.len())]).collect();
            let mut outcomes = [Outcome::default(), Outcome::default()];
            one.step(&action, &mut rngs[0], &mut outcomes[0]);
            other.step(&action, &mut rngs[1], &mut outcomes[1]);
            let [first, second] = &outcomes;
            let same = first.metrics == second.metrics && first.agent_costs == second.agent_costs;
            if !same || first.ending != second.ending {
                return Ok(false);
            }
            if first.ending != Ending::Running {
                break;
            }
        }
    }
    Ok(differs)
}

fn state(environment: &dyn Environment) -> Vec<f32> {
    let mut state = vec![0.0; environment.view().spec().state_width];
    environment.write_state(&mut state);
    state
}

/// The actions that each agent may take.
fn masks(environment: &dyn Environment, state: &[f32]) -> Vec<Vec<usize>> {
    let view = environment.view();
    let of = |(agent, spec): (usize, &crate::environment::AgentSpec)| {
        let mut allowed = vec![true; spec.n_actions];
        view.action_mask(state, agent, &mut allowed);
        (0..spec.n_actions).filter(|&action| allowed[action]).collect()
    };
    view.spec().agents.iter().enumerate().map(of).collect()
}

/// What a network sees of a state: the sizes of the regions that there are, and the row of each agent,
/// or of each pair of neighbours in its first frame.
fn sees(environment: &dyn Environment, state: &[f32], of_regions: bool) -> (Vec<usize>, Vec<f32>) {
    let view = environment.view();
    let spec = view.spec();
    if !of_regions {
        let mut rows = vec![0.0; spec.n_agents() * spec.agent_width];
        for (agent, row) in rows.chunks_exact_mut(spec.agent_width.max(1)).enumerate() {
            view.agent_row(state, agent, row);
        }
        return (Vec::new(), rows);
    }
    let mut graph = CoordinationGraph::default();
    view.graph(state, &mut graph);
    let mut sizes: Vec<usize> = graph.regions().map(<[usize]>::len).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut rows = vec![view.n_frames() as f32];
    // Which regions there are may be a matter of how it is played; how one is seen is not.
    let members: Vec<usize> = (0..spec.region_size.min(spec.n_agents())).collect();
    if view.n_frames() > 1 {
        rows.push(view.frame(state, &members, 0) as f32);
    }
    let mut row = vec![0.0; spec.region_width];
    view.posed_row(state, &members, Pose::default(), &mut row);
    rows.extend(row);
    (sizes, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(settings: &[(&str, &str)]) -> Result<()> {
        let model = Model::open("models/simple_spread_3").unwrap();
        let changes = settings.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        let config = model.config.with(&changes.collect::<Vec<_>>()).unwrap();
        check(&model, &config)
    }

    #[test]
    fn conditions_may_change_and_what_a_network_sees_may_not() {
        for fine in [
            &[][..],
            &[("horizon", "50")],
            &[("layout", "line")],
            &[("radius", "0.1")],
            &[("contact", "true")],
            &[("topology", "k_nearest"), ("k", "1")],
            &[("acting.solver", "exact")],
            &[("average_symmetries", "1")],
            &[("agents", "2")],
        ] {
            told(fine).unwrap_or_else(|error| panic!("{fine:?}: {error}"));
        }
        for (key, value, reason) in [
            ("frame", "world", "changes what the trained network sees"),
            ("coast", "0.5", "changes what the trained network sees"),
            ("hidden", "[64, 64]", "another shape"),
            ("multiplier_input", "false", "another shape"),
            ("kind", "paper", "another shape"),
            ("constraints", r#"["energy"]"#, "trained for collision"),
            ("gamma", "0.1", "belongs to the training"),
            ("exploration.start", "0.9", "belongs to the training"),
            ("total_steps", "10", "belongs to the training"),
            ("seed", "5", "start_seed"),
            ("acting.kept_pairs", "0", "must be above 0"),
            ("acting.damping", "nan", "must be at least 0"),
            ("acting.msg_iterations", "0", "must be"),
        ] {
            let named = key.rsplit('.').next().unwrap();
            let error = told(&[(key, value), ("horizon", "30")]).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains(reason), "{error}");
        }
    }
}
