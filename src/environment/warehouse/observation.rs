//! What regions and robots see of a warehouse: each robot its way and its surroundings, a region also
//! where its members stand to each other. Widths depend neither on the team nor on the map.
//!
//! A state row has four numbers for each robot: place, goal, share of the battery that is left.

use super::{
    map::{DIRECTIONS, GoalKind, Map},
    options::{ROBOT_NUMBERS, WarehouseOptions},
    traffic::NOBODY,
};
use crate::{
    environment::{Pose, Spec, View, in_order},
    graph::{CoordinationGraph, Nearby},
};
use std::{cell::RefCell, sync::Arc};

/// Cells around a robot that it sees: those at most two steps away.
const AROUND: [[isize; 2]; 12] = [
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
    [1, 1],
    [1, -1],
    [-1, 1],
    [-1, -1],
    [2, 0],
    [-2, 0],
    [0, 2],
    [0, -2],
];
/// Numbers of a cell around: free, taken, and which ways lead whoever stands there nearer to its goal.
const AROUND_WIDTH: usize = 2 + DIRECTIONS.len();
/// Numbers of the way: for each direction whether it is open and how much nearer it leads; how far
/// the goal is, twice; its kind; the battery.
const WAY_WIDTH: usize = 2 * DIRECTIONS.len() + 2 + 3 + 1;
/// Numbers of a robot.
const ROBOT_WIDTH: usize = WAY_WIDTH + AROUND.len() * AROUND_WIDTH;
/// Offsets of a partner that are told apart, along one axis.
const OFFSETS: isize = 2;
/// Numbers of where a partner stands: two coordinates, and one for each near offset.
const PARTNER_WIDTH: usize = 2 + ((2 * OFFSETS + 1) * (2 * OFFSETS + 1)) as usize;
/// Width of a region row.
pub(super) const REGION_WIDTH: usize = 2 * ROBOT_WIDTH + PARTNER_WIDTH;
/// Others that a robot sees alone.
const NEIGHBOURS: usize = 3;
/// Width of an agent row.
pub(super) const AGENT_WIDTH: usize = ROBOT_WIDTH + 2 * NEIGHBOURS;
/// Distances are shown in this unit.
const FAR: f32 = 20.0;

/// How warehouse states are seen.
#[derive(Clone, Debug)]
pub(super) struct WarehouseView {
    spec: Spec,
    k: usize,
    has_battery: bool,
    pub(super) map: Arc<Map>,
}

/// One robot of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Robot {
    pub(super) cell: usize,
    pub(super) goal: usize,
    pub(super) battery: f32,
}

#[derive(Default)]
struct Scratch {
    robots: Vec<Robot>,
    occupants: Vec<usize>,
    rows: Vec<f32>,
    positions: Vec<[f32; 2]>,
    near: Vec<(f32, usize)>,
    nearby: Nearby,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl WarehouseView {
    pub(super) fn new(options: &WarehouseOptions, spec: Spec, map: Arc<Map>) -> Self {
        Self { spec, k: options.k, has_battery: options.battery > 0, map }
    }

    /// The robots of a state.
    pub(super) fn robots<'s>(&'s self, state: &'s [f32]) -> impl Iterator<Item = Robot> + 's {
        state.chunks_exact(ROBOT_NUMBERS).map(|numbers| Robot {
            cell: numbers[1] as usize * self.map.width + numbers[0] as usize,
            goal: numbers[2] as usize,
            battery: numbers[3],
        })
    }

    /// Reads a state and who stands where.
    fn read(&self, scratch: &mut Scratch, state: &[f32]) {
        scratch.robots.clear();
        scratch.robots.extend(self.robots(state));
        scratch.occupants.clear();
        scratch.occupants.resize(self.map.free.len(), NOBODY);
        for (robot, Robot { cell, .. }) in scratch.robots.iter().enumerate() {
            scratch.occupants[*cell] = robot;
        }
    }

    /// How much nearer to its goal a direction leads a robot, where it is open.
    fn gain(&self, robot: Robot, direction: usize) -> Option<f32> {
        let to = self.map.step(robot.cell, direction)?;
        let distance = |cell| f32::from(self.map.distance(robot.goal, cell));
        Some((distance(robot.cell) - distance(to)).clamp(-3.0, 3.0))
    }

    /// Writes what one robot sees: its way, then the cells around.
    fn write_robot(&self, scratch: &Scratch, robot: usize, row: &mut [f32]) {
        let me = scratch.robots[robot];
        let (way, around) = row.split_at_mut(WAY_WIDTH);
        for (direction, cells) in way.chunks_exact_mut(2).take(DIRECTIONS.len()).enumerate() {
            let gain = self.gain(me, direction);
            cells[0] = f32::from(u8::from(gain.is_some()));
            cells[1] = gain.unwrap_or(-1.0);
        }
        let rest = &mut way[2 * DIRECTIONS.len()..];
        let distance = f32::from(self.map.distance(me.goal, me.cell));
        rest[0] = (distance / FAR).min(2.0);
        rest[1] = 1.0 / (1.0 + distance);
        let kind = self.map.kind(me.goal);
        let kinds = [GoalKind::Shelf, GoalKind::Station, GoalKind::Charger];
        for (cell, other) in rest[2..5].iter_mut().zip(kinds) {
            *cell = f32::from(u8::from(kind == other));
        }
        rest[5] = me.battery;
        for (cells, offset) in around.chunks_exact_mut(AROUND_WIDTH).zip(AROUND) {
            cells.fill(0.0);
            let there = self.map.beside(me.cell, offset).filter(|&cell| self.map.free[cell]);
            let Some(there) = there else { continue };
            cells[0] = 1.0;
            let Some(other) = scratch.robots.get(scratch.occupants[there]) else { continue };
            cells[1] = 1.0;
            for (direction, cell) in cells[2..].iter_mut().enumerate() {
                let nearer = self.gain(*other, direction).is_some_and(|gain| gain > 0.0);
                *cell = f32::from(u8::from(nearer));
            }
        }
    }

    /// Writes where the second member stands, seen from the first.
    fn write_partner(&self, scratch: &Scratch, [a, b]: [usize; 2], row: &mut [f32]) {
        let [from, to] = [a, b].map(|robot| self.map.place(scratch.robots[robot].cell));
        let offset = [0, 1].map(|axis| to[axis] as isize - from[axis] as isize);
        row.fill(0.0);
        for (cell, d) in row.iter_mut().zip(offset) {
            *cell = (d as f32 / 6.0).clamp(-1.0, 1.0);
        }
        if offset.iter().all(|d| d.abs() <= OFFSETS) {
            let [x, y] = offset.map(|d| (d + OFFSETS) as usize);
            row[2 + x * (2 * OFFSETS as usize + 1) + y] = 1.0;
        }
    }
}

impl View for WarehouseView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        if graph.n_agents() != self.spec.n_agents() {
            *graph = CoordinationGraph::empty(self.spec.n_agents());
        }
        SCRATCH.with_borrow_mut(|Scratch { positions, nearby, .. }| {
            positions.clear();
            positions.extend(state.chunks_exact(ROBOT_NUMBERS).map(|robot| [robot[0], robot[1]]));
            graph.rebuild_k_nearest(positions, self.k, nearby);
        });
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.read(scratch, state);
            let (robots, partner) = row.split_at_mut(2 * ROBOT_WIDTH);
            for (cells, &robot) in robots.chunks_exact_mut(ROBOT_WIDTH).zip(members) {
                self.write_robot(scratch, robot, cells);
            }
            self.write_partner(scratch, [members[0], members[1]], partner);
        });
    }

    fn row_layout(&self) -> Vec<(String, usize)> {
        let mut groups = Vec::new();
        for robot in 0..2 {
            let ways = format!(
                "robot {robot}, each direction: whether it is open, how much nearer it leads"
            );
            groups.push((ways, 2 * DIRECTIONS.len()));
            let goal =
                format!("robot {robot}: how far and how near its goal is, its kind, its battery");
            groups.push((goal, WAY_WIDTH - 2 * DIRECTIONS.len()));
            let around = format!(
                "robot {robot}, each of {} cells around: free, taken, where who is there wants to go",
                AROUND.len()
            );
            groups.push((around, AROUND.len() * AROUND_WIDTH));
        }
        groups.push(("displacement from robot 0 to robot 1".into(), 2));
        groups.push(("which near offset that is".into(), PARTNER_WIDTH - 2));
        groups
    }

    fn region_rows(
        &self,
        state: &[f32],
        graph: &CoordinationGraph,
        poses: &[Pose],
        rows: &mut [f32],
        stride: usize,
    ) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.read(scratch, state);
            let mut seen = std::mem::take(&mut scratch.rows);
            seen.resize(scratch.robots.len() * ROBOT_WIDTH, 0.0);
            for (robot, cells) in seen.chunks_exact_mut(ROBOT_WIDTH).enumerate() {
                self.write_robot(scratch, robot, cells);
            }
            for (index, (row, region)) in rows.chunks_mut(stride).zip(graph.regions()).enumerate() {
                let reversed = poses.get(index).is_some_and(|pose| pose.reversed);
                in_order(region, reversed, |members| {
                    let (robots, partner) = row[..REGION_WIDTH].split_at_mut(2 * ROBOT_WIDTH);
                    for (cells, &robot) in robots.chunks_exact_mut(ROBOT_WIDTH).zip(members) {
                        cells.copy_from_slice(&seen[robot * ROBOT_WIDTH..][..ROBOT_WIDTH]);
                    }
                    self.write_partner(scratch, [members[0], members[1]], partner);
                });
            }
            scratch.rows = seen;
        });
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.read(scratch, state);
            let (own, others) = row.split_at_mut(ROBOT_WIDTH);
            self.write_robot(scratch, agent, own);
            let place = |robot: &Robot| self.map.place(robot.cell).map(|x| x as f32);
            let me = place(&scratch.robots[agent]);
            let Scratch { robots, near, .. } = scratch;
            near.clear();
            for (other, robot) in robots.iter().enumerate().filter(|(other, _)| *other != agent) {
                let [x, y] = place(robot);
                near.push(((x - me[0]).powi(2) + (y - me[1]).powi(2), other));
            }
            near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            others.fill(1.0);
            for (cells, &(_, other)) in others.chunks_exact_mut(2).zip(near.iter()) {
                let [x, y] = place(&robots[other]);
                cells[0] = ((x - me[0]) / 6.0).clamp(-1.0, 1.0);
                cells[1] = ((y - me[1]) / 6.0).clamp(-1.0, 1.0);
            }
        });
    }

    /// Staying is always possible; moves need an open way, and a battery that is not empty.
    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        let mut robots = self.robots(&state[agent * ROBOT_NUMBERS..][..ROBOT_NUMBERS]);
        let Some(robot) = robots.next() else { return };
        let empty = self.has_battery && robot.battery <= 0.0;
        for (direction, allowed) in allowed[1..].iter_mut().enumerate() {
            *allowed = !empty && self.map.step(robot.cell, direction).is_some();
        }
    }
}
