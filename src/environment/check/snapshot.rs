//! Checks that an environment goes on from a snapshot as it went on before, and can be drawn.

use super::{
    broken,
    episode::{Actions, RandomActions, go_on},
};
use crate::{
    environment::{Drawing, Ending, Environment, Outcome, Spec},
    error::Result,
    rng::{Purpose, Rng, Streams},
};

/// At its start and in its middle, an episode goes on from a snapshot as it would have gone on.
pub(super) fn check_restore(environment: &mut dyn Environment, seed: u64) -> Result<()> {
    let middle = environment.view().spec().horizon / 2;
    for steps in [0, middle] {
        let mut actions = RandomActions::new(seed);
        let mut chance = Streams::new(seed).rng(Purpose::Dynamics, 0);
        environment.reset(&mut Streams::new(seed).rng(Purpose::Problem, 0));
        if !skip(environment, steps, &mut actions, &mut chance)? {
            continue;
        }
        let snapshot = environment.snapshot();
        check_drawing(environment.view().spec(), &snapshot, &environment.draw())?;
        let rest = |environment: &mut dyn Environment| {
            go_on(environment, steps, false, &mut actions.clone(), &mut chance.clone())
        };
        let before = rest(environment)?;
        environment.restore(&snapshot)?;
        if environment.snapshot() != snapshot || rest(environment)? != before {
            return broken("it does not go on from its own snapshot as it went on before");
        }
        check_refusals(environment, &snapshot)?;
    }
    Ok(())
}

/// Plays some steps; tells whether the episode goes on.
pub(super) fn skip(
    environment: &mut dyn Environment,
    steps: usize,
    actions: &mut RandomActions,
    chance: &mut Rng,
) -> Result<bool> {
    let mut outcome = Outcome::default();
    let mut state = vec![0.0; environment.view().spec().state_width];
    for _ in 0..steps {
        environment.write_state(&mut state);
        let action = actions.choose(environment.view(), &state)?;
        environment.step(&action, chance, &mut outcome);
        if outcome.ending != Ending::Running {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_refusals(environment: &mut dyn Environment, snapshot: &[f64]) -> Result<()> {
    let longer = [snapshot, &[0.0]].concat();
    let mut not_a_number = snapshot.to_vec();
    not_a_number.iter_mut().take(1).for_each(|number| *number = f64::NAN);
    if environment.restore(&longer).is_ok() {
        return broken("it takes a snapshot that is too long");
    }
    if !snapshot.is_empty() && environment.restore(&not_a_number).is_ok() {
        return broken("it takes a snapshot with a number that is none");
    }
    Ok(())
}

/// Shapes lie somewhere, show agents that exist, and hang on the numbers they say.
fn check_drawing(spec: &Spec, snapshot: &[f64], drawing: &Drawing) -> Result<()> {
    let [left, bottom, right, top] = drawing.bounds;
    if drawing.shapes.is_empty() {
        return Ok(());
    }
    if !(left < right && bottom < top) {
        return broken(format!("a drawing with the bounds {:?}", drawing.bounds));
    }
    for shape in &drawing.shapes {
        let numbers = [shape.at[0], shape.at[1], shape.radius];
        if !(numbers.iter().all(|number| number.is_finite()) && shape.radius > 0.0) {
            return broken(format!("a shape at {:?} of radius {}", shape.at, shape.radius));
        }
        if shape.agent.is_some_and(|agent| agent >= spec.n_agents()) {
            return broken(format!("a shape of agent {:?}", shape.agent));
        }
        if let Some(handle) = shape.handle
            && snapshot.get(handle..handle + 2) != Some(&shape.at[..])
        {
            return broken(format!("a shape whose place is not at {handle} in the snapshot"));
        }
    }
    Ok(())
}
