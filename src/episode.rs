//! The only loop that steps environments: many side by side, for training, evaluation and playback.

use crate::{
    environment::{Batch, Ending, Environment, Outcome, Policy, Reduce, Spec, View},
    error::{Error, Result},
    graph::JointAction,
    rng::{Purpose, Rng, Streams},
};

/// Controls the team in episodes: a frozen policy only acts, a learner also observes and updates.
pub trait Controller: Send {
    /// An episode begins in environment `slot`.
    fn begin(&mut self, _slot: usize, _rng: &mut Rng) {}
    /// Writes one joint action per state; `rngs` holds one stream for each.
    fn act(&mut self, batch: Batch<'_>, rngs: &mut [Rng], actions: &mut [JointAction]);
    /// Hears what one step brought in one environment.
    fn observe(&mut self, _transition: Transition<'_>) {}
    /// All environments that still run have stepped once: the moment to learn.
    fn update(&mut self, _view: &dyn View) {}
}

/// A policy in control: it acts and hears nothing.
pub struct Acting<'a>(pub &'a mut dyn Policy);

impl Controller for Acting<'_> {
    fn act(&mut self, batch: Batch<'_>, _rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.0.act(batch, actions);
    }
}

/// One step as a learner hears of it.
#[derive(Clone, Copy)]
pub struct Transition<'a> {
    /// Which of the environments side by side.
    pub slot: usize,
    /// What was there.
    pub state: &'a [f32],
    /// What was done.
    pub action: &'a [usize],
    /// What it brought.
    pub outcome: &'a Outcome,
    /// What is there now.
    pub next_state: &'a [f32],
}

/// What one episode amounted to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The episode's value of every reported metric, in the order of [`Spec::reported`].
    pub metrics: Vec<f64>,
    /// Mean cost per step: row = agent, column = constraint.
    pub agent_costs: Vec<f32>,
    /// Steps played.
    pub steps: u32,
}

impl Outcome {
    /// The step's value of every reported metric, in the order of [`Spec::reported`].
    pub fn reported(&self, spec: &Spec) -> Vec<f64> {
        let mut values = self.metrics.clone();
        values.push(f64::from(self.team_reward));
        let (n_agents, n_constraints) = (spec.n_agents(), spec.n_constraints());
        values.extend((0..n_constraints).map(|j| {
            let paid = self.agent_costs[j..].iter().step_by(n_constraints);
            paid.map(|cost| f64::from(*cost) / n_agents as f64).sum::<f64>()
        }));
        values
    }
}

impl Summary {
    fn clear(&mut self, spec: &Spec) {
        self.steps = 0;
        self.agent_costs.clear();
        self.agent_costs.resize(spec.n_agents() * spec.n_constraints(), 0.0);
        self.metrics.clear();
        let start = |reduce| if reduce == Reduce::All { 1.0 } else { 0.0 };
        self.metrics.extend(spec.metrics.iter().map(|metric| start(metric.reduce)));
        // The return, and what each constraint costs.
        self.metrics.resize(spec.metrics.len() + 1 + spec.n_constraints(), 0.0);
    }

    fn add(&mut self, spec: &Spec, outcome: &Outcome) {
        self.steps += 1;
        let own = self.metrics.iter_mut().zip(&outcome.metrics);
        for ((sum, value), metric) in own.zip(&spec.metrics) {
            match metric.reduce {
                Reduce::Last => *sum = *value,
                Reduce::Mean | Reduce::Sum => *sum += value,
                Reduce::All if *value == 0.0 => *sum = 0.0,
                Reduce::All => {}
            }
        }
        self.metrics[spec.metrics.len()] += f64::from(outcome.team_reward);
        self.agent_costs.iter_mut().zip(&outcome.agent_costs).for_each(|(sum, c)| *sum += c);
    }

    /// Closes the episode: sums become means.
    fn close(&mut self, spec: &Spec) {
        let steps = f64::from(self.steps);
        for (sum, metric) in self.metrics.iter_mut().zip(&spec.metrics) {
            if metric.reduce == Reduce::Mean {
                *sum /= steps;
            }
        }
        self.agent_costs.iter_mut().for_each(|cost| *cost /= steps as f32);
        let (n_agents, n_constraints) = (spec.n_agents(), spec.n_constraints());
        let start = spec.metrics.len() + 1;
        for (j, mean) in self.metrics[start..].iter_mut().enumerate() {
            let paid = self.agent_costs[j..].iter().step_by(n_constraints);
            *mean = paid.map(|cost| f64::from(*cost) / n_agents as f64).sum();
        }
    }
}

/// Where the randomness of a round comes from; its episodes are numbered on from `first`.
#[derive(Clone, Copy, Debug)]
pub struct EpisodeStreams {
    /// All streams of the run.
    pub streams: Streams,
    /// Stream of start states.
    pub start: Purpose,
    /// Stream of what happens by chance inside an episode.
    pub dynamics: Purpose,
    /// Stream of the controller's own draws.
    pub act: Purpose,
    /// Number of the first episode.
    pub first: u64,
}

/// An episode between two steps, with everything it goes on with.
#[derive(Clone, Debug)]
pub struct Suspended {
    snapshot: Vec<f64>,
    rng: Rng,
    dynamics: Rng,
    summary: Summary,
}

/// Environments of one kind side by side, with every buffer their loop needs.
pub struct VectorEnvironment {
    environments: Vec<Box<dyn Environment>>,
    spec: Spec,
    states: Vec<f32>,
    next_state: Vec<f32>,
    /// Slots of the environments that still run, in rising order; the streams follow them.
    slots: Vec<usize>,
    rngs: Vec<Rng>,
    dynamics: Vec<Rng>,
    actions: Vec<JointAction>,
    outcome: Outcome,
    summaries: Vec<Summary>,
}

impl VectorEnvironment {
    /// Environments of one kind side by side.
    pub fn new(environments: Vec<Box<dyn Environment>>) -> Self {
        assert!(!environments.is_empty(), "a vectorised environment needs an environment");
        let spec = environments[0].view().spec().clone();
        let n = environments.len();
        Self {
            states: vec![0.0; n * spec.state_width],
            next_state: vec![0.0; spec.state_width],
            slots: Vec::with_capacity(n),
            rngs: Vec::with_capacity(n),
            dynamics: Vec::with_capacity(n),
            actions: vec![vec![0; spec.n_agents()]; n],
            outcome: Outcome::default(),
            summaries: vec![Summary::default(); n],
            spec,
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

    /// Sizes, measures and names.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// One of the environments, to look at.
    pub fn environment(&self, slot: usize) -> &dyn Environment {
        self.environments[slot].as_ref()
    }

    /// Plays one episode in each of the first `n` environments and sums them up.
    ///
    /// All start together; those that end early act no more.
    pub fn play(
        &mut self,
        controller: &mut dyn Controller,
        streams: EpisodeStreams,
        n: usize,
    ) -> &[Summary] {
        self.start(controller, streams, n);
        while !self.slots.is_empty() {
            self.step(controller);
        }
        &self.summaries[..n]
    }

    /// Begins an episode in each of the first `n` environments.
    pub fn start(&mut self, controller: &mut dyn Controller, streams: EpisodeStreams, n: usize) {
        let EpisodeStreams { streams, start, dynamics, act, first } = streams;
        let width = self.spec.state_width;
        self.slots.clear();
        self.rngs.clear();
        self.dynamics.clear();
        for slot in 0..n {
            let episode = first + slot as u64;
            self.environments[slot].reset(&mut streams.rng(start, episode));
            self.environments[slot].write_state(&mut self.states[slot * width..][..width]);
            self.slots.push(slot);
            self.rngs.push(streams.rng(act, episode));
            self.dynamics.push(streams.rng(dynamics, episode));
            controller.begin(slot, &mut self.rngs[slot]);
            self.summaries[slot].clear(&self.spec);
        }
    }

    /// Steps every environment that still runs; tells whether any goes on.
    pub fn step(&mut self, controller: &mut dyn Controller) -> bool {
        let Self { environments, spec, states, next_state, actions, outcome, .. } = self;
        let (n, width) = (self.slots.len(), spec.state_width);
        let view = environments[0].view();
        let batch = Batch { view, states: &states[..n * width], slots: &self.slots };
        controller.act(batch, &mut self.rngs, &mut actions[..n]);
        for (action, &slot) in actions.iter().zip(&self.slots) {
            environments[slot].prepare(action);
        }
        let mut kept = 0;
        for index in 0..n {
            let slot = self.slots[index];
            let environment = &mut environments[slot];
            let state = &mut states[index * width..][..width];
            environment.step(&actions[index], &mut self.dynamics[index], outcome);
            environment.write_state(next_state);
            let action = &actions[index];
            controller.observe(Transition { slot, state, action, outcome, next_state });
            state.copy_from_slice(next_state);
            let summary = &mut self.summaries[slot];
            summary.add(spec, outcome);
            if outcome.ending != Ending::Running {
                summary.close(spec);
                continue;
            }
            if kept < index {
                self.slots[kept] = slot;
                self.rngs.swap(kept, index);
                self.dynamics.swap(kept, index);
                states.copy_within(index * width..(index + 1) * width, kept * width);
            }
            kept += 1;
        }
        self.slots.truncate(kept);
        self.rngs.truncate(kept);
        self.dynamics.truncate(kept);
        controller.update(environments[0].view());
        kept > 0
    }

    /// Why one of the environments cannot go on, where one cannot.
    pub fn failure(&mut self) -> Option<Error> {
        self.environments.iter_mut().find_map(|environment| environment.failure())
    }

    /// Whether any episode still runs.
    pub fn is_running(&self) -> bool {
        !self.slots.is_empty()
    }

    /// What the last step of the last environment brought.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What the episode of one of the environments amounts to; sums are means once it is over.
    pub fn summary(&self, slot: usize) -> &Summary {
        &self.summaries[slot]
    }

    /// The episode of the first environment as it stands; nothing where it is over.
    pub fn suspend(&self) -> Option<Suspended> {
        let [slot @ 0, ..] = self.slots[..] else { return None };
        Some(Suspended {
            snapshot: self.environments[slot].snapshot(),
            rng: self.rngs[slot].clone(),
            dynamics: self.dynamics[slot].clone(),
            summary: self.summaries[slot].clone(),
        })
    }

    /// Lets the first environment alone go on with an episode of another of the same kind.
    pub fn resume(&mut self, suspended: Suspended) -> Result<()> {
        let Suspended { snapshot, rng, dynamics, summary } = suspended;
        self.environments[0].restore(&snapshot)?;
        self.environments[0].write_state(&mut self.states[..self.spec.state_width]);
        self.slots.splice(.., [0]);
        self.rngs.splice(.., [rng]);
        self.dynamics.splice(.., [dynamics]);
        self.summaries[0] = summary;
        Ok(())
    }

    /// Lets the first environment alone go on from a snapshot, with the streams numbered `first`.
    pub fn restore(&mut self, snapshot: &[f64], streams: EpisodeStreams) -> Result<()> {
        let EpisodeStreams { streams, dynamics, act, first, .. } = streams;
        let mut summary = Summary::default();
        summary.clear(&self.spec);
        self.resume(Suspended {
            snapshot: snapshot.to_vec(),
            rng: streams.rng(act, first),
            dynamics: streams.rng(dynamics, first),
            summary,
        })
    }
}
