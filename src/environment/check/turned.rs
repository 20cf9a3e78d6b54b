//! Checks that a declared symmetry is one: a step of the transformed world is the transformed step, and
//! what symmetries do one after the other is a symmetry again.

use super::{
    broken,
    episode::{Actions, RandomActions},
    snapshot::skip,
};
use crate::{
    environment::{Environment, Outcome, View},
    error::Result,
    rng::{Purpose, Rng, Streams},
};

/// How often a step that draws something is played.
const DRAWS: u64 = 400;
/// Largest difference of numbers that were computed in another order, beside one.
pub(super) const TOLERANCE: f64 = 1e-4;
/// Largest mean difference of steps by chance, in standard errors.
const MOST_ERRORS: f64 = 6.0;

/// What a step brought, part by part: what is said where it differs, and its numbers.
type Brought = [(&'static str, Vec<f64>); 4];

/// A moment to go on from: a snapshot whose front is the state, and what the agents do next.
struct Moment {
    state: Vec<f32>,
    rest: Vec<f64>,
    action: Vec<usize>,
    seed: u64,
}

/// Compares, at its start and in its middle, the next step of an episode with the same step under every
/// symmetry; returns how many steps were compared.
///
/// A world is transformed through its snapshot: the state in front is transformed, what lies behind it
/// stays. Where a snapshot does not begin with the state, nothing is compared. A step without chance must
/// bring the same; one that draws must do so in the mean over many draws, for the same draw may mean
/// another thing in a transformed world.
pub(super) fn check_turned(environment: &mut dyn Environment, seed: u64) -> Result<usize> {
    let middle = environment.view().spec().horizon / 2;
    let (n_symmetries, mut n_compared) = (environment.view().n_symmetries(), 0);
    for steps in if n_symmetries > 1 { vec![0, middle] } else { vec![] } {
        let mut actions = RandomActions::new(seed);
        let mut chance = Streams::new(seed).rng(Purpose::Dynamics, 0);
        environment.reset(&mut Streams::new(seed).rng(Purpose::Problem, 0));
        if !skip(environment, steps, &mut actions, &mut chance)? {
            continue;
        }
        let Some(moment) = Moment::of(environment, &mut actions, seed)? else { continue };
        check_group(environment.view(), &moment.state)?;
        let plain = moment.draws(environment)?;
        for symmetry in 1..n_symmetries {
            moment.compare(environment, symmetry, &plain)?;
            n_compared += plain.len();
        }
    }
    Ok(n_compared)
}

impl Moment {
    /// The present moment with its state in single precision; none where a snapshot begins otherwise.
    fn of(
        environment: &dyn Environment,
        actions: &mut RandomActions,
        seed: u64,
    ) -> Result<Option<Self>> {
        let mut state = vec![0.0; environment.view().spec().state_width];
        environment.write_state(&mut state);
        let action = actions.choose(environment.view(), &state)?;
        let snapshot = environment.snapshot();
        let Some((front, rest)) = snapshot.split_at_checked(state.len()) else { return Ok(None) };
        let is_state = front.iter().zip(&state).all(|(exact, &shown)| *exact as f32 == shown);
        Ok(is_state.then(|| Self { state, rest: rest.to_vec(), action, seed }))
    }

    /// The state and the outcome after the next step of the world under a symmetry.
    fn step(
        &self,
        environment: &mut dyn Environment,
        symmetry: usize,
        chance: &mut Rng,
    ) -> Result<(Vec<f32>, Outcome)> {
        let mut state = self.state.clone();
        environment.view().transform_state(symmetry, &mut state);
        let transform = |&action| environment.view().transform_action(symmetry, action);
        let action: Vec<usize> = self.action.iter().map(transform).collect();
        let front = state.iter().map(|&number| f64::from(number));
        let snapshot: Vec<f64> = front.chain(self.rest.iter().copied()).collect();
        let (mut after, mut outcome) = (state.clone(), Outcome::default());
        let restored = environment.restore(&snapshot);
        environment.write_state(&mut after);
        if restored.is_err() || after != state {
            return broken(format!("symmetry {symmetry} leads to a state that it cannot be in"));
        }
        environment.step(&action, chance, &mut outcome);
        environment.write_state(&mut after);
        Ok((after, outcome))
    }

    /// What is drawn the given time.
    fn chance(&self, draw: u64) -> Rng {
        Streams::new(self.seed).rng(Purpose::Dynamics, 1 + draw)
    }

    /// The next step: once, or as often as there are draws where it draws something.
    fn draws(&self, environment: &mut dyn Environment) -> Result<Vec<(Vec<f32>, Outcome)>> {
        let mut chance = self.chance(0);
        let first = self.step(environment, 0, &mut chance)?;
        let n_draws = if chance.position() == self.chance(0).position() { 1 } else { DRAWS };
        let others = (1..n_draws).map(|draw| self.step(environment, 0, &mut self.chance(draw)));
        std::iter::once(Ok(first)).chain(others).collect()
    }

    /// Refuses a symmetry under which the next step brings something else.
    fn compare(
        &self,
        environment: &mut dyn Environment,
        symmetry: usize,
        plain: &[(Vec<f32>, Outcome)],
    ) -> Result<()> {
        let mut pairs = Vec::new();
        for (draw, (state, outcome)) in plain.iter().enumerate() {
            let mut expected = state.clone();
            environment.view().transform_state(symmetry, &mut expected);
            let (state, found) = self.step(environment, symmetry, &mut self.chance(draw as u64))?;
            pairs.push((brought(&expected, outcome), brought(&state, &found)));
        }
        for (part, (what, numbers)) in pairs[0].0.iter().enumerate() {
            for entry in 0..numbers.len() {
                let of = |brought: &Brought| brought[part].1.get(entry).copied();
                let pairs = pairs.iter().map(|(expected, found)| [of(expected), of(found)]);
                if let Some([expected, found]) = different(pairs) {
                    let how = if plain.len() > 1 { " in the mean" } else { "" };
                    return broken(format!(
                        "symmetry {symmetry} is none: a step of the world under it brings {what} \
                         ({found} instead of {expected}{how})"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// What is compared of a step: the next state, rewards, costs and whether the episode ends.
fn brought(state: &[f32], outcome: &Outcome) -> Brought {
    let Outcome { team_reward, agent_rewards, region_rewards, .. } = outcome;
    let Outcome { team_costs, region_costs, agent_costs, ending, .. } = outcome;
    let numbers = |parts: [&[f32]; 3]| parts.concat().into_iter().map(f64::from).collect();
    [
        ("another state", numbers([state, &[], &[]])),
        ("other rewards", numbers([&[*team_reward], agent_rewards, region_rewards])),
        ("other costs", numbers([team_costs, agent_costs, region_costs])),
        ("another ending", vec![f64::from(*ending as u8)]),
    ]
}

/// The means of two numbers that differ by more than rounding and chance explain; a number that is
/// missing in one of them is none.
fn different(pairs: impl Iterator<Item = [Option<f64>; 2]>) -> Option<[f64; 2]> {
    let pairs: Vec<[f64; 2]> = pairs.map(|pair| pair.map(|n| n.unwrap_or(f64::NAN))).collect();
    let n = pairs.len() as f64;
    let [expected, found] = [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).sum::<f64>() / n);
    let mean = expected - found;
    let squares = pairs.iter().map(|[a, b]| (a - b - mean).powi(2)).sum::<f64>();
    let error = (squares / n / (n - 1.0).max(1.0)).sqrt();
    let agrees = mean.abs() <= TOLERANCE * (1.0 + expected.abs()) + MOST_ERRORS * error;
    (!agrees).then_some([expected, found])
}

/// Every symmetry has an inverse among them, and two of them one after the other are one of them.
fn check_group(view: &dyn View, state: &[f32]) -> Result<()> {
    let n = view.n_symmetries();
    for first in 0..n {
        if !(0..n).any(|second| is_composed(view, state, [first, second], 0)) {
            return broken(format!("symmetry {first} has no inverse among the symmetries"));
        }
    }
    for (first, second) in (0..n).flat_map(|first| (0..n).map(move |second| (first, second))) {
        if !(0..n).any(|whole| is_composed(view, state, [first, second], whole)) {
            let what = format!("symmetry {second} after symmetry {first}");
            return broken(format!("{what} is none of the symmetries"));
        }
    }
    Ok(())
}

/// Whether two symmetries one after the other do what a third does, to a state and to every action.
fn is_composed(view: &dyn View, state: &[f32], parts: [usize; 2], whole: usize) -> bool {
    let [mut composed, mut expected] = [state.to_vec(), state.to_vec()];
    parts.iter().for_each(|&part| view.transform_state(part, &mut composed));
    view.transform_state(whole, &mut expected);
    let near =
        |(a, b): (&f32, &f32)| f64::from((a - b).abs()) <= TOLERANCE * (1.0 + f64::from(a.abs()));
    let transform = |action, &part: &usize| view.transform_action(part, action);
    composed.iter().zip(&expected).all(near)
        && (0..view.spec().n_actions())
            .all(|a| parts.iter().fold(a, transform) == view.transform_action(whole, a))
}
