//! Robots cross a bridge that carries one of them: a task of one's own, with every command.

use cgcmarl::{
    CoordinationGraph, Result, Rng,
    environment::{
        Better, Constraint, Drawing, Ending, Environment, Metric, Outcome, Reduce, Reference, Role,
        Shape, Spec, Task, View,
    },
};
use serde::{Deserialize, Serialize};

/// Where the banks are, west and east; the bridge lies between them.
const BANK: f32 = 2.0;
/// What a robot can do: wait, walk west, walk east.
const MOVES: [f32; 3] = [0.0, -1.0, 1.0];
/// How often a robot slips and stays where it is.
const SLIP: f64 = 0.05;
/// What is paid for, in the order of the spec.
const LOAD: usize = 0;
const EFFORT: usize = 1;

/// What users may set under `[environment]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BridgeOptions {
    agents: usize,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self { agents: 3 }
    }
}

/// The state has two numbers for each robot, where it is and where it goes, and counts the steps.
struct Bridge {
    spec: Spec,
    graph: CoordinationGraph,
    state: Vec<f32>,
}

impl View for Bridge {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn agent_row(&self, state: &[f32], robot: usize, row: &mut [f32]) {
        row.copy_from_slice(&state[..row.len()]);
        row.rotate_left(2 * robot);
    }

    fn action_mask(&self, state: &[f32], robot: usize, allowed: &mut [bool]) {
        allowed.copy_from_slice(&MOVES.map(|step| (state[2 * robot] + step).abs() <= BANK));
    }
}

impl Environment for Bridge {
    fn view(&self) -> &dyn View {
        self
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.state.fill(0.0);
        for robot in self.state.chunks_exact_mut(2) {
            let direction = if rng.uniform() < 0.5 { -1.0 } else { 1.0 };
            robot.copy_from_slice(&[-direction * BANK, direction]);
        }
    }

    fn write_state(&self, state: &mut [f32]) {
        state.copy_from_slice(&self.state);
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        let n = action.len();
        outcome.begin(&self.spec, &self.graph);
        for (i, robot) in self.state.chunks_exact_mut(2).enumerate() {
            let step = if rng.uniform() < SLIP { 0.0 } else { MOVES[action[i]] };
            robot[0] += step;
            outcome.earn(&self.graph, &[i], step * robot[1]);
            outcome.charge(&self.graph, EFFORT, &[i], MOVES[action[i]].abs());
        }
        let crosses = |i: &usize| self.state[2 * i].abs() < BANK;
        for pair in self.graph.regions().filter(|pair| pair.iter().all(crosses)) {
            outcome.charge(&self.graph, LOAD, pair, 1.0);
        }
        let arrived = (0..n).filter(|i| self.state[2 * i] * self.state[2 * i + 1] == BANK).count();
        outcome.metrics.push(arrived as f64 / n as f64);
        self.state[2 * n] += 1.0;
        outcome.ending = Ending::after(self.state[2 * n] as usize, &self.spec, arrived == n);
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        self.spec.read_snapshot(snapshot, &mut self.state)
    }

    fn draw(&self) -> Drawing {
        let bridge = (-1..=1).map(|x| Shape::square(Role::Ground, [f64::from(x), -0.7], 0.45));
        let rows = self.state.chunks_exact(2).enumerate();
        let robots = rows.map(|(i, row)| Shape::agent(i, [row[0].into(), 0.4 * i as f64], 0.18));
        Drawing { bounds: [-3.0, -2.0, 3.0, 2.0], shapes: bridge.chain(robots).collect() }
    }
}

/// What the program knows of it.
struct BridgeTask;

impl Task for BridgeTask {
    type Options = BridgeOptions;

    fn name(&self) -> &'static str {
        "bridge"
    }

    fn summary(&self) -> &'static str {
        "robots cross a bridge that carries one of them"
    }

    fn build(&self, &BridgeOptions { agents }: &BridgeOptions) -> Result<Box<dyn Environment>> {
        Spec::check_team(agents, 2..=20)?;
        let arrived = Metric::new("arrived", "robots", Reduce::Last, Better::Higher, [0.0, 1.0]);
        let load = Constraint::new("load", "others on the bridge").at_most((agents - 1) as f64);
        let effort = Constraint::new("effort", "steps walked").at_most(1.0);
        let spec = Spec::new("bridge", agents, 3, 8)
            .rows(2 * agents + 1, 2 * agents, 4 * agents)
            .measures([arrived.percent()], [load, effort])
            .terminating();
        let (graph, state) = (CoordinationGraph::complete(agents), vec![0.0; spec.state_width]);
        Ok(Box::new(Bridge { spec, graph, state }))
    }

    fn references(&self, _options: &BridgeOptions) -> Result<Vec<Reference>> {
        // The rule to beat: the first robot that has not arrived walks, the others wait.
        Ok(vec![Reference::rule("one_by_one", |_view, state, action| {
            *action = vec![0; state.len() / 2];
            if let Some(i) = state.chunks_exact(2).position(|robot| robot[0] * robot[1] < BANK) {
                action[i] = if state[2 * i + 1] < 0.0 { 1 } else { 2 };
            }
        })])
    }
}

fn main() -> std::process::ExitCode {
    cgcmarl_cli::main([cgcmarl_cli::task(BridgeTask)])
}
