//! One environment of a Python process, as the library knows environments.

use super::process::{About, Host, Trouble};
use cgcmarl::{
    CoordinationGraph, Environment, Error, Outcome, Result, Spec,
    environment::{Constraint, Drawing, Ending, Role, Shape, View},
    graph::{GraphOptions, Nearby},
    rng::Rng,
};
use std::sync::Arc;

/// How what agents see becomes a state and regions: the rows of all agents, then their masks.
#[derive(Clone)]
pub(super) struct TeamView {
    spec: Spec,
    graph: CoordinationGraph,
    options: GraphOptions,
    positions: Vec<usize>,
}

impl TeamView {
    pub(super) fn new(
        about: &About,
        horizon: usize,
        options: &GraphOptions,
        positions: &[usize],
    ) -> Result<Self> {
        let n = about.agents.len();
        let graph = options.build(n)?;
        if options.follows_positions() && positions.len() != 2 {
            let reason =
                "a graph of neighbours needs two numbers: where an agent sees its own x and y";
            return Err(Error::setting("positions", format!("{positions:?}"), reason));
        }
        if let Some(place) = positions.iter().find(|place| **place >= about.width) {
            let reason = format!("an agent sees {} numbers", about.width);
            return Err(Error::setting("positions", place, reason));
        }
        let size = graph.max_region_size().max(2);
        let costs = about.costs.iter().map(|name| Constraint::new(name, "cost"));
        let mut spec = Spec::new(super::NAME, n, about.n_actions, horizon)
            .rows(n * (about.width + about.n_actions), about.width, size * about.width)
            .measures(vec![], costs.collect::<Vec<_>>())
            .terminating();
        spec.region_size = size;
        spec.max_regions =
            if options.follows_positions() { options.most_regions(n) } else { graph.n_regions() };
        Ok(Self { spec, graph, options: options.clone(), positions: positions.to_vec() })
    }
}

impl TeamView {
    /// The same where it is known what an agent can pay at most, for each cost.
    pub(super) fn paying(mut self, most: &[f64]) -> Self {
        for (constraint, most) in self.spec.constraints.iter_mut().zip(most) {
            *constraint = constraint.clone().at_most(*most);
        }
        self
    }
}

impl View for TeamView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        if self.options.follows_positions() {
            let width = self.spec.agent_width;
            let rows = state[..self.spec.n_agents() * width].chunks_exact(width);
            let place = |row: &[f32]| [row[self.positions[0]], row[self.positions[1]]];
            let places: Vec<_> = rows.map(place).collect();
            if graph.n_agents() != places.len() {
                graph.clone_from(&self.graph);
            }
            self.options.rebuild(graph, &places, &mut Nearby::default());
        } else if graph.n_agents() != self.graph.n_agents()
            || !graph.regions().eq(self.graph.regions())
        {
            graph.clone_from(&self.graph);
        }
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        row.copy_from_slice(&state[agent * row.len()..][..row.len()]);
    }

    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        let masks = &state[self.spec.n_agents() * self.spec.agent_width..];
        let mask = &masks[agent * allowed.len()..][..allowed.len()];
        allowed.iter_mut().zip(mask).for_each(|(may, number)| *may = *number > 0.5);
    }
}

/// Who is paid what the environment pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credit {
    /// All regions together.
    Team,
    /// The regions of the agent that earned it.
    Agent,
}

/// One environment of a Python process.
pub(super) struct RemoteEnvironment {
    view: TeamView,
    names: Vec<String>,
    host: Arc<Host>,
    number: u32,
    /// The start of the process that knows it.
    start: u32,
    credit: Credit,
    scale: f32,
    seed: u32,
    /// What was played since the last reset.
    played: Vec<Vec<usize>>,
    sent: bool,
    state: Vec<f32>,
    graph: CoordinationGraph,
    failure: Option<Error>,
    failed: bool,
}

impl RemoteEnvironment {
    pub(super) fn new(
        view: TeamView,
        names: Vec<String>,
        host: Arc<Host>,
        (credit, scale): (Credit, f32),
    ) -> Self {
        let (state, graph) = (vec![0.0; view.spec.state_width], view.graph.clone());
        let number = host.next_number();
        Self {
            view,
            names,
            number,
            host,
            start: 0,
            credit,
            scale,
            seed: 0,
            played: Vec::new(),
            sent: false,
            state,
            graph,
            failure: None,
            failed: false,
        }
    }

    fn fail(&mut self, error: Error) {
        self.failed = true;
        self.failure.get_or_insert(error);
    }

    /// Asks; a process that is gone is started once more and told everything again.
    fn ask(&mut self, letter: u8, content: &[u8]) -> Result<Vec<u8>> {
        loop {
            self.host.wake()?;
            if self.start != self.host.starts() {
                self.start = self.host.starts();
                self.sent = false;
                if let Err(trouble) = self.repeat() {
                    self.start = 0;
                    match trouble {
                        Trouble::Told(text) => return Err(Error::Refused(text)),
                        Trouble::Gone(text) => self.lament(&text)?,
                    }
                    continue;
                }
            }
            if !self.sent {
                self.host.send(letter, self.number, content);
            }
            self.sent = false;
            match self.host.receive(self.number) {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Told(text)) => return Err(Error::Refused(text)),
                Err(Trouble::Gone(text)) => self.lament(&text)?,
            }
        }
    }

    /// Whether it may be started again; the reason where it may not.
    fn lament(&self, text: &str) -> Result<()> {
        self.host.wake().map_err(|error| Error::Refused(format!("{text}; {error}")))
    }

    /// Makes it anew and plays what was played.
    fn repeat(&self) -> std::result::Result<(), Trouble> {
        self.host.send(b'N', self.number, &[]);
        self.host.receive(self.number)?;
        if !self.played.is_empty() {
            self.host.send(b'R', self.number, &self.seed.to_le_bytes());
            self.host.receive(self.number)?;
            for action in &self.played {
                self.host.send(b'S', self.number, &packed(action));
                self.host.receive(self.number)?;
            }
        }
        Ok(())
    }

    /// Takes over an answer: state, and what was earned and paid.
    fn read(&mut self, answer: &[u8], outcome: Option<&mut Outcome>) -> Result<()> {
        let spec = &self.view.spec;
        let (n, width, n_actions) = (spec.n_agents(), spec.agent_width, spec.n_actions());
        let n_costs = spec.n_constraints();
        if answer.len() != 4 * (n * width + n + n * n_costs) + n * n_actions + 1 {
            return Err(Error::Refused(format!("an answer of {} bytes", answer.len())));
        }
        let (numbers, rest) = answer.split_at(4 * (n * width + n + n * n_costs));
        let mut numbers =
            numbers.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let (seen, masks) = self.state.split_at_mut(n * width);
        seen.iter_mut().for_each(|cell| *cell = numbers.next().unwrap_or(0.0));
        masks.iter_mut().zip(rest).for_each(|(cell, may)| *cell = f32::from(*may));
        let Some(outcome) = outcome else { return Ok(()) };
        outcome.begin(spec, &self.graph);
        let rewards: Vec<f32> = numbers.by_ref().take(n).map(|r| self.scale * r).collect();
        let everybody: Vec<usize> = (0..n).collect();
        match self.credit {
            Credit::Team => outcome.earn(&self.graph, &everybody, rewards.iter().sum()),
            Credit::Agent => rewards
                .iter()
                .enumerate()
                .for_each(|(agent, reward)| outcome.earn(&self.graph, &[agent], *reward)),
        }
        outcome.agent_rewards.copy_from_slice(&rewards);
        for agent in 0..n {
            for constraint in 0..n_costs {
                let cost = numbers.next().unwrap_or(0.0);
                let Constraint { name, most, .. } = &spec.constraints[constraint];
                if f64::from(cost) > most * (1.0 + 1e-6) {
                    let (agent, most) = (&self.names[agent], most);
                    let text =
                        format!("the cost '{name}' of {agent} is {cost}, above most_cost {most}");
                    return Err(Error::Refused(text));
                }
                outcome.charge(&self.graph, constraint, &[agent], cost);
            }
        }
        outcome.ending = match rest.last() {
            Some(2) => Ending::Terminal,
            Some(1) => Ending::Truncated,
            _ => Ending::after(self.played.len(), spec, false),
        };
        Ok(())
    }
}

impl Environment for RemoteEnvironment {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.seed = (rng.next_u64() >> 33) as u32;
        self.played.clear();
        self.sent = false;
        if self.failed {
            return;
        }
        let seed = self.seed.to_le_bytes();
        let answer = self.ask(b'R', &seed).and_then(|answer| self.read(&answer, None));
        if let Err(error) = answer {
            self.fail(Error::Refused(format!("reset with seed {}: {error}", self.seed)));
        }
    }

    fn prepare(&mut self, action: &[usize]) {
        if !self.failed && self.start == self.host.starts() {
            self.host.send(b'S', self.number, &packed(action));
            self.sent = true;
        }
    }

    fn write_state(&self, state: &mut [f32]) {
        state.copy_from_slice(&self.state);
    }

    fn step(&mut self, action: &[usize], _rng: &mut Rng, outcome: &mut Outcome) {
        let mut graph = std::mem::take(&mut self.graph);
        self.view.graph(&self.state, &mut graph);
        self.graph = graph;
        if !self.failed {
            let answer = self.ask(b'S', &packed(action));
            self.played.push(action.to_vec());
            match answer.and_then(|answer| self.read(&answer, Some(&mut *outcome))) {
                Ok(()) => return,
                Err(error) => self.fail(Error::Refused(format!("seed {}, {error}", self.seed))),
            }
        }
        outcome.begin(&self.view.spec, &self.graph);
        outcome.ending = Ending::Truncated;
    }

    fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    fn snapshot(&self) -> Vec<f64> {
        self.state.iter().map(|&number| f64::from(number)).collect()
    }

    fn restore(&mut self, _snapshot: &[f64]) -> Result<()> {
        Err(Error::Refused("an environment in Python cannot go back to an earlier moment".into()))
    }

    fn draw(&self) -> Drawing {
        let n = self.names.len() as f64;
        let disc = |(agent, _): (usize, &String)| {
            Shape::agent(agent, [agent as f64 + 0.5, 0.5], 0.3).labelled(agent.to_string())
        };
        let mut shapes = vec![Shape::square(Role::Ground, [n / 2.0, 0.5], 0.5)];
        shapes.extend(self.names.iter().enumerate().map(disc));
        Drawing { bounds: [0.0, 0.0, n, 1.0], shapes }
    }
}

fn packed(action: &[usize]) -> Vec<u8> {
    action.iter().flat_map(|&action| (action as i32).to_le_bytes()).collect()
}
