//! Checks of what is visible of a state: graph, rows, masks, symmetries.

use super::broken;
use crate::{
    environment::{Spec, View},
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

/// The rows of all regions, some with their members in reverse order, each also looked at alone.
fn region_rows(view: &dyn View, state: &[f32], graph: &CoordinationGraph) -> Result<Vec<f32>> {
    let width = view.spec().region_width;
    let swapped: Vec<bool> = (0..graph.n_regions()).map(|region| region % 3 == 1).collect();
    let mut rows = vec![f32::NAN; graph.n_regions() * width];
    view.region_rows(state, graph, &swapped, &mut rows, width.max(1));
    let mut row = vec![f32::NAN; width];
    for (region, members) in graph.regions().enumerate() {
        let mut members = members.to_vec();
        if swapped[region] {
            members.reverse();
        }
        view.region_row(state, &members, &mut row);
        let together = rows[region * width..][..width].iter();
        if !row.iter().map(|number| number.to_bits()).eq(together.map(|number| number.to_bits())) {
            return broken(format!("region {region} looks different alone and with the others"));
        }
    }
    Ok(rows)
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
    }
    Ok(())
}
