//! Random factor graphs for property tests.

use super::noise;
use cgcmarl::coordination::FactorTables;
use cgcmarl::graph::CoordinationGraph;
use proptest::prelude::*;
use std::ops::RangeInclusive;

/// A graph of up to six agents with regions of up to three, and payoffs, some forbidden.
#[derive(Clone, Debug)]
pub struct Case {
    pub n_actions: Vec<usize>,
    pub regions: Vec<Vec<usize>>,
    pub seed: u64,
    pub forbidden: bool,
}

impl Case {
    pub fn build(&self) -> (CoordinationGraph, FactorTables) {
        let graph = CoordinationGraph::new(self.n_actions.len(), &self.regions).expect("a graph");
        let mut tables = FactorTables::with_domains(&graph, &self.n_actions);
        let mut sample = noise(self.seed);
        for agent in 0..graph.n_agents() {
            tables.agent_mut(agent).iter_mut().for_each(|x| *x = sample());
        }
        for payoff in tables.regions_mut() {
            *payoff = sample();
            if self.forbidden && sample() > 0.8 {
                *payoff = f32::NEG_INFINITY;
            }
        }
        (graph, tables)
    }
}

pub fn cases() -> impl Strategy<Value = Case> {
    graphs(2..=6, 3, 1..=5)
}

/// Up to four agents with pairs and single agents only: what `anytime` enumerates.
pub fn small_cases() -> impl Strategy<Value = Case> {
    graphs(2..=4, 2, 1..=14)
}

/// Up to eight regions of up to so many agents.
fn graphs(
    agents: RangeInclusive<usize>,
    largest: usize,
    actions: RangeInclusive<usize>,
) -> impl Strategy<Value = Case> {
    agents.prop_flat_map(move |n| {
        let members = proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=n.min(largest));
        (
            proptest::collection::vec(actions.clone(), n),
            proptest::collection::vec(members.prop_shuffle(), 0..=8),
            any::<u64>(),
            any::<bool>(),
        )
            .prop_map(|(n_actions, regions, seed, forbidden)| Case {
                n_actions,
                regions,
                seed,
                forbidden,
            })
    })
}

/// A random tree: each agent but the first is joined to an earlier one.
pub fn trees() -> impl Strategy<Value = Case> {
    (2_usize..=7).prop_flat_map(|n| {
        let parents: Vec<_> =
            (1..n).map(|child| (0..child).prop_map(move |p| vec![p, child])).collect();
        (proptest::collection::vec(1_usize..=5, n), parents, any::<u64>()).prop_map(
            |(n_actions, regions, seed)| Case { n_actions, regions, seed, forbidden: false },
        )
    })
}

/// A tree of regions of one to three agents with their own numbers of actions, some with long rows.
pub fn mixed_trees() -> impl Strategy<Value = Case> {
    let steps = proptest::collection::vec((any::<u16>(), 1_usize..=2, any::<bool>()), 1..=4);
    (steps, any::<u64>()).prop_map(|(steps, seed)| {
        let mut regions = Vec::new();
        let mut n_actions = vec![3];
        for (at, joined, long) in steps {
            let mut region = vec![usize::from(at) % n_actions.len()];
            for _ in 0..joined {
                region.push(n_actions.len());
                n_actions.push(if long && joined == 1 { 17 } else { 1 + usize::from(at) % 4 });
            }
            regions.push(region);
        }
        Case { n_actions, regions, seed, forbidden: false }
    })
}

/// Three to five agents with long rows (what is computed in registers), in pairs; or also in threes,
/// or with forbidden payoffs, which other code computes.
pub fn long_cases() -> impl Strategy<Value = Case> {
    (3_usize..=5, any::<bool>()).prop_flat_map(|(n, threes)| {
        let most = if threes { 3 } else { 2 };
        let region =
            proptest::sample::subsequence((0..n).collect::<Vec<_>>(), 2..=most).prop_shuffle();
        (
            proptest::collection::vec(prop_oneof![Just(25_usize), 16_usize..36], n),
            proptest::collection::vec(region, 1..=7),
            any::<u64>(),
            any::<bool>(),
        )
            .prop_map(|(n_actions, regions, seed, forbidden)| Case {
                n_actions,
                regions,
                seed,
                forbidden,
            })
    })
}
