//! The public checker of environments: what every task must keep, told by name where it does not.

use super::{Ending, Environment, Outcome, Reduce, Spec, Task, View};
use crate::{
    error::{Error, Result},
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
};

/// Episodes that are played.
const EPISODES: u64 = 4;
/// Largest difference of sums that were added in another order.
const TOLERANCE: f32 = 1e-3;

/// Plays a task with its default options and refuses the first promise of the contract that it
/// breaks: same seed, same episode; a pure view; costs that are never negative and add up; masks
/// with an action left; endings and ranges as declared; symmetries that are symmetries.
///
/// ```
/// use cgcmarl::environment::{check, simple_spread::SimpleSpreadTask};
/// check(&SimpleSpreadTask).unwrap();
/// ```
pub fn check<T: Task>(task: &T) -> Result<()> {
    check_environment(task.build(&T::Options::default())?.as_mut())
}

/// [`check`] for an environment that is already built.
pub fn check_environment(environment: &mut dyn Environment) -> Result<()> {
    check_spec(environment.view().spec())?;
    check_symmetries(environment.view())?;
    for seed in 0..EPISODES {
        let first = play(environment, seed)?;
        if play(environment, seed)? != first {
            return broken("the same seed and actions gave another episode");
        }
    }
    check_restore(environment)?;
    check_equivariance(environment)
}

fn broken<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::Refused(format!("the environment breaks its contract: {what}")))
}

fn check_spec(spec: &Spec) -> Result<()> {
    if spec.agents.is_empty() || spec.agents.iter().any(|agent| agent.n_actions == 0) {
        return broken("every team has agents and every agent has actions");
    }
    let reported = spec.reported();
    for (index, metric) in reported.iter().enumerate() {
        if reported[..index].iter().any(|other| other.name == metric.name) {
            return broken(format!("two metrics are called `{}`", metric.name));
        }
        if metric.range[0].is_nan() || metric.range[0] >= metric.range[1] {
            return broken(format!("metric `{}` has the range {:?}", metric.name, metric.range));
        }
    }
    let floors = spec.constraints.iter().filter_map(|constraint| constraint.unavoidable.as_ref());
    for name in spec.axes().iter().chain(floors) {
        if !reported.iter().any(|metric| metric.name == *name) {
            return broken(format!("there is no metric `{name}`"));
        }
    }
    if spec
        .action_grid
        .is_some_and(|grid| spec.agents.iter().any(|agent| agent.n_actions != grid * grid))
    {
        return broken("an action grid has as many actions as its square");
    }
    Ok(())
}

/// Every symmetry permutes the actions, and the first one changes nothing.
fn check_symmetries(view: &dyn View) -> Result<()> {
    let n_actions = view.spec().n_actions();
    for symmetry in 0..view.n_symmetries() {
        let mut found = vec![false; n_actions];
        for action in 0..n_actions {
            let image = view.transform_action(symmetry, action);
            if image >= n_actions || std::mem::replace(&mut found[image], true) {
                return broken(format!("symmetry {symmetry} does not permute the actions"));
            }
            if symmetry == 0 && image != action {
                return broken("symmetry 0 changes actions");
            }
        }
    }
    Ok(())
}

/// One episode of random allowed actions, every step checked; returns all that was seen.
fn play(environment: &mut dyn Environment, seed: u64) -> Result<Vec<u32>> {
    let streams = Streams::new(seed);
    let (mut rng, mut chance) =
        (streams.rng(Purpose::Problem, 1), streams.rng(Purpose::Dynamics, 1));
    environment.reset(&mut streams.rng(Purpose::Problem, 0));
    let spec = environment.view().spec().clone();
    let mut state = vec![f32::NAN; spec.state_width];
    environment.write_state(&mut state);
    let (mut outcome, mut graph) = (Outcome::default(), CoordinationGraph::default());
    let mut seen = Vec::new();
    let mut reduced = vec![Vec::new(); spec.metrics.len()];
    for step in 1..=spec.horizon {
        environment.view().graph(&state, &mut graph);
        seen.extend(look(environment.view(), &state, &graph)?);
        let action = random_action(environment.view(), &state, &mut rng)?;
        environment.step(&action, &mut chance, &mut outcome);
        environment.write_state(&mut state);
        check_outcome(&spec, &graph, &outcome)?;
        let costs = outcome.region_costs.iter().chain(&outcome.agent_costs);
        seen.extend(costs.chain(&outcome.region_rewards).map(|number| number.to_bits()));
        reduced.iter_mut().zip(&outcome.metrics).for_each(|(list, value)| list.push(*value));
        match outcome.ending {
            Ending::Running if step == spec.horizon => {
                return broken(format!("an episode goes on after its horizon of {step} steps"));
            }
            Ending::Terminal if !spec.terminates => {
                return broken("an episode truly ended, but `terminates` is false");
            }
            Ending::Running => {}
            Ending::Truncated | Ending::Terminal => break,
        }
    }
    check_ranges(&spec, &reduced)?;
    Ok(seen)
}

fn check_ranges(spec: &Spec, steps: &[Vec<f64>]) -> Result<()> {
    for (metric, values) in spec.metrics.iter().zip(steps) {
        let sum: f64 = values.iter().sum();
        let value = match metric.reduce {
            Reduce::Last => values.last().copied().unwrap_or_default(),
            Reduce::Mean => sum / values.len() as f64,
            Reduce::Sum => sum,
            Reduce::All => f64::from(u8::from(values.iter().all(|value| *value != 0.0))),
        };
        if !(metric.range[0]..=metric.range[1]).contains(&value) {
            let range = metric.range;
            return broken(format!("`{}` was {value}, outside its range {range:?}", metric.name));
        }
    }
    Ok(())
}

fn check_outcome(spec: &Spec, graph: &CoordinationGraph, outcome: &Outcome) -> Result<()> {
    let n = spec.n_constraints();
    for (what, found, expected) in [
        ("region rewards", outcome.region_rewards.len(), graph.n_regions()),
        ("region costs", outcome.region_costs.len(), graph.n_regions() * n),
        ("agent rewards", outcome.agent_rewards.len(), spec.n_agents()),
        ("agent costs", outcome.agent_costs.len(), spec.n_agents() * n),
        ("team costs", outcome.team_costs.len(), n),
        ("metrics", outcome.metrics.len(), spec.metrics.len()),
    ] {
        if found != expected {
            return broken(format!("{found} {what} where {expected} belong"));
        }
    }
    let costs = outcome.region_costs.iter().chain(&outcome.agent_costs).chain(&outcome.team_costs);
    if let Some(cost) = costs.clone().find(|cost| !(cost.is_finite() && **cost >= 0.0)) {
        return broken(format!("a cost of {cost}"));
    }
    let rewards = outcome.region_rewards.iter().chain(&outcome.agent_rewards);
    if rewards.chain([&outcome.team_reward]).any(|reward| !reward.is_finite()) {
        return broken("a reward that is not finite");
    }
    if let Some(value) = outcome.metrics.iter().find(|value| !value.is_finite()) {
        return broken(format!("a metric of {value}"));
    }
    for (column, team) in outcome.team_costs.iter().enumerate() {
        let sum: f32 = outcome.region_costs[column..].iter().step_by(n).sum();
        if (sum - team).abs() > TOLERANCE * (1.0 + team.abs()) {
            let name = &spec.constraints[column].name;
            return broken(format!("the regions pay {sum} for `{name}`, the team {team}"));
        }
    }
    Ok(())
}

/// All rows of a state, looked at twice.
fn look(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<Vec<u32>> {
    let spec = view.spec();
    if graph.n_agents() != spec.n_agents() || graph.n_regions() > spec.max_regions {
        let (agents, regions) = (graph.n_agents(), graph.n_regions());
        return broken(format!("a graph of {agents} agents and {regions} regions"));
    }
    if graph.regions().any(|members| members.len() > spec.region_size) {
        return broken(format!("a region of more than {} agents", spec.region_size));
    }
    let swapped: Vec<bool> = (0..graph.n_regions()).map(|region| region % 3 == 1).collect();
    let mut rows = vec![f32::NAN; graph.n_regions() * spec.region_width];
    view.region_rows(state, graph, &swapped, &mut rows, spec.region_width.max(1));
    let mut row = vec![f32::NAN; spec.region_width];
    for (region, members) in graph.regions().enumerate() {
        let mut members = members.to_vec();
        if swapped[region] {
            members.reverse();
        }
        view.region_row(state, &members, &mut row);
        let alone = row.iter().map(|number| number.to_bits());
        let together = rows[region * spec.region_width..][..spec.region_width].iter();
        if !alone.eq(together.map(|number| number.to_bits())) {
            return broken(format!("region {region} looks different alone and with the others"));
        }
    }
    for agent in 0..spec.n_agents() {
        let start = rows.len();
        rows.resize(start + spec.agent_width, f32::NAN);
        view.agent_row(state, agent, &mut rows[start..]);
    }
    match rows.iter().position(|number| !number.is_finite()) {
        Some(_) => broken("a row has an entry that was not written or is not finite"),
        None => Ok(rows.into_iter().map(f32::to_bits).collect()),
    }
}

/// A random action that the masks allow.
fn random_action(view: &dyn View, state: &[f32], rng: &mut Rng) -> Result<Vec<usize>> {
    let agents = view.spec().agents.iter().enumerate();
    agents
        .map(|(agent, spec)| {
            let mut allowed = vec![true; spec.n_actions];
            view.action_mask(state, agent, &mut allowed);
            let open: Vec<usize> = (0..spec.n_actions).filter(|&action| allowed[action]).collect();
            if open.is_empty() {
                return broken(format!("agent {agent} is left without an action"));
            }
            Ok(open[rng.below(open.len())])
        })
        .collect()
}

/// An environment goes on from a snapshot as it would have gone on.
fn check_restore(environment: &mut dyn Environment) -> Result<()> {
    let streams = Streams::new(99);
    environment.reset(&mut streams.rng(Purpose::Problem, 0));
    let mut state = vec![0.0; environment.view().spec().state_width];
    environment.write_state(&mut state);
    let snapshot = environment.snapshot();
    let mut outcome = Outcome::default();
    let action = random_action(environment.view(), &state, &mut streams.rng(Purpose::Problem, 1))?;
    let mut step = |environment: &mut dyn Environment| {
        environment.step(&action, &mut streams.rng(Purpose::Dynamics, 0), &mut outcome);
        environment.write_state(&mut state);
        (outcome.metrics.clone(), state.clone())
    };
    let before = step(environment);
    environment.restore(&snapshot)?;
    if environment.snapshot() != snapshot || step(environment) != before {
        return broken("it does not go on from its own snapshot as it went on before");
    }
    if environment.restore(&[]).is_ok() {
        return broken("it takes an empty snapshot");
    }
    Ok(())
}

/// Rows of a transformed state with transformed actions' meaning: every symmetry must map the graph
/// of a state to itself, so that tables can be transformed region by region.
fn check_equivariance(environment: &mut dyn Environment) -> Result<()> {
    environment.reset(&mut Streams::new(5).rng(Purpose::Problem, 0));
    let view = environment.view();
    let mut state = vec![0.0; view.spec().state_width];
    environment.write_state(&mut state);
    let (mut graph, mut other) = (CoordinationGraph::default(), CoordinationGraph::default());
    view.graph(&state, &mut graph);
    for symmetry in 0..view.n_symmetries() {
        let mut transformed = state.clone();
        view.transform_state(symmetry, &mut transformed);
        if symmetry == 0 && transformed != state {
            return broken("symmetry 0 changes states");
        }
        view.graph(&transformed, &mut other);
        if other != graph {
            return broken(format!("symmetry {symmetry} changes who shares a region"));
        }
    }
    Ok(())
}
