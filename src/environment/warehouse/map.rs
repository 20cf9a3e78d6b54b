//! The static map: shelves, aisles, stations, chargers, and how far every goal is from every cell.
//!
//! Cells are numbered row by row from the bottom left. The two lowest rows, the highest row and every
//! sixth row between are free from left to right; between them stand blocks of shelves, two columns
//! wide, with aisles between. Stations stand in the lowest row, chargers in the highest.

use std::collections::VecDeque;

/// Where a move leads: right, left, up, down.
pub(super) const DIRECTIONS: [[isize; 2]; 4] = [[1, 0], [-1, 0], [0, 1], [0, -1]];
/// Up among the directions.
const UP: usize = 2;
/// Down among the directions.
const DOWN: usize = 3;
/// Distance of a cell from which a goal cannot be reached.
pub(super) const UNREACHABLE: u16 = u16::MAX;
/// Rows from one free row to the next.
const BLOCK: usize = 6;
/// Columns of a block of shelves.
const SHELF_COLUMNS: usize = 2;
/// Columns from one station to the next.
const STATION_GAP: usize = 3;
/// Columns from one charger to the next.
const CHARGER_GAP: usize = 9;

/// What a robot is on its way to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalKind {
    /// A cell beside a shelf, where it takes an order.
    Shelf,
    /// A station, where it delivers one.
    Station,
    /// A cell where its battery is changed.
    Charger,
}

/// The map and its distances.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether a robot can stand there.
    pub(super) free: Vec<bool>,
    /// Cell of each goal: beside shelves first, then stations, then chargers.
    pub(super) goals: Vec<usize>,
    n_shelf_goals: usize,
    n_stations: usize,
    /// For each cell, where each direction leads, if it may be taken.
    moves: Vec<[Option<usize>; 4]>,
    /// Row = goal, column = cell: steps to the goal.
    distances: Vec<u16>,
}

impl Map {
    /// A map with aisles of one or two columns, in which one may drive both ways or one way only.
    pub(super) fn new(width: usize, height: usize, aisle: usize, one_way: bool) -> Self {
        let is_aisle = |x: usize| x % (aisle + SHELF_COLUMNS) < aisle || x + 1 == width;
        let is_free_row = |y: usize| y <= 1 || y + 1 == height || y % BLOCK == 1;
        let free: Vec<bool> = (0..width * height)
            .map(|cell| is_aisle(cell % width) || is_free_row(cell / width))
            .collect();
        let mut map = Self {
            width,
            height,
            free,
            goals: Vec::new(),
            n_shelf_goals: 0,
            n_stations: 0,
            moves: Vec::new(),
            distances: Vec::new(),
        };
        map.moves = (0..width * height).map(|cell| map.find_moves(cell, one_way)).collect();
        map.place_goals();
        map.distances = map.goals.iter().flat_map(|&goal| map.distances_to(goal)).collect();
        map
    }

    /// The cell at some coordinates, where there is one.
    pub(super) fn cell(&self, x: isize, y: isize) -> Option<usize> {
        let inside = |value: isize, size: usize| usize::try_from(value).ok().filter(|&v| v < size);
        Some(inside(y, self.height)? * self.width + inside(x, self.width)?)
    }

    /// Coordinates of a cell.
    pub(super) fn place(&self, cell: usize) -> [usize; 2] {
        [cell % self.width, cell / self.width]
    }

    /// The cell some steps away, where there is one.
    pub(super) fn beside(&self, cell: usize, [dx, dy]: [isize; 2]) -> Option<usize> {
        let [x, y] = self.place(cell);
        self.cell(x as isize + dx, y as isize + dy)
    }

    /// Where a direction leads from a cell, if it may be taken.
    pub(super) fn step(&self, cell: usize, direction: usize) -> Option<usize> {
        self.moves[cell][direction]
    }

    /// Steps from a cell to a goal.
    pub(super) fn distance(&self, goal: usize, cell: usize) -> u16 {
        self.distances[goal * self.free.len() + cell]
    }

    /// What kind of goal that is.
    pub(super) fn kind(&self, goal: usize) -> GoalKind {
        match goal {
            _ if goal < self.n_shelf_goals => GoalKind::Shelf,
            _ if goal < self.n_shelf_goals + self.n_stations => GoalKind::Station,
            _ => GoalKind::Charger,
        }
    }

    /// The goals of a kind.
    pub(super) fn goals_of(&self, kind: GoalKind) -> std::ops::Range<usize> {
        let stations = self.n_shelf_goals;
        let chargers = stations + self.n_stations;
        match kind {
            GoalKind::Shelf => 0..stations,
            GoalKind::Station => stations..chargers,
            GoalKind::Charger => chargers..self.goals.len(),
        }
    }

    fn find_moves(&self, cell: usize, one_way: bool) -> [Option<usize>; 4] {
        let [x, _] = self.place(cell);
        let is_column = |cell: usize| {
            let shelf = |dx| self.beside(cell, [dx, 0]).is_some_and(|c| !self.free[c]);
            shelf(-1) || shelf(1)
        };
        std::array::from_fn(|direction| {
            let target = self.beside(cell, DIRECTIONS[direction]).filter(|&to| self.free[to])?;
            // One drives up the even columns and down the odd ones, wherever shelves are beside.
            let wrong = if x % 2 == 0 { DOWN } else { UP };
            let inside = is_column(cell) || is_column(target);
            // The last column has no neighbour in the other direction.
            let forbidden = one_way && direction == wrong && inside && x + 1 < self.width;
            (self.free[cell] && !forbidden).then_some(target)
        })
    }

    fn place_goals(&mut self) {
        let width = self.width;
        let beside_shelf = |cell: usize| {
            let shelf = |dx| self.beside(cell, [dx, 0]).is_some_and(|c| !self.free[c]);
            self.free[cell] && (shelf(-1) || shelf(1))
        };
        let shelves: Vec<usize> = (0..self.free.len()).filter(|&cell| beside_shelf(cell)).collect();
        let stations = (1..width - 1).step_by(STATION_GAP);
        let top = width * (self.height - 1);
        let chargers = (0..width).step_by(CHARGER_GAP).map(|x| top + x);
        self.n_shelf_goals = shelves.len();
        self.n_stations = stations.len();
        self.goals = shelves.into_iter().chain(stations).chain(chargers).collect();
    }

    /// Steps to a goal from every cell, by a search backwards from it.
    fn distances_to(&self, goal: usize) -> Vec<u16> {
        let mut distances = vec![UNREACHABLE; self.free.len()];
        let mut queue = VecDeque::from([goal]);
        distances[goal] = 0;
        while let Some(cell) = queue.pop_front() {
            for back in DIRECTIONS {
                let Some(from) = self.beside(cell, back) else { continue };
                let leads_here = self.moves[from].contains(&Some(cell));
                if leads_here && distances[from] == UNREACHABLE {
                    distances[from] = distances[cell] + 1;
                    queue.push_back(from);
                }
            }
        }
        distances
    }

    /// Whether every goal can be reached from every free cell.
    pub(super) fn is_connected(&self) -> bool {
        let n = self.free.len();
        !self.goals.is_empty()
            && self
                .distances
                .iter()
                .enumerate()
                .all(|(index, &distance)| distance != UNREACHABLE || !self.free[index % n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_hand_drawn_map() {
        let map = Map::new(12, 8, 2, false);
        let rows: Vec<String> = map
            .free
            .chunks(12)
            .map(|row| row.iter().map(|free| if *free { '.' } else { '#' }).collect())
            .collect();
        assert_eq!(rows[2], "..##..##..#.");
        assert!([0, 1, 7].iter().all(|&y: &usize| rows[y] == "............"));
        // From the left of a block to the right of it: up one, across three, down one.
        let goal = map.goals.iter().position(|&cell| map.place(cell) == [4, 6]).unwrap();
        let from = map.cell(1, 6).unwrap();
        assert_eq!(map.distance(goal, from), 5);
        assert!(map.is_connected());
    }

    #[test]
    fn one_way_aisles_are_driven_one_way() {
        for aisle in [1, 2] {
            let map = Map::new(20, 14, aisle, true);
            assert!(map.is_connected(), "aisles of {aisle}");
            let inside = map.cell(if aisle == 1 { 3 } else { 4 }, 3).unwrap();
            let up = map.step(inside, UP).is_some();
            assert!(up != map.step(inside, DOWN).is_some());
        }
    }

    #[test]
    fn goals_have_their_kinds() {
        let map = Map::new(12, 8, 2, false);
        for kind in [GoalKind::Shelf, GoalKind::Station, GoalKind::Charger] {
            assert!(!map.goals_of(kind).is_empty());
            assert!(map.goals_of(kind).all(|goal| map.kind(goal) == kind));
        }
        let station = map.goals_of(GoalKind::Station).start;
        assert_eq!(map.place(map.goals[station]), [1, 0]);
    }
}
