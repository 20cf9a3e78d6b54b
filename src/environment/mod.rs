//! What a team acts in: the contract every task keeps, its public checker and the registry of tasks.
//!
//! An environment shows one thing, its **state**, as a flat `f32` row; everything an agent, a region
//! or a critic sees of it is a pure function of that row, given by its [`View`]. So replay memories
//! hold states only, and what is learned from can never differ from what was acted on. What is
//! special about a task (its words, its measures, its picture) is declared here and read by
//! everybody else.

pub mod capture;
mod check;
mod drawing;
pub mod frame;
pub mod matrix_game;
mod outcome;
pub mod particle;
pub mod predator_prey;
mod registry;
pub mod simple_spread;
pub mod simple_tag;
mod spec;
pub mod symmetry;
mod task;
pub mod warehouse;

pub use check::{check, check_environment};
pub use drawing::{Drawing, Role, Shape};
pub(crate) use outcome::share;
pub use outcome::{Ending, Outcome};
pub use registry::{register, tasks};
pub use spec::TEAM_RETURN;
pub use spec::{AgentSpec, Better, Constraint, Metric, Reduce, Spec};
pub use task::{OptionInfo, Reference, Rule, Scenario, Task, TaskInfo};
pub(crate) use task::{from_table, to_table};

use crate::{
    error::{Error, Result},
    graph::{CoordinationGraph, JointAction},
    rng::Rng,
};
use std::cell::Cell;

/// What is visible of a state: pure functions, shared by acting, learning and reporting.
pub trait View: Send + Sync {
    /// Sizes, measures and names, fixed for the life of the environment.
    fn spec(&self) -> &Spec;
    /// The coordination graph in this state; does nothing where the graph is fixed and already there.
    /// All pairs unless the task says otherwise.
    fn graph(&self, _state: &[f32], graph: &mut CoordinationGraph) {
        let n_agents = self.spec().n_agents();
        let mut pairs = (0..n_agents).flat_map(|a| (a + 1..n_agents).map(move |b| [a, b]));
        let same = graph.regions().all(|members| pairs.next().is_some_and(|pair| members == pair));
        if graph.n_agents() != n_agents || !same || pairs.next().is_some() {
            *graph = CoordinationGraph::complete(n_agents);
        }
    }
    /// Writes what a region sees, its members in the order given; what each of them sees, one after the
    /// other, unless the task says otherwise.
    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        row.fill(0.0);
        for (cells, &agent) in row.chunks_exact_mut(self.spec().agent_width).zip(members) {
            self.agent_row(state, agent, cells);
        }
    }
    /// How numbers of a region row are computed, where [`Self::row_layout`] only names them; for readers of
    /// a trained network.
    fn row_words(&self) -> String {
        String::new()
    }
    /// What the numbers of a region row are, group by group from the front: words and how many; for readers
    /// of a trained network.
    fn row_layout(&self) -> Vec<(String, usize)> {
        let Spec { region_size, region_width, agent_width, .. } = *self.spec();
        if region_size * agent_width != region_width {
            return vec![("what the region sees".into(), region_width)];
        }
        let member = |member| (format!("what member {member} sees"), agent_width);
        (0..region_size).map(member).collect()
    }
    /// Writes what a region sees of the world under a pose's symmetry, its members in the pose's order.
    fn posed_row(&self, state: &[f32], members: &[usize], pose: Pose, row: &mut [f32]) {
        if pose.symmetry == 0 {
            return in_order(members, pose.reversed, |members| {
                self.region_row(state, members, row);
            });
        }
        let mut transformed = TRANSFORMED.take();
        transformed.clear();
        transformed.extend_from_slice(state);
        self.transform_state(pose.symmetry, &mut transformed);
        in_order(members, pose.reversed, |members| self.region_row(&transformed, members, row));
        TRANSFORMED.set(transformed);
    }
    /// Writes the rows of all regions of a state, one at each multiple of `stride`, each in its pose;
    /// `poses` may be shorter than the list, and the regions behind it are seen as they are.
    fn region_rows(
        &self,
        state: &[f32],
        graph: &CoordinationGraph,
        poses: &[Pose],
        rows: &mut [f32],
        stride: usize,
    ) {
        let width = self.spec().region_width;
        for (index, (members, row)) in graph.regions().zip(rows.chunks_mut(stride)).enumerate() {
            let pose = poses.get(index).copied().unwrap_or_default();
            self.posed_row(state, members, pose, &mut row[..width]);
        }
    }
    /// Writes what one agent sees; the whole state unless the task says otherwise.
    fn agent_row(&self, state: &[f32], _agent: usize, row: &mut [f32]) {
        row.copy_from_slice(state);
    }
    /// Writes what all agents see, one row at each multiple of `stride`, each in the frame it chooses, and
    /// the symmetries that take the world into these frames: as they are told by [`Self::agent_row`]
    /// unless the task chooses otherwise. Frames that a task chooses show, like those of regions, the same in
    /// every transformed world.
    fn agent_rows(&self, state: &[f32], rows: &mut [f32], stride: usize, frames: &mut [usize]) {
        let width = self.spec().agent_width;
        for (agent, (row, frame)) in rows.chunks_mut(stride).zip(frames).enumerate() {
            self.agent_row(state, agent, &mut row[..width]);
            *frame = 0;
        }
    }
    /// Tells which actions an agent may take in this state; `allowed` has one entry for each of its
    /// actions, all true before the call, and at least one must stay so.
    fn action_mask(&self, _state: &[f32], _agent: usize, _allowed: &mut [bool]) {}
    /// Number of symmetries of the task that are declared; number 0 changes nothing.
    fn n_symmetries(&self) -> usize {
        1
    }
    /// The state as it looks under a symmetry.
    fn transform_state(&self, _symmetry: usize, _state: &mut [f32]) {}
    /// The action that does under a symmetry what `action` does without: a permutation of actions.
    fn transform_action(&self, _symmetry: usize, action: usize) -> usize {
        action
    }
    /// In how many frames a region is seen: as many as there are symmetries, unless the task chooses
    /// frames by what the region itself looks like, which leaves fewer.
    fn n_frames(&self) -> usize {
        self.n_symmetries()
    }
    /// By which rule regions choose their frames, for readers of a trained network; none where it is a
    /// task's own.
    fn frame_rule(&self) -> Option<frame::Frame> {
        (self.n_frames() == self.n_symmetries()).then_some(frame::Frame::World)
    }
    /// The symmetry that takes the world into one of the frames of a region. The frames of a region
    /// in a transformed world show what those of the same region show here, so that what is learned
    /// in frames holds under every symmetry. Where a region looks the same under two symmetries that call
    /// actions differently, the rest of the state must decide; only a world that is the same under both cannot
    /// tell them apart. Numbers that a symmetry changes by a rounding error are best compared rounded.
    fn frame(&self, _state: &[f32], _members: &[usize], frame: usize) -> usize {
        frame
    }
    /// Whether an agent has left for good: a region that loses it has nothing to expect any more.
    fn has_left(&self, _state: &[f32], _agent: usize) -> bool {
        false
    }
}

/// How a region is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pose {
    /// The symmetry under which the world is seen.
    pub symmetry: usize,
    /// Whether the members are in reverse order.
    pub reversed: bool,
}

impl Pose {
    /// A region in one of its frames, in one of its orders.
    pub fn of(
        view: &dyn View,
        state: &[f32],
        members: &[usize],
        (frame, reversed): (usize, bool),
    ) -> Self {
        let mut symmetry = 0;
        in_order(members, reversed, |members| symmetry = view.frame(state, members, frame));
        Self { symmetry, reversed }
    }
}

thread_local! {
    /// A state under a symmetry.
    static TRANSFORMED: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// A cooperative environment with a list of constraints.
pub trait Environment: Send + Sync {
    /// What is visible of its states.
    fn view(&self) -> &dyn View;
    /// Starts an episode.
    fn reset(&mut self, rng: &mut Rng);
    /// Writes the present state.
    fn write_state(&self, state: &mut [f32]);
    /// Hears of the joint action that [`Self::step`] is about to play, before any environment beside this
    /// one steps: one that lives elsewhere can begin there meanwhile.
    fn prepare(&mut self, _action: &[usize]) {}
    /// Why it cannot go on, where it cannot: told once. A training or an evaluation then stops.
    fn failure(&mut self) -> Option<Error> {
        None
    }
    /// Plays one joint action; whatever happens by chance is drawn from `rng`.
    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome);
    /// Everything about the present moment, in full precision: what [`Self::restore`] goes on from;
    /// the state itself unless there is more.
    fn snapshot(&self) -> Vec<f64> {
        let mut state = vec![0.0; self.view().spec().state_width];
        self.write_state(&mut state);
        state.into_iter().map(f64::from).collect()
    }
    /// Goes on from a snapshot; refuses numbers that are none.
    fn restore(&mut self, snapshot: &[f64]) -> Result<()>;
    /// How the present moment looks.
    fn draw(&self) -> Drawing;
}

/// Several states to act in, all of environments of one kind.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// How to look at a state.
    pub view: &'a dyn View,
    /// State rows, one after the other.
    pub states: &'a [f32],
    /// Which of the environments side by side each row belongs to, in rising order.
    pub slots: &'a [usize],
}

impl Batch<'_> {
    /// Number of states.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is nothing to act in.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// One state.
    pub fn state(&self, index: usize) -> &[f32] {
        let width = self.view.spec().state_width;
        &self.states[index * width..][..width]
    }
}

/// Chooses joint actions, and nothing else: it learns nothing and draws nothing at random.
pub trait Policy: Send + Sync {
    /// Writes one joint action per state.
    fn act(&mut self, batch: Batch<'_>, actions: &mut [JointAction]);
    /// A copy for another thread; what is large is shared.
    fn boxed_clone(&self) -> Box<dyn Policy>;
}

/// Refuses a snapshot of the wrong length or with numbers that are none.
pub fn check_snapshot(snapshot: &[f64], length: usize) -> Result<()> {
    if snapshot.len() != length {
        let reason = format!("a snapshot of this environment has {length} numbers");
        return Err(Error::setting("snapshot", snapshot.len(), reason));
    }
    match snapshot.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(Error::setting("snapshot", number, "must be finite")),
        None => Ok(()),
    }
}

/// Largest region whose members are reversed without allocating.
const SMALL_REGION: usize = 16;

/// Calls `write` with the members in their order or in reverse.
pub(crate) fn in_order(members: &[usize], swap: bool, write: impl FnOnce(&[usize])) {
    if !swap {
        return write(members);
    }
    if members.len() > SMALL_REGION {
        let reversed: Vec<usize> = members.iter().rev().copied().collect();
        return write(&reversed);
    }
    let mut reversed = [0; SMALL_REGION];
    reversed.iter_mut().zip(members.iter().rev()).for_each(|(cell, &member)| *cell = member);
    write(&reversed[..members.len()]);
}
