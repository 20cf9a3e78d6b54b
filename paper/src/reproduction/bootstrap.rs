//! Resamples: training seeds of each model drawn anew, start states drawn anew for all at once.

use crate::tables::TradeOff;
use cgcmarl::rng::Rng;

/// One operating point with the episodes of each seed of its model.
pub(super) struct Entry {
    /// Points of one model share its seeds.
    pub(super) row: &'static str,
    pub(super) seeds: Vec<Vec<TradeOff>>,
    /// Of each seed: collisions that no action avoids, and the team's return.
    pub(super) floors_and_returns: Vec<[f64; 2]>,
}

impl Entry {
    /// The mean over seeds and episodes.
    pub(super) fn mean(&self) -> TradeOff {
        let picks: Vec<usize> = (0..self.seeds.len()).collect();
        self.mean_of(&picks, &vec![1.0; self.n_episodes()])
    }

    /// The mean over episodes of each seed.
    pub(super) fn per_seed(&self) -> Vec<TradeOff> {
        self.seeds.iter().map(|seed| weighted(seed, &vec![1.0; self.n_episodes()])).collect()
    }

    pub(super) fn n_episodes(&self) -> usize {
        self.seeds.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The mean of one of the two, over the seeds.
    pub(super) fn kept(&self, which: usize) -> Vec<f64> {
        self.floors_and_returns.iter().map(|kept| kept[which]).collect()
    }

    fn mean_of(&self, picks: &[usize], weights: &[f64]) -> TradeOff {
        let n = picks.len().max(1) as f64;
        let sum = picks.iter().map(|seed| weighted(&self.seeds[*seed], weights)).fold(
            TradeOff::default(),
            |sum, one| TradeOff {
                coverage: sum.coverage + one.coverage,
                collisions: sum.collisions + one.collisions,
            },
        );
        TradeOff { coverage: sum.coverage / n, collisions: sum.collisions / n }
    }
}

/// The means when each start state counts `weights` times.
pub(super) fn weighted(episodes: &[TradeOff], weights: &[f64]) -> TradeOff {
    let total: f64 = weights.iter().sum::<f64>().max(1.0);
    let mut sum = TradeOff::default();
    for (weight, episode) in weights.iter().zip(episodes) {
        sum.coverage += weight * episode.coverage;
        sum.collisions += weight * episode.collisions;
    }
    TradeOff { coverage: sum.coverage / total, collisions: sum.collisions / total }
}

/// The mean of every point in each of `n_resamples` resamples.
pub(super) fn resamples(
    entries: &[Entry],
    n_resamples: usize,
    rng: &mut Rng,
) -> Vec<Vec<TradeOff>> {
    let n_episodes = entries.iter().map(Entry::n_episodes).min().unwrap_or(0);
    (0..n_resamples).map(|_| resample(entries, n_episodes, rng)).collect()
}

/// How often each start state is drawn when as many are drawn as there are.
pub(super) fn drawn_weights(n_episodes: usize, rng: &mut Rng) -> Vec<f64> {
    let mut weights = vec![0.0; n_episodes];
    (0..n_episodes).for_each(|_| weights[rng.below(n_episodes)] += 1.0);
    weights
}

/// All points share the start states, so these are drawn once; the seeds once per model.
fn resample(entries: &[Entry], n_episodes: usize, rng: &mut Rng) -> Vec<TradeOff> {
    let weights = drawn_weights(n_episodes, rng);
    let mut last: Option<(&str, Vec<usize>)> = None;
    let mut means = Vec::with_capacity(entries.len());
    for entry in entries {
        let n_seeds = entry.seeds.len();
        let is_known =
            last.as_ref().is_some_and(|(row, p)| *row == entry.row && p.len() == n_seeds);
        if !is_known {
            let picks = (0..n_seeds).map(|_| rng.below(n_seeds)).collect();
            last = Some((entry.row, picks));
        }
        let picks = last.as_ref().map_or(&[][..], |(_, picks)| picks);
        means.push(entry.mean_of(picks, &weights));
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use cgcmarl::rng::{Purpose, Streams};

    fn entry(row: &'static str, seeds: &[f64]) -> Entry {
        let episodes = |mean: &f64| {
            let coverage = |e: i32| if e % 2 == 0 { mean + 0.1 } else { mean - 0.1 };
            (0..100).map(|e| TradeOff { coverage: coverage(e), collisions: 0.01 }).collect()
        };
        Entry { row, seeds: seeds.iter().map(episodes).collect(), floors_and_returns: vec![] }
    }

    #[test]
    fn resamples_scatter_around_the_mean_and_one_model_shares_its_seeds() {
        let entries = [entry("a", &[0.4, 0.6]), entry("a", &[0.4, 0.6]), entry("b", &[0.4, 0.6])];
        let mut rng = Streams::new(1).rng(Purpose::Bootstrap, 0);
        let resamples = resamples(&entries, 400, &mut rng);
        assert!(
            resamples.iter().all(|resample| resample[0] == resample[1]),
            "points of one model differ"
        );
        assert!(
            resamples.iter().any(|resample| resample[0] != resample[2]),
            "two models share their seeds"
        );
        let mean = resamples.iter().map(|resample| resample[0].coverage).sum::<f64>() / 400.0;
        assert!((mean - entries[0].mean().coverage).abs() < 0.02, "{mean}");
        assert!((resamples[0][0].collisions - 0.01).abs() < 1e-12);
    }
}
