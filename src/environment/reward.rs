//! What a joint step earns and costs: coverage utility, counterfactual credit, collisions, energy.

use super::physics::{Points, difference, length};

/// The agents nearest to one landmark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nearest {
    /// The nearest agent; ties go to the lower index.
    pub agent: usize,
    /// Its distance.
    pub distance: f64,
    /// Distance of the nearest other agent.
    pub second: f64,
}

/// The agents nearest to a landmark.
#[inline]
pub fn nearest(landmark: [f64; 2], agents: &Points) -> Nearest {
    let mut best = Nearest { agent: 0, distance: f64::INFINITY, second: f64::INFINITY };
    for (agent, (&x, &y)) in agents.x.iter().zip(&agents.y).enumerate() {
        let distance = length([x - landmark[0], y - landmark[1]]);
        if distance < best.distance {
            best = Nearest { agent, distance, second: best.distance };
        } else if distance < best.second {
            best.second = distance;
        }
    }
    best
}

/// Global utility U(V) = −Σ over landmarks of the smallest agent distance.
pub fn global_utility(nearest: &[Nearest]) -> f64 {
    -nearest.iter().map(|n| n.distance).sum::<f64>()
}

/// Counterfactual credit U(V) − U(V∖{i}) of each agent (Eq. diff-reward).
///
/// Taking agent i away lengthens only the landmarks it is nearest to, to their second distance.
pub fn counterfactual(nearest: &[Nearest], credit: &mut [f64]) {
    credit.fill(0.0);
    for n in nearest {
        credit[n.agent] += n.second - n.distance;
    }
}

/// Fraction of landmarks with an agent within each of three distances.
pub fn coverage(nearest: &[Nearest]) -> [f32; 3] {
    [0.1, 0.15, 0.2].map(|reach| {
        let covered = nearest.iter().filter(|n| n.distance < reach).count();
        covered as f32 / nearest.len() as f32
    })
}

/// MPE2's agent reward (1 − ratio)·global + ratio·local.
#[inline]
pub fn mixed(global: f64, local: f64, local_ratio: f64) -> f64 {
    global * (1.0 - local_ratio) + local * local_ratio
}

/// Which pairs of agents are close, at two distances.
#[derive(Clone, Debug)]
pub struct Closeness {
    n_agents: usize,
    touching: Vec<u32>,
    near: Vec<f32>,
    pairs_touching: u32,
}

impl Closeness {
    /// Buffers for a team.
    pub fn new(n_agents: usize) -> Self {
        let near = vec![0.0; n_agents * n_agents];
        Self { n_agents, touching: vec![0; n_agents], near, pairs_touching: 0 }
    }

    /// Finds the pairs strictly closer than `touch` (a collision) and `cost` (paid for).
    pub fn measure(&mut self, agents: &Points, touch: f64, cost: f64) {
        self.touching.fill(0);
        self.pairs_touching = 0;
        for a in 0..self.n_agents {
            for b in a + 1..self.n_agents {
                let distance = length(difference(agents.get(a), agents.get(b)));
                let touches = u32::from(distance < touch);
                self.touching[a] += touches;
                self.touching[b] += touches;
                self.pairs_touching += touches;
                let near = f32::from(u8::from(distance < cost));
                self.near[a * self.n_agents + b] = near;
                self.near[b * self.n_agents + a] = near;
            }
        }
    }

    /// Number of colliding pairs.
    pub fn pairs_touching(&self) -> u32 {
        self.pairs_touching
    }

    /// Number of pairs closer than the cost distance.
    pub fn pairs_near(&self) -> u32 {
        self.near.iter().sum::<f32>() as u32 / 2
    }

    /// MPE2's local reward: minus the number of agents colliding with this one.
    pub fn local_reward(&self, agent: usize) -> f64 {
        -f64::from(self.touching[agent])
    }

    /// Collision cost of a region: Σ over its unordered pairs of 1[distance < `cost_distance`].
    #[inline]
    pub fn region_cost(&self, members: &[usize]) -> f32 {
        if let [a, b] = *members {
            return self.near[a * self.n_agents + b];
        }
        let pairs = members.iter().enumerate().flat_map(|(slot, &a)| {
            members[slot + 1..].iter().map(move |&b| self.near[a * self.n_agents + b])
        });
        pairs.sum()
    }

    /// Collision cost of an agent: Σ over the others of 1[distance < `cost_distance`].
    pub fn agent_cost(&self, agent: usize) -> f32 {
        self.near[agent * self.n_agents..][..self.n_agents].iter().sum()
    }
}

/// Energy |u|² of one agent's action.
#[inline]
pub fn energy(action: [f64; 2]) -> f64 {
    action[0] * action[0] + action[1] * action[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(list: &[[f64; 2]]) -> Points {
        let mut points = Points::zeros(list.len());
        points.set_all(list);
        points
    }

    #[test]
    fn utility_and_credit_by_hand() {
        // Landmarks at 0 and 1 on a line; agents at 0.1, 0.4 and 3.
        let agents = points(&[[0.1, 0.0], [0.4, 0.0], [3.0, 0.0]]);
        let near: Vec<_> = [[0.0, 0.0], [1.0, 0.0]].map(|l| nearest(l, &agents)).to_vec();
        assert!((global_utility(&near) + 0.1 + 0.6).abs() < 1e-15);
        let mut credit = [9.0; 3];
        counterfactual(&near, &mut credit);
        // Without agent 0 landmark 0 is 0.4 away; without agent 1 landmark 1 is 0.9 away.
        let expected = [0.3, 0.3, 0.0];
        assert!(credit.iter().zip(expected).all(|(c, e)| (c - e).abs() < 1e-15), "{credit:?}");
    }

    #[test]
    fn credit_equals_the_definition() {
        use crate::rng::{Purpose, Streams};
        let mut rng = Streams::new(2).rng(Purpose::Problem, 0);
        let mut draw = || -> Vec<[f64; 2]> {
            (0..5).map(|_| [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0)]).collect()
        };
        let (team, landmarks) = (draw(), draw());
        let utility = |team: &[[f64; 2]]| {
            let near: Vec<_> = landmarks.iter().map(|&l| nearest(l, &points(team))).collect();
            global_utility(&near)
        };
        let near: Vec<_> = landmarks.iter().map(|&l| nearest(l, &points(&team))).collect();
        let mut credit = [0.0; 5];
        counterfactual(&near, &mut credit);
        for (i, credit) in credit.iter().enumerate() {
            let mut without = team.clone();
            without.remove(i);
            assert!((utility(&team) - utility(&without) - credit).abs() < 1e-12);
        }
    }

    #[test]
    fn costs_count_each_pair_of_a_region_once() {
        let mut closeness = Closeness::new(3);
        closeness.measure(&points(&[[0.0, 0.0], [0.15, 0.0], [0.3, 0.0]]), 0.15, 0.2);
        // 0.15 is not strictly below 0.15, so nothing touches; two pairs are nearer than 0.2.
        assert_eq!(closeness.pairs_touching(), 0);
        assert_eq!(closeness.region_cost(&[0, 1]), 1.0);
        assert_eq!(closeness.region_cost(&[0, 2]), 0.0);
        assert_eq!(closeness.region_cost(&[2, 1, 0]), 2.0);
        assert_eq!([0, 1, 2].map(|i| closeness.agent_cost(i)), [1.0, 2.0, 1.0]);
        closeness.measure(&points(&[[0.0, 0.0], [0.1, 0.0], [0.12, 0.0]]), 0.15, 0.2);
        assert_eq!(closeness.pairs_touching(), 3);
        assert_eq!(closeness.local_reward(1), -2.0);
        assert_eq!(mixed(-4.0, -2.0, 0.25), -3.5);
    }
}
