//! What regions and agents see of a Simple Spread state: the paper's row and the relative row.
//!
//! A state row is `[positions 2N | velocities 2N | landmarks 2N]`.

use super::{
    agent_row::{AgentScratch, SharedRow},
    relative_row::{RelativeRow, Scratch},
    row_features::TeamSize,
    row_layout::member_groups,
};
pub use super::{
    observation_options::{AgentRowKind, ObservationKind, ObservationOptions, agent_width},
    row_features::PADDING_LANDMARK,
};
pub use crate::environment::frame::Frame;
use crate::{
    environment::{
        Pose, Spec, View, in_order,
        symmetry::{self, transform},
    },
    graph::{CoordinationGraph, GraphOptions, Nearby},
};
use std::cell::RefCell;

/// How Simple Spread states are seen.
#[derive(Clone, Debug)]
pub struct SpreadView {
    spec: Spec,
    graph: CoordinationGraph,
    graph_options: GraphOptions,
    kind: ObservationKind,
    relative: RelativeRow,
    /// What agents see, where it is not MPE2's observation.
    shared: Option<SharedRow>,
    frame: Frame,
    transformed_actions: Vec<Vec<usize>>,
}

/// The three parts of a state row, as points.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) positions: &'a [[f32; 2]],
    pub(super) velocities: &'a [[f32; 2]],
    pub(super) landmarks: &'a [[f32; 2]],
}

impl<'a> Parts<'a> {
    pub(super) fn of(state: &'a [f32], n_agents: usize) -> Self {
        let points: &[[f32; 2]] = bytemuck::cast_slice(state);
        assert_eq!(points.len(), 3 * n_agents, "a state row of {n_agents} agents");
        let (positions, rest) = points.split_at(n_agents);
        let (velocities, landmarks) = rest.split_at(n_agents);
        Self { positions, velocities, landmarks }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
    /// For the rows of agents.
    static AGENT_SCRATCH: RefCell<AgentScratch> = RefCell::default();
    /// For graphs that follow the agents.
    static NEAR: RefCell<Nearby> = RefCell::default();
}

impl SpreadView {
    /// The view of a team with the given sizes, graph and observation.
    pub fn new(
        spec: Spec,
        graph: CoordinationGraph,
        graph_options: &GraphOptions,
        observation: &ObservationOptions,
        action_vectors: &[[f64; 2]],
        (radius, half_side): (f64, f64),
    ) -> Self {
        let team = TeamSize { n_agents: spec.n_agents(), radius, half_side };
        let relative = RelativeRow::new(observation, team, spec.region_size);
        let shared = (observation.agent_row == AgentRowKind::Shared)
            .then(|| SharedRow::new(observation, team));
        let transformed_actions = symmetry::transformed_actions(action_vectors);
        let (kind, frame) = (observation.kind, observation.frame);
        let graph_options = graph_options.clone();
        Self { spec, graph, graph_options, kind, relative, shared, frame, transformed_actions }
    }

    fn write_paper(parts: Parts<'_>, members: &[usize], symmetry: usize, row: &mut [f32]) {
        let rest = write_members(parts, members, symmetry, true, row);
        let rest: &mut [[f32; 2]] = bytemuck::cast_slice_mut(rest);
        let (landmarks, pairs) = rest.split_at_mut(parts.landmarks.len());
        for (cell, &landmark) in landmarks.iter_mut().zip(parts.landmarks) {
            *cell = transform(symmetry, landmark);
        }
        for (cell, (a, b)) in pairs.iter_mut().zip(pairs_of(members)) {
            let [a, b] = [parts.positions[a], parts.positions[b]];
            *cell = transform(symmetry, [b[0] - a[0], b[1] - a[1]]);
        }
    }

    /// Writes the row of a region of a state that was measured.
    fn write(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        members: &[usize],
        symmetry: usize,
        row: &mut [f32],
    ) {
        match self.kind {
            ObservationKind::Paper => Self::write_paper(parts, members, symmetry, row),
            ObservationKind::Relative => {
                self.relative.write(scratch, parts, members, symmetry, row);
            }
        }
    }

    fn measure(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize> + Clone,
    ) {
        if self.kind == ObservationKind::Relative {
            self.relative.measure(scratch, parts, agents);
        }
    }
}

impl View for SpreadView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        if !self.graph_options.follows_positions() {
            if *graph != self.graph {
                graph.clone_from(&self.graph);
            }
            return;
        }
        if graph.n_agents() != self.spec.n_agents() {
            graph.clone_from(&self.graph);
        }
        let positions = Parts::of(state, self.spec.n_agents()).positions;
        NEAR.with_borrow_mut(|nearby| self.graph_options.rebuild(graph, positions, nearby));
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        SCRATCH.with_borrow_mut(|scratch| {
            self.measure(scratch, parts, members.iter().copied());
            self.write(scratch, parts, members, 0, row);
        });
    }

    fn row_words(&self) -> String {
        if self.kind == ObservationKind::Relative { self.relative.words() } else { String::new() }
    }

    fn row_layout(&self) -> Vec<(String, usize)> {
        if self.kind == ObservationKind::Relative {
            return self.relative.layout();
        }
        let size = self.spec.region_size;
        let mut groups = member_groups(size, true);
        groups.push(("landmarks".into(), 2 * self.spec.n_agents()));
        groups.push(("displacement between each two members".into(), size * (size - 1)));
        groups
    }

    fn posed_row(&self, state: &[f32], members: &[usize], pose: Pose, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        SCRATCH.with_borrow_mut(|scratch| {
            self.measure(scratch, parts, members.iter().copied());
            in_order(members, pose.reversed, |members| {
                self.write(scratch, parts, members, pose.symmetry, row);
            });
        });
    }

    fn region_rows(
        &self,
        state: &[f32],
        graph: &CoordinationGraph,
        poses: &[Pose],
        rows: &mut [f32],
        stride: usize,
    ) {
        let parts = Parts::of(state, self.spec.n_agents());
        let width = self.spec.region_width;
        SCRATCH.with_borrow_mut(|scratch| {
            self.measure(scratch, parts, 0..self.spec.n_agents());
            for (index, (row, region)) in rows.chunks_mut(stride).zip(graph.regions()).enumerate() {
                let Pose { symmetry, reversed } = poses.get(index).copied().unwrap_or_default();
                in_order(region, reversed, |members| {
                    self.write(scratch, parts, members, symmetry, &mut row[..width]);
                });
            }
        });
    }

    fn n_symmetries(&self) -> usize {
        self.transformed_actions.len()
    }

    fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
        let points: &mut [[f32; 2]] = bytemuck::cast_slice_mut(state);
        for point in points {
            *point = symmetry::transform(symmetry, *point);
        }
    }

    fn transform_action(&self, symmetry: usize, action: usize) -> usize {
        self.transformed_actions[symmetry][action]
    }

    fn n_frames(&self) -> usize {
        self.frame.n_frames().min(self.n_symmetries())
    }

    fn frame_rule(&self) -> Option<Frame> {
        Some(self.frame)
    }

    fn frame(&self, state: &[f32], members: &[usize], frame: usize) -> usize {
        let positions = Parts::of(state, self.spec.n_agents()).positions;
        let [a, b] = [positions[members[0]], positions[members[1]]];
        self.frame.of_region(self, (state, members), [b[0] - a[0], b[1] - a[1]], frame)
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        let Some(shared) = &self.shared else { return write_raw(parts, agent, row) };
        AGENT_SCRATCH.with_borrow_mut(|scratch| {
            shared.measure(scratch, parts);
            shared.look(scratch, parts, agent);
            shared.write(scratch, parts, agent, 0, row);
        });
    }

    fn agent_rows(&self, state: &[f32], rows: &mut [f32], stride: usize, frames: &mut [usize]) {
        let parts = Parts::of(state, self.spec.n_agents());
        let rows = rows.chunks_mut(stride).map(|row| &mut row[..self.spec.agent_width]);
        let rows = rows.zip(frames).enumerate();
        let Some(shared) = &self.shared else {
            return rows.for_each(|(agent, (row, frame))| {
                write_raw(parts, agent, row);
                *frame = 0;
            });
        };
        AGENT_SCRATCH.with_borrow_mut(|scratch| {
            shared.measure(scratch, parts);
            for (agent, (row, frame)) in rows {
                shared.look(scratch, parts, agent);
                *frame = shared.frame(scratch, parts, agent);
                shared.write(scratch, parts, agent, *frame, row);
            }
        });
    }
}

/// MPE2's observation without its communication zeros: velocity, position, landmarks and other
/// agents relative to this one.
fn write_raw(parts: Parts<'_>, agent: usize, row: &mut [f32]) {
    let Parts { positions, velocities, landmarks } = parts;
    let me = positions[agent];
    let points: &mut [[f32; 2]] = bytemuck::cast_slice_mut(row);
    points[0] = velocities[agent];
    points[1] = me;
    let (seen, others) = points[2..].split_at_mut(landmarks.len());
    write_relative_to(me, landmarks, seen);
    let (before, after) = others.split_at_mut(agent);
    write_relative_to(me, &positions[..agent], before);
    write_relative_to(me, &positions[agent + 1..], after);
}

#[inline]
fn write_relative_to(me: [f32; 2], points: &[[f32; 2]], cells: &mut [[f32; 2]]) {
    for (cell, point) in cells.iter_mut().zip(points) {
        *cell = [point[0] - me[0], point[1] - me[1]];
    }
}

/// Unordered pairs of members, in the order of their slots.
pub(super) fn pairs_of(members: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let later = |slot: usize| members[slot + 1..].iter();
    members.iter().enumerate().flat_map(move |(slot, &a)| later(slot).map(move |&b| (a, b)))
}

/// Writes velocity and, where shown, position of each member; returns the rest of the row.
pub(super) fn write_members<'r>(
    parts: Parts<'_>,
    members: &[usize],
    symmetry: usize,
    positions: bool,
    row: &'r mut [f32],
) -> &'r mut [f32] {
    let width = if positions { 4 } else { 2 };
    let (head, rest) = row.split_at_mut(width * members.len());
    for (cells, &agent) in head.chunks_exact_mut(width).zip(members) {
        cells[..2].copy_from_slice(&transform(symmetry, parts.velocities[agent]));
        if positions {
            cells[2..].copy_from_slice(&transform(symmetry, parts.positions[agent]));
        }
    }
    rest
}
