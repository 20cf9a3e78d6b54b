//! Predator and prey on a grid (Böhmer et al. 2020): it takes two predators to catch a prey, and a
//! catch by one alone is in vain, which is what is paid for.

mod board;
mod credit;
mod hunting;
mod options;
mod recipe;
mod task;
mod view;

pub use options::PredatorPreyOptions;
pub use task::PredatorPreyTask;

use super::{Drawing, Ending, Environment, Outcome, Role, Shape, View, check_snapshot};
use crate::{
    error::{Error, Result},
    graph::CoordinationGraph,
    rng::Rng,
};
use board::{Animal, Board, Cell};
use view::PreyView;

/// Half the side of a drawn cell, and the radii of what stands on it.
const DRAWN_CELL: f64 = 0.48;
const DRAWN_PREDATOR: f64 = 0.36;
const DRAWN_PREY: f64 = 0.28;

/// The environment.
#[derive(Clone, Debug)]
pub struct PredatorPrey {
    view: PreyView,
    options: PredatorPreyOptions,
    board: Board,
    steps: usize,
    graph: CoordinationGraph,
    state: Vec<f32>,
}

impl PredatorPrey {
    /// The environment with the given options.
    pub fn new(options: &PredatorPreyOptions) -> Result<Self> {
        options.validate()?;
        let view = PreyView::new(options);
        let state_width = view.spec().state_width;
        Ok(Self {
            board: Board::new(options.size, options.agents, options.n_prey()),
            view,
            options: options.clone(),
            steps: 0,
            graph: CoordinationGraph::empty(options.agents),
            state: vec![0.0; state_width],
        })
    }

    /// A cell, measured from the centre of the grid; who has left is there.
    fn position(&self, animal: &Animal) -> [f64; 2] {
        let half = 0.5 * (self.options.size - 1) as f64;
        if animal.lives { animal.cell.map(|c| f64::from(c) - half) } else { [0.0; 2] }
    }

    /// The cell nearest to a position.
    fn cell(&self, position: [f64; 2]) -> Cell {
        let half = 0.5 * (self.options.size - 1) as f64;
        position.map(|c| (c + half).round().clamp(0.0, 2.0 * half) as i32)
    }

    /// Predators, then prey.
    fn animals(&self) -> impl Iterator<Item = &Animal> + Clone {
        self.board.predators.iter().chain(&self.board.prey)
    }

    /// The graph in force when the action was chosen.
    fn find_graph(&mut self) {
        let mut state = std::mem::take(&mut self.state);
        self.write_state(&mut state);
        self.view.graph(&state, &mut self.graph);
        self.state = state;
    }
}

impl Environment for PredatorPrey {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.board.scatter(rng);
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        let (positions, lives) = state.split_at_mut(2 * (state.len() / 3));
        for ((cells, live), animal) in positions.chunks_exact_mut(2).zip(lives).zip(self.animals())
        {
            cells.copy_from_slice(&self.position(animal).map(|c| c as f32));
            *live = if animal.lives { 1.0 } else { 0.0 };
        }
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        self.find_graph();
        self.board.step(action, rng);
        self.steps += 1;
        outcome.begin(self.view.spec(), &self.graph);
        let (mut captures, mut vain, mut wasted) = (0, 0, 0);
        for catch in &self.board.catches {
            if catch.succeeds() {
                captures += 1;
                wasted += catch.n_wasted();
                credit::pay(&self.graph, catch, |i| self.board.predators[i].cell, outcome);
            } else {
                vain += 1;
                credit::charge(&self.graph, catch, self.options.punishment as f32, outcome);
            }
        }
        outcome.metrics.extend(PredatorPreyOptions::measure(captures, vain, wasted));
        outcome.ending = Ending::after(self.steps, self.view.spec(), self.board.is_over());
    }

    fn snapshot(&self) -> Vec<f64> {
        let positions = self.animals().flat_map(|animal| self.position(animal));
        let lives = self.animals().map(|animal| f64::from(u8::from(animal.lives)));
        positions.chain(lives).chain([self.steps as f64]).collect()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        let n = self.animals().count();
        check_snapshot(snapshot, 3 * n + 1)?;
        let mut board = self.board.clone();
        let (positions, rest) = snapshot.split_at(2 * n);
        let animals = board.predators.iter_mut().chain(&mut board.prey);
        for ((animal, at), live) in animals.zip(positions.chunks_exact(2)).zip(rest) {
            *animal = Animal { cell: self.cell([at[0], at[1]]), lives: *live > 0.5 };
        }
        if !board.settle() {
            return Err(Error::setting(
                "snapshot",
                "two on one cell",
                "each needs a cell of its own",
            ));
        }
        self.board = board;
        self.steps = rest[n] as usize;
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let (size, n) = (self.options.size as i32, self.options.agents);
        let cells = (0..size * size)
            .map(|index| Animal { cell: [index % size, index / size], lives: true });
        let mut shapes: Vec<Shape> = cells
            .map(|cell| Shape::square(Role::Ground, self.position(&cell), DRAWN_CELL))
            .collect();
        for (index, prey) in self.board.prey.iter().enumerate().filter(|(_, prey)| prey.lives) {
            let shape = Shape::square(Role::Other, self.position(prey), DRAWN_PREY);
            shapes.push(shape.movable(2 * (n + index)));
        }
        let in_vain = |index: usize| {
            let vain = self.board.catches.iter().filter(|catch| !catch.succeeds());
            vain.flat_map(|catch| catch.catchers.list()).any(|&catcher| catcher == index)
        };
        for (index, predator) in
            self.board.predators.iter().enumerate().filter(|(_, one)| one.lives)
        {
            let role = if in_vain(index) { Role::Alarm } else { Role::Agent };
            let shape = Shape::disc(role, self.position(predator), DRAWN_PREDATOR);
            shapes.push(shape.of_agent(index).movable(2 * index));
        }
        let reach = 0.5 * f64::from(size) + 0.2;
        Drawing { bounds: [-reach, -reach, reach, reach], shapes }
    }
}
