//! The rules of the hunt: a bounded grid with at most one animal on a cell, moved one after the other.
//!
//! Predators move first, in random order; then each prey in random order is caught if two or more of
//! its neighbours catch, and else moves to a random free neighbour. Who caught a prey leaves with it.

use crate::rng::Rng;

/// A column and a row, counted from the lower left corner.
pub(super) type Cell = [i32; 2];

/// Where a move leads: right, down, left, up; row 0 is at the bottom.
pub(super) const MOVES: [Cell; 4] = [[1, 0], [0, -1], [-1, 0], [0, 1]];
/// The action that does nothing.
pub(super) const STAY: usize = 4;
/// The action that catches whatever prey stands beside.
pub(super) const CATCH: usize = 5;
/// Right, down, left, up, stay, catch.
pub(super) const N_ACTIONS: usize = 6;
/// Predators that it takes to catch a prey.
const CATCHERS: usize = 2;

/// The cell a step away.
pub(super) fn beside(cell: Cell, step: Cell) -> Cell {
    [cell[0] + step[0], cell[1] + step[1]]
}

/// Whether two cells share a side.
pub(super) fn are_neighbours(a: Cell, b: Cell) -> bool {
    (a[0] - b[0]).abs() + (a[1] - b[1]).abs() == 1
}

/// A predator or a prey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Animal {
    pub(super) cell: Cell,
    /// Whether it is still in the game.
    pub(super) lives: bool,
}

/// Up to four predators, those around one prey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Around {
    predators: [usize; 4],
    count: usize,
}

impl Around {
    fn push(&mut self, predator: usize) {
        self.predators[self.count] = predator;
        self.count += 1;
    }

    /// The predators, lowest number first.
    pub(super) fn list(&self) -> &[usize] {
        &self.predators[..self.count]
    }
}

/// A prey that at least one neighbour tried to catch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Catch {
    /// Where the prey stood.
    pub(super) cell: Cell,
    /// Who tried.
    pub(super) catchers: Around,
    /// Who stood beside it, those who tried among them.
    pub(super) beside: Around,
}

impl Catch {
    /// Whether the prey was caught.
    pub(super) fn succeeds(&self) -> bool {
        self.catchers.count >= CATCHERS
    }

    /// Predators that left with the prey though it took fewer.
    pub(super) fn n_wasted(&self) -> usize {
        self.catchers.count.saturating_sub(CATCHERS)
    }
}

/// The grid and everybody on it.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) size: i32,
    pub(super) predators: Vec<Animal>,
    pub(super) prey: Vec<Animal>,
    /// What the last step's catches came to.
    pub(super) catches: Vec<Catch>,
    occupied: Vec<bool>,
    order: Vec<usize>,
}

impl Board {
    /// A grid on which nobody stands yet.
    pub(super) fn new(size: usize, n_predators: usize, n_prey: usize) -> Self {
        Self {
            size: size as i32,
            predators: vec![Animal::default(); n_predators],
            prey: vec![Animal::default(); n_prey],
            catches: Vec::with_capacity(n_prey),
            occupied: vec![false; size * size],
            order: Vec::with_capacity(n_predators.max(n_prey)),
        }
    }

    /// Puts everybody on a free cell drawn at random, predators first.
    pub(super) fn scatter(&mut self, rng: &mut Rng) {
        self.occupied.fill(false);
        self.catches.clear();
        let size = self.size as usize;
        for animal in self.predators.iter_mut().chain(&mut self.prey) {
            loop {
                let (x, y) = (rng.below(size), rng.below(size));
                if !std::mem::replace(&mut self.occupied[y * size + x], true) {
                    *animal = Animal { cell: [x as i32, y as i32], lives: true };
                    break;
                }
            }
        }
    }

    /// Begins where everybody stands now; false where two stand on one, or one outside.
    pub(super) fn settle(&mut self) -> bool {
        self.occupied.fill(false);
        self.catches.clear();
        let size = self.size;
        let inside = |cell: Cell| cell.iter().all(|c| (0..size).contains(c));
        let mut living = self.predators.iter().chain(&self.prey).filter(|animal| animal.lives);
        let occupied = &mut self.occupied;
        living.all(|&Animal { cell, .. }| {
            inside(cell)
                && !std::mem::replace(&mut occupied[(cell[1] * size + cell[0]) as usize], true)
        })
    }

    /// Whether all prey or all predators are gone.
    pub(super) fn is_over(&self) -> bool {
        let gone = |animals: &[Animal]| animals.iter().all(|animal| !animal.lives);
        gone(&self.predators) || gone(&self.prey)
    }

    /// One step; the catches are listed afterwards.
    pub(super) fn step(&mut self, actions: &[usize], rng: &mut Rng) {
        self.catches.clear();
        self.shuffle(self.predators.len(), rng);
        for turn in 0..self.predators.len() {
            let index = self.order[turn];
            let Animal { cell, lives } = self.predators[index];
            if let (true, Some(&step)) = (lives, MOVES.get(actions[index])) {
                self.predators[index].cell = self.go(cell, step);
            }
        }
        self.shuffle(self.prey.len(), rng);
        for turn in 0..self.prey.len() {
            let index = self.order[turn];
            if self.prey[index].lives && !self.is_caught(index, actions) {
                self.flee(index, rng);
            }
        }
    }

    /// Draws the order of the next turns.
    fn shuffle(&mut self, count: usize, rng: &mut Rng) {
        self.order.clear();
        self.order.extend(0..count);
        for last in (1..count).rev() {
            self.order.swap(last, rng.below(last + 1));
        }
    }

    fn is_free(&self, [x, y]: Cell) -> bool {
        let inside = (0..self.size).contains(&x) && (0..self.size).contains(&y);
        inside && !self.occupied[(y * self.size + x) as usize]
    }

    fn occupy(&mut self, [x, y]: Cell, occupied: bool) {
        self.occupied[(y * self.size + x) as usize] = occupied;
    }

    /// Where a step from a cell ends: beside it if that is free, else where it began.
    fn go(&mut self, from: Cell, step: Cell) -> Cell {
        let to = beside(from, step);
        if !self.is_free(to) {
            return from;
        }
        self.occupy(from, false);
        self.occupy(to, true);
        to
    }

    /// Lists the catches that a prey's neighbours try; where they are enough, all of them leave.
    fn is_caught(&mut self, prey: usize, actions: &[usize]) -> bool {
        let mut catch = Catch { cell: self.prey[prey].cell, ..Catch::default() };
        for (index, predator) in self.predators.iter().enumerate() {
            if predator.lives && are_neighbours(predator.cell, catch.cell) {
                catch.beside.push(index);
                if actions[index] == CATCH {
                    catch.catchers.push(index);
                }
            }
        }
        if catch.catchers.count > 0 {
            self.catches.push(catch);
        }
        if catch.succeeds() {
            self.prey[prey].lives = false;
            self.occupy(catch.cell, false);
            for &predator in catch.catchers.list() {
                self.predators[predator].lives = false;
                self.occupy(self.predators[predator].cell, false);
            }
        }
        catch.succeeds()
    }

    /// A prey moves to a free neighbour, if there is one.
    fn flee(&mut self, prey: usize, rng: &mut Rng) {
        let from = self.prey[prey].cell;
        let free = MOVES.map(|step| self.is_free(beside(from, step)));
        let n_free = free.iter().filter(|free| **free).count();
        if n_free > 0 {
            let open = (0..MOVES.len()).filter(|&step| free[step]);
            let step = open.clone().nth(rng.below(n_free)).unwrap_or_default();
            self.prey[prey].cell = self.go(from, MOVES[step]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    fn board(predators: &[Cell], prey: &[Cell]) -> Board {
        let mut board = Board::new(5, predators.len(), prey.len());
        let living = |&cell: &Cell| Animal { cell, lives: true };
        board.predators = predators.iter().map(living).collect();
        board.prey = prey.iter().map(living).collect();
        assert!(board.settle());
        board
    }

    fn played(board: &mut Board, actions: &[usize]) {
        board.step(actions, &mut Streams::new(1).rng(Purpose::Dynamics, 0));
    }

    #[test]
    fn two_catch_and_leave_one_catches_in_vain() {
        let mut both = board(&[[1, 2], [3, 2], [2, 3]], &[[2, 2]]);
        played(&mut both, &[CATCH, CATCH, STAY]);
        assert_eq!(both.catches.len(), 1);
        assert!(both.catches[0].succeeds() && both.is_over());
        assert_eq!(both.catches[0].beside.list(), [0, 1, 2]);
        assert_eq!(
            both.predators.iter().map(|p| p.lives).collect::<Vec<_>>(),
            [false, false, true]
        );
        let mut alone = board(&[[1, 2], [4, 4]], &[[2, 2]]);
        played(&mut alone, &[CATCH, CATCH]);
        assert_eq!((alone.catches.len(), alone.catches[0].succeeds()), (1, false));
        assert_eq!(alone.catches[0].catchers.list(), [0]);
        assert_ne!(alone.prey[0].cell, [2, 2], "it moves on");
    }

    #[test]
    fn nobody_enters_an_occupied_cell_or_leaves_the_grid() {
        let mut board = board(&[[0, 0], [1, 0]], &[[2, 0]]);
        played(&mut board, &[2, 0]);
        assert_eq!([board.predators[0].cell, board.predators[1].cell], [[0, 0], [1, 0]]);
        assert!([[3, 0], [2, 1]].contains(&board.prey[0].cell));
    }

    #[test]
    fn a_prey_that_is_surrounded_stays_and_three_catchers_waste_one() {
        let mut still = board(&[[1, 2], [3, 2], [2, 3], [2, 1]], &[[2, 2]]);
        played(&mut still, &[STAY; 4]);
        assert_eq!((still.prey[0].cell, still.catches.len()), ([2, 2], 0));
        played(&mut still, &[CATCH, CATCH, CATCH, STAY]);
        assert_eq!(still.catches[0].n_wasted(), 1);
    }
}
