//! The rules: agents and targets on a ring. Target m is in reach of agents m, m + 1 and m + 2, and is
//! taken when all three act on it; whoever acts without both others acts in vain.

/// Agents that it takes to take a target.
pub(super) const TAKERS: usize = 3;
/// Wait, or act on one of the three targets in reach.
pub(super) const N_ACTIONS: usize = 1 + TAKERS;
/// A target is worth up to this; one that is worth nothing is not there.
pub(super) const MOST_WORTH: usize = 2;

/// The target that an agent's action is aimed at, in a ring of so many.
pub(super) fn aim(agent: usize, action: usize, n: usize) -> Option<usize> {
    (action > 0).then(|| (agent + n + action - TAKERS) % n)
}

/// The agents that can act on a target.
pub(super) fn takers(target: usize, n: usize) -> [usize; TAKERS] {
    std::array::from_fn(|offset| (target + offset) % n)
}

/// The agents of a target that act on it, as bits of its takers.
pub(super) fn acting(target: usize, action: &[usize]) -> [bool; TAKERS] {
    let n = action.len();
    takers(target, n).map(|agent| aim(agent, action[agent], n) == Some(target))
}

/// The most that one joint action can take: the best choice of targets that share no agent.
pub(super) fn best(worth: &[f32]) -> (f32, Vec<usize>) {
    let n = worth.len();
    let mut best = (0.0, vec![0; n]);
    search(worth, 0, &mut vec![0; n], 0.0, &mut best);
    best
}

fn search(
    worth: &[f32],
    target: usize,
    action: &mut Vec<usize>,
    sum: f32,
    best: &mut (f32, Vec<usize>),
) {
    if sum > best.0 {
        *best = (sum, action.clone());
    }
    let n = worth.len();
    if target == n {
        return;
    }
    let agents = takers(target, n);
    if worth[target] > 0.0 && agents.iter().all(|&agent| action[agent] == 0) {
        for (offset, &agent) in agents.iter().enumerate() {
            action[agent] = TAKERS - offset;
        }
        search(worth, target + 1, action, sum + worth[target], best);
        agents.iter().for_each(|&agent| action[agent] = 0);
    }
    search(worth, target + 1, action, sum, best);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a joint action takes, and how many act in vain.
    fn played(worth: &[f32], action: &[usize]) -> (f32, usize) {
        let mut result = (0.0, 0);
        for (target, worth) in worth.iter().enumerate() {
            match acting(target, action).iter().filter(|acts| **acts).count() {
                TAKERS => result.0 += worth,
                fewer => result.1 += fewer,
            }
        }
        result
    }

    #[test]
    fn an_agent_aims_at_what_is_in_its_reach() {
        assert_eq!([1, 2, 3].map(|action| aim(0, action, 6)), [Some(4), Some(5), Some(0)]);
        assert_eq!(aim(3, 0, 6), None);
        assert_eq!(takers(5, 6), [5, 0, 1]);
        assert_eq!(acting(5, &[2, 0, 0, 0, 0, 3]), [true, true, false]);
    }

    #[test]
    fn the_best_choice_is_that_of_all_joint_actions() {
        for number in 0..3_usize.pow(5) {
            let worth: Vec<f32> = (0..5).map(|m| (number / 3_usize.pow(m) % 3) as f32).collect();
            let (value, action) = best(&worth);
            assert_eq!(played(&worth, &action), (value, 0), "{worth:?}");
            let mut most: f32 = 0.0;
            for code in 0..4_usize.pow(5) {
                let action: Vec<usize> = (0..5).map(|i| code / 4_usize.pow(i) % 4).collect();
                most = most.max(played(&worth, &action).0);
            }
            assert_eq!(value, most, "{worth:?}");
        }
    }
}
