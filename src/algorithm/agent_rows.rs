//! What agents see, for networks that all agents share: one row for each agent of each state.

use super::AgentFrames;
use crate::environment::{Spec, View};

/// Width of an agent's row, with its number as a one-hot where `identity`.
pub fn agent_row_width(spec: &Spec, identity: bool) -> usize {
    spec.agent_width + if identity { spec.n_agents() } else { 0 }
}

/// Writes the rows of all agents of all states, state by state and agent by agent, each in its frame;
/// returns their number. The environment's own observation comes first, then the identity.
pub fn write_agent_rows(
    view: &dyn View,
    states: &[f32],
    identity: bool,
    rows: &mut Vec<f32>,
    frames: &mut AgentFrames,
) -> usize {
    write_wider_rows(view, states, (identity, 0), rows, frames)
}

/// [`write_agent_rows`], with room for a few more entries behind each row.
pub(super) fn write_wider_rows(
    view: &dyn View,
    states: &[f32],
    (identity, room): (bool, usize),
    rows: &mut Vec<f32>,
    frames: &mut AgentFrames,
) -> usize {
    let spec = view.spec();
    let width = agent_row_width(spec, identity) + room;
    let states = states.chunks_exact(spec.state_width);
    let n_agents = spec.n_agents();
    let n_rows = states.len() * n_agents;
    rows.resize(n_rows * width, 0.0);
    frames.symmetries.resize(n_rows, 0);
    let own_frames = frames.symmetries.chunks_exact_mut(n_agents);
    for ((state, rows), frames) in
        states.zip(rows.chunks_exact_mut(n_agents * width)).zip(own_frames)
    {
        view.agent_rows(state, rows, width, frames);
        for (agent, row) in rows.chunks_exact_mut(width).enumerate().filter(|_| identity) {
            let number = &mut row[spec.agent_width..][..n_agents];
            number.fill(0.0);
            number[agent] = 1.0;
        }
    }
    frames.follow(view);
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
        let (mut rows, mut frames) = (Vec::new(), AgentFrames::default());
        let view = environment.view();
        assert_eq!(write_agent_rows(view, &states, true, &mut rows, &mut frames), 4);
        let width = agent_row_width(view.spec(), true);
        let second = [0.3, 0.4, 1.0, 2.0, -2.0, -2.0, -1.0, -3.0, -1.0, -2.0, 0.0, 1.0];
        assert_eq!(rows[width..2 * width], second);
        assert_eq!(rows[..2 * width], rows[2 * width..]);
        assert_eq!(write_agent_rows(view, &states, false, &mut rows, &mut frames), 4);
        assert_eq!(rows[width - 2..2 * width - 4], second[..width - 2]);
    }
}
