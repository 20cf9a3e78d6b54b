//! What agents see, for networks that all agents share: one row for each agent of each state.

use crate::environment::{Spec, View};

/// Width of an agent's row, with its number as a one-hot where `identity`.
pub fn agent_row_width(spec: &Spec, identity: bool) -> usize {
    spec.agent_width + if identity { spec.n_agents() } else { 0 }
}

/// Writes the rows of all agents of all states, state by state and agent by agent; returns their
/// number. The environment's own observation comes first, then the identity.
pub fn write_agent_rows(
    view: &dyn View,
    states: &[f32],
    identity: bool,
    rows: &mut Vec<f32>,
) -> usize {
    let spec = view.spec();
    let width = agent_row_width(spec, identity);
    let states = states.chunks_exact(spec.state_width);
    let n_rows = states.len() * spec.n_agents();
    rows.resize(n_rows * width, 0.0);
    for (state, rows) in states.zip(rows.chunks_exact_mut(spec.n_agents() * width)) {
        for (agent, row) in rows.chunks_exact_mut(width).enumerate() {
            let (seen, number) = row.split_at_mut(spec.agent_width);
            view.agent_row(state, agent, seen);
            number.fill(0.0);
            if identity {
                number[agent] = 1.0;
            }
        }
    }
    n_rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{
        Environment,
        simple_spread::{SimpleSpread, SimpleSpreadOptions},
    };

    #[test]
    fn every_agent_sees_the_state_from_where_it_stands() {
        let options = SimpleSpreadOptions { agents: 2, ..SimpleSpreadOptions::default() };
        let environment = SimpleSpread::new(&options).unwrap();
        // Positions, velocities and landmarks of two agents, in two states.
        let mut states = vec![0.0, 0.0, 1.0, 2.0, 0.1, 0.2, 0.3, 0.4, -1.0, 0.0, 0.0, -1.0];
        states.extend_from_within(..);
        let mut rows = Vec::new();
        assert_eq!(write_agent_rows(environment.view(), &states, true, &mut rows), 4);
        let width = agent_row_width(environment.view().spec(), true);
        let second = [0.3, 0.4, 1.0, 2.0, -2.0, -2.0, -1.0, -3.0, -1.0, -2.0, 0.0, 1.0];
        assert_eq!(rows[width..2 * width], second);
        assert_eq!(rows[..2 * width], rows[2 * width..]);
        assert_eq!(write_agent_rows(environment.view(), &states, false, &mut rows), 4);
        assert_eq!(rows[width - 2..2 * width - 4], second[..width - 2]);
    }
}
