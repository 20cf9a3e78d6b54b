//! The planner, which sees all: prioritised A* in space and time with reservations.
//!
//! Robots plan one after the other, a few steps ahead: each takes the shortest way that meets no
//! reservation of those before it, and reserves it. Who finds none goes to the front, and all plan
//! again. It plans anew at every step and does the first step of the plan.

use super::{
    Warehouse,
    map::Map,
    observation::{Robot, WarehouseView},
};
use crate::{
    environment::{Batch, Policy},
    graph::JointAction,
};
use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

/// Steps that are planned.
const WINDOW: usize = 20;
/// Steps for which whoever arrives keeps its goal's cell.
const STAY: usize = 1;
/// Directions and staying.
const N_ACTIONS: usize = 5;
/// Nothing leads here.
const UNSEEN: u8 = u8::MAX;

/// Plans for all robots of a warehouse.
#[derive(Clone, Debug)]
pub(super) struct Planner {
    view: WarehouseView,
    map: Arc<Map>,
    robots: Vec<Robot>,
    order: Vec<usize>,
    /// Row = time, column = cell: whether it is reserved.
    taken: Vec<bool>,
    /// Row = time, column = cell and direction: whether somebody leaves the cell that way then.
    leaving: Vec<bool>,
    /// Row = time, column = cell: the action that led there.
    came_by: Vec<u8>,
    /// Places of `came_by` to wipe.
    seen: Vec<usize>,
    open: BinaryHeap<Reverse<(u16, Reverse<usize>, usize)>>,
    path: Vec<usize>,
}

impl Planner {
    /// The planner of a warehouse.
    pub(super) fn new(environment: &Warehouse) -> Self {
        let map = Arc::clone(&environment.map);
        let n_states = (WINDOW + 1) * map.free.len();
        Self {
            view: environment.view.clone(),
            robots: Vec::new(),
            order: Vec::new(),
            taken: vec![false; n_states],
            leaving: vec![false; n_states * (N_ACTIONS - 1)],
            came_by: vec![UNSEEN; n_states],
            seen: Vec::new(),
            open: BinaryHeap::new(),
            path: Vec::new(),
            map,
        }
    }

    /// Writes the joint action of a state.
    fn plan(&mut self, state: &[f32], action: &mut [usize]) {
        self.robots.clear();
        self.robots.extend(self.view.robots(state));
        self.order.clear();
        self.order.extend(0..self.robots.len());
        for _ in 0..self.robots.len() {
            let Some(failed) = self.plan_in_order(action) else { return };
            self.order[..=failed].rotate_right(1);
        }
    }

    /// Plans in the order of priority; tells who was the first to find no way.
    fn plan_in_order(&mut self, action: &mut [usize]) -> Option<usize> {
        self.taken.fill(false);
        self.leaving.fill(false);
        action.fill(0);
        let mut first_failed = None;
        for rank in 0..self.order.len() {
            let robot = self.order[rank];
            if let Some(first) = self.find_path(robot) {
                action[robot] = first;
            } else {
                first_failed = first_failed.or(Some(rank).filter(|&rank| rank > 0));
            }
        }
        first_failed
    }

    /// The first action of the shortest way without conflicts, which is reserved.
    fn find_path(&mut self, robot: usize) -> Option<usize> {
        let n_cells = self.map.free.len();
        let Robot { cell: start, goal, .. } = self.robots[robot];
        let map = Arc::clone(&self.map);
        for place in self.seen.drain(..) {
            self.came_by[place] = UNSEEN;
        }
        self.open.clear();
        self.open.push(Reverse((map.distance(goal, start), Reverse(0), start)));
        self.came_by[start] = 0;
        self.seen.push(start);
        while let Some(Reverse((_, Reverse(time), cell))) = self.open.pop() {
            if time == WINDOW || (time > 0 && map.goals[goal] == cell) {
                self.reserve(time, cell);
                return self.path.last().copied();
            }
            for action in 0..N_ACTIONS {
                let target = match action.checked_sub(1) {
                    None => Some(cell),
                    Some(direction) => map.step(cell, direction),
                };
                let Some(target) = target else { continue };
                let place = (time + 1) * n_cells + target;
                if self.came_by[place] != UNSEEN || self.is_reserved(time, cell, target, action) {
                    continue;
                }
                self.came_by[place] = action as u8;
                self.seen.push(place);
                let estimate = (time + 1) as u16 + map.distance(goal, target);
                self.open.push(Reverse((estimate, Reverse(time + 1), target)));
            }
        }
        None
    }

    /// Whether a move meets somebody who planned before: in the cell, or in exchange.
    fn is_reserved(&self, time: usize, cell: usize, target: usize, action: usize) -> bool {
        let n_cells = self.map.free.len();
        // Right and left are each other's opposite, and so are up and down.
        let meets = action.checked_sub(1).is_some_and(|direction| {
            self.leaving[(time * n_cells + target) * (N_ACTIONS - 1) + (direction ^ 1)]
        });
        self.taken[(time + 1) * n_cells + target] || (cell != target && meets)
    }

    /// Reserves the way that was found, from its end; the path's last entry is its first action.
    fn reserve(&mut self, time: usize, end: usize) {
        let n_cells = self.map.free.len();
        self.path.clear();
        let mut cell = end;
        for time in (1..=time).rev() {
            let action = usize::from(self.came_by[time * n_cells + cell]);
            self.taken[time * n_cells + cell] = true;
            self.path.push(action);
            if let Some(direction) = action.checked_sub(1) {
                let [dx, dy] = super::map::DIRECTIONS[direction];
                cell = self.map.beside(cell, [-dx, -dy]).unwrap_or(cell);
                self.leaving[((time - 1) * n_cells + cell) * (N_ACTIONS - 1) + direction] = true;
            }
        }
        for time in time + 1..=(time + STAY).min(WINDOW) {
            self.taken[time * n_cells + end] = true;
        }
    }
}

impl Policy for Planner {
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]) {
        for (index, action) in actions.iter_mut().enumerate() {
            action.resize(batch.view.spec().n_agents(), 0);
            self.plan(batch.state(index), action);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}
