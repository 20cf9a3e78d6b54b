//! Checks of what is visible of a state: graph, rows, masks, symmetries.

use super::{broken, turned::TOLERANCE};
use crate::{
    environment::{Pose, Spec, View},
    error::Result,
    graph::CoordinationGraph,
};

/// Everything that is visible of a state, in bits.
pub(super) fn look(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<Vec<u32>> {
    let spec = view.spec();
    check_graph(view, state, graph)?;
    let mut rows = region_rows(view, state, graph)?;
    for agent in 0..spec.n_agents() {
        let start = rows.len();
        rows.resize(start + spec.agent_width, f32::NAN);
        view.agent_row(state, agent, &mut rows[start..]);
    }
    check_agents(view, state)?;
    rows.extend_from_slice(state);
    if rows.iter().any(|number| !number.is_finite()) {
        return broken("a row or state has an entry that was not written or is not finite");
    }
    let mut seen: Vec<u32> = rows.into_iter().map(f32::to_bits).collect();
    for agent in 0..spec.n_agents() {
        seen.extend(allowed(view, state, agent).into_iter().map(u32::from));
    }
    check_symmetries(view, state, graph)?;
    Ok(seen)
}

/// Which actions an agent may take.
pub(super) fn allowed(view: &dyn View, state: &[f32], agent: usize) -> Vec<bool> {
    let mut allowed = vec![true; view.spec().agents[agent].n_actions];
    view.action_mask(state, agent, &mut allowed);
    allowed
}

fn check_graph(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<()> {
    let spec = view.spec();
    let n = spec.n_agents();
    for mut other in [
        CoordinationGraph::default(),
        CoordinationGraph::empty(n),
        CoordinationGraph::new(n, &[(0..n).collect()])?,
        graph.clone(),
    ] {
        view.graph(state, &mut other);
        if other != *graph {
            return broken("the graph depends on the graph that was there before");
        }
    }
    let Spec { max_regions, region_size, .. } = *spec;
    if graph.n_agents() != spec.n_agents() || graph.n_regions() > max_regions {
        let (agents, regions) = (graph.n_agents(), graph.n_regions());
        return broken(format!("a graph of {agents} agents and {regions} regions"));
    }
    if graph.regions().any(|members| members.len() > region_size) {
        return broken(format!("a region of more than {region_size} agents"));
    }
    Ok(())
}

/// The rows of all regions in different poses, each also looked at alone.
fn region_rows(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<Vec<f32>> {
    let width = view.spec().region_width;
    let pose = |region| Pose { symmetry: region % view.n_symmetries(), reversed: region % 3 == 1 };
    let poses: Vec<Pose> = (0..graph.n_regions()).map(pose).collect();
    let mut rows = vec![f32::NAN; graph.n_regions() * width];
    view.region_rows(state, graph, &poses, &mut rows, width.max(1));
    for (region, (members, pose)) in graph.regions().zip(poses).enumerate() {
        let row = row(view, state, members, pose);
        let together = rows[region * width..][..width].iter();
        if !row.iter().map(|number| number.to_bits()).eq(together.map(|number| number.to_bits())) {
            return broken(format!("region {region} looks different alone and with the others"));
        }
    }
    Ok(rows)
}

/// A region alone, of a world that was transformed and members that were put in order before.
fn row(view: &dyn View, state: &[f32], members: &[usize], pose: Pose) -> Vec<f32> {
    let (mut state, mut members) = (state.to_vec(), members.to_vec());
    if pose.symmetry > 0 {
        view.transform_state(pose.symmetry, &mut state);
    }
    if pose.reversed {
        members.reverse();
    }
    let mut row = vec![f32::NAN; view.spec().region_width];
    view.region_row(&state, &members, &mut row);
    row
}

/// The rows of all agents in their frames, each also looked at alone in a world transformed before.
fn check_agents(view: &dyn View, state: &[f32]) -> Result<()> {
    let (n_agents, width) = (view.spec().n_agents(), view.spec().agent_width);
    let (mut rows, mut frames) = (vec![f32::NAN; n_agents * width], vec![usize::MAX; n_agents]);
    view.agent_rows(state, &mut rows, width.max(1), &mut frames);
    let mut row = vec![f32::NAN; width];
    for (agent, &frame) in frames.iter().enumerate() {
        if frame >= view.n_symmetries() {
            return broken(format!("agent {agent} sees the world under symmetry {frame}"));
        }
        let mut state = state.to_vec();
        if frame > 0 {
            view.transform_state(frame, &mut state);
        }
        view.agent_row(&state, agent, &mut row);
        let together = rows[agent * width..][..width].iter();
        if !row.iter().map(|number| number.to_bits()).eq(together.map(|number| number.to_bits())) {
            return broken(format!("agent {agent} sees other things alone and with the others"));
        }
    }
    Ok(())
}

/// A region in one of its frames: what it sees there, and the whole state as it is there.
struct Framed {
    symmetry: usize,
    row: Vec<f32>,
    world: Vec<f32>,
}

/// A region in all of its frames.
fn frames(view: &dyn View, state: &[f32], members: &[usize]) -> Result<Vec<Framed>> {
    let n_symmetries = view.n_symmetries();
    let framed = |frame| {
        let pose = Pose::of(view, state, members, (frame, false));
        let Pose { symmetry, .. } = pose;
        if symmetry >= n_symmetries {
            return broken(format!("frame {frame} of a region is symmetry {symmetry}"));
        }
        let mut world = state.to_vec();
        view.transform_state(symmetry, &mut world);
        Ok(Framed { symmetry, row: row(view, state, members, pose), world })
    };
    (0..view.n_frames()).map(framed).collect()
}

/// Whether numbers that were computed in another order are the same.
fn alike(one: &[f32], other: &[f32]) -> bool {
    one.iter().zip(other).all(|(a, b)| (a - b).abs() <= TOLERANCE as f32 * (1.0 + a.abs()))
}

/// Regions of a state whose frames are looked at, so that large teams do not take for ever.
const FRAMED: usize = 6;

/// The frames of a region show the same in every transformed world, and there either is the whole state the
/// same or every action called the same.
fn check_frames(
    view: &dyn View,
    graph: &CoordinationGraph,
    state: &[f32],
    (symmetry, transformed): (usize, &[f32]),
) -> Result<()> {
    let n_actions = view.spec().n_actions();
    let called_alike = |here: &Framed, there: &Framed| {
        (0..n_actions).all(|action| {
            let turned = view.transform_action(symmetry, action);
            view.transform_action(there.symmetry, turned)
                == view.transform_action(here.symmetry, action)
        })
    };
    for (region, members) in graph.regions().enumerate().take(FRAMED) {
        let (here, there) = (frames(view, state, members)?, frames(view, transformed, members)?);
        for there in &there {
            let mut shown = here.iter().filter(|here| alike(&there.row, &here.row)).peekable();
            if shown.peek().is_none() {
                return broken(format!(
                    "symmetry {symmetry} changes what region {region} is shown"
                ));
            }
            if !shown.any(|here| alike(&there.world, &here.world) || called_alike(here, there)) {
                return broken(format!(
                    "region {region} looks the same under two symmetries, and under symmetry {symmetry} \
                     its frame does not follow the rest of the state"
                ));
            }
        }
    }
    Ok(())
}

/// Every symmetry keeps who shares a region, and allows the transformed actions.
fn check_symmetries(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<()> {
    let mut other = graph.clone();
    for symmetry in 0..view.n_symmetries() {
        let mut transformed = state.to_vec();
        view.transform_state(symmetry, &mut transformed);
        if symmetry == 0 && transformed != state {
            return broken("symmetry 0 changes states");
        }
        view.graph(&transformed, &mut other);
        if other != *graph {
            return broken(format!("symmetry {symmetry} changes who shares a region"));
        }
        for agent in 0..view.spec().n_agents() {
            let (before, after) = (allowed(view, state, agent), allowed(view, &transformed, agent));
            let kept = |(action, &allowed): (usize, &bool)| {
                after[view.transform_action(symmetry, action)] == allowed
            };
            if !before.iter().enumerate().all(kept) {
                return broken(format!("symmetry {symmetry} allows other actions"));
            }
        }
        check_frames(view, graph, state, (symmetry, &transformed))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One number that a symmetry turns to its negative and that no region sees; whether it also
    /// exchanges the two actions.
    struct Hidden {
        spec: Spec,
        exchanges: bool,
    }

    impl View for Hidden {
        fn spec(&self) -> &Spec {
            &self.spec
        }

        fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
            *graph = CoordinationGraph::empty(1);
        }

        fn region_row(&self, _state: &[f32], _members: &[usize], row: &mut [f32]) {
            row.fill(0.0);
        }

        fn n_symmetries(&self) -> usize {
            2
        }

        fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
            state[0] = if symmetry == 1 { -state[0] } else { state[0] };
        }

        fn transform_action(&self, symmetry: usize, action: usize) -> usize {
            if symmetry == 1 && self.exchanges { 1 - action } else { action }
        }

        fn n_frames(&self) -> usize {
            1
        }
    }

    #[test]
    fn one_frame_serves_symmetries_that_look_the_same_and_call_actions_the_same() {
        let graph = CoordinationGraph::new(1, &[vec![0]]).unwrap();
        for exchanges in [false, true] {
            let view = Hidden { spec: Spec::new("hidden", 1, 2, 5).rows(1, 1, 1), exchanges };
            let checked = check_frames(&view, &graph, &[0.5], (1, &[-0.5]));
            assert_eq!(checked.is_err(), exchanges);
            assert!(check_frames(&view, &graph, &[0.0], (1, &[-0.0])).is_ok());
        }
    }
}
