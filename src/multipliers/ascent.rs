//! Projected dual ascent: a multiplier rises with the violation of its limit and stays in range.

/// Projected dual ascent (Eq. dual-update): `λ ← clamp(λ + η (cost − limit), 0, λ_max)`.
///
/// ```
/// use cgcmarl::multipliers::ascent::ascended;
/// assert_eq!(ascended(0.5, 10.0, 0.25, 10.0), 3.0);
/// assert_eq!(ascended(0.5, 10.0, -0.25, 10.0), 0.0);
/// ```
pub fn ascended(multiplier: f32, step_size: f32, violation: f32, ceiling: f32) -> f32 {
    (multiplier + step_size * violation).clamp(0.0, ceiling)
}

/// The step of the k-th episode, from 0 (assumption A6): `η_k = η_0 (k + 1)^−ρ`.
///
/// ```
/// use cgcmarl::multipliers::ascent::step_size;
/// assert_eq!((step_size(2.0, 0, 0.9), step_size(2.0, 3, 0.5), step_size(2.0, 99, 0.0)), (2.0, 1.0, 2.0));
/// ```
pub fn step_size(first: f32, episode: u64, power: f32) -> f32 {
    if power == 0.0 { first } else { first * ((episode + 1) as f32).powf(-power) }
}

/// Multipliers of every agent and constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipliers {
    /// Row = agent, column = constraint.
    values: Vec<f32>,
    limits: Vec<f32>,
    ceiling: f32,
}

impl Multipliers {
    /// All multipliers at zero, one limit per constraint.
    pub fn new(n_agents: usize, limits: Vec<f32>, ceiling: f32) -> Self {
        Self { values: vec![0.0; n_agents * limits.len()], limits, ceiling }
    }

    /// The team average of one constraint, the only value action selection sees.
    pub fn mean(&self, constraint: usize) -> f32 {
        let column = self.values.iter().skip(constraint).step_by(self.limits.len());
        let n_agents = self.values.len() / self.limits.len();
        column.sum::<f32>() / n_agents as f32
    }

    /// One step after an episode, from each agent's mean cost per step (row = agent).
    pub fn ascend(&mut self, agent_costs: &[f32], step_size: f32) {
        self.ascend_each(agent_costs, |_limit| step_size);
    }

    /// The same with a step size that depends on the limit.
    pub fn ascend_each(&mut self, agent_costs: &[f32], step_size: impl Fn(f32) -> f32) {
        assert_eq!(agent_costs.len(), self.values.len(), "one cost per agent and constraint");
        let width = self.limits.len();
        for (index, (value, cost)) in self.values.iter_mut().zip(agent_costs).enumerate() {
            let limit = self.limits[index % width];
            *value = ascended(*value, step_size(limit), cost - limit, self.ceiling);
        }
    }

    /// All values, row = agent; for checkpoints.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The multipliers of one agent.
    pub fn of_agent(&self, agent: usize) -> &[f32] {
        &self.values[agent * self.limits.len()..][..self.limits.len()]
    }

    /// What costs may be, one number per constraint.
    pub fn limits(&self) -> &[f32] {
        &self.limits
    }

    /// All values, to be changed by other rules.
    pub(super) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Puts saved values back.
    pub fn restore(&mut self, values: &[f32]) {
        self.values.copy_from_slice(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_rise_with_violation_and_stay_in_range() {
        let mut multipliers = Multipliers::new(2, vec![0.1], 1.0);
        multipliers.ascend(&[0.3, 0.0], 0.5);
        assert!((multipliers.values()[0] - 0.1).abs() < 1e-7);
        assert_eq!(multipliers.values()[1], 0.0);
        assert!((multipliers.mean(0) - 0.05).abs() < 1e-7);
        multipliers.ascend(&[100.0, 100.0], 0.5);
        assert_eq!(multipliers.mean(0), 1.0);
    }

    #[test]
    fn each_constraint_has_its_own_limit() {
        let mut multipliers = Multipliers::new(1, vec![0.0, 1.0], 10.0);
        multipliers.ascend(&[0.5, 0.5], 1.0);
        assert_eq!((multipliers.mean(0), multipliers.mean(1)), (0.5, 0.0));
    }

    #[test]
    fn a_limit_of_zero_is_an_ordinary_limit() {
        let mut multipliers = Multipliers::new(1, vec![0.0], 10.0);
        multipliers.ascend(&[0.0], 1.0);
        assert_eq!(multipliers.mean(0), 0.0);
    }
}
