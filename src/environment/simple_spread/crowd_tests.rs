//! A crowd sees what everybody would see who looked at everything.

use super::{
    observation::Parts,
    observation_options::ObservationOptions,
    relative_row::{RelativeRow, Scratch},
    row_features::TeamSize,
};
use crate::rng::{Purpose, Streams};

#[test]
fn a_crowd_sees_what_everybody_would_see() {
    let mut rng = Streams::new(9).rng(Purpose::Problem, 0);
    let options = ObservationOptions {
        occupancy: true,
        coast: 0.2,
        landmark_flags: true,
        positions: false,
        free_landmarks: 2,
        auction: true,
        ..ObservationOptions::default()
    };
    for (n, lattice) in [(40, false), (60, true), (150, false), (150, true)] {
        let team = TeamSize { n_agents: n, radius: 0.08, half_side: 3.0 };
        let mut near = RelativeRow::new(&options, team, 2);
        near.crowd = 0;
        let all = RelativeRow { crowd: usize::MAX, ..near.clone() };
        let mut draw = |scale: f64| -> Vec<[f32; 2]> {
            let mut coordinate = || {
                if lattice {
                    (rng.below(13) as f64 - 6.0) * 0.1 * scale
                } else {
                    rng.range(-1.0, 1.0) * scale
                }
            };
            (0..n).map(|_| [coordinate() as f32, coordinate() as f32]).collect()
        };
        let (mut positions, velocities, landmarks) = (draw(3.0), draw(0.3), draw(3.0));
        // Most landmarks are covered, some of them twice or by three.
        for (agent, place) in positions.iter_mut().take(n * 4 / 5).enumerate() {
            *place = landmarks[agent * 3 / 4];
        }
        let parts = Parts { positions: &positions, velocities: &velocities, landmarks: &landmarks };
        let width = options.region_width(n, 2);
        let (mut quick, mut slow) = (Scratch::default(), Scratch::default());
        near.measure(&mut quick, parts, 0..n);
        all.measure(&mut slow, parts, 0..n);
        assert!(quick.crowd && !slow.crowd);
        for a in 0..n {
            let b = (a * 7 + 1) % n;
            if a != b {
                let (mut row, mut expected) = (vec![0.0; width], vec![0.0; width]);
                near.write(&mut quick, parts, &[a, b], a % 8, &mut row);
                all.write(&mut slow, parts, &[a, b], a % 8, &mut expected);
                assert_eq!(row, expected, "{n} agents, pair {a} {b}");
            }
        }
    }
}
