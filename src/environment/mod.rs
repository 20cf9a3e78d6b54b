//! What the agents act in: the contract every environment keeps.
//!
//! An environment shows one thing, its **state**, as a flat `f32` row; everything an agent, a region
//! or a critic sees of it is a pure function of that row, given by its [`View`]. So replay memories
//! hold states only, and what is learned from can never differ from what was acted on.

pub mod assignment;
pub mod layout;
pub mod matrix_game;
pub mod observation;
pub mod oracle;
pub mod physics;
pub mod recording;
pub mod reward;
pub mod simple_spread;
pub mod spread_options;
pub mod symmetry;

use crate::{graph::CoordinationGraph, rng::Rng};

/// Whether the episode goes on, and whether the next value may be bootstrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The episode goes on.
    #[default]
    Running,
    /// Time limit: the episode stops, the future still has value.
    Truncated,
    /// A true end: the future has no value.
    Terminal,
}

/// The consequences of one joint action; its buffers are reused from step to step.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The shared task reward.
    pub team_reward: f32,
    /// What each agent is paid in a benchmark of its own kind (the baselines' mixed reward).
    pub agent_rewards: Vec<f32>,
    /// Primary reward of each region, in the order of the graph in force when the action was chosen.
    pub region_rewards: Vec<f32>,
    /// What each region pays: row = region, column = constraint; never negative.
    pub region_costs: Vec<f32>,
    /// What each agent pays: row = agent, column = constraint; never negative.
    pub agent_costs: Vec<f32>,
    /// What the reports count.
    pub metrics: StepMetrics,
    /// Whether the episode goes on.
    pub ending: Ending,
}

/// What the reports count at one step, the same for every algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepMetrics {
    /// Pairs closer than two radii.
    pub collisions: u32,
    /// Those among them that no action could have avoided.
    pub unavoidable: u32,
    /// Fraction of landmarks covered within 0.1, 0.15 and 0.2.
    pub coverage: [f32; 3],
}

/// The sizes a learner needs to build its networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Name of the task, such as `simple_spread`.
    pub task: String,
    /// Team size.
    pub n_agents: usize,
    /// Actions of each agent.
    pub n_actions: usize,
    /// Actions along each axis where they form a square force grid (`n_actions` is its square).
    pub action_grid: Option<usize>,
    /// Names of the constraints, in the order of every per-constraint array.
    pub constraints: Vec<String>,
    /// Width of the state row.
    pub state_width: usize,
    /// Width of one agent row.
    pub agent_width: usize,
    /// Width of one region row.
    pub region_width: usize,
    /// Members of every region.
    pub region_size: usize,
    /// Most regions the graph can have.
    pub max_regions: usize,
    /// Steps of one episode.
    pub horizon: usize,
}

/// What is visible of a state: pure functions, shared by acting, learning and reporting.
pub trait View: Send + Sync {
    /// Sizes, fixed for the life of the environment.
    fn spec(&self) -> &Spec;
    /// The coordination graph in this state; does nothing where the graph is fixed and already there.
    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph);
    /// Writes what a region sees, its members in the order given.
    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]);
    /// Writes the rows of all regions of a state, one at each multiple of `stride`; a region whose
    /// `swapped` is true has its members in reverse order. `swapped` may be shorter than the list.
    fn region_rows(
        &self,
        state: &[f32],
        graph: &CoordinationGraph,
        swapped: &[bool],
        rows: &mut [f32],
        stride: usize,
    ) {
        let width = self.spec().region_width;
        for (index, (members, row)) in graph.regions().zip(rows.chunks_mut(stride)).enumerate() {
            let swap = swapped.get(index).copied().unwrap_or(false);
            in_order(members, swap, |members| self.region_row(state, members, &mut row[..width]));
        }
    }
    /// Writes what one agent sees.
    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]);
    /// Number of symmetries of the world; number 0 changes nothing.
    fn n_symmetries(&self) -> usize {
        1
    }
    /// The state as it looks under a symmetry.
    fn turn_state(&self, _symmetry: usize, _state: &mut [f32]) {}
    /// The action that does under a symmetry what `action` does without.
    fn turn_action(&self, _symmetry: usize, action: usize) -> usize {
        action
    }
}

/// A cooperative environment with a list of constraints.
pub trait Environment: Send {
    /// What is visible of its states.
    fn view(&self) -> &dyn View;
    /// Starts an episode.
    fn reset(&mut self, rng: &mut Rng);
    /// Writes the present state.
    fn write_state(&self, state: &mut [f32]);
    /// Plays one joint action.
    fn step(&mut self, action: &[usize], outcome: &mut Outcome);
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
