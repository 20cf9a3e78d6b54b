//! Max-Sum on local data: the messages of an agent to a region and of a region to an agent.
//!
//! Agents that exchange these messages in rounds hold the same messages as [`super::MaxSum`].

use super::kernel::for_each_digit;

/// `M_{i→R} = u_i + Σ_{R'≠R} M_{R'→i}`: the agent's utility and the messages of its *other*
/// regions.
pub fn agent_to_region<'a>(
    utility: &[f32],
    from_other_regions: impl IntoIterator<Item = &'a [f32]>,
    to: &mut Vec<f32>,
) {
    to.clear();
    to.extend_from_slice(utility);
    for message in from_other_regions {
        to.iter_mut().zip(message).for_each(|(to, &x)| *to += x);
    }
}

/// `M_{R→i} = (1-d)·max over the others of [Q_R + Σ_k M_{k→R}] + d·M_{R→i}`, the fresh part
/// normalised so that its largest entry is 0. `incoming` holds one message per member; the one of `slot`
/// is not read.
pub fn region_to_agent(
    table: &[f32],
    n_actions: &[usize],
    slot: usize,
    incoming: &[&[f32]],
    damping: f32,
    message: &mut [f32],
) {
    let mut fresh = vec![f32::NEG_INFINITY; n_actions[slot]];
    for (entry, &payoff) in table.iter().enumerate() {
        let (mut value, mut own) = (payoff, 0);
        for_each_digit(entry, n_actions, |other, action| {
            if other == slot {
                own = action;
            } else {
                value += incoming[other][action];
            }
        });
        fresh[own] = if value > fresh[own] { value } else { fresh[own] };
    }
    let best = fresh.iter().fold(f32::NEG_INFINITY, |best, &x| if x > best { x } else { best });
    let largest = if best == f32::NEG_INFINITY { 0.0 } else { best };
    for (old, fresh) in message.iter_mut().zip(fresh) {
        let fresh = fresh - largest;
        let has_forbidden = fresh == f32::NEG_INFINITY || *old == f32::NEG_INFINITY;
        *old = if has_forbidden { fresh } else { (1.0 - damping) * fresh + damping * *old };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_sends_the_best_response_of_the_other() {
        let mut message = vec![0.0; 2];
        region_to_agent(&[0.0, 5.0, 3.0, 1.0], &[2, 2], 0, &[&[], &[0.0, -4.0]], 0.0, &mut message);
        assert_eq!(message, [-2.0, 0.0]);
    }

    #[test]
    fn an_agent_sums_its_utility_and_other_messages() {
        let mut message = Vec::new();
        agent_to_region(&[1.0, 2.0], [[10.0, 20.0].as_slice(), &[0.5, 0.5]], &mut message);
        assert_eq!(message, [11.5, 22.5]);
    }
}
