//! A made-up sweep for tests of tables and pictures.

use cgcmarl::{
    episode::Summary,
    evaluation::{Front, Score},
};

/// A score whose episodes scatter a little around these numbers.
fn score(label: &str, multiplier: Option<f64>, coverage: f64, collisions: f64) -> Score {
    let episodes: Vec<Summary> = (0..1000)
        .map(|episode| {
            let wave = f64::from(episode).mul_add(0.754_877_666, 0.5).fract();
            let third = |share: f64| if wave < (3.0 * share).fract() { 1.0 } else { 0.0 };
            let covered = |share: f64| (((3.0 * share).floor() + third(share)) / 3.0) as f32;
            let hit = episode % 20 == 0;
            Summary {
                team_return: -20.0,
                coverage: [covered(coverage), covered(coverage + 0.005), covered(coverage + 0.01)],
                collisions: if hit { collisions * 20.0 } else { 0.0 },
                floor: if hit { 0.0023 * 20.0 } else { 0.0 },
                ..Summary::default()
            }
        })
        .collect();
    Score::of_episodes(label, multiplier, 3, &episodes)
}

/// Nine multipliers, as the paper sweeps them.
pub(crate) fn front() -> Front {
    let sweep = [
        (0.0, 0.978, 0.0098),
        (0.05, 0.979, 0.0074),
        (0.1, 0.98, 0.0058),
        (0.2, 0.979, 0.0043),
        (0.5, 0.976, 0.0033),
        (1.0, 0.974, 0.0029),
        (2.0, 0.965, 0.0027),
        (5.0, 0.95, 0.0025),
        (10.0, 0.93, 0.002_55),
    ];
    let points = sweep
        .map(|(multiplier, coverage, collisions)| {
            score(&format!("λ={multiplier}"), Some(multiplier), coverage, collisions)
        })
        .to_vec();
    let mut front =
        Front::new("simple_spread", "cg_cmarl", 3, points, score("random", None, 0.03, 0.022));
    front.oracle = Some(score("oracle", None, 0.99, 0.0028));
    front
}
