//! What regions and agents see of a Simple Spread state: the paper's row and the relative row.
//!
//! A state row is `[positions 2N | velocities 2N | landmarks 2N]`.

pub use super::observation_options::{ObservationKind, ObservationOptions, agent_width};
use crate::{
    environment::{Spec, View, in_order, symmetry},
    graph::{CoordinationGraph, GraphOptions, Topology},
};
use std::cell::RefCell;

/// Softens a unit vector near the origin: d/(|d| + 0.1).
const SOFTENING: f32 = 0.1;
/// Seconds by which out-of-region agents are moved ahead before their distances are taken.
const LOOK_AHEAD: f32 = 0.2;
/// Where the landmarks stand that pad a row for a team smaller than the row: outside the square.
pub const PADDING_LANDMARK: [f32; 2] = [2.0, 2.0];
/// Distance shown where no agent is outside the region.
const NOBODY: f32 = 4.0;

/// How Simple Spread states are seen.
#[derive(Clone, Debug)]
pub struct SpreadView {
    spec: Spec,
    graph: CoordinationGraph,
    k_nearest: Option<usize>,
    kind: ObservationKind,
    n_landmarks: usize,
    occupancy: bool,
    /// Seconds by which out-of-region agents are moved ahead.
    look_ahead: f32,
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

/// A landmark as one agent sees it: displacement, distance, softened direction.
#[derive(Clone, Copy, Default)]
struct Bearing {
    displacement: [f32; 2],
    distance: f32,
    direction: [f32; 2],
}

impl Bearing {
    #[inline]
    fn of(from: [f32; 2], to: [f32; 2]) -> Self {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let distance = (dx * dx + dy * dy).sqrt();
        let scale = 1.0 / (distance + SOFTENING);
        Self { displacement: [dx, dy], distance, direction: [dx * scale, dy * scale] }
    }
}

/// Measurements of one state, shared by the rows of all its regions.
#[derive(Default)]
struct Scratch {
    /// Row = agent, column = landmark.
    bearings: Vec<Bearing>,
    /// Row = landmark: the nearest agents and their distances, enough to find one out of region.
    occupants: Vec<(f32, usize)>,
    /// The landmarks of the present row, nearest first.
    chosen: Vec<(f32, usize)>,
    /// For the k-nearest graph.
    near: Vec<(f32, usize)>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl SpreadView {
    /// The view of a team with the given sizes, graph and observation.
    pub fn new(
        spec: Spec,
        graph: CoordinationGraph,
        graph_options: &GraphOptions,
        observation: &ObservationOptions,
        action_vectors: &[[f64; 2]],
    ) -> Self {
        let k_nearest = (graph_options.topology == Topology::KNearest).then_some(graph_options.k);
        let n_landmarks = observation.n_landmarks(spec.n_agents());
        let (kind, occupancy) = (observation.kind, observation.occupancy);
        let transformed_actions = symmetry::transformed_actions(action_vectors);
        let look_ahead = if observation.occupancy_velocities { LOOK_AHEAD } else { 0.0 };
        Self {
            spec,
            graph,
            k_nearest,
            kind,
            n_landmarks,
            occupancy,
            look_ahead,
            transformed_actions,
        }
    }

    fn write_paper(parts: Parts<'_>, members: &[usize], row: &mut [f32]) {
        let rest = write_members(parts, members, row);
        let (landmarks, pairs) = rest.split_at_mut(2 * parts.landmarks.len());
        landmarks.copy_from_slice(bytemuck::cast_slice(parts.landmarks));
        for (cells, (a, b)) in pairs.chunks_exact_mut(2).zip(pairs_of(members)) {
            cells
                .copy_from_slice(&Bearing::of(parts.positions[a], parts.positions[b]).displacement);
        }
    }

    /// Measures what the given agents see of a state.
    fn measure(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        agents: impl Iterator<Item = usize>,
    ) {
        let n = parts.landmarks.len();
        scratch.bearings.resize(n * n, Bearing::default());
        for agent in agents {
            let cells = &mut scratch.bearings[agent * n..][..n];
            for (cell, &landmark) in cells.iter_mut().zip(parts.landmarks) {
                *cell = Bearing::of(parts.positions[agent], landmark);
            }
        }
        if self.occupancy {
            let kept = self.spec.region_size + 1;
            measure_occupants(&mut scratch.occupants, parts, kept, self.look_ahead);
        }
    }

    fn write_relative(
        &self,
        scratch: &mut Scratch,
        parts: Parts<'_>,
        members: &[usize],
        row: &mut [f32],
    ) {
        let n = parts.landmarks.len();
        let rest = write_members(parts, members, row);
        let n_pairs = members.len() * (members.len() - 1) / 2;
        let (pairs, landmarks) = rest.split_at_mut(5 * n_pairs);
        for (cells, (a, b)) in pairs.chunks_exact_mut(5).zip(pairs_of(members)) {
            let bearing = Bearing::of(parts.positions[a], parts.positions[b]);
            cells[..2].copy_from_slice(&bearing.displacement);
            cells[2] = bearing.distance;
            cells[3..].copy_from_slice(&bearing.direction);
        }
        let Scratch { bearings, chosen, occupants, .. } = scratch;
        choose_nearest(chosen, self.n_landmarks.min(n), n, |landmark| {
            let distances = members.iter().map(|agent| bearings[agent * n + landmark].distance);
            distances.fold(f32::INFINITY, f32::min)
        });
        let size = members.len();
        let width = 5 * size + if self.occupancy { 2 } else { 0 };
        let mut columns = landmarks.chunks_exact_mut(width);
        for (&(_, landmark), cells) in chosen.iter().zip(columns.by_ref()) {
            for (slot, agent) in members.iter().enumerate() {
                write_bearing(&bearings[agent * n + landmark], slot, size, cells);
            }
            if self.occupancy {
                let kept = &occupants[landmark * (size + 1)..][..=size];
                let outside = kept.iter().find(|(_, agent)| !members.contains(agent));
                write_occupancy(outside.map_or(NOBODY, |o| o.0), &mut cells[5 * size..]);
            }
        }
        for cells in columns {
            for (slot, &agent) in members.iter().enumerate() {
                let bearing = Bearing::of(parts.positions[agent], PADDING_LANDMARK);
                write_bearing(&bearing, slot, size, cells);
            }
            if self.occupancy {
                write_occupancy(0.0, &mut cells[5 * size..]);
            }
        }
    }
}

impl View for SpreadView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        let Some(k) = self.k_nearest else {
            if *graph != self.graph {
                graph.clone_from(&self.graph);
            }
            return;
        };
        if graph.n_agents() != self.spec.n_agents() {
            graph.clone_from(&self.graph);
        }
        let positions = Parts::of(state, self.spec.n_agents()).positions;
        SCRATCH.with_borrow_mut(|s| graph.rebuild_k_nearest(positions, k, &mut s.near));
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        match self.kind {
            ObservationKind::Paper => Self::write_paper(parts, members, row),
            ObservationKind::Relative => SCRATCH.with_borrow_mut(|scratch| {
                self.measure(scratch, parts, members.iter().copied());
                self.write_relative(scratch, parts, members, row);
            }),
        }
    }

    fn region_rows(
        &self,
        state: &[f32],
        graph: &CoordinationGraph,
        swapped: &[bool],
        rows: &mut [f32],
        stride: usize,
    ) {
        let parts = Parts::of(state, self.spec.n_agents());
        let width = self.spec.region_width;
        SCRATCH.with_borrow_mut(|scratch| {
            if self.kind == ObservationKind::Relative {
                self.measure(scratch, parts, 0..self.spec.n_agents());
            }
            for (index, (row, region)) in rows.chunks_mut(stride).zip(graph.regions()).enumerate() {
                let row = &mut row[..width];
                let swap = swapped.get(index).copied().unwrap_or(false);
                in_order(region, swap, |members| match self.kind {
                    ObservationKind::Paper => Self::write_paper(parts, members, row),
                    ObservationKind::Relative => self.write_relative(scratch, parts, members, row),
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

    /// MPE2's observation without its communication zeros: velocity, position, landmarks and other
    /// agents relative to this one.
    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        let Parts { positions, velocities, landmarks } = Parts::of(state, self.spec.n_agents());
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
}

#[inline]
fn write_relative_to(me: [f32; 2], points: &[[f32; 2]], cells: &mut [[f32; 2]]) {
    for (cell, point) in cells.iter_mut().zip(points) {
        *cell = [point[0] - me[0], point[1] - me[1]];
    }
}

/// Unordered pairs of members, in the order of their slots.
fn pairs_of(members: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let later = |slot: usize| members[slot + 1..].iter();
    members.iter().enumerate().flat_map(move |(slot, &a)| later(slot).map(move |&b| (a, b)))
}

/// Writes velocity and position of each member; returns the rest of the row.
fn write_members<'r>(parts: Parts<'_>, members: &[usize], row: &'r mut [f32]) -> &'r mut [f32] {
    let (head, rest) = row.split_at_mut(4 * members.len());
    for (cells, &agent) in head.chunks_exact_mut(4).zip(members) {
        cells[..2].copy_from_slice(&parts.velocities[agent]);
        cells[2..].copy_from_slice(&parts.positions[agent]);
    }
    rest
}

#[inline]
fn write_bearing(bearing: &Bearing, slot: usize, size: usize, cells: &mut [f32]) {
    cells[2 * slot..2 * slot + 2].copy_from_slice(&bearing.displacement);
    cells[2 * size + slot] = bearing.distance;
    cells[3 * size + 2 * slot..3 * size + 2 * slot + 2].copy_from_slice(&bearing.direction);
}

#[inline]
fn write_occupancy(distance: f32, cells: &mut [f32]) {
    cells[0] = distance;
    cells[1] = 0.2 / (distance + SOFTENING);
}

/// Keeps the `kept` smallest of `n` keys in rising order; ties go to the lower index.
#[inline]
fn choose_nearest(
    chosen: &mut Vec<(f32, usize)>,
    kept: usize,
    n: usize,
    key: impl Fn(usize) -> f32,
) {
    chosen.clear();
    chosen.resize(kept, (f32::INFINITY, usize::MAX));
    for index in 0..n {
        insert(chosen, key(index), index);
    }
}

/// Inserts into a list that stays sorted and keeps its length.
#[inline]
fn insert(sorted: &mut [(f32, usize)], key: f32, index: usize) {
    let Some(mut place) = sorted.len().checked_sub(1) else { return };
    if key >= sorted[place].0 {
        return;
    }
    while place > 0 && sorted[place - 1].0 > key {
        sorted[place] = sorted[place - 1];
        place -= 1;
    }
    sorted[place] = (key, index);
}

/// For each landmark the nearest agents by where they will be in `look_ahead` seconds; `usize::MAX`
/// where the team is too small.
fn measure_occupants(
    occupants: &mut Vec<(f32, usize)>,
    parts: Parts<'_>,
    kept: usize,
    look_ahead: f32,
) {
    occupants.clear();
    occupants.resize(kept * parts.landmarks.len(), (NOBODY, usize::MAX));
    for (sorted, landmark) in occupants.chunks_exact_mut(kept).zip(parts.landmarks) {
        sorted.fill((f32::INFINITY, usize::MAX));
        for (agent, (p, v)) in parts.positions.iter().zip(parts.velocities).enumerate() {
            let dx = landmark[0] - (p[0] + look_ahead * v[0]);
            let dy = landmark[1] - (p[1] + look_ahead * v[1]);
            insert(sorted, (dx * dx + dy * dy).sqrt(), agent);
        }
        for cell in sorted.iter_mut().filter(|cell| cell.1 == usize::MAX) {
            cell.0 = NOBODY;
        }
    }
}
