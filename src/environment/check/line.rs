//! A small environment that keeps the contract, and can be told to break one promise of it.

use crate::{
    environment::{
        AgentSpec, Better, Constraint, Drawing, Ending, Environment, Metric, Outcome, Pose, Reduce,
        Role, Shape, Spec, TEAM_RETURN, View, check_snapshot, in_order,
    },
    error::Result,
    graph::CoordinationGraph,
    rng::Rng,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// The promise that is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    // What is declared.
    NoActions,
    NoHorizon,
    MetricTwice,
    NoObjective,
    StrangeName,
    EmptyRange,
    LimitOnGain,
    UnknownFloor,
    SmallGrid,
    // What is visible.
    StateNotWritten,
    RowNotWritten,
    RowsDiffer,
    ViewRemembers,
    ViewSeesEnvironment,
    GraphRemembers,
    TooManyRegions,
    LargeRegion,
    NothingAllowed,
    // Symmetries.
    ActionTwice,
    FirstActs,
    FirstMoves,
    OtherGraph,
    OtherMask,
    OtherFrame,
    FirstFrame,
    FrameBeyond,
    AgentBeyond,
    AgentsDiffer,
    NoInverse,
    NotClosed,
    Slope,
    Wind,
    Reward,
    Price,
    End,
    // What a step brings.
    Chance,
    NegativeCost,
    CostsDoNotAdd,
    DearAgent,
    MissingMetric,
    InfiniteReward,
    OutOfRange,
    HighFloor,
    KeepsOutcome,
    NeverEnds,
    TrueEnd,
    // Snapshots and drawings.
    Forgets,
    TakesTooMuch,
    TakesNonsense,
    NoBounds,
    UnknownAgent,
    WrongHandle,
    // The task.
    TaskName,
    Unlisted,
    ListedTwice,
    Card,
    Team,
    Eyesight,
    ReferenceTwice,
    ForbiddenMove,
}

pub(super) const HORIZON: usize = 6;
pub(super) const LENGTH: f64 = 4.0;
/// Stay, left, right.
const MOVES: [f64; 3] = [0.0, -1.0, 1.0];

/// Agents on a line of cells; the first can do more than a byte counts.
pub(super) struct Line {
    view: LineView,
    places: Vec<f64>,
    pub(super) steps: usize,
    played: u32,
}

struct LineView {
    spec: Spec,
    fault: Fault,
    looks: AtomicU32,
    /// Steps of the environment, which no view should know.
    leak: AtomicU32,
}

fn spec(fault: Fault, agents: usize) -> Spec {
    let rate = |name: &str| Metric::new(name, "", Reduce::Mean, Better::Lower, [0.0, 9.0]);
    let end = Metric::new("right", "", Reduce::Last, Better::Higher, [0.0, 1.0]);
    let agent = |i| AgentSpec { n_actions: if i == 0 { 300 } else { 3 } };
    let mut spec = Spec {
        agents: (0..agents).map(agent).collect(),
        metrics: vec![end, rate("met"), rate("floor")],
        objective: "right".into(),
        constraints: vec![
            Constraint::new("meeting", "meetings").limits("met").unavoidable("floor"),
            Constraint::new("moving", "moves").at_most(1.0),
        ],
        terminates: true,
        region_size: 3,
        max_regions: 2,
        ..Spec::new("line", 0, 0, HORIZON).rows(agents, 2, 3)
    };
    match fault {
        Fault::NoActions => spec.agents[1].n_actions = 0,
        Fault::NoHorizon => spec.horizon = 0,
        Fault::MetricTwice => spec.metrics[1].name = TEAM_RETURN.into(),
        Fault::NoObjective => spec.objective = "glory".into(),
        Fault::StrangeName => spec.metrics[0].name = "far, right".into(),
        Fault::EmptyRange => spec.metrics[0].range = [1.0, 1.0],
        Fault::LimitOnGain => spec.constraints[0].metric = "right".into(),
        Fault::UnknownFloor => spec.constraints[0].unavoidable = Some("cellar".into()),
        Fault::SmallGrid => spec.action_grid = Some(2),
        Fault::LargeRegion => spec.region_size = 2,
        Fault::TooManyRegions => spec.max_regions = 1,
        Fault::TrueEnd => spec.terminates = false,
        Fault::DearAgent => spec.constraints[1].most = 0.5,
        Fault::OutOfRange => spec.metrics[0].range = [0.0, 0.1],
        Fault::Eyesight if agents > 3 => spec.region_width = 4,
        _ => {}
    }
    spec
}

impl Line {
    pub(super) fn new(fault: Fault, agents: usize) -> Self {
        let (looks, leak) = (AtomicU32::new(0), AtomicU32::new(0));
        let view = LineView { spec: spec(fault, agents), fault, looks, leak };
        Self { view, places: vec![0.0; agents], steps: 0, played: 0 }
    }

    fn shift(action: usize) -> f64 {
        MOVES[action % MOVES.len()]
    }
}

impl LineView {
    /// One region of three and one of all but the first, so that sizes are mixed and agents shared.
    fn regions(&self) -> Vec<Vec<usize>> {
        vec![vec![0, 1, 2], (1..self.spec.n_agents()).collect()]
    }
}

impl View for LineView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        if self.fault == Fault::GraphRemembers && graph.n_agents() == 0 {
            return *graph = CoordinationGraph::path(self.spec.n_agents());
        }
        let mut regions = self.regions();
        if self.fault == Fault::OtherGraph && state[0] < 0.0 {
            regions.pop();
        }
        *graph = CoordinationGraph::new(self.spec.n_agents(), &regions).unwrap();
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        row.fill(0.0);
        row.iter_mut().zip(members).for_each(|(cell, &agent)| *cell = state[agent]);
        match self.fault {
            Fault::RowNotWritten => row[2] = f32::NAN,
            Fault::ViewRemembers => row[2] = self.looks.fetch_add(1, Ordering::Relaxed) as f32,
            Fault::ViewSeesEnvironment => row[2] = self.leak.load(Ordering::Relaxed) as f32,
            Fault::FirstFrame => row[1..].fill(0.0),
            _ => {}
        }
    }

    fn posed_row(&self, state: &[f32], members: &[usize], pose: Pose, row: &mut [f32]) {
        let mut transformed = state.to_vec();
        if pose.symmetry > 0 {
            self.transform_state(pose.symmetry, &mut transformed);
        }
        let reversed = pose.reversed && self.fault != Fault::RowsDiffer;
        in_order(members, reversed, |members| self.region_row(&transformed, members, row));
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        row.copy_from_slice(&[state[agent], agent as f32]);
    }

    /// The end nearer to an agent lies ahead of it.
    fn agent_rows(&self, state: &[f32], rows: &mut [f32], stride: usize, frames: &mut [usize]) {
        for (agent, (row, frame)) in rows.chunks_mut(stride).zip(frames).enumerate() {
            *frame = usize::from(state[agent] < 0.0);
            self.agent_row(state, agent, &mut row[..2]);
            match self.fault {
                Fault::AgentsDiffer => {}
                Fault::AgentBeyond => *frame = 2,
                _ => row[0] = row[0].abs(),
            }
        }
    }

    /// Nobody leaves the line.
    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        let end = LENGTH as f32 / 2.0;
        for (action, allowed) in allowed.iter_mut().enumerate() {
            let to = state[agent] + Line::shift(action) as f32;
            *allowed = (-end..=end).contains(&to) && self.fault != Fault::NothingAllowed;
        }
        if self.fault == Fault::OtherMask {
            allowed[0] = state[agent] >= 0.0;
        }
    }

    /// The line from its other end.
    fn n_symmetries(&self) -> usize {
        if self.fault == Fault::NotClosed { 3 } else { 2 }
    }

    fn n_frames(&self) -> usize {
        if self.fault == Fault::FirstFrame { 1 } else { 2 }
    }

    fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
        if symmetry > 0 || self.fault == Fault::FirstMoves {
            state.iter_mut().for_each(|place| *place = -*place);
        }
    }

    fn transform_action(&self, symmetry: usize, action: usize) -> usize {
        match (symmetry, action % 3) {
            // All three stay where they are.
            (1, _) if self.fault == Fault::NoInverse && [3, 6, 9].contains(&action) => {
                if action == 9 { 3 } else { action + 3 }
            }
            (2, _) if [3, 6].contains(&action) => 9 - action,
            (1.., 1) if self.fault != Fault::ActionTwice => action + 1,
            (1.., 2) => action - 1,
            (0, 1) if self.fault == Fault::FirstActs => action + 1,
            (0, 2) if self.fault == Fault::FirstActs => action - 1,
            _ => action,
        }
    }

    /// The end nearer to the first member lies ahead; the other frame looks back from there.
    fn frame(&self, state: &[f32], members: &[usize], frame: usize) -> usize {
        match self.fault {
            Fault::OtherFrame => 0,
            Fault::FrameBeyond => 2,
            _ => usize::from(state[members[0]] < 0.0) ^ frame,
        }
    }
}

impl Environment for Line {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.steps = 0;
        self.played += 1;
        self.places.iter_mut().for_each(|place| *place = rng.below(5) as f64 - LENGTH / 2.0);
    }

    fn write_state(&self, state: &mut [f32]) {
        let skip = usize::from(self.view.fault == Fault::StateNotWritten);
        let cells = state.iter_mut().zip(&self.places).skip(skip);
        cells.for_each(|(cell, &place)| *cell = place as f32);
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        let fault = self.view.fault;
        self.steps += 1;
        self.view.leak.store(self.steps as u32, Ordering::Relaxed);
        // The wind sometimes takes a step away.
        let calm = rng.uniform() < if fault == Fault::Wind { 0.5 } else { 0.9 };
        let windless = |shift: f64| calm || fault == Fault::Wind && shift < 0.0;
        let moved: Vec<f32> = action.iter().map(|&a| Self::shift(a).abs() as f32).collect();
        for (place, &action) in self.places.iter_mut().zip(action) {
            *place += if windless(Self::shift(action)) { Self::shift(action) } else { 0.0 };
            if fault == Fault::Slope && *place == 0.0 {
                *place = -1.0;
            }
        }
        let meetings = self.places.iter().filter(|place| **place == self.places[2]).count() - 1;
        let n = self.places.len();
        let keep = fault == Fault::KeepsOutcome && !outcome.agent_rewards.is_empty();
        let regions = self.view.regions();
        *outcome = Outcome {
            team_reward: if keep { outcome.team_reward } else { moved[0] },
            agent_rewards: vec![0.0; n],
            region_rewards: vec![moved[0]; regions.len()],
            team_costs: vec![meetings as f32, moved.iter().sum()],
            region_costs: vec![
                meetings as f32,
                moved[..2].iter().sum(),
                0.0,
                moved[2..].iter().sum(),
            ],
            agent_costs: moved.iter().flat_map(|&moved| [meetings as f32, moved]).collect(),
            metrics: vec![f64::from(u8::from(self.places[0] > 0.0)), meetings as f64, 0.0],
            ending: if self.steps == HORIZON { Ending::Truncated } else { Ending::Running },
        };
        if meetings == n - 1 || fault == Fault::TrueEnd {
            outcome.ending = Ending::Terminal;
        }
        match fault {
            Fault::Chance => outcome.team_reward = self.played as f32,
            Fault::NegativeCost => outcome.agent_costs[0] = -1.0,
            Fault::CostsDoNotAdd => outcome.region_costs[1] += 1.0,
            Fault::MissingMetric => drop(outcome.metrics.pop()),
            Fault::InfiniteReward => outcome.agent_rewards[1] = f32::INFINITY,
            Fault::HighFloor => outcome.metrics[2] = meetings as f64 + 1.0,
            Fault::Reward => outcome.agent_rewards[1] = self.places[1] as f32,
            Fault::Price if self.places[0] > 0.0 => outcome.agent_costs[1] = 0.5,
            Fault::End if self.places[0] > 1.0 => outcome.ending = Ending::Terminal,
            Fault::NeverEnds => outcome.ending = Ending::Running,
            _ => {}
        }
    }

    fn snapshot(&self) -> Vec<f64> {
        let forgotten = self.view.fault == Fault::Forgets;
        let steps = if forgotten { 0.0 } else { self.steps as f64 };
        self.places.iter().copied().chain([0.0, steps]).collect()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        let length = self.places.len() + 2;
        match self.view.fault {
            Fault::TakesTooMuch => check_snapshot(&snapshot[..length], length)?,
            Fault::TakesNonsense if snapshot.len() == length => {}
            _ => check_snapshot(snapshot, length)?,
        }
        self.places.copy_from_slice(&snapshot[..length - 2]);
        self.steps = snapshot[length - 1] as usize;
        Ok(())
    }

    fn draw(&self) -> Drawing {
        let fault = self.view.fault;
        let last = self.places.len() - 1;
        let agent = if fault == Fault::UnknownAgent { last + 1 } else { last };
        let handle = if fault == Fault::WrongHandle { 0 } else { last };
        let shape = Shape::disc(Role::Agent, [self.places[last], 0.0], 0.4);
        let top = if fault == Fault::NoBounds { -1.0 } else { 1.0 };
        Drawing {
            bounds: [-3.0, -1.0, 3.0, top],
            shapes: vec![shape.of_agent(agent).movable(handle)],
        }
    }
}
