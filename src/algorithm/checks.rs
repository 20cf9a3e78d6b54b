//! Small environments for the tests of every algorithm.

use super::{Algorithm, Start};
use crate::{
    checkpoint::Checkpoint,
    environment::{
        AgentSpec, Batch, Drawing, Environment, Outcome, Spec, View, matrix_game::MatrixGame,
    },
    episode::{EpisodeStreams, VectorEnvironment},
    error::Result,
    graph::CoordinationGraph,
    rng::{Purpose, Rng, Streams},
};

/// Plays rounds of training in eight environments side by side.
pub(super) fn play_rounds(
    learner: &mut dyn super::Learner,
    environments: &mut VectorEnvironment,
    n_rounds: u64,
) {
    let n = environments.len();
    for round in 0..n_rounds {
        let streams = EpisodeStreams {
            streams: Streams::new(3),
            start: Purpose::Episode,
            dynamics: Purpose::Dynamics,
            act: Purpose::Exploration,
            first: round * n as u64,
        };
        environments.play(learner, streams, n);
        assert!(learner.failure().is_none(), "round {round}");
    }
}

/// Environments side by side.
pub(super) fn eight<E: Environment + 'static>(environment: impl Fn() -> E) -> VectorEnvironment {
    let all = (0..8).map(|_| Box::new(environment()) as Box<dyn Environment>);
    VectorEnvironment::new(all.collect())
}

/// Trains on a game and tells the greedy joint action of the trained model in its first state.
pub(super) fn trained_action<A: Algorithm, E: Environment + 'static>(
    algorithm: &A,
    options: &A::Options,
    game: impl Fn() -> E,
    multipliers: &[f32],
) -> Vec<usize> {
    let mut environments = eight(&game);
    let (view, n_environments) = (environments.view(), environments.len());
    let start = Start { teams: &[view], n_environments, total_steps: 1, streams: Streams::new(1) };
    let mut learner = algorithm.learner(options, start).unwrap();
    play_rounds(learner.as_mut(), &mut environments, 750);
    let mut weights = Checkpoint::new(0, serde_json::Value::Null);
    learner.save_model(&mut weights);
    let game = game();
    let model = algorithm.model(options, game.view(), &weights).unwrap();
    let mut actions = vec![Vec::new()];
    let batch = Batch { view: game.view(), states: &[0.0], slots: &[0] };
    model.policy(multipliers).act(batch, &mut actions);
    actions.remove(0)
}

/// What an agent may not do in a state.
pub(super) type Forbidden = fn(&[f32], usize) -> &'static [usize];

/// A matrix game in which some actions are forbidden; playing one is a failed test.
#[derive(Clone)]
pub(super) struct Masked {
    game: MatrixGame,
    view: MaskedView,
}

/// How such a game is seen.
#[derive(Clone)]
pub(super) struct MaskedView {
    game: MatrixGame,
    spec: Spec,
    forbidden: Forbidden,
}

impl Masked {
    /// The game with what is forbidden.
    pub(super) fn new(game: MatrixGame, forbidden: Forbidden) -> Self {
        let spec = game.view().spec().clone();
        Self { view: MaskedView { game: game.clone(), spec, forbidden }, game }
    }

    /// The same game where each agent has its own number of actions.
    pub(super) fn with_counts(mut self, counts: &[usize]) -> Self {
        self.view.spec.agents = counts.iter().map(|&n_actions| AgentSpec { n_actions }).collect();
        self
    }

    /// The same game where actions are called the cells of a grid.
    pub(super) fn with_grid(mut self, grid: usize) -> Self {
        self.view.spec.action_grid = Some(grid);
        self
    }
}

impl View for MaskedView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        self.game.view().graph(state, graph);
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        self.game.view().region_row(state, members, row);
    }

    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        self.game.view().agent_row(state, agent, row);
    }

    fn action_mask(&self, state: &[f32], agent: usize, allowed: &mut [bool]) {
        for &action in (self.forbidden)(state, agent) {
            allowed[action] = false;
        }
    }
}

impl Environment for Masked {
    fn view(&self) -> &dyn View {
        &self.view
    }

    fn reset(&mut self, rng: &mut Rng) {
        self.game.reset(rng);
    }

    fn write_state(&self, state: &mut [f32]) {
        self.game.write_state(state);
    }

    fn step(&mut self, action: &[usize], rng: &mut Rng, outcome: &mut Outcome) {
        let mut state = vec![0.0; self.view.spec.state_width];
        self.write_state(&mut state);
        for (agent, &action) in action.iter().enumerate() {
            let own = self.view.spec.agents[agent].n_actions;
            let forbidden = (self.view.forbidden)(&state, agent);
            assert!(action < own && !forbidden.contains(&action), "agent {agent} took {action}");
        }
        self.game.step(action, rng, outcome);
    }

    fn snapshot(&self) -> Vec<f64> {
        self.game.snapshot()
    }

    fn restore(&mut self, snapshot: &[f64]) -> Result<()> {
        self.game.restore(snapshot)
    }

    fn draw(&self) -> Drawing {
        self.game.draw()
    }
}
