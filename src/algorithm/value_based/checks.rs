//! Checks that every algorithm passes which learns values from joint transitions.

use super::{JointValue, Networks, QLearningOptions, joint_batch::JointBatch};
use crate::{
    algorithm::{Algorithm, checks::trained_action},
    environment::{
        Environment, View,
        matrix_game::{MatrixGame, RegionTables},
        simple_spread::{ActionSet, SimpleSpread, SimpleSpreadOptions},
    },
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
    schedule::Linear,
};

/// Three agents with five actions.
pub(super) fn small_spread() -> SimpleSpread {
    let actions = Some(ActionSet::Discrete);
    SimpleSpread::new(&SimpleSpreadOptions { actions, ..SimpleSpreadOptions::default() }).unwrap()
}

/// A game of two agents that is played once.
pub(super) fn pair_game(reward: &[f32]) -> MatrixGame {
    let tables = RegionTables { reward: reward.to_vec(), costs: vec![vec![0.0; reward.len()]] };
    let n_actions = reward.len().isqrt();
    MatrixGame::new(CoordinationGraph::complete(2), n_actions, 1, vec![tables]).unwrap()
}

/// Transitions of random numbers, the first of which truly ends.
pub(super) fn random_batch(view: &dyn View, n: usize, rng: &mut Rng) -> JointBatch {
    let spec = view.spec();
    let mut normals = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
    let (states, next_states) = (normals(n * spec.state_width), normals(n * spec.state_width));
    let rewards = normals(n * spec.n_agents());
    let actions = (0..n * spec.n_agents()).map(|_| rng.below(spec.n_actions())).collect();
    let discounts = (0..n).map(|i| if i == 0 { 0.0 } else { 0.9 }).collect();
    JointBatch { states, next_states, actions, rewards, discounts }
}

/// The loss falls along its gradient as central differences say.
pub(super) fn assert_gradient(value: &mut dyn JointValue, view: &dyn View) {
    let mut rng = Streams::new(11).rng(Purpose::Problem, 0);
    let mut online = value.layout().initialise(&mut rng);
    let target = value.layout().initialise(&mut rng);
    let batch = random_batch(view, 5, &mut rng);
    let mut gradient = vec![0.0; online.len()];
    let networks = Networks { online: &online, target: &target };
    assert!(value.learn(networks, view, &batch, &mut gradient) > 0.0, "nothing to learn");
    let mut ignored = gradient.clone();
    let mut kinks = 0;
    for i in 0..online.len() {
        let (x, exact) = (online[i], f64::from(gradient[i]));
        let mut loss_at = |moved: f32| {
            online[i] = moved;
            let networks = Networks { online: &online, target: &target };
            f64::from(value.learn(networks, view, &batch, &mut ignored))
        };
        let here = loss_at(x);
        let mut differences = |h: f32| {
            let [down, up] = [loss_at(x - h), loss_at(x + h)];
            [(up - down) / 2.0, up - here, here - down].map(|rise| rise / f64::from(h))
        };
        // A kink of a rectifier may lie within a step; the gradient is the slope on its own side then.
        let found = [3e-4, 2e-3].map(&mut differences);
        online[i] = x;
        let agrees = |d: &f64| (d - exact).abs() < 4e-3 * (1.0 + exact.abs());
        kinks += usize::from(!found.iter().any(|[central, ..]| agrees(central)));
        let agrees = found.as_flattened().iter().any(agrees);
        assert!(agrees, "parameter {i}: {found:?} but {exact}");
    }
    assert!(50 * kinks <= online.len(), "{kinks} kinks among {} parameters", online.len());
}

/// Trains on a game with actions drawn at random and tells the greedy joint action.
pub(super) fn learned_action<A: Algorithm, E: Environment + 'static>(
    algorithm: &A,
    game: impl Fn() -> E,
    options: impl Fn(QLearningOptions, Linear) -> A::Options,
) -> Vec<usize> {
    let learning = QLearningOptions {
        lr: 3e-3,
        buffer_size: 4000,
        learning_starts: 64,
        average_rate: 0.02,
        ..QLearningOptions::default()
    };
    let options = options(learning, Linear { start: 1.0, end: 1.0, steps: 1 });
    trained_action(algorithm, &options, game, &[])
}
