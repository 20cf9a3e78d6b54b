//! What predators and pairs of them see: the cells around each, the walls, and where the partner is.
//!
//! A state row is `[predators 2N | prey 2M | which predators live N | which prey live M]`, positions
//! measured from the centre of the grid; who has left is at the centre.

use super::{
    PredatorPreyOptions,
    board::{CATCH, MOVES, N_ACTIONS, STAY},
};
use crate::{
    environment::{
        Pose, Spec, View,
        frame::Frame,
        in_order,
        symmetry::{SQUARE, transform},
    },
    graph::{CoordinationGraph, Nearby},
};
use std::cell::RefCell;

/// Kinds of cells in the padded grid.
const EMPTY: u8 = 0;
const PREDATOR: u8 = 1;
const PREY: u8 = 2;

/// Farthest that a predator can see.
pub(super) const MOST_VIEW: usize = 5;

/// Widths of the rows of a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Cells around a predator.
    cells: usize,
    /// What one predator sees.
    pub(super) agent: usize,
    /// What a pair sees.
    pub(super) region: usize,
}

impl Rows {
    /// The rows of predators that see so many cells to each side.
    pub(super) fn of(view: usize) -> Self {
        let cells = (2 * view + 1).pow(2) - 1;
        // Predators and prey of each cell, four walls, one for being there.
        let agent = 2 * cells + 5;
        // The cell of the partner, its direction and distance.
        Self { cells, agent, region: 2 * agent + cells + 3 }
    }

    /// How many cells a predator with a row of this width sees to each side.
    pub(super) fn reach(agent_width: usize) -> usize {
        (1..=MOST_VIEW).find(|&view| Self::of(view).agent >= agent_width).unwrap_or_default()
    }
}

/// How the hunt is seen.
#[derive(Clone, Debug)]
pub(super) struct PreyView {
    spec: Spec,
    rows: Rows,
    size: usize,
    view: usize,
    neighbours: usize,
    /// For each symmetry: the cells of the grid, from a predator, that are seen one after the other.
    cells: Vec<Vec<[i32; 2]>>,
    /// For each symmetry and action: the action that does the same there.
    actions: Vec<[usize; N_ACTIONS]>,
}

/// The parts of a state row.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) predators: &'a [[f32; 2]],
    pub(super) prey: &'a [[f32; 2]],
    predators_live: &'a [f32],
    prey_live: &'a [f32],
}

impl<'a> Parts<'a> {
    pub(super) fn of(state: &'a [f32], n_predators: usize) -> Self {
        let n_prey = state.len() / 3 - n_predators;
        let (predators, rest) = state.split_at(2 * n_predators);
        let (prey, rest) = rest.split_at(2 * n_prey);
        let (predators_live, prey_live) = rest.split_at(n_predators);
        let [predators, prey] = [predators, prey].map(bytemuck::cast_slice);
        Self { predators, prey, predators_live, prey_live }
    }

    pub(super) fn lives(&self, predator: usize) -> bool {
        self.predators_live[predator] > 0.0
    }

    /// The prey that are still there.
    pub(super) fn living_prey(self) -> impl Iterator<Item = [f32; 2]> + Clone {
        let alive = self.prey.iter().zip(self.prey_live).filter(|(_, live)| **live > 0.0);
        alive.map(|(at, _)| *at)
    }
}

thread_local! {
    /// The grid with a margin as wide as a predator sees.
    static GRID: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Where predators stand, for the graph.
    static POSITIONS: RefCell<Vec<[f32; 2]>> = const { RefCell::new(Vec::new()) };
    /// Their distances.
    static NEAR: RefCell<Nearby> = RefCell::default();
}

impl PreyView {
    pub(super) fn new(options: &PredatorPreyOptions) -> Self {
        let reach = options.view as i32;
        let square = || (-reach..=reach).flat_map(move |y| (-reach..=reach).map(move |x| [x, y]));
        let around = || square().filter(|cell| *cell != [0, 0]);
        let seen = |symmetry: usize| {
            let original =
                |cell: [i32; 2]| around().find(|&from| transform(symmetry, from) == cell);
            around().filter_map(original).collect()
        };
        let action = |symmetry: usize, action: usize| {
            let step = MOVES.get(action).map(|&step| transform(symmetry, step));
            step.and_then(|step| MOVES.iter().position(|other| *other == step)).unwrap_or(action)
        };
        Self {
            spec: options.spec(),
            rows: Rows::of(options.view),
            size: options.size,
            view: options.view,
            neighbours: options.neighbours,
            cells: (0..SQUARE).map(seen).collect(),
            actions: (0..SQUARE)
                .map(|symmetry| std::array::from_fn(|a| action(symmetry, a)))
                .collect(),
        }
    }

    /// From the centre of the grid to that of an outermost cell.
    fn half(&self) -> f32 {
        0.5 * (self.size - 1) as f32
    }

    /// The place of a position in the padded grid.
    fn place(&self, [x, y]: [f32; 2]) -> usize {
        let cell = |c: f32| (c + self.half()) as usize + self.view;
        cell(y) * (self.size + 2 * self.view) + cell(x)
    }

    /// Marks who stands where.
    fn fill(&self, parts: Parts<'_>, grid: &mut Vec<u8>) {
        grid.clear();
        grid.resize((self.size + 2 * self.view).pow(2), EMPTY);
        for (index, &at) in parts.predators.iter().enumerate() {
            if parts.lives(index) {
                grid[self.place(at)] = PREDATOR;
            }
        }
        parts.living_prey().for_each(|at| grid[self.place(at)] = PREY);
    }

    /// Writes what a predator sees: predators (but its partner) and prey of each cell, walls, itself.
    fn write_one(
        &self,
        (grid, parts): (&[u8], Parts<'_>),
        (me, partner): (usize, Option<usize>),
        symmetry: usize,
        row: &mut [f32],
    ) {
        row.fill(0.0);
        if !parts.lives(me) {
            return;
        }
        let at = parts.predators[me];
        let (place, width) = (self.place(at), self.size + 2 * self.view);
        let partner = partner.filter(|&partner| parts.lives(partner));
        let partner = partner.map(|partner| self.place(parts.predators[partner]));
        let (cells, rest) = row.split_at_mut(2 * self.rows.cells);
        for (pair, [x, y]) in cells.chunks_exact_mut(2).zip(&self.cells[symmetry]) {
            let there = place.wrapping_add_signed((*y as isize) * width as isize + *x as isize);
            match grid[there] {
                PREDATOR if partner != Some(there) => pair[0] = 1.0,
                PREY => pair[1] = 1.0,
                _ => {}
            }
        }
        let ([x, y], reach) = (transform(symmetry, at), self.view as f32);
        for (wall, along) in rest.iter_mut().zip([x, -y, -x, y]) {
            *wall = 1.0 - (self.half() - along).min(reach) / reach;
        }
        rest[4] = 1.0;
    }

    /// Writes what a pair sees.
    fn write(&self, seen: (&[u8], Parts<'_>), members: &[usize], symmetry: usize, row: &mut [f32]) {
        let (one, rest) = row.split_at_mut(self.rows.agent);
        let (other, rest) = rest.split_at_mut(self.rows.agent);
        let [first, second] = [members[0], members[1]];
        self.write_one(seen, (first, Some(second)), symmetry, one);
        self.write_one(seen, (second, Some(first)), symmetry, other);
        rest.fill(0.0);
        let parts = seen.1;
        if !(parts.lives(first) && parts.lives(second)) {
            return;
        }
        let [x, y] = displacement(parts, members);
        let cell = [x as i32, y as i32];
        if let Some(index) = self.cells[symmetry].iter().position(|other| *other == cell) {
            rest[index] = 1.0;
        }
        let [x, y] = transform(symmetry, [x, y]).map(|c| c / self.size as f32 + 0.0);
        rest[self.rows.cells..].copy_from_slice(&[x, y, x.abs() + y.abs()]);
    }
}

/// From the first member of a pair to the second; none where one of them has left.
fn displacement(parts: Parts<'_>, members: &[usize]) -> [f32; 2] {
    if !members.iter().all(|&member| parts.lives(member)) {
        return [0.0; 2];
    }
    let [a, b] = [parts.predators[members[0]], parts.predators[members[1]]];
    [b[0] - a[0], b[1] - a[1]]
}

impl View for PreyView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Each predator that is still there with its nearest; the last one alone with one that has left.
    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        let n = self.spec.n_agents();
        let parts = Parts::of(state, n);
        if graph.n_agents() != n {
            *graph = CoordinationGraph::empty(n);
        }
        POSITIONS.with_borrow_mut(|positions| {
            positions.clear();
            positions.extend_from_slice(parts.predators);
            let gone = |agent: &usize| !parts.lives(*agent);
            let n_gone = (0..n).filter(gone).count();
            for agent in (0..n).filter(gone).skip(usize::from(n_gone + 1 == n)) {
                positions[agent] = [f32::INFINITY; 2];
            }
            NEAR.with_borrow_mut(|near| graph.rebuild_k_nearest(positions, self.neighbours, near));
        });
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        self.posed_row(state, members, Pose::default(), row);
    }

    fn row_layout(&self) -> Vec<(String, usize)> {
        let member = |member: usize| {
            let cells = format!("predator {member}, each cell around: another predator, prey");
            let rest = format!("predator {member}: how near each wall is, whether it is there");
            [(cells, 2 * self.rows.cells), (rest, 5)]
        };
        let pair = [
            ("in which cell around predator 0 the other is".to_owned(), self.rows.cells),
            ("displacement and distance from predator 0 to the other".to_owned(), 3),
        ];
        (0..2).flat_map(member).chain(pair).collect()
    }

    fn posed_row(&self, state: &[f32], members: &[usize], pose: Pose, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        GRID.with_borrow_mut(|grid| {
            self.fill(parts, grid);
            in_order(members, pose.reversed, |members| {
                self.write((grid, parts), members, pose.symmetry, row);
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
        GRID.with_borrow_mut(|grid| {
            self.fill(parts, grid);
            for (index, (row, region)) in rows.chunks_mut(stride).zip(graph.regions()).enumerate() {
                let Pose { symmetry, reversed } = poses.get(index).copied().unwrap_or_default();
                in_order(region, reversed, |members| {
                    self.write((grid, parts), members, symmetry, &mut row[..self.rows.region]);
                });
            }
        });
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        GRID.with_borrow_mut(|grid| {
            self.fill(parts, grid);
            self.write_one((grid, parts), (agent, None), 0, row);
        });
    }

    /// As published: no move into a wall, no catch where no prey is beside; who has left stays.
    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        let parts = Parts::of(state, self.spec.n_agents());
        if !parts.lives(agent) {
            allowed.fill(false);
            allowed[STAY] = true;
            return;
        }
        let [x, y] = parts.predators[agent];
        for (allowed, along) in allowed.iter_mut().zip([x, -y, -x, y]) {
            *allowed = along < self.half();
        }
        let is_beside = |at: [f32; 2]| (at[0] - x).abs() + (at[1] - y).abs() == 1.0;
        allowed[CATCH] = parts.living_prey().any(is_beside);
    }

    fn n_symmetries(&self) -> usize {
        SQUARE
    }

    fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
        let n_points = state.len() / 3;
        let (points, _) = state.split_at_mut(2 * n_points);
        let points: &mut [[f32; 2]] = bytemuck::cast_slice_mut(points);
        points.iter_mut().for_each(|point| *point = transform(symmetry, *point));
    }

    fn transform_action(&self, symmetry: usize, action: usize) -> usize {
        self.actions[symmetry][action]
    }

    fn n_frames(&self) -> usize {
        Frame::Octant.n_frames()
    }

    fn frame_rule(&self) -> Option<Frame> {
        Some(Frame::Octant)
    }

    fn frame(&self, state: &[f32], members: &[usize], frame: usize) -> usize {
        let parts = Parts::of(state, self.spec.n_agents());
        Frame::Octant.of_region(self, (state, members), displacement(parts, members), frame)
    }

    fn has_left(&self, state: &[f32], agent: usize) -> bool {
        !Parts::of(state, self.spec.n_agents()).lives(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the lower left corner of three by three cells, a predator to the right and a prey above.
    #[test]
    fn a_predator_sees_its_neighbours_and_the_walls() {
        let prey = Some(1);
        let options =
            PredatorPreyOptions { agents: 2, prey, size: 3, view: 1, ..Default::default() };
        let view = PreyView::new(&options);
        let state = [-1.0, -1.0, 0.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0];
        let mut row = vec![f32::NAN; view.spec.agent_width];
        view.agent_row(&state, 0, &mut row);
        // Cells from the lower left, two numbers each, without its own; walls right, down, left, up.
        let seen: Vec<usize> = (0..row.len()).filter(|&index| row[index] != 0.0).collect();
        assert_eq!(seen, [2 * 4, 2 * 6 + 1, 16 + 1, 16 + 2, 20]);
        assert!(seen.iter().all(|&index| row[index] == 1.0), "{row:?}");
        let mut allowed = [true; N_ACTIONS];
        view.action_mask(&state, 0, &mut allowed);
        assert_eq!(allowed, [true, false, false, true, true, true]);
        view.action_mask(&state, 1, &mut allowed);
        assert!(!allowed[CATCH], "the prey is not beside it");
    }

    #[test]
    fn the_last_predator_is_paired_with_one_that_has_left() {
        let view = PreyView::new(&PredatorPreyOptions { agents: 4, ..Default::default() });
        let mut state = vec![0.0; view.spec.state_width];
        let lives = 2 * 8;
        state[..8].copy_from_slice(&[0.5, 0.5, 1.5, 0.5, 2.5, 0.5, 3.5, 0.5]);
        let mut graph = CoordinationGraph::empty(4);
        let mut regions = |living: [f32; 4]| {
            state[lives..lives + 4].copy_from_slice(&living);
            view.graph(&state, &mut graph);
            graph.regions().map(<[usize]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(regions([1.0, 0.0, 1.0, 1.0]), [[0, 2], [0, 3], [2, 3]]);
        assert_eq!(regions([0.0, 0.0, 1.0, 0.0]), [[0, 2]]);
        assert!(regions([0.0; 4]).is_empty());
    }
}
