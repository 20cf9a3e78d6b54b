//! A small constrained MDP as plain tables, solved exactly by value iteration and linear solves.

/// Values below this change nothing that is reported.
const TOLERANCE: f64 = 1e-11;

/// States, actions, transitions and two reward signals; rows are `state * n_actions + action`.
#[derive(Clone, Debug)]
pub struct TabularCmdp {
    /// Number of states.
    pub n_states: usize,
    /// Number of actions.
    pub n_actions: usize,
    /// Discount γ.
    pub gamma: f64,
    /// P(s' | s, a): one row of `n_states` numbers per state and action.
    pub transition: Vec<f64>,
    /// Primary reward r_0(s, a).
    pub reward: Vec<f64>,
    /// Constraint reward r_1(s, a), minus the cost.
    pub constraint_reward: Vec<f64>,
}

/// The first of the largest, the tie rule of the crate in double precision.
pub(super) fn argmax(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// ‖x − y‖_∞.
pub(super) fn sup_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

impl TabularCmdp {
    /// r_0 + λ r_1.
    pub fn lagrangian_reward(&self, multiplier: f64) -> Vec<f64> {
        let pairs = self.reward.iter().zip(&self.constraint_reward);
        pairs.map(|(r, c)| r + multiplier * c).collect()
    }

    /// r + γ P V.
    pub fn backup(&self, reward: &[f64], values: &[f64]) -> Vec<f64> {
        let rows = self.transition.chunks_exact(self.n_states);
        let expected = rows.map(|row| row.iter().zip(values).map(|(p, v)| p * v).sum::<f64>());
        reward.iter().zip(expected).map(|(r, v)| r + self.gamma * v).collect()
    }

    /// max_a Q(s, a) of every state.
    pub fn state_values(&self, q: &[f64]) -> Vec<f64> {
        q.chunks_exact(self.n_actions).map(|row| row[argmax(row)]).collect()
    }

    /// The joint Bellman operator (Eq. joint-bellman): r + γ P max Q.
    pub fn bellman(&self, reward: &[f64], q: &[f64]) -> Vec<f64> {
        self.backup(reward, &self.state_values(q))
    }

    /// Q* of a reward, by value iteration.
    pub fn optimal(&self, reward: &[f64]) -> Vec<f64> {
        let mut q = reward.to_vec();
        loop {
            let next = self.bellman(reward, &q);
            let change = sup_distance(&next, &q);
            q = next;
            if change <= TOLERANCE * (1.0 - self.gamma) {
                return q;
            }
        }
    }

    /// argmax_a Q(s, a) of every state.
    pub fn greedy(&self, q: &[f64]) -> Vec<usize> {
        q.chunks_exact(self.n_actions).map(argmax).collect()
    }

    /// V^π of a reward under a deterministic policy: the solution of (I − γ P_π) V = r_π.
    pub fn evaluate(&self, policy: &[usize], reward: &[f64]) -> Vec<f64> {
        let n = self.n_states;
        let mut system = vec![0.0; n * (n + 1)];
        for (state, &action) in policy.iter().enumerate() {
            let row = state * self.n_actions + action;
            let line = &mut system[state * (n + 1)..][..n + 1];
            for (cell, p) in line.iter_mut().zip(&self.transition[row * n..][..n]) {
                *cell = -self.gamma * p;
            }
            line[state] += 1.0;
            line[n] = reward[row];
        }
        solve(&mut system, n)
    }

    /// Q^π of a reward under a deterministic policy.
    pub fn evaluate_actions(&self, policy: &[usize], reward: &[f64]) -> Vec<f64> {
        self.backup(reward, &self.evaluate(policy, reward))
    }
}

/// Solves a square system by elimination with pivots; a row is its coefficients, then its right side.
fn solve(system: &mut [f64], n: usize) -> Vec<f64> {
    let width = n + 1;
    for column in 0..n {
        let size = |row: &usize| system[row * width + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        (0..width).for_each(|k| system.swap(column * width + k, pivot * width + k));
        for row in (0..n).filter(|&row| row != column) {
            let factor = system[row * width + column] / system[column * width + column];
            (column..width)
                .for_each(|k| system[row * width + k] -= factor * system[column * width + k]);
        }
    }
    (0..n).map(|row| system[row * width + n] / system[row * width + row]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stay for 0 or go back and forth for 1 every other step.
    fn two_states() -> TabularCmdp {
        TabularCmdp {
            n_states: 2,
            n_actions: 2,
            gamma: 0.5,
            transition: vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            reward: vec![0.0, 1.0, 0.0, 0.0],
            constraint_reward: vec![0.0, -1.0, 0.0, 0.0],
        }
    }

    #[test]
    fn values_are_those_computed_by_hand() {
        let mdp = two_states();
        // V(0) = 1 + V(1) / 2, V(1) = V(0) / 2.
        let q = mdp.optimal(&mdp.reward);
        assert!(sup_distance(&mdp.state_values(&q), &[4.0 / 3.0, 2.0 / 3.0]) < 1e-9, "{q:?}");
        assert_eq!(mdp.greedy(&q), [1, 1]);
        let cost = mdp.evaluate(&[1, 1], &mdp.constraint_reward);
        assert!(sup_distance(&cost, &[-4.0 / 3.0, -2.0 / 3.0]) < 1e-12, "{cost:?}");
    }

    #[test]
    fn the_value_of_the_greedy_policy_is_the_optimal_value() {
        let mdp = two_states();
        let q = mdp.optimal(&mdp.reward);
        let again = mdp.evaluate_actions(&mdp.greedy(&q), &mdp.reward);
        assert!(sup_distance(&q, &again) < 1e-9);
    }
}
