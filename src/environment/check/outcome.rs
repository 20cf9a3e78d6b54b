//! Checks of what a step brings, and of what an episode comes to.

use super::broken;
use crate::{
    environment::{Outcome, Reduce, Spec},
    error::Result,
    graph::CoordinationGraph,
};

/// Largest difference of sums that were added in another order.
const TOLERANCE: f64 = 1e-3;

pub(super) fn check_outcome(
    spec: &Spec,
    graph: &CoordinationGraph,
    outcome: &Outcome,
) -> Result<()> {
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
    let rewards = outcome.region_rewards.iter().chain(&outcome.agent_rewards);
    if rewards.chain([&outcome.team_reward]).any(|reward| !reward.is_finite()) {
        return broken("a reward that is not finite");
    }
    if let Some(value) = outcome.metrics.iter().find(|value| !value.is_finite()) {
        return broken(format!("a metric of {value}"));
    }
    check_costs(spec, outcome)
}

fn check_costs(spec: &Spec, outcome: &Outcome) -> Result<()> {
    let mut costs =
        outcome.region_costs.iter().chain(&outcome.agent_costs).chain(&outcome.team_costs);
    if let Some(cost) = costs.find(|cost| !(cost.is_finite() && **cost >= 0.0)) {
        return broken(format!("a cost of {cost}"));
    }
    let n = spec.n_constraints();
    for (column, constraint) in spec.constraints.iter().enumerate() {
        let name = &constraint.name;
        let paid = outcome.region_costs[column..].iter().step_by(n);
        let (sum, team): (f64, _) =
            (paid.map(|cost| f64::from(*cost)).sum(), f64::from(outcome.team_costs[column]));
        if (sum - team).abs() > TOLERANCE * (1.0 + team) {
            return broken(format!("the regions pay {sum} for `{name}`, the team {team}"));
        }
        let mut paid = outcome.agent_costs[column..].iter().step_by(n);
        let most = constraint.most + TOLERANCE * (1.0 + constraint.most);
        if let Some(cost) = paid.find(|cost| f64::from(**cost) > most) {
            let most = constraint.most;
            return broken(format!(
                "an agent pays {cost} for `{name}`, at most {most} is declared"
            ));
        }
    }
    Ok(())
}

/// What an episode's metrics come to, from the values of its steps.
pub(super) fn check_episode(spec: &Spec, steps: &[Vec<f64>]) -> Result<()> {
    let values: Vec<f64> = (0..spec.metrics.len())
        .map(|index| reduced(spec.metrics[index].reduce, steps.iter().map(|step| step[index])))
        .collect();
    for (metric, value) in spec.metrics.iter().zip(&values) {
        let [least, most] = metric.range;
        if *value < least - TOLERANCE * 1e-3 || *value > most + TOLERANCE * 1e-3 {
            let range = metric.range;
            return broken(format!("`{}` was {value}, outside its range {range:?}", metric.name));
        }
    }
    let value = |name: &String| spec.metrics.iter().position(|metric| metric.name == *name);
    for constraint in &spec.constraints {
        let floor = constraint.unavoidable.as_ref().and_then(value);
        if let (Some(floor), Some(whole)) = (floor, value(&constraint.metric))
            && values[floor] > values[whole]
        {
            let name = &constraint.name;
            return broken(format!("more of `{name}` is unavoidable than there is"));
        }
    }
    Ok(())
}

fn reduced(reduce: Reduce, values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let n = values.len() as f64;
    match reduce {
        Reduce::Last => values.last().unwrap_or_default(),
        Reduce::Mean => values.sum::<f64>() / n,
        Reduce::Sum => values.sum(),
        Reduce::All => f64::from(u8::from(values.clone().all(|value| value != 0.0))),
    }
}
