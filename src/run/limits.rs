//! What a configuration asks of the machine, estimated and refused by name before any work is done.

use super::{
    Config,
    teams::{Part, parts},
};
use crate::{
    algorithm::Need,
    environment::Spec,
    error::{Error, Result},
};

/// Bytes of a gibibyte.
const GIB: f64 = 1_073_741_824.0;
/// Bytes that one environment takes beside its numbers: buffers, random streams.
const ENVIRONMENT: f64 = 4096.0;
/// Bytes that one member of one region takes in a graph, which the environment and its view keep.
const MEMBER: f64 = 2.0 * 32.0;
/// Gibibytes that the environments of an evaluation may take beside the policy that acts in them.
const EVALUATION: f64 = 1.0;
/// What a trained policy keeps of a state as a multiple of what a learner keeps that acts in it: it
/// may average over all views of a region. Measured: 64 kB of a region in 16 views, 15 kB in one.
const VIEWS: f64 = 4.5;
/// Most threads that are accepted.
pub const MAX_THREADS: usize = 1024;

/// Refuses a configuration that cannot work or does not fit; builds one environment to know its sizes.
pub fn check(config: &Config) -> Result<Spec> {
    config.training.check()?;
    let spec = config.scenario()?.spec()?;
    config.evaluation.check(&spec)?;
    check_memory(config, &spec)?;
    states_together(config, &spec)?;
    Ok(spec)
}

/// States that a trained policy may look at together; refuses a team of which it cannot look at one.
pub fn states_together(config: &Config, spec: &Spec) -> Result<usize> {
    let needs = config.algorithm()?.memory(&config.options, spec, 1)?;
    let acting = needs.iter().filter(|need| need.key == "environments");
    let gibibytes = VIEWS * acting.map(|need| need.bytes).sum::<f64>() / GIB;
    let limit = config.training.memory_limit;
    if gibibytes <= limit {
        return Ok((limit / gibibytes) as usize);
    }
    let n_agents = spec.n_agents();
    let reason = format!(
        "playing {n_agents} agents would need about {gibibytes:.1} GiB, more than memory_limit={limit}"
    );
    Err(Error::setting("agents", n_agents, reason))
}

/// Environments of an evaluation that fit side by side; one at the least.
pub fn environments_together(spec: &Spec) -> usize {
    ((EVALUATION * GIB / environment(spec)) as usize).max(1)
}

/// Bytes of one environment.
fn environment(spec: &Spec) -> f64 {
    let state = spec.state_width as f64 * 8.0 + (spec.n_agents() as f64).powi(2) * 12.0;
    ENVIRONMENT + state + MEMBER * (spec.max_regions * spec.region_size) as f64
}

/// Names the setting that asks for most where everything together is more than allowed.
fn check_memory(config: &Config, spec: &Spec) -> Result<()> {
    let (algorithm, mut needs) = (config.algorithm()?, Vec::new());
    for Part { scenario, environments, .. } in parts(config)? {
        let team = scenario.spec()?;
        needs.extend(algorithm.memory(&config.options, &team, environments)?);
        let bytes = environments as f64 * environment(&team);
        needs.push(Need { key: "environments", bytes });
    }
    let total: f64 = needs.iter().map(|need| need.bytes).sum();
    let limit = config.training.memory_limit;
    if total <= limit * GIB {
        return Ok(());
    }
    needs.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    let key = needs.first().map_or("memory_limit", |need| need.key);
    let share = |need: &Need| format!("{} {:.1}", need.key, need.bytes / GIB);
    let shares: Vec<_> = needs.iter().filter(|n| n.bytes > 0.01 * total).map(share).collect();
    let reason = format!(
        "training {} agents would need about {:.1} GiB ({}), more than memory_limit={limit}",
        spec.n_agents(),
        total / GIB,
        shares.join(", ")
    );
    Err(Error::setting(key, shown(config, key, spec), reason))
}

/// The value of a setting, wherever it stands.
fn shown(config: &Config, key: &str, spec: &Spec) -> String {
    fn find(table: &toml::Table, key: &str) -> Option<String> {
        table.iter().find_map(|(name, value)| match value {
            value if name == key => Some(value.to_string()),
            toml::Value::Table(inner) => find(inner, key),
            _ => None,
        })
    }
    match key {
        "agents" => spec.n_agents().to_string(),
        "environments" => config.training.environments.to_string(),
        _ => find(&config.options, key).unwrap_or_default(),
    }
}
