//! The warehouse: robots fetch orders from shelves and bring them to stations on a grid where moves
//! into an occupied or contested cell are blocked; conflicts and energy are paid for.

mod map;
mod observation;
mod options;
mod planner;
mod recipe;
mod task;
mod traffic;

pub use options::WarehouseOptions;
pub use task::WarehouseTask;

use super::{Drawing, Ending, Environment, Outcome, Role, Shape, View, check_snapshot};
use crate::{
    error::{Error, Result},
    graph::CoordinationGraph,
    rng::Rng,
};
use map::{GoalKind, Map};
use observation::{Robot, WarehouseView};
use options::{MOVE_ENERGY, ROBOT_NUMBERS};
use std::sync::Arc;
use traffic::{NOBODY, Traffic};

/// Constraint of blocked moves.
const CONFLICTS: usize = 0;
/// Constraint of moves.
const ENERGY: usize = 1;
/// Reward of a step nearer to the goal.
const PROGRESS: f32 = 0.1;
/// Reward of a goal that is reached.
const ARRIVAL: f32 = 0.5;

/// The environment.
#[derive(Clone, Debug)]
pub struct Warehouse {
    view: WarehouseView,
    options: WarehouseOptions,
    map: Arc<Map>,
    cells: Vec<usize>,
    goals: Vec<usize>,
    /// Moves that each battery still has.
    batteries: Vec<usize>,
    steps: usize,
    traffic: Traffic,
    targets: Vec<usize>,
    before: Vec<u16>,
    graph: CoordinationGraph,
    state: Vec<f32>,
}

impl Warehouse {
    /// The environment with the given options.
    pub fn new(options: &WarehouseOptions) -> Result<Self> {
        options.validate()?;
        let [width, height] = options.size();
        let map = Arc::new(Map::new(width, height, options.aisle, options.one_way));
        if !map.is_connected() {
            let reason = "on this map some goals cannot be reached; try another width";
            return Err(Error::setting("one_way", options.one_way, reason));
        }
        let n_free = map.free.iter().filter(|free| **free).count();
        if 3 * options.agents > n_free {
            let reason = format!("a map of {width} × {height} has room for {}", n_free / 3);
            return Err(Error::setting("agents", options.agents, reason));
        }
        let (n, spec) = (options.agents, options.spec());
        Ok(Self {
            state: vec![0.0; spec.state_width],
            view: WarehouseView::new(options, spec, Arc::clone(&map)),
            cells: vec![0; n],
            goals: vec![0; n],
            batteries: vec![options.battery; n],
            steps: 0,
            traffic: Traffic::default(),
            targets: vec![0; n],
            before: vec![0; n],
            graph: CoordinationGraph::empty(n),
            options: options.clone(),
            map,
        })
    }

    /// A goal of a kind by chance.
    fn draw_goal(map: &Map, kind: GoalKind, rng: &mut Rng) -> usize {
        let goals = map.goals_of(kind);
        goals.start + rng.below(goals.len())
    }

    /// The graph in force when the action was chosen.
    fn find_graph(&mut self) {
        let mut state = std::mem::take(&mut self.state);
        self.write_state(&mut state);
        self.view.graph(&state, &mut self.graph);
        self.state = state;
    }

    /// Moves everybody who is not blocked, and charges moves and conflicts.
    fn drive(&mut self, action: &[usize], outcome: &mut Outcome) -> [usize; 2] {
        let mut n_moves = 0;
        for (robot, &action) in action.iter().enumerate() {
            let cell = self.cells[robot];
            let has_power = self.options.battery == 0 || self.batteries[robot] > 0;
            let target = action.checked_sub(1).filter(|_| has_power);
            let target = target.and_then(|direction| self.map.step(cell, direction));
            self.targets[robot] = target.unwrap_or(cell);
            self.before[robot] = self.map.distance(self.goals[robot], cell);
            if target.is_some() {
                outcome.charge(&self.graph, ENERGY, &[robot], MOVE_ENERGY as f32);
                self.batteries[robot] = self.batteries[robot].saturating_sub(1);
                n_moves += 1;
            }
        }
        self.traffic.resolve(self.map.free.len(), &mut self.cells, &self.targets);
        let mut n_blocked = 0;
        for (robot, &blocker) in self.traffic.blockers.iter().enumerate() {
            if blocker != NOBODY {
                outcome.charge(&self.graph, CONFLICTS, &[robot, blocker], 1.0);
                n_blocked += 1;
            }
        }
        [n_moves, n_blocked]
    }

    /// Pays progress, and gives a next goal to whoever arrived; tells how many orders were delivered.
    fn arrive(&mut self, rng: &mut Rng, outcome: &mut Outcome) -> usize {
        let mut n_delivered = 0;
        for robot in 0..self.cells.len() {
            let (cell, goal) = (self.cells[robot], self.goals[robot]);
            let gain = f32::from(self.before[robot]) - f32::from(self.map.distance(goal, cell));
            let arrived = self.map.goals[goal] == cell;
            let reward = PROGRESS * gain + if arrived { ARRIVAL } else { 0.0 };
            outcome.earn(&self.graph, &[robot], reward);
            if !arrived {
                continue;
            }
            let kind = self.map.kind(goal);
            n_delivered += usize::from(kind == GoalKind::Station);
            if kind == GoalKind::Charger {
                self.batteries[robot] = self.options.battery;
            }
            self.goals[robot] = self.next_goal(robot, kind, rng);
        }
        n_delivered
    }

    /// Where a robot goes after a goal of a kind: with an order to a station, with a battery that is
    /// half empty to the nearest charger, else for the next order.
    fn next_goal(&self, robot: usize, reached: GoalKind, rng: &mut Rng) -> usize {
        let low = self.options.battery > 0 && 2 * self.batteries[robot] < self.options.battery;
        match reached {
            GoalKind::Shelf => Self::draw_goal(&self.map, GoalKind::Station, rng),
            GoalKind::Station if low => {
                let chargers = self.map.goals_of(GoalKind::Charger);
                let distance = |goal: &usize| self.map.distance(*goal, self.cells[robot]);
                chargers.clone().min_by_key(distance).unwrap_or(chargers.start)
            }
            _ => Self::draw_goal(&self.map, GoalKind::Shelf, rng),
        }
    }

    fn battery_share(&self, robot: usize) -> f64 {
        match self.options.battery {
            0 => 1.0,
            full => self.batteries[robot] as f64 / full as f64,
        }
    }
}

impl Environment for Warehouse {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        let free = &self.map.free;
        for robot in 0..self.cells.len() {
            let taken = |cell: usize, cells: &[usize]| !free[cell] || cells.contains(&cell);
            let mut cell = rng.below(free.len());
            while taken(cell, &self.cells[..robot]) {
                cell = rng.below(free.len());
            }
            self.cells[robot] = cell;
            self.goals[robot] = Self::draw_goal(&self.map, GoalKind::Shelf, rng);
        }
        self.batteries.fill(self.options.battery);
        self.traffic.blockers.clear();
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        for (robot, numbers) in state.chunks_exact_mut(ROBOT_NUMBERS).enumerate() {
            let [x, y] = self.map.place(self.cells[robot]);
            let goal = self.goals[robot] as f32;
            numbers.copy_from_slice(&[x as f32, y as f32, goal, self.battery_share(robot) as f32]);
        }
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        self.find_graph();
        outcome.begin(self.view.spec(), &self.graph);
        let [n_moves, n_blocked] = self.drive(action, outcome);
        let n_delivered = self.arrive(rng, outcome) as f64;
        let n = self.cells.len() as f64;
        let rates = [n_blocked as f64 / n, n_moves as f64 / n, 100.0 * n_delivered / n];
        outcome.metrics.push(n_delivered);
        outcome.metrics.extend(rates);
        self.steps += 1;
        outcome.ending = Ending::after(self.steps, self.view.spec(), false);
    }

    /// Place, goal and moves left of each robot, and the steps that are over.
    fn snapshot(&self) -> Vec<f64> {
        let robot = |robot: usize| {
            let [x, y] = self.map.place(self.cells[robot]);
            [x, y, self.goals[robot], self.batteries[robot]].map(|number| number as f64)
        };
        (0..self.cells.len()).flat_map(robot).chain([self.steps as f64]).collect()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        check_snapshot(snapshot, ROBOT_NUMBERS * self.cells.len() + 1)?;
        let mut robots = Vec::with_capacity(self.cells.len());
        for numbers in snapshot.chunks_exact(ROBOT_NUMBERS) {
            let cell = self.map.cell(numbers[0] as isize, numbers[1] as isize);
            let cell = cell.filter(|&cell| self.map.free[cell]);
            let goal = Some(numbers[2] as usize).filter(|&goal| goal < self.map.goals.len());
            let taken = |robot: &(Robot, usize)| Some(robot.0.cell) == cell;
            let (Some(cell), Some(goal), false) = (cell, goal, robots.iter().any(taken)) else {
                let reason = "each robot stands alone on a free cell and has a goal";
                return Err(Error::setting("snapshot", format!("{numbers:?}"), reason));
            };
            robots.push((Robot { cell, goal, battery: 0.0 }, numbers[3] as usize));
        }
        for (robot, (Robot { cell, goal, .. }, battery)) in robots.into_iter().enumerate() {
            (self.cells[robot], self.goals[robot]) = (cell, goal);
            self.batteries[robot] = battery.min(self.options.battery);
        }
        self.traffic.blockers.clear();
        self.steps = snapshot.last().map_or(0, |&steps| steps as usize);
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let at = |cell: usize| self.map.place(cell).map(|x| x as f64);
        let mut shapes = Vec::new();
        for (cell, _) in self.map.free.iter().enumerate().filter(|(_, free)| !**free) {
            shapes.push(Shape::square(Role::Obstacle, at(cell), 0.45));
        }
        for (kind, text) in [(GoalKind::Station, "S"), (GoalKind::Charger, "C")] {
            let shown = kind == GoalKind::Station || self.options.battery > 0;
            for goal in self.map.goals_of(kind).filter(|_| shown) {
                let square = Shape::square(Role::Ground, at(self.map.goals[goal]), 0.48);
                shapes.push(square.labelled(text));
            }
        }
        for &goal in &self.goals {
            shapes.push(Shape::square(Role::Target, at(self.map.goals[goal]), 0.25));
        }
        for (robot, &cell) in self.cells.iter().enumerate() {
            let blocked = self.traffic.blockers.get(robot).is_some_and(|&other| other != NOBODY);
            let role = if blocked { Role::Alarm } else { Role::Agent };
            shapes.push(Shape::disc(role, at(cell), 0.38).of_agent(robot));
            // There is always one, so that every moment has as many shapes as the next.
            let loaded = self.map.kind(self.goals[robot]) == GoalKind::Station;
            let size = if loaded { 0.16 } else { 0.01 };
            shapes.push(Shape::square(Role::Ground, at(cell), size));
        }
        let [width, height] = [self.map.width, self.map.height].map(|size| size as f64);
        Drawing { bounds: [-0.5, -0.5, width - 0.5, height - 0.5], shapes }
    }
}
