//! Gossip (Nedić and Ozdaglar 2009): agents mix what they hold with their neighbours' by Metropolis
//! weights, `w_ij = 1 / (1 + max(d_i, d_j))` for neighbours and `w_ii = 1 − Σ_j w_ij`.
//!
//! The weights are symmetric and their rows add up to one, so that an exchange keeps the mean and the
//! distance from it shrinks by the second largest modulus of the weights' eigenvalues. A lost message
//! counts as the receiver's own number: rows still add up to one, but the mean may move.

use super::{GossipOptions, LinkGraph};
use crate::{graph::CoordinationGraph, rng::Rng};
use std::collections::VecDeque;

/// Two agents that hear each other.
pub type Link = [usize; 2];

/// Every pair of agents that share a region, each once.
pub fn links_of(graph: &CoordinationGraph) -> Vec<Link> {
    let pairs = |members: &[usize]| {
        let of = |i: usize| members[i + 1..].iter().map(move |&b| (i, b));
        let pairs = (0..members.len()).flat_map(of);
        pairs.map(|(i, b)| [members[i].min(b), members[i].max(b)]).collect::<Vec<_>>()
    };
    let mut links: Vec<Link> = graph.regions().flat_map(pairs).collect();
    links.sort_unstable();
    links.dedup();
    links
}

/// The links of a graph that does not change; none for one that does.
pub fn fixed_links(graph: LinkGraph, n_agents: usize) -> Option<Vec<Link>> {
    let graph = match graph {
        LinkGraph::Coordination => return None,
        LinkGraph::Complete => CoordinationGraph::complete(n_agents),
        LinkGraph::Path => CoordinationGraph::path(n_agents),
        LinkGraph::Ring => CoordinationGraph::ring(n_agents),
        LinkGraph::Star => CoordinationGraph::star(n_agents),
        LinkGraph::Empty => CoordinationGraph::empty(n_agents),
    };
    Some(links_of(&graph))
}

/// Metropolis weights of these links, row by row.
///
/// ```
/// use cgcmarl::multipliers::gossip::metropolis_weights;
/// // A line of three: its ends have one neighbour, its middle two.
/// let third = 1.0 / 3.0;
/// let expected = [2.0 * third, third, 0.0, third, third, third, 0.0, third, 2.0 * third];
/// let found = metropolis_weights(3, &[[0, 1], [1, 2]]);
/// assert!(found.iter().zip(expected).all(|(a, b): (&f64, f64)| (a - b).abs() < 1e-12));
/// ```
pub fn metropolis_weights(n_agents: usize, links: &[Link]) -> Vec<f64> {
    let degree = |agent: usize| links.iter().filter(|link| link.contains(&agent)).count();
    let mut weights = vec![0.0; n_agents * n_agents];
    (0..n_agents).for_each(|agent| weights[agent * n_agents + agent] = 1.0);
    for &[a, b] in links {
        let weight = 1.0 / (1 + degree(a).max(degree(b))) as f64;
        for (own, other) in [(a, b), (b, a)] {
            weights[own * n_agents + other] += weight;
            weights[own * n_agents + own] -= weight;
        }
    }
    weights
}

/// What is on its way between agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gossip {
    options: GossipOptions,
    /// What agents held before the last exchanges, the latest first; as many as a message takes.
    past: VecDeque<Vec<f32>>,
}

impl Gossip {
    /// Nothing was said yet.
    pub fn new(options: GossipOptions) -> Self {
        Self { options, past: VecDeque::new() }
    }

    /// One exchange: mixes `values` (row = agent) over these links, of which some may fail.
    pub fn exchange(&mut self, values: &mut [f32], n_agents: usize, links: &[Link], rng: &mut Rng) {
        let GossipOptions { link_failure, message_loss, delay, .. } = self.options;
        let mut happens = |share: f32| share > 0.0 && rng.uniform() < f64::from(share);
        let working: Vec<Link> = links.iter().copied().filter(|_| !happens(link_failure)).collect();
        let weights = metropolis_weights(n_agents, &working);
        let width = values.len() / n_agents;
        let before = values.to_vec();
        let sent = self.past.get((delay as usize).wrapping_sub(1)).or(self.past.back());
        let sent = sent.filter(|_| delay > 0).unwrap_or(&before);
        for &[a, b] in &working {
            for (own, other) in [(a, b), (b, a)] {
                if happens(message_loss) {
                    continue;
                }
                let weight = weights[own * n_agents + other];
                for j in 0..width {
                    let heard = f64::from(sent[other * width + j] - before[own * width + j]);
                    values[own * width + j] += (weight * heard) as f32;
                }
            }
        }
        self.past.push_front(before);
        self.past.truncate(delay as usize);
    }

    /// What is on its way, the latest first; for checkpoints.
    pub fn past(&self) -> Vec<f32> {
        self.past.iter().flatten().copied().collect()
    }

    /// Puts saved messages back, each of so many numbers.
    pub fn restore(&mut self, past: &[f32], width: usize) {
        self.past = past.chunks_exact(width).map(<[f32]>::to_vec).collect();
    }
}

/// How far agents are from agreeing: root of the summed squares of their distances from the mean.
pub fn disagreement(values: &[f32], n_agents: usize) -> f64 {
    let width = (values.len() / n_agents.max(1)).max(1);
    let squares = (0..width).map(|j| {
        let column = || values.iter().skip(j).step_by(width).map(|&value| f64::from(value));
        let mean = column().sum::<f64>() / n_agents as f64;
        column().map(|value| (value - mean).powi(2)).sum::<f64>()
    });
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Eigenvalues of a symmetric matrix by Jacobi's rotations, the largest modulus first.
    fn eigenvalues(mut matrix: Vec<f64>, n: usize) -> Vec<f64> {
        for _ in 0..60 {
            for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
                let off = matrix[p * n + q];
                if off.abs() < 1e-15 {
                    continue;
                }
                let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * off);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (kp, kq) = (matrix[k * n + p], matrix[k * n + q]);
                    (matrix[k * n + p], matrix[k * n + q]) = (c * kp - s * kq, s * kp + c * kq);
                }
                for k in 0..n {
                    let (pk, qk) = (matrix[p * n + k], matrix[q * n + k]);
                    (matrix[p * n + k], matrix[q * n + k]) = (c * pk - s * qk, s * pk + c * qk);
                }
            }
        }
        let mut values: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
        values.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
        values
    }

    fn random_values(n: usize, index: u64) -> Vec<f32> {
        let mut rng = Streams::new(3).rng(Purpose::Problem, index);
        (0..n).map(|_| 10.0 * rng.uniform() as f32).collect()
    }

    fn mean(values: &[f32]) -> f32 {
        values.iter().sum::<f32>() / values.len() as f32
    }

    /// By how much an exchange shrinks the disagreement, on average over the later ones.
    fn measured_rate(links: &[Link], n: usize, options: GossipOptions) -> f64 {
        let mut values = random_values(n, 0);
        let mut gossip = Gossip::new(options);
        let mut rng = Streams::new(4).rng(Purpose::Gossip, 0);
        let mut errors = vec![disagreement(&values, n)];
        while errors[errors.len() - 1] > 1e-3 * errors[0] && errors.len() < 2000 {
            gossip.exchange(&mut values, n, links, &mut rng);
            errors.push(disagreement(&values, n));
        }
        let half = errors.len() / 2;
        (errors[errors.len() - 1] / errors[half]).powf(1.0 / (errors.len() - 1 - half) as f64)
    }

    #[test]
    fn eigenvalues_of_a_known_matrix() {
        // A ring of four with weights 1/3: 1, 1/3 twice and −1/3.
        let ring = metropolis_weights(4, &[[0, 1], [1, 2], [2, 3], [0, 3]]);
        let found = eigenvalues(ring, 4);
        assert!((found[0] - 1.0).abs() < 1e-12, "{found:?}");
        assert!(
            found[1..].iter().all(|value| (value.abs() - 1.0 / 3.0).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn the_consensus_error_decays_at_the_rate_of_the_second_eigenvalue() {
        for graph in [LinkGraph::Path, LinkGraph::Ring, LinkGraph::Star] {
            for n in [4, 6, 10] {
                let links = fixed_links(graph, n).unwrap();
                let second = eigenvalues(metropolis_weights(n, &links), n)[1].abs();
                let measured = measured_rate(&links, n, GossipOptions::default());
                let distance = (measured.ln() / second.ln() - 1.0).abs();
                assert!(distance < 0.03, "{graph:?} {n}: measured {measured}, computed {second}");
            }
        }
    }

    #[test]
    fn one_exchange_of_everybody_with_everybody_is_the_mean() {
        let links = fixed_links(LinkGraph::Complete, 5).unwrap();
        let mut values = random_values(10, 1);
        let means: Vec<f32> =
            (0..2).map(|j| values.iter().skip(j).step_by(2).sum::<f32>() / 5.0).collect();
        let mut rng = Streams::new(4).rng(Purpose::Gossip, 0);
        Gossip::default().exchange(&mut values, 5, &links, &mut rng);
        assert!(
            values.chunks(2).all(|row| row.iter().zip(&means).all(|(a, b)| (a - b).abs() < 1e-5))
        );
    }

    #[test]
    fn failing_links_slow_consensus_and_keep_the_mean() {
        let links = fixed_links(LinkGraph::Ring, 6).unwrap();
        let failing = GossipOptions { link_failure: 0.5, ..GossipOptions::default() };
        let (whole, broken) =
            (measured_rate(&links, 6, GossipOptions::default()), measured_rate(&links, 6, failing));
        assert!(whole < broken && broken < 0.97, "{whole} {broken}");
        let mut values = random_values(6, 2);
        let before = mean(&values);
        let mut gossip = Gossip::new(failing);
        let mut rng = Streams::new(5).rng(Purpose::Gossip, 0);
        (0..200).for_each(|_| gossip.exchange(&mut values, 6, &links, &mut rng));
        assert!((mean(&values) - before).abs() < 1e-4 && disagreement(&values, 6) < 1e-3);
    }

    #[test]
    fn lost_and_late_messages_still_lead_to_agreement_but_not_on_the_mean() {
        // Where all agents weigh alike, as on a ring, even late messages would keep the mean.
        let links = fixed_links(LinkGraph::Path, 6).unwrap();
        for options in [
            GossipOptions { message_loss: 0.4, ..GossipOptions::default() },
            GossipOptions { delay: 3, ..GossipOptions::default() },
        ] {
            let mut values = random_values(6, 3);
            let before = values.clone();
            let mut gossip = Gossip::new(options);
            let mut rng = Streams::new(6).rng(Purpose::Gossip, 0);
            (0..400).for_each(|_| gossip.exchange(&mut values, 6, &links, &mut rng));
            assert!(disagreement(&values, 6) < 1e-3, "{options:?} {values:?}");
            let (low, high) =
                before.iter().fold((f32::MAX, f32::MIN), |(l, h), &v| (l.min(v), h.max(v)));
            assert!((low..=high).contains(&values[0]), "{options:?}");
            assert!((mean(&values) - mean(&before)).abs() > 1e-3, "{options:?}");
        }
    }

    #[test]
    fn a_disconnected_graph_agrees_in_each_part_on_that_parts_mean() {
        let links = [[0, 1], [1, 2], [3, 4]];
        let mut values = random_values(6, 4);
        let expected = [mean(&values[..3]), mean(&values[3..5]), values[5]];
        let weights = metropolis_weights(6, &links);
        let unit = eigenvalues(weights, 6).iter().filter(|v| (*v - 1.0).abs() < 1e-9).count();
        assert_eq!(unit, 3, "an eigenvalue 1 for each part");
        let (mut gossip, mut rng) = (Gossip::default(), Streams::new(7).rng(Purpose::Gossip, 0));
        (0..200).for_each(|_| gossip.exchange(&mut values, 6, &links, &mut rng));
        let found = [values[0], values[1], values[2], values[3], values[4], values[5]];
        let wanted = [expected[0], expected[0], expected[0], expected[1], expected[1], expected[2]];
        assert!(
            found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4),
            "{found:?} {wanted:?}"
        );
        assert!(disagreement(&values, 6) > 0.5);
    }

    #[test]
    fn what_is_on_its_way_survives_a_checkpoint() {
        let options = GossipOptions { delay: 2, message_loss: 0.3, ..GossipOptions::default() };
        let links = fixed_links(LinkGraph::Path, 4).unwrap();
        let (mut gossip, mut values) = (Gossip::new(options), random_values(4, 5));
        let exchange = |gossip: &mut Gossip, values: &mut [f32], k: u64| {
            gossip.exchange(values, 4, &links, &mut Streams::new(8).rng(Purpose::Gossip, k));
        };
        (0..5).for_each(|k| exchange(&mut gossip, &mut values, k));
        let mut other = Gossip::new(options);
        other.restore(&gossip.past(), 4);
        let mut resumed = values.clone();
        for k in 5..9 {
            exchange(&mut gossip, &mut values, k);
            exchange(&mut other, &mut resumed, k);
        }
        assert_eq!(values, resumed);
    }
}
