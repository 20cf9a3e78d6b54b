//! Duality gaps: none for joint randomised policies, some for deterministic and for factorised ones.

use super::{
    ClaimOutcome, Finding,
    ascent::Case,
    figure::{largest, median},
    lagrangian::expected,
    linear_program::constrained_optimum,
};
use cgcmarl::rng::{Purpose, Rng, Streams};

/// Gaps below this are rounding, of the program and of the grid.
const ROUNDING: f64 = 2e-3;
/// Probabilities tried for the first agent.
const GRID: usize = 2000;
/// Random games.
const N_GAMES: usize = 100;

/// A game of two agents with two actions in one state: reward and constraint reward, row-major.
struct Game {
    reward: [f64; 4],
    constraint_reward: [f64; 4],
    least: f64,
}

impl Game {
    /// Reward 1 if both act; cost 1 if anyone acts; half of the steps may cost.
    fn smallest() -> Self {
        Self {
            reward: [0.0, 0.0, 0.0, 1.0],
            constraint_reward: [0.0, -1.0, -1.0, -1.0],
            least: -0.5,
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let reward = [0; 4].map(|_| rng.uniform());
        let constraint_reward = [0; 4].map(|_| -rng.uniform());
        let best = constraint_reward.iter().copied().fold(f64::MIN, f64::max);
        let worst = constraint_reward.iter().copied().fold(f64::MAX, f64::min);
        Self { reward, constraint_reward, least: best + 0.4 * (worst - best) }
    }

    /// min_λ max_π L(π, λ): a maximum over pure joint actions, so the same for factorised policies;
    /// by the crossing of every two lines.
    fn dual_value(&self) -> f64 {
        let slack = self.constraint_reward.map(|c| c - self.least);
        let value = |multiplier: f64| {
            (0..4).map(|a| self.reward[a] + multiplier * slack[a]).fold(f64::MIN, f64::max)
        };
        let crossings = (0..16).map(|pair| {
            let (a, b) = (pair / 4, pair % 4);
            (self.reward[a] - self.reward[b]) / (slack[b] - slack[a])
        });
        crossings
            .chain([0.0])
            .filter(|m| m.is_finite() && *m >= 0.0)
            .map(value)
            .fold(f64::MAX, f64::min)
    }

    /// max over π_1 × π_2 with the constraint; for each π_1 the best π_2 is at an end of an interval.
    fn factorised_value(&self) -> f64 {
        let mut best = f64::MIN;
        for step in 0..=GRID {
            let x = step as f64 / GRID as f64;
            let mix = |t: &[f64; 4], b: usize| (1.0 - x) * t[b] + x * t[2 + b];
            let [c0, c1] = [0, 1].map(|b| mix(&self.constraint_reward, b) - self.least);
            let edge = c0 / (c0 - c1);
            for y in [0.0, 1.0, edge] {
                if (0.0..=1.0).contains(&y) && c0 + y * (c1 - c0) >= -1e-12 {
                    let [r0, r1] = [0, 1].map(|b| mix(&self.reward, b));
                    best = best.max(r0 + y * (r1 - r0));
                }
            }
        }
        best
    }
}

/// The best deterministic policy that meets the constraint, by enumeration.
fn deterministic_value(case: &Case) -> f64 {
    let (joint, mut best) = (&case.joint, f64::MIN);
    let n_policies = joint.n_actions.pow(joint.n_states as u32);
    for index in 0..n_policies {
        let policy: Vec<usize> = (0..joint.n_states)
            .map(|state| index / joint.n_actions.pow(state as u32) % joint.n_actions)
            .collect();
        let constraint = expected(&case.start, &joint.evaluate(&policy, &joint.constraint_reward));
        if constraint >= case.least() - 1e-9 {
            best = best.max(expected(&case.start, &joint.evaluate(&policy, &joint.reward)));
        }
    }
    best
}

/// Measures all gaps.
pub(super) fn gap_findings(cases: &[Case], seed: u64) -> Vec<Finding> {
    let optimum = |case: &Case| constrained_optimum(&case.joint, &case.start, case.least());
    let gaps: Vec<(f64, f64)> = cases
        .iter()
        .filter_map(|case| {
            let best = optimum(case)?;
            let dual = case.dual.value(case.dual.minimiser());
            Some(((dual - best).abs(), (best - deterministic_value(case)) / best.abs()))
        })
        .collect();
    let joint = largest(gaps.iter().map(|gap| gap.0));
    let joint = Finding::new(
        "dual.gap_joint",
        "(A3): strong duality, joint randomised policies",
        format!("largest |d(λ*) − linear program| {joint:.1e} in {} problems", gaps.len()),
        ClaimOutcome::of(joint <= ROUNDING),
    );
    let open = gaps.iter().filter(|gap| gap.1 > ROUNDING).count();
    let deterministic = Finding::new(
        "dual.gap_deterministic",
        "Thm 2: the induced policy π_λ* (an argmax, so deterministic) is optimal for the constrained problem",
        format!(
            "the best feasible deterministic policy falls short in {open} of {} problems, by {:.1} % at \
             the median and {:.1} % at most",
            gaps.len(),
            100.0 * median(gaps.iter().map(|gap| gap.1)),
            100.0 * largest(gaps.iter().map(|gap| gap.1)),
        ),
        ClaimOutcome::of(open == 0),
    )
    .against((open > 0).then(|| {
        "one state, two actions: reward 1 at cost 1 or nothing, limit 1/4; only a coin with chance 1/4 \
         is optimal, and both actions maximise the Lagrangian at λ* = 1"
            .to_owned()
    }));
    vec![joint, deterministic, factorised_finding(seed)]
}

fn factorised_finding(seed: u64) -> Finding {
    let mut rng = Streams::new(seed).rng(Purpose::Problem, 5000);
    let gap = |game: &Game| game.dual_value() - game.factorised_value();
    let gaps: Vec<f64> = (0..N_GAMES).map(|_| gap(&Game::random(&mut rng))).collect();
    let open = gaps.iter().filter(|gap| **gap > ROUNDING).count();
    let smallest = Game::smallest();
    let text = format!(
        "gap in {open} of {N_GAMES} random games, up to {:.3}; {:.3} in the smallest",
        largest(gaps.iter().copied()),
        gap(&smallest)
    );
    let counterexample = (gap(&smallest) > ROUNDING).then(|| {
        format!(
            "two agents, one state, two actions: reward 1 if both act, cost 1 if anyone acts, limit 1/2: \
             dual {:.3}, best factorised policy {:.3}",
            smallest.dual_value(),
            smallest.factorised_value()
        )
    });
    Finding::new(
        "dual.gap_factorised",
        "(A3): strong duality holds for factorised policies ∏ π^i",
        text,
        ClaimOutcome::of(open == 0 && gap(&smallest) <= ROUNDING),
    )
    .against(counterexample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_game_is_solved_by_hand() {
        let game = Game::smallest();
        assert!((game.dual_value() - 0.5).abs() < 1e-9);
        // Both act with chance p, 2p − p² = 1/2.
        let p = 1.0 - 0.5f64.sqrt();
        assert!((game.factorised_value() - p * p).abs() < 1e-3);
    }
}
