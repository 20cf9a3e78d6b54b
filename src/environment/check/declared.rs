//! Checks of what a task declares: names, sizes, measures, symmetries of actions.

use super::broken;
use crate::{
    environment::{Better, Spec, View},
    error::Result,
};
use toml::{Table, Value};

/// Names stand in files, in columns of tables and on command lines.
pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return broken(format!("the {what} `{name}` has a name that is not plain"));
    }
    Ok(())
}

pub(super) fn check_spec(spec: &Spec) -> Result<()> {
    if spec.agents.is_empty() || spec.agents.iter().any(|agent| agent.n_actions == 0) {
        return broken("every team has agents and every agent has actions");
    }
    let sizes = [spec.horizon, spec.max_regions, spec.region_size];
    if sizes.contains(&0) {
        return broken("no steps, no regions or regions of nobody");
    }
    if spec
        .action_grid
        .is_some_and(|grid| spec.agents.iter().any(|agent| agent.n_actions != grid * grid))
    {
        return broken("an action grid has as many actions as its square");
    }
    check_measures(spec)
}

fn check_measures(spec: &Spec) -> Result<()> {
    let reported = spec.reported();
    for (index, metric) in reported.iter().enumerate() {
        check_name("metric", &metric.name)?;
        if reported[..index].iter().any(|other| other.name == metric.name) {
            return broken(format!("two metrics are called `{}`", metric.name));
        }
        let [least, most] = metric.range;
        if least.is_nan() || most.is_nan() || least >= most {
            return broken(format!("metric `{}` has the range {:?}", metric.name, metric.range));
        }
    }
    let known = |name: &str| match reported.iter().find(|metric| metric.name == name) {
        Some(metric) => Ok(metric),
        None => broken(format!("there is no metric `{name}`")),
    };
    known(&spec.objective)?;
    for constraint in &spec.constraints {
        check_name("constraint", &constraint.name)?;
        if known(&constraint.metric)?.better != Better::Lower {
            let (name, metric) = (&constraint.name, &constraint.metric);
            return broken(format!("`{name}` limits `{metric}`, of which more is better"));
        }
        constraint.unavoidable.as_deref().map_or(Ok(()), |name| known(name).map(|_| ()))?;
    }
    Ok(())
}

/// The groups of numbers that a region row is said to have are as wide as the row.
pub(super) fn check_layout(view: &dyn View) -> Result<()> {
    let (told, width) = (view.row_layout(), view.spec().region_width);
    let sum: usize = told.iter().map(|(_, width)| width).sum();
    if sum != width {
        return broken(format!("the layout of a region row has {sum} numbers, the row {width}"));
    }
    Ok(())
}

/// Every symmetry permutes the actions of every agent, and the first one changes nothing.
pub(super) fn check_symmetries(view: &dyn View) -> Result<()> {
    for symmetry in 0..view.n_symmetries() {
        for agent in &view.spec().agents {
            let mut found = vec![false; agent.n_actions];
            for action in 0..agent.n_actions {
                let image = view.transform_action(symmetry, action);
                if image >= found.len() || std::mem::replace(&mut found[image], true) {
                    return broken(format!("symmetry {symmetry} does not permute the actions"));
                }
                if symmetry == 0 && image != action {
                    return broken("symmetry 0 changes actions");
                }
            }
        }
    }
    Ok(())
}

/// The whole path of every option.
pub(super) fn keys(table: &Table) -> Vec<String> {
    let below = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) => keys(inner).iter().map(|rest| format!("{key}.{rest}")).collect(),
        _ => vec![key.clone()],
    };
    table.iter().flat_map(below).collect()
}
