//! What tables can represent: the best values of pairs beside those of triplets and the optimum, exact.
//!
//! With x = 1 where an agent acts on a target, its three agents are worth −λ Σx + (w + 3λ) x₁x₂x₃. Over
//! all joint actions alike an agent acts on one target with probability p = 1/4, and the pairs' tables
//! with the least squared error have p Σxx − p² Σx + p³ in place of x₁x₂x₃: all but the part
//! Π(x − p), which no sum of functions of two agents holds.

use super::game::{MOST_WORTH, N_ACTIONS, TAKERS, acting, best, takers};
use crate::{
    coordination::{Coordinator, Exact, ExactOptions, FactorTables},
    graph::CoordinationGraph,
};

const P: f64 = 1.0 / N_ACTIONS as f64;

/// What the agents of a target are worth that act like this.
fn exact(worth: f64, multiplier: f64, acts: [f64; TAKERS]) -> f64 {
    let together: f64 = acts.iter().product();
    -multiplier * acts.iter().sum::<f64>() + (worth + 3.0 * multiplier) * together
}

/// The same without what no pair holds.
fn of_pairs(worth: f64, multiplier: f64, acts: [f64; TAKERS]) -> f64 {
    let lost: f64 = acts.iter().map(|x| x - P).product();
    exact(worth, multiplier, acts) - (worth + 3.0 * multiplier) * lost
}

/// The joint action that tables of triplets, filled by a rule, make best.
fn greedy(worth: &[f32], multiplier: f64, rule: fn(f64, f64, [f64; TAKERS]) -> f64) -> Vec<usize> {
    let n = worth.len();
    let regions: Vec<Vec<usize>> = (0..n).map(|target| takers(target, n).to_vec()).collect();
    let graph = CoordinationGraph::new(n, &regions).unwrap();
    let mut tables = FactorTables::zeros(&graph, N_ACTIONS);
    for (target, &worth) in worth.iter().enumerate() {
        for (entry, cell) in tables.region_mut(target).iter_mut().enumerate() {
            let mut action = vec![0; n];
            for (slot, agent) in takers(target, n).into_iter().enumerate() {
                action[agent] = entry / N_ACTIONS.pow((TAKERS - 1 - slot) as u32) % N_ACTIONS;
            }
            let acts = acting(target, &action).map(|acts| f64::from(u8::from(acts)));
            // Nobody acts on what is not there.
            let there = worth > 0.0 || acts == [0.0; TAKERS];
            let value = rule(f64::from(worth), multiplier, acts) as f32;
            *cell = if there { value } else { f32::NEG_INFINITY };
        }
    }
    let mut action = Vec::new();
    Exact::new(ExactOptions::default()).coordinate(&graph, &tables, &mut action);
    action
}

/// What a joint action is truly worth.
fn value(worth: &[f32], multiplier: f64, action: &[usize]) -> f64 {
    let targets = worth.iter().enumerate();
    let acts = |target| acting(target, action).map(|acts| f64::from(u8::from(acts)));
    targets.map(|(target, &worth)| exact(f64::from(worth), multiplier, acts(target))).sum()
}

/// All states of a ring.
fn states(n: u32) -> impl Iterator<Item = Vec<f32>> {
    let kinds = MOST_WORTH + 1;
    (0..kinds.pow(n))
        .map(move |number| (0..n).map(|m| (number / kinds.pow(m) % kinds) as f32).collect())
}

#[test]
fn no_pairs_come_nearer_than_these() {
    // What is left is at right angles to every function of two agents, joint actions alike.
    let weights = |acts: [f64; TAKERS]| {
        acts.map(|x| if x == 1.0 { P } else { 1.0 - P }).iter().product::<f64>()
    };
    let all = || (0..8_u32).map(|code| [0, 1, 2].map(|slot| f64::from(code >> slot & 1)));
    for fixed in [[0, 1], [0, 2], [1, 2]] {
        for wanted in 0..4_u32 {
            let is_fixed = |acts: &[f64; TAKERS]| {
                fixed
                    .iter()
                    .enumerate()
                    .all(|(bit, &slot)| acts[slot] == f64::from(wanted >> bit & 1))
            };
            let left = |acts: [f64; TAKERS]| exact(2.0, 0.7, acts) - of_pairs(2.0, 0.7, acts);
            let sum: f64 = all().filter(is_fixed).map(|acts| weights(acts) * left(acts)).sum();
            assert!(sum.abs() < 1e-12, "{fixed:?} {wanted}: {sum}");
        }
    }
}

/// The table of docs/results.md: `cargo test --release --lib capture -- --nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "the table is for readers too")]
fn triplets_reach_the_optimum_and_pairs_do_not() {
    println!("six agents, mean over all states of worth − λ · vain");
    println!("   λ  optimum  triplets  pairs");
    for multiplier in [0.1, 0.25, 0.5, 0.75, 1.0, 2.0] {
        let mut sums = [0.0; 3];
        for worth in states(6) {
            sums[0] += f64::from(best(&worth).0);
            sums[1] += value(&worth, multiplier, &greedy(&worth, multiplier, exact));
            sums[2] += value(&worth, multiplier, &greedy(&worth, multiplier, of_pairs));
        }
        let [optimum, triplets, pairs] = sums.map(|sum| sum / 729.0);
        println!("{multiplier:>4}  {optimum:>7.3}  {triplets:>8.3}  {pairs:>5.3}");
        assert!((triplets - optimum).abs() < 1e-6, "{multiplier}: {triplets} of {optimum}");
        // Where acting in vain is cheap, pairs do well; where it costs, they leave what they could take.
        let most = [optimum, 0.9 * optimum, 0.0]
            [usize::from(multiplier >= 0.5) + usize::from(multiplier >= 1.0)];
        assert!(pairs <= most + 1e-6, "{multiplier}: {pairs} of {optimum}");
    }
}
