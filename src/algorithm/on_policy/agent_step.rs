//! One agent's part of a round of MACPO: the gradients of what is gained and paid, products with the
//! Hessian of the divergence from the policy that acted, and the line search.

use super::{
    approximator::Approximator,
    ppo::{forbid, log_softmax},
    rollout::Rollout,
    trust_region::{Case, Problem, conjugate_gradients, dot},
};
use crate::nn::exponentiate;

/// Length of the moves by which products with the Hessian are measured.
const PROBE: f32 = 1e-2;
/// Share of a step that each try of the line search keeps of the one before.
const BACKTRACK: f64 = 0.8;

/// How far an agent may move, and how hard that is worked out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// Mean divergence from the policy that acted.
    pub(super) divergence: f64,
    pub(super) iterations: usize,
    /// Share of the identity in the Hessian.
    pub(super) damping: f32,
    pub(super) tries: usize,
}

/// What one agent did in a round, and how that went.
pub(super) struct AgentRound<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) places: &'a [usize],
    pub(super) rows: &'a [f32],
    /// For each of the places: how well the team did, with those counted in that have moved already.
    pub(super) gains: &'a [f32],
    /// For each of the places: how much dearer than expected it was to this agent.
    pub(super) costs: &'a [f32],
    /// What this agent paid beyond the limit.
    pub(super) excess: f64,
}

/// What a policy would bring: mean ratio · gain, mean ratio · cost, mean divergence.
#[derive(Clone, Copy, Debug)]
struct Outlook {
    gain: f64,
    cost: f64,
    divergence: f64,
}

impl AgentRound<'_> {
    /// Log-probabilities of all actions at all places.
    fn log_probabilities(&self, net: &mut Approximator, log_p: &mut Vec<f32>) {
        net.outputs(self.rows, log_p);
        let n_actions = log_p.len() / self.places.len().max(1);
        for (&place, row) in self.places.iter().zip(log_p.chunks_exact_mut(n_actions.max(1))) {
            forbid(row, self.rollout.allowed(place));
            log_softmax(row);
        }
    }

    /// The gradient of the mean of weight · ratio where the policy is still the one that acted:
    /// weight · (1[a] − p) for the logits.
    fn gradient(&self, net: &mut Approximator, weights: &[f32]) -> Vec<f32> {
        net.gradient(self.rows, |row, logits, d_logits| {
            let place = self.places[row];
            d_logits.copy_from_slice(logits);
            forbid(d_logits, self.rollout.allowed(place));
            log_softmax(d_logits);
            exponentiate(d_logits);
            for (action, d) in d_logits.iter_mut().enumerate() {
                let chosen = if action == self.rollout.actions[place] { 1.0 } else { 0.0 };
                *d = weights[row] * (chosen - *d);
            }
            [0.0; 2]
        })
    }

    /// The gradient of the mean divergence from the policy with these probabilities: p − p_old.
    fn divergence_gradient(&self, net: &mut Approximator, old: &[f32]) -> Vec<f32> {
        net.gradient(self.rows, |row, logits, d_logits| {
            d_logits.copy_from_slice(logits);
            forbid(d_logits, self.rollout.allowed(self.places[row]));
            log_softmax(d_logits);
            exponentiate(d_logits);
            let old = &old[row * logits.len()..][..logits.len()];
            d_logits.iter_mut().zip(old).for_each(|(d, old)| *d -= old);
            [0.0; 2]
        })
    }

    /// The product of the divergence's Hessian with a direction, by central differences of its gradient.
    fn curvature(&self, net: &mut Approximator, old: &[f32], direction: &[f32]) -> Vec<f32> {
        let length = dot(direction, direction).sqrt() as f32;
        if length == 0.0 {
            return vec![0.0; direction.len()];
        }
        let kept = net.parameters.clone();
        let [ahead, behind] = [PROBE, -PROBE].map(|probe| {
            let moved = kept.iter().zip(direction).map(|(p, d)| p + probe / length * d);
            net.parameters.clear();
            net.parameters.extend(moved);
            self.divergence_gradient(net, old)
        });
        net.parameters = kept;
        let scale = length / (2.0 * PROBE);
        ahead.iter().zip(&behind).map(|(a, b)| scale * (a - b)).collect()
    }

    fn outlook(&self, net: &mut Approximator, old: &[f32], log_p: &mut Vec<f32>) -> Outlook {
        self.log_probabilities(net, log_p);
        let n = self.places.len();
        let n_actions = old.len() / n.max(1);
        let mut sums = Outlook { gain: 0.0, cost: 0.0, divergence: 0.0 };
        for (row, &place) in self.places.iter().enumerate() {
            let [new, old] = [&log_p[..], old].map(|all| &all[row * n_actions..][..n_actions]);
            let action = self.rollout.actions[place];
            let ratio = f64::from(new[action] - old[action]).exp();
            sums.gain += ratio * f64::from(self.gains[row]);
            sums.cost += ratio * f64::from(self.costs[row]);
            let possible = old.iter().zip(new).filter(|(old, _)| **old > f32::NEG_INFINITY);
            let own = possible.map(|(old, new)| f64::from(old.exp()) * f64::from(old - new));
            sums.divergence += own.sum::<f64>();
        }
        let share = 1.0 / n.max(1) as f64;
        Outlook {
            gain: share * sums.gain,
            cost: share * sums.cost,
            divergence: share * sums.divergence,
        }
    }

    /// Moves the agent's policy; tells how, and writes the ratio of each place's action for those who
    /// move after it. Where no try of the line search will do, the policy stays.
    pub(super) fn step(
        &self,
        region: Region,
        net: &mut Approximator,
        ratios: &mut Vec<f32>,
    ) -> Option<Case> {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        self.log_probabilities(net, &mut old);
        let mut falling = self.gradient(net, self.gains);
        falling.iter_mut().for_each(|g| *g = -*g);
        let dearer = self.gradient(net, self.costs);
        let old_p = probabilities(&old);
        let mut solve = |b: &[f32]| {
            conjugate_gradients(b, region.iterations, |direction| {
                let mut product = self.curvature(net, &old_p, direction);
                let damped = product.iter_mut().zip(direction);
                damped.for_each(|(p, d)| *p += region.damping * d);
                product
            })
        };
        let (along, across) = (solve(&falling), solve(&dearer));
        let problem = Problem {
            q: dot(&falling, &along),
            r: dot(&falling, &across),
            s: dot(&dearer, &across),
            c: self.excess,
            delta: region.divergence,
        };
        let found = problem.solve();
        let pairs = along.iter().zip(&across);
        let step: Vec<f64> = pairs
            .map(|(x, w)| found.along * f64::from(*x) + found.across * f64::from(*w))
            .collect();
        let accepted = self.search(region, net, (&old, &mut new), (&step, found.case));
        self.write_ratios(&old, &new, ratios);
        accepted.then_some(found.case)
    }

    /// Goes the longest share of a step that keeps what it promises; tells whether any does, and leaves
    /// the log-probabilities of where the policy stands.
    fn search(
        &self,
        region: Region,
        net: &mut Approximator,
        (old, new): (&[f32], &mut Vec<f32>),
        (step, case): (&[f64], Case),
    ) -> bool {
        let kept = net.parameters.clone();
        let before = self.outlook(net, old, new);
        let mut share = 1.0;
        for _ in 0..region.tries {
            let moved = kept.iter().zip(step).map(|(p, d)| (f64::from(*p) - share * d) as f32);
            net.parameters.clear();
            net.parameters.extend(moved);
            let after = self.outlook(net, old, new);
            let better = matches!(case, Case::Recovery | Case::Return) || after.gain >= before.gain;
            let cheap = after.cost - before.cost <= (-self.excess).max(0.0);
            if after.divergence <= 1.5 * region.divergence && better && cheap {
                return true;
            }
            share *= BACKTRACK;
        }
        net.parameters = kept;
        self.log_probabilities(net, new);
        false
    }

    fn write_ratios(&self, old: &[f32], new: &[f32], ratios: &mut Vec<f32>) {
        let n_actions = old.len() / self.places.len().max(1);
        ratios.clear();
        ratios.extend(self.places.iter().enumerate().map(|(row, &place)| {
            let cell = row * n_actions + self.rollout.actions[place];
            (new[cell] - old[cell]).exp()
        }));
    }
}

fn probabilities(log_p: &[f32]) -> Vec<f32> {
    let mut p = log_p.to_vec();
    exponentiate(&mut p);
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::on_policy::{PpoOptions, approximator::Shape},
        environment::{Environment, matrix_game::MatrixGame},
        nn::AdamOptions,
        rng::{Purpose, Streams},
    };

    struct Setting {
        net: Approximator,
        rollout: Rollout,
        rows: Vec<f32>,
        gains: Vec<f32>,
        costs: Vec<f32>,
    }

    /// Twelve steps of an agent with two actions, as if they had been played.
    fn setting() -> (Setting, Vec<usize>) {
        let mut rng = Streams::new(9).rng(Purpose::Problem, 0);
        let game = MatrixGame::worked_example().unwrap();
        let mut rollout = Rollout::new(game.view().spec(), &PpoOptions::default(), 0, 6);
        let places: Vec<usize> = (0..rollout.actions.len()).collect();
        rollout.actions.iter_mut().enumerate().for_each(|(i, action)| *action = i % 3 % 2);
        let mut normals = |n: usize| (0..n).map(|_| rng.normal() as f32).collect::<Vec<f32>>();
        let (rows, gains) = (normals(3 * places.len()), normals(places.len()));
        let costs = normals(places.len());
        let shape = Shape::new(&[3, 5, 2], false);
        let net = Approximator::new(shape, 1.0, AdamOptions::default(), &mut rng);
        (Setting { net, rollout, rows, gains, costs }, places)
    }

    fn round<'a>(setting: &'a Setting, places: &'a [usize], excess: f64) -> AgentRound<'a> {
        let Setting { rollout, rows, gains, costs, .. } = setting;
        AgentRound { rollout, places, rows, gains, costs, excess }
    }

    fn net_of(setting: &Setting) -> Approximator {
        let mut rng = Streams::new(1).rng(Purpose::Problem, 0);
        let mut net =
            Approximator::new(Shape::new(&[3, 5, 2], false), 1.0, AdamOptions::default(), &mut rng);
        net.parameters.clone_from(&setting.net.parameters);
        net
    }

    #[test]
    fn gradients_and_curvature_agree_with_finite_differences() {
        let (setting, places) = setting();
        let round = round(&setting, &places, 0.0);
        let (mut net, mut old, mut new) = (net_of(&setting), Vec::new(), Vec::new());
        round.log_probabilities(&mut net, &mut old);
        let gain = round.gradient(&mut net, &setting.gains);
        let cost = round.gradient(&mut net, &setting.costs);
        let n = net.parameters.len();
        for i in 0..n {
            let kept = net.parameters[i];
            // A kink of a rectifier may lie within a step, hardly within both.
            let found = [1e-3_f32, 5e-3].map(|h| {
                let [up, down] = [h, -h].map(|h| {
                    net.parameters[i] = kept + h;
                    round.outlook(&mut net, &old, &mut new)
                });
                let wide = 2.0 * f64::from(h);
                [(up.gain - down.gain) / wide, (up.cost - down.cost) / wide]
            });
            net.parameters[i] = kept;
            for (which, exact) in [gain[i], cost[i]].into_iter().enumerate() {
                let near = |numeric: &[f64; 2]| (numeric[which] - f64::from(exact)).abs() < 2e-3;
                assert!(found.iter().any(near), "{i}: {found:?} {exact}");
            }
        }
        // ½ dᵀ H d is what the divergence grows by along d.
        let direction: Vec<f32> = (0..n).map(|i| (i as f32).sin()).collect();
        let product = round.curvature(&mut net, &probabilities(&old), &direction);
        let half = 0.5 * dot(&direction, &product);
        let kept = net.parameters.clone();
        net.parameters.iter_mut().zip(&direction).for_each(|(p, d)| *p += 0.02 * d);
        let ahead = round.outlook(&mut net, &old, &mut new).divergence;
        net.parameters.clone_from(&kept);
        net.parameters.iter_mut().zip(&direction).for_each(|(p, d)| *p -= 0.02 * d);
        let behind = round.outlook(&mut net, &old, &mut new).divergence;
        let found = (ahead + behind) / (2.0 * 0.02 * 0.02);
        assert!((found - half).abs() < 0.05 * half, "{found} {half}");
    }

    #[test]
    fn a_step_gains_within_its_region_and_pays_only_what_is_left() {
        let region = Region { divergence: 0.01, iterations: 10, damping: 0.01, tries: 10 };
        let (setting, places) = setting();
        for excess in [-1.0, -0.02, 0.01, 10.0] {
            let round = round(&setting, &places, excess);
            let (mut net, mut ratios) = (net_of(&setting), Vec::new());
            let (mut old, mut new) = (Vec::new(), Vec::new());
            round.log_probabilities(&mut net, &mut old);
            let before = round.outlook(&mut net, &old, &mut new);
            let case = round.step(region, &mut net, &mut ratios);
            let after = round.outlook(&mut net, &old, &mut new);
            assert!(case.is_some() && after.divergence > 1e-4, "{excess} {case:?} {after:?}");
            assert!(after.divergence <= 0.015, "{after:?}");
            assert!(after.cost - before.cost <= (-excess).max(0.0) + 1e-9, "{excess} {after:?}");
            match excess {
                -1.0 => assert!(case == Some(Case::Free) && after.gain > before.gain),
                10.0 => assert!(case == Some(Case::Recovery) && after.cost < before.cost - 1e-3),
                _ => {}
            }
            assert_eq!(ratios.len(), places.len());
        }
    }
}
