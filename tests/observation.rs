//! What regions and agents see, against hand-computed numbers and the laws of the relative row.

use cgcmarl::{
    environment::{
        Environment, Pose, View,
        simple_spread::{
            SimpleSpread, SimpleSpreadOptions,
            observation::{
                AgentRowKind, Frame, ObservationKind, ObservationOptions, PADDING_LANDMARK,
            },
        },
    },
    graph::{CoordinationGraph, GraphOptions, Topology},
};

fn spread(agents: usize, observation: ObservationOptions) -> SimpleSpread {
    let options = SimpleSpreadOptions { agents, observation, ..SimpleSpreadOptions::default() };
    SimpleSpread::new(&options).expect("valid options")
}

fn relative(landmarks: Option<usize>, occupancy: bool) -> ObservationOptions {
    ObservationOptions { landmarks, occupancy, ..ObservationOptions::default() }
}

fn paper() -> ObservationOptions {
    ObservationOptions { kind: ObservationKind::Paper, ..ObservationOptions::default() }
}

fn row(view: &dyn View, state: &[f32], members: &[usize]) -> Vec<f32> {
    let mut row = vec![f32::NAN; view.spec().region_width];
    view.region_row(state, members, &mut row);
    row
}

fn close(ours: &[f32], expected: &[f32]) {
    assert_eq!(ours.len(), expected.len(), "{ours:?}");
    let equal = ours.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(equal, "\n{ours:?}\n{expected:?}");
}

/// Three agents on the x axis with distinct velocities, landmarks above the axis.
#[rustfmt::skip]
const STATE: [f32; 18] = [
    0.0, 0.0,   0.3, 0.0,   1.0, 0.0,
    0.1, 0.2,   0.3, 0.4,   0.5, -0.5,
    0.0, 0.8,   0.3, 0.4,   1.0, 0.1,
];

#[test]
fn the_paper_row_lists_what_the_paper_lists() {
    let environment = spread(3, paper());
    assert_eq!(environment.view().spec().region_width, 16);
    #[rustfmt::skip]
    let expected = [
        0.1, 0.2, 0.0, 0.0,   0.3, 0.4, 0.3, 0.0,
        0.0, 0.8,   0.3, 0.4,   1.0, 0.1,
        0.3, 0.0,
    ];
    close(&row(environment.view(), &STATE, &[0, 1]), &expected);
    for (agents, width) in [(4, 18), (6, 22), (10, 30)] {
        assert_eq!(spread(agents, paper()).view().spec().region_width, width);
    }
}

#[test]
fn the_relative_row_by_hand() {
    let environment = spread(3, relative(Some(2), true));
    assert_eq!(environment.view().spec().region_width, 8 + 5 + 2 * 12);
    // Seen by agents 0 and 1, landmark 1 is nearest (0.5 and 0.4), then landmark 2 (from agent 1:
    // √0.5), since landmark 0 is 0.8 and √0.73 away. Agent 2 will be at (1.1, -0.1).
    let root = |x: f32| x.sqrt();
    let (far, near) = (root(1.01), root(0.5));
    let (outside_1, outside_2) = (root(0.64 + 0.25), root(0.01 + 0.04));
    #[rustfmt::skip]
    let expected = [
        0.1, 0.2, 0.0, 0.0,   0.3, 0.4, 0.3, 0.0,
        0.3, 0.0,   0.3,   0.75, 0.0,
        0.3, 0.4,   0.0, 0.4,   0.5, 0.4,   0.5, 0.4 / 0.6,   0.0, 0.8,
        outside_1, 0.2 / (outside_1 + 0.1),
        1.0, 0.1,   0.7, 0.1,   far, near,   1.0 / (far + 0.1), 0.1 / (far + 0.1),
        0.7 / (near + 0.1), 0.1 / (near + 0.1),
        outside_2, 0.2 / (outside_2 + 0.1),
    ];
    close(&row(environment.view(), &STATE, &[0, 1]), &expected);
}

/// The row of (b, a) made from the row of (a, b): slots exchanged, the pair's vector reversed.
fn exchanged(row: &[f32], occupancy: bool) -> Vec<f32> {
    let mut out = [&row[4..8], &row[..4]].concat();
    out.extend([-row[8], -row[9], row[10], -row[11], -row[12]]);
    for c in row[13..].chunks_exact(if occupancy { 12 } else { 10 }) {
        out.extend([c[2], c[3], c[0], c[1], c[5], c[4], c[8], c[9], c[6], c[7]]);
        out.extend(&c[10..]);
    }
    out
}

#[test]
fn swapped_members_give_the_exchanged_row() {
    for occupancy in [false, true] {
        let environment = spread(3, relative(None, occupancy));
        let straight = row(environment.view(), &STATE, &[1, 2]);
        close(&row(environment.view(), &STATE, &[2, 1]), &exchanged(&straight, occupancy));
        let graph = CoordinationGraph::complete(3);
        let stride = straight.len() + 3;
        let mut rows = vec![9.0; 3 * stride];
        let poses = [false, false, true].map(|reversed| Pose { symmetry: 0, reversed });
        environment.view().region_rows(&STATE, &graph, &poses, &mut rows, stride);
        let (last, gap) = rows[2 * stride..].split_at(straight.len());
        close(last, &exchanged(&straight, occupancy));
        assert_eq!(gap, [9.0; 3], "what lies between rows is left alone");
    }
}

/// Adds far-away agents and landmarks to [`STATE`].
fn widened(agents: usize) -> Vec<f32> {
    let mut state = Vec::new();
    for (part, far) in STATE.chunks_exact(6).zip([-50.0, 0.0, 90.0]) {
        state.extend_from_slice(part);
        (3..agents).for_each(|_| state.extend([far, far]));
    }
    state
}

#[test]
fn the_relative_row_does_not_depend_on_the_team() {
    for occupancy in [false, true] {
        let three = spread(3, relative(Some(3), occupancy));
        let expected = row(three.view(), &STATE, &[0, 2]);
        for agents in [4, 6, 10, 100] {
            let more = spread(agents, relative(Some(3), occupancy));
            assert_eq!(row(more.view(), &widened(agents), &[0, 2]), expected, "{agents} agents");
        }
    }
}

#[test]
fn a_row_wider_than_the_team_is_padded_with_occupied_landmarks_far_away() {
    let environment = spread(3, relative(Some(5), true));
    let wide = row(environment.view(), &STATE, &[0, 1]);
    let exact = row(spread(3, relative(Some(3), true)).view(), &STATE, &[0, 1]);
    assert_eq!(wide.len(), exact.len() + 2 * 12);
    assert_eq!(wide[..exact.len()], exact);
    let padding = &wide[exact.len()..];
    assert_eq!(padding[..12], padding[12..]);
    assert_eq!(padding[..2], PADDING_LANDMARK, "agent 0 is at the origin");
    assert_eq!(padding[10..12], [0.0, 2.0]);
}

/// Asserts that the landmarks of a row end in 1, and that those which the team lacks are nothing at all.
fn assert_flagged(landmarks: &[f32], width: usize, n_present: usize) {
    for (nth, cells) in landmarks.chunks_exact(width).enumerate() {
        if nth < n_present {
            assert_eq!(cells[width - 1], 1.0, "landmark {nth}: {cells:?}");
            assert!(cells[..width - 1].iter().any(|&number| number != 0.0), "{cells:?}");
        } else {
            assert!(cells.iter().all(|&number| number == 0.0), "landmark {nth}: {cells:?}");
        }
    }
}

/// Five flagged landmarks, of which a team of three has three.
fn flagged(occupancy: bool) -> ObservationOptions {
    ObservationOptions {
        landmark_flags: true,
        agent_row: AgentRowKind::Shared,
        others: Some(1),
        ..relative(Some(5), occupancy)
    }
}

#[test]
fn a_flagged_landmark_that_is_not_there_is_nothing_to_a_region() {
    for occupancy in [false, true] {
        let environment = spread(3, flagged(occupancy));
        let (view, width) = (environment.view(), 11 + 2 * usize::from(occupancy));
        let mut row = vec![f32::NAN; view.spec().region_width];
        assert_eq!(row.len(), 8 + 5 + 5 * width);
        for pose in (0..8).map(|symmetry| Pose { symmetry, reversed: symmetry % 2 == 1 }) {
            view.posed_row(&STATE, &[0, 1], pose, &mut row);
            assert_flagged(&row[13..], width, 3);
        }
    }
}

#[test]
fn a_flagged_landmark_that_is_not_there_is_nothing_to_an_agent() {
    for occupancy in [false, true] {
        let environment = spread(3, flagged(occupancy));
        let (view, width) = (environment.view(), 6 + 4 * usize::from(occupancy));
        let mut row = vec![f32::NAN; view.spec().agent_width];
        assert_eq!(row.len(), 4 + 5 * width + 8);
        view.agent_row(&STATE, 1, &mut row);
        assert_flagged(&row[4..4 + 5 * width], width, 3);
    }
}

#[test]
fn nobody_outside_the_region_is_shown_as_far_away() {
    let environment = spread(2, relative(Some(1), true));
    let state = [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.9, 0.0];
    let row = row(environment.view(), &state, &[0, 1]);
    close(&row[row.len() - 2..], &[4.0, 0.2 / 4.1]);
}

#[test]
fn regions_of_three_have_three_slots_and_three_pairs() {
    let regions = vec![vec![0, 1, 2]];
    let graph = GraphOptions { topology: Topology::Explicit, regions, ..GraphOptions::default() };
    let observation = relative(Some(1), false);
    let options = SimpleSpreadOptions { graph, observation, ..SimpleSpreadOptions::default() };
    let environment = SimpleSpread::new(&options).unwrap();
    let row = row(environment.view(), &STATE, &[2, 0, 1]);
    assert_eq!(row.len(), 12 + 15 + 15);
    close(&row[..4], &[0.5, -0.5, 1.0, 0.0]);
    close(&row[12..15], &[-1.0, 0.0, 1.0]); // from agent 2 to agent 0
    close(&row[22..25], &[0.3, 0.0, 0.3]); // from agent 0 to agent 1
    close(&row[27..33], &[0.0, 0.1, 1.0, 0.1, 0.7, 0.1]); // landmark 2, 0.1 from agent 2
}

#[test]
fn an_agent_sees_what_mpe2_shows_it() {
    let environment = spread(3, paper());
    let mut row = [f32::NAN; 14];
    environment.view().agent_row(&STATE, 1, &mut row);
    #[rustfmt::skip]
    let expected = [
        0.3, 0.4, 0.3, 0.0,   -0.3, 0.8, 0.0, 0.4, 0.7, 0.1,   -0.3, 0.0, 0.7, 0.0,
    ];
    close(&row, &expected);
    assert_eq!(environment.view().spec().agent_width, 14);
}

/// An agent that sees as regions do, of two landmarks and so many other agents.
fn shared(others: usize) -> ObservationOptions {
    ObservationOptions {
        agent_row: AgentRowKind::Shared,
        others: Some(others),
        ..relative(Some(2), true)
    }
}

#[test]
fn the_shared_agent_row_by_hand() {
    let environment = spread(3, shared(3));
    let view = environment.view();
    assert_eq!(view.spec().agent_width, 4 + 2 * 9 + 3 * 8);
    let mut row = vec![f32::NAN; view.spec().agent_width];
    view.agent_row(&STATE, 1, &mut row);
    // Landmark 1 is straight above (0.4), landmark 2 √0.5 away. In 0.2 s agent 0 will be at
    // (0.02, 0.04), agent 2 at (1.1, -0.1); the nearest other is agent 0, then agent 2.
    let root = |x: f32| x.sqrt();
    let near = root(0.5);
    let to_first = [root(0.28 * 0.28 + 0.36 * 0.36), root(0.64 + 0.25)];
    let to_second = [root(0.01 + 0.04), root(0.98 * 0.98 + 0.06 * 0.06)];
    let occupied = |d: f32| [d, 0.2 / (d + 0.1)];
    let mut expected = vec![0.3, 0.4, 0.3, 0.0];
    expected.extend([0.0, 0.4, 0.4, 0.0, 0.8]);
    to_first.into_iter().for_each(|d| expected.extend(occupied(d)));
    expected.extend([0.7, 0.1, near, 0.7 / (near + 0.1), 0.1 / (near + 0.1)]);
    to_second.into_iter().for_each(|d| expected.extend(occupied(d)));
    expected.extend([-0.3, 0.0, 0.3, -0.75, 0.0, 0.1, 0.2, 1.0]);
    expected.extend([0.7, 0.0, 0.7, 0.875, 0.0, 0.5, -0.5, 1.0]);
    expected.extend([0.0; 8]);
    close(&row, &expected);
}

#[test]
fn the_shared_agent_row_does_not_depend_on_the_team() {
    let row = |agents: usize, state: &[f32]| {
        let observation = ObservationOptions { frame: Frame::Octant, ..shared(2) };
        let environment = spread(agents, observation);
        let spec = environment.view().spec();
        let (mut rows, mut frames) = (vec![0.0; agents * spec.agent_width], vec![0; agents]);
        environment.view().agent_rows(state, &mut rows, spec.agent_width, &mut frames);
        rows.truncate(3 * spec.agent_width);
        (rows, frames[..3].to_vec())
    };
    let three = row(3, &STATE);
    assert!(three.1.iter().any(|frame| *frame != 0), "nobody turned");
    for agents in [4, 10] {
        assert_eq!(row(agents, &widened(agents)), three, "{agents} agents");
    }
}
