//! The public checker of tasks: what every environment must keep, told by name where it does not.

mod declared;
mod episode;
#[cfg(test)]
mod line;
mod look;
mod outcome;
mod snapshot;
#[cfg(test)]
mod tests;
mod turned;

use super::{Batch, Environment, Policy, Task, from_table, to_table};
use crate::error::{Error, Result};
use episode::RandomActions;

/// Episodes that are played.
const EPISODES: u64 = 4;

/// Plays a task with its default options and refuses the first promise of the contract that it
/// breaks: options, other team sizes and references that work, and all of [`check_environment`].
///
/// ```
/// use cgcmarl::environment::{check, simple_spread::SimpleSpreadTask};
/// check(&SimpleSpreadTask).unwrap();
/// ```
pub fn check<T: Task>(task: &T) -> Result<()> {
    declared::check_name("task", task.name())?;
    let options = T::Options::default();
    check_options(task, &options)?;
    check_environment(task.build(&options)?.as_mut())?;
    check_teams(task, &options)?;
    check_references(task, &options)
}

/// Plays an environment and refuses the first promise of the contract that it breaks.
///
/// Same seed, same episode; a view that is a function of the state; costs that are never negative
/// and add up; masks that leave an action; endings, sizes and ranges as declared; symmetries that
/// are symmetries: a step of the transformed world is the transformed step, in the mean where it draws
/// (compared where a snapshot begins with the state and what lies behind it is the same under every
/// symmetry); snapshots that go on as before; a drawing that can be drawn.
pub fn check_environment(environment: &mut dyn Environment) -> Result<()> {
    declared::check_spec(environment.view().spec())?;
    declared::check_symmetries(environment.view())?;
    declared::check_layout(environment.view())?;
    for seed in 0..EPISODES {
        let mut play =
            |spoil| episode::play(environment, seed, spoil, &mut RandomActions::new(seed));
        let first = play(false)?;
        if play(false)? != first {
            return broken("the same seed and actions gave another episode");
        }
        if play(true)? != first {
            return broken("a step leaves something of the outcome as it was before");
        }
        snapshot::check_restore(environment, seed)?;
        turned::check_turned(environment, seed)?;
    }
    Ok(())
}

fn broken<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::Refused(format!("the environment breaks its contract: {what}")))
}

/// Options survive a file, and each is explained.
fn check_options<T: Task>(task: &T, options: &T::Options) -> Result<()> {
    let table = to_table(options)?;
    if to_table(&from_table::<T::Options>(&table)?)? != table {
        return broken("the options are not the same once they were written and read");
    }
    let listed = task.options();
    for (index, (key, _)) in listed.iter().enumerate() {
        if listed[..index].iter().any(|(other, _)| other == key) {
            return broken(format!("the option `{key}` is listed twice"));
        }
    }
    for key in declared::keys(&table) {
        if !listed.iter().any(|(known, _)| *known == key) {
            return broken(format!("the option `{key}` is not listed"));
        }
    }
    if !task.card(options).is_object() {
        return broken("its card is not an object");
    }
    Ok(())
}

/// Where the team may have another size, a region sees as much as before.
fn check_teams<T: Task>(task: &T, options: &T::Options) -> Result<()> {
    let own = task.build(options)?.view().spec().clone();
    for agents in [own.n_agents(), own.n_agents() + 1] {
        let Ok(options) = task.with_agents(options, agents) else { continue };
        let mut environment = task.build(&options)?;
        let spec = environment.view().spec();
        if spec.n_agents() != agents {
            return broken(format!("asked for {agents} agents, it has {}", spec.n_agents()));
        }
        let shape = |spec: &super::Spec| (spec.region_width, spec.n_actions(), spec.region_size);
        if shape(spec) != shape(&own) || spec.constraint_names() != own.constraint_names() {
            return broken(format!("with {agents} agents a region sees or does something else"));
        }
        check_environment(environment.as_mut())?;
    }
    Ok(())
}

/// References have names of their own and do what the masks allow.
fn check_references<T: Task>(task: &T, options: &T::Options) -> Result<()> {
    let mut names = vec!["random".to_owned()];
    for mut reference in task.references(options)? {
        if names.contains(&reference.name) {
            return broken(format!("two references are called `{}`", reference.name));
        }
        let mut environment = task.build(options)?;
        let mut acting = ReferenceActions(reference.policy.as_mut());
        episode::play(environment.as_mut(), 0, false, &mut acting)?;
        names.push(reference.name);
    }
    Ok(())
}

/// The actions of a reference.
struct ReferenceActions<'a>(&'a mut dyn Policy);

impl episode::Actions for ReferenceActions<'_> {
    fn choose(&mut self, view: &dyn super::View, state: &[f32]) -> Result<Vec<usize>> {
        let mut actions = [Vec::new()];
        self.0.act(Batch { view, states: state, slots: &[0] }, &mut actions);
        let [action] = actions;
        let allowed = |(agent, choice): (usize, &usize)| {
            look::allowed(view, state, agent).get(*choice).copied().unwrap_or(false)
        };
        if action.len() != view.spec().n_agents() || !action.iter().enumerate().all(allowed) {
            return broken(format!("a reference did {action:?}, which is not allowed"));
        }
        Ok(action)
    }
}
