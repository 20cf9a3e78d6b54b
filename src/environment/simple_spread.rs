//! Simple Spread: N agents cover N landmarks and should not collide, with MPE2's physics.

pub use super::spread_options::{
    ActionSet, Constraint, GRID, Physics, RewardRule, SimpleSpreadOptions,
};
use super::{
    Ending, Environment, Outcome, StepMetrics, View,
    observation::SpreadView,
    physics::{Particles, Points},
    reward::{self, Closeness, Nearest},
};
use crate::{
    error::Result,
    graph::{CoordinationGraph, Topology},
    rng::Rng,
};

/// The environment.
#[derive(Clone, Debug)]
pub struct SimpleSpread {
    view: SpreadView,
    options: SimpleSpreadOptions,
    local_ratio: f64,
    vectors: Vec<[f64; 2]>,
    particles: Particles,
    landmarks: Points,
    steps: usize,
    graph: CoordinationGraph,
    state: Vec<f32>,
    nearest: Nearest,
    credit: Vec<f64>,
    closeness: Closeness,
}

impl SimpleSpread {
    /// The environment with the given options.
    pub fn new(options: &SimpleSpreadOptions) -> Result<Self> {
        options.validate()?;
        let options = options.resolved();
        let n = options.agents;
        let radius = options.radius.unwrap_or_default();
        let cost_distance = options.cost_distance.unwrap_or_default();
        let vectors = options.actions.unwrap_or(ActionSet::Grid).vectors();
        let graph = options.graph.build(n)?;
        let spec = options.spec(vectors.len(), &graph)?;
        let view =
            SpreadView::new(spec, graph.clone(), &options.graph, &options.observation, &vectors);
        Ok(Self {
            view,
            local_ratio: options.local_ratio.unwrap_or_default(),
            vectors,
            particles: Particles::new(n, radius, options.contact.unwrap_or_default()),
            landmarks: Points::zeros(n),
            steps: 0,
            graph,
            state: vec![0.0; 6 * n],
            nearest: Nearest::new(n),
            credit: vec![0.0; n],
            closeness: Closeness::new(n, 2.0 * radius, cost_distance),
            options,
        })
    }

    /// The options in force, every rule replaced by its value.
    pub fn options(&self) -> &SimpleSpreadOptions {
        &self.options
    }

    /// Where the agents are.
    pub fn positions(&self) -> &Points {
        &self.particles.positions
    }

    /// How fast the agents move.
    pub fn velocities(&self) -> &Points {
        &self.particles.velocities
    }

    /// Where the landmarks are.
    pub fn landmarks(&self) -> &Points {
        &self.landmarks
    }

    /// The agents nearest to each landmark after the last step.
    pub fn nearest(&self) -> &Nearest {
        &self.nearest
    }

    /// Which agents were close after the last step.
    pub fn closeness(&self) -> &Closeness {
        &self.closeness
    }

    /// Starts an episode from a given state.
    pub fn place(
        &mut self,
        positions: &[[f64; 2]],
        velocities: &[[f64; 2]],
        landmarks: &[[f64; 2]],
    ) {
        self.particles.positions.set_all(positions);
        self.particles.velocities.set_all(velocities);
        self.landmarks.set_all(landmarks);
        self.steps = 0;
    }

    /// The graph in force when the action was chosen.
    fn find_graph(&mut self) {
        if self.options.graph.topology == Topology::KNearest {
            let mut state = std::mem::take(&mut self.state);
            self.write_state(&mut state);
            self.view.graph(&state, &mut self.graph);
            self.state = state;
        }
    }

    fn write_rewards(&mut self, outcome: &mut Outcome) {
        let utility = self.nearest.global_utility();
        outcome.team_reward = utility as f32;
        outcome.agent_rewards.clear();
        outcome.agent_rewards.extend((0..self.options.agents).map(|agent| {
            reward::mixed(utility, self.closeness.local_reward(agent), self.local_ratio) as f32
        }));
        outcome.region_rewards.clear();
        match self.options.reward {
            RewardRule::Counterfactual => {
                self.nearest.counterfactual(&mut self.credit);
                let credit = |members: &[usize]| members.iter().map(|&i| self.credit[i]).sum();
                let regions = self.graph.regions().map(|members| -> f64 { credit(members) });
                outcome.region_rewards.extend(regions.map(|credit| credit as f32));
            }
            RewardRule::Shared => {
                let regions = self.graph.n_regions();
                let share = 0.5 * (self.options.agents - 1) as f64 * utility / regions as f64;
                outcome.region_rewards.resize(regions, share as f32);
            }
        }
    }

    fn write_costs(&self, action: &[usize], outcome: &mut Outcome) {
        let energy = |agent: usize| reward::energy(self.vectors[action[agent]]) as f32;
        let share = |agent: &usize| energy(*agent) / self.graph.memberships_of(*agent).len() as f32;
        let Outcome { region_costs, agent_costs, .. } = outcome;
        let width = self.options.constraints.len();
        region_costs.resize(self.graph.n_regions() * width, 0.0);
        agent_costs.resize(self.options.agents * width, 0.0);
        for (column, constraint) in self.options.constraints.iter().enumerate() {
            let regions = region_costs[column..].iter_mut().step_by(width);
            let agents = agent_costs[column..].iter_mut().step_by(width).enumerate();
            match constraint {
                Constraint::Collision => {
                    for (cost, members) in regions.zip(self.graph.regions()) {
                        *cost = self.closeness.region_cost(members);
                    }
                    agents.for_each(|(agent, cost)| *cost = self.closeness.agent_cost(agent));
                }
                Constraint::Energy => {
                    for (cost, members) in regions.zip(self.graph.regions()) {
                        *cost = members.iter().map(share).sum();
                    }
                    agents.for_each(|(agent, cost)| *cost = energy(agent));
                }
            }
        }
    }
}

impl Environment for SimpleSpread {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.options.layout.place(rng, &mut self.particles.positions, &mut self.landmarks);
        self.particles.velocities.clear();
        self.steps = 0;
    }

    fn write_state(&self, state: &mut [f32]) {
        let points =
            self.positions().iter().chain(self.velocities().iter()).chain(self.landmarks.iter());
        for (cells, point) in state.chunks_exact_mut(2).zip(points) {
            cells[0] = point[0] as f32;
            cells[1] = point[1] as f32;
        }
    }

    fn step(&mut self, action: &[usize], outcome: &mut Outcome) {
        self.find_graph();
        for (agent, &index) in action.iter().enumerate() {
            self.particles.push(agent, self.vectors[index]);
        }
        self.particles.advance();
        self.steps += 1;
        self.nearest.measure(&self.particles.positions, &self.landmarks);
        self.closeness.measure(&self.particles.positions);
        self.write_rewards(outcome);
        self.write_costs(action, outcome);
        let collisions = self.closeness.pairs_touching();
        // The first step moves nobody by its action, so what overlaps after it had to.
        let unavoidable = if self.steps == 1 { collisions } else { 0 };
        outcome.metrics =
            StepMetrics { collisions, unavoidable, coverage: self.nearest.coverage() };
        let over = self.steps >= self.options.horizon;
        outcome.ending = if over { Ending::Truncated } else { Ending::Running };
    }
}
