//! The only loop that steps environments, for training and evaluation alike: many side by side.

use crate::{
    environment::{Ending, Environment, Outcome, View},
    graph::JointAction,
    rng::{Purpose, Rng, Streams},
};

/// What a player sees before it acts: one state row per environment.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// How to look at a state.
    pub view: &'a dyn View,
    /// State rows, one per environment.
    pub states: &'a [f32],
}

impl Scene<'_> {
    /// Number of environments side by side.
    pub fn len(&self) -> usize {
        self.states.len() / self.view.spec().state_width
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The state of one environment.
    pub fn state(&self, slot: usize) -> &[f32] {
        let width = self.view.spec().state_width;
        &self.states[slot * width..][..width]
    }
}

/// Takes part in episodes. A frozen policy only acts; a learner also observes and learns.
pub trait Player: Send {
    /// An episode begins in environment `slot`.
    fn begin(&mut self, _slot: usize, _rng: &mut Rng) {}
    /// Writes one joint action per environment; `rngs` holds one stream per running episode.
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]);
    /// Hears what one step brought in one environment.
    fn observe(&mut self, _transition: Transition<'_>) {}
    /// All environments have stepped once: the moment to learn.
    fn learn(&mut self, _view: &dyn View) {}
}

/// One step as a player hears of it.
#[derive(Clone, Copy)]
pub struct Transition<'a> {
    /// Which of the environments side by side.
    pub slot: usize,
    /// What was there.
    pub before: &'a [f32],
    /// What was done.
    pub action: &'a [usize],
    /// What it brought.
    pub outcome: &'a Outcome,
    /// What is there now.
    pub after: &'a [f32],
}

/// What one episode amounted to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Sum of team rewards.
    pub team_return: f64,
    /// Coverage at the last step, within 0.1, 0.15 and 0.2.
    pub coverage: [f32; 3],
    /// Mean number of overlapping pairs per step.
    pub collisions: f64,
    /// Mean number of overlapping pairs per step that no action could avoid.
    pub floor: f64,
    /// Mean cost per step: row = agent, column = constraint.
    pub agent_costs: Vec<f32>,
    /// Steps played.
    pub steps: u32,
}

impl Summary {
    fn clear(&mut self, n_costs: usize) {
        let mut agent_costs = std::mem::take(&mut self.agent_costs);
        agent_costs.clear();
        agent_costs.resize(n_costs, 0.0);
        *self = Self { agent_costs, ..Self::default() };
    }

    fn add(&mut self, outcome: &Outcome) {
        self.steps += 1;
        self.team_return += f64::from(outcome.team_reward);
        self.coverage = outcome.metrics.coverage;
        self.collisions += f64::from(outcome.metrics.collisions);
        self.floor += f64::from(outcome.metrics.unavoidable);
        self.agent_costs.iter_mut().zip(&outcome.agent_costs).for_each(|(sum, c)| *sum += c);
    }

    fn average(&mut self) {
        let steps = f64::from(self.steps);
        self.collisions /= steps;
        self.floor /= steps;
        self.agent_costs.iter_mut().for_each(|cost| *cost /= steps as f32);
    }
}

/// Where the randomness of a round comes from; its episodes are numbered on from `first`.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// All streams of the run.
    pub streams: Streams,
    /// Stream of start states.
    pub start: Purpose,
    /// Stream of the player's own draws.
    pub act: Purpose,
    /// Number of the first episode.
    pub first: u64,
}

/// Environments side by side, with every buffer their loop needs.
pub struct Arena {
    environments: Vec<Box<dyn Environment>>,
    states: Vec<f32>,
    after: Vec<f32>,
    rngs: Vec<Rng>,
    actions: Vec<JointAction>,
    running: Vec<bool>,
    outcome: Outcome,
    summaries: Vec<Summary>,
}

impl Arena {
    /// An arena of environments of one kind.
    pub fn new(environments: Vec<Box<dyn Environment>>) -> Self {
        assert!(!environments.is_empty(), "an arena needs an environment");
        let spec = environments[0].view().spec();
        let n = environments.len();
        Self {
            states: vec![0.0; n * spec.state_width],
            after: vec![0.0; spec.state_width],
            rngs: Vec::with_capacity(n),
            actions: vec![vec![0; spec.n_agents]; n],
            running: vec![false; n],
            outcome: Outcome::default(),
            summaries: vec![Summary::default(); n],
            environments,
        }
    }

    /// Number of environments.
    pub fn len(&self) -> usize {
        self.environments.len()
    }

    /// Whether there is no environment.
    pub fn is_empty(&self) -> bool {
        self.environments.is_empty()
    }

    /// How to look at the states.
    pub fn view(&self) -> &dyn View {
        self.environments[0].view()
    }

    /// Plays one episode in each of the first `n` environments and sums them up.
    ///
    /// All start together; one that ends early waits for the others.
    pub fn play(&mut self, player: &mut dyn Player, draws: Draws, n: usize) -> &[Summary] {
        self.start(player, draws, n);
        let Self { environments, states, after, rngs, actions, running, outcome, summaries } = self;
        let width = after.len();
        while running[..n].contains(&true) {
            let view = environments[0].view();
            player.act(Scene { view, states: &states[..n * width] }, rngs, &mut actions[..n]);
            for slot in 0..n {
                if !running[slot] {
                    continue;
                }
                let environment = &mut environments[slot];
                let before = &mut states[slot * width..][..width];
                environment.step(&actions[slot], outcome);
                environment.write_state(after);
                let action = &actions[slot];
                player.observe(Transition { slot, before, action, outcome, after });
                before.copy_from_slice(after);
                summaries[slot].add(outcome);
                if outcome.ending != Ending::Running {
                    running[slot] = false;
                    summaries[slot].average();
                }
            }
            player.learn(environments[0].view());
        }
        &summaries[..n]
    }

    fn start(&mut self, player: &mut dyn Player, draws: Draws, n: usize) {
        let spec = self.environments[0].view().spec();
        let (width, n_costs) = (spec.state_width, spec.n_agents * spec.constraints.len());
        self.rngs.clear();
        for slot in 0..n {
            let episode = draws.first + slot as u64;
            self.environments[slot].reset(&mut draws.streams.rng(draws.start, episode));
            self.environments[slot].write_state(&mut self.states[slot * width..][..width]);
            self.rngs.push(draws.streams.rng(draws.act, episode));
            player.begin(slot, &mut self.rngs[slot]);
            self.running[slot] = true;
            self.summaries[slot].clear(n_costs);
        }
    }
}
