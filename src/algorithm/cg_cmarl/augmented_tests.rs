//! One augmented value against its plain definition.

use super::{
    HeadKind, ValueKind,
    tests::{Case, RULES, forbidden, mixed_game, sample},
};
use crate::{
    algorithm::checks::Masked,
    environment::{Environment, matrix_game::MatrixGame},
    replay::Row,
};

#[test]
fn one_augmented_value_is_learned_by_the_definition() {
    let game = Masked::new(mixed_game(4), forbidden).with_grid(2);
    let actions: Vec<usize> = (0..4).map(|agent| agent % 3).collect();
    for head in [HeadKind::Free, HeadKind::Tied] {
        let kinds = (head, ValueKind::Augmented);
        for multipliers in [[0.7, 0.2], [0.0, 5.0]] {
            let states: [&[f32]; 2] = [&[0.0], &[0.5]];
            let mut case =
                Case::of_actions(game.view(), kinds, states, &actions, sample(&multipliers));
            assert_eq!(case.network.n_heads(), 1);
            case.check_losses("augmented");
            case.check_gradient("augmented");
        }
    }
}

/// Two agents that meet once: nothing follows, so that the target is the reward at its price.
#[test]
fn the_error_of_a_last_step_by_hand() {
    let game = MatrixGame::worked_example().unwrap();
    let kinds = (HeadKind::Free, ValueKind::Augmented);
    let mut case = Case::of_actions(game.view(), kinds, [&[0.0]; 2], &[0, 0], sample(&[0.5]));
    let outcome = [10.0, 5.0];
    case.replay.push(Row {
        state: &[0.0],
        next_state: &[0.0],
        actions: &[0, 0],
        outcome: &outcome,
        terminal: true,
    });
    let value = case.values(&case.online, &[0.0], &[0, 1], &[0, 0])[0];
    // 10 − 0.5 · 5, as the paper's table says of action A at λ = 0.5.
    let expected = 0.5 * (value - 7.5) * (value - 7.5);
    for rule in RULES {
        let found = case.accumulate(&case.online, rule).losses[0];
        assert!((found - expected).abs() < 1e-4 * expected, "{rule:?}: {found} {expected}");
    }
}
