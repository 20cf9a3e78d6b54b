//! QMIX (Rashid et al.): a mixer that never falls in any agent's value joins them into the team's.
//!
//! z = |W₁(s)|ᵀ q + b₁(s), Q_tot = |w₂(s)| · ELU(z) + v(s), where a hypernetwork on the global state
//! gives W₁, b₁, w₂ and v; the loss is the mean of ½ (Q_tot − r − γ Q̄_tot(s', argmax))².

use super::{
    JointValue, Networks, QLearningOptions, ValueBased,
    agent_network::{AgentNetwork, AgentNetworkOptions},
    hypernetworks::Hypernetworks,
    joint_batch::JointBatch,
    squared, usual_exploration,
};
use crate::{
    algorithm::memory,
    environment::{Batch, Spec, View},
    error::{Error, Result, within},
    graph::JointAction,
    nn::Layout,
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The shape of the mixer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixerOptions {
    /// Units between the agents' values and the team's.
    pub units: usize,
    /// Width of the hypernetworks' hidden layers.
    pub hypernetwork: usize,
    /// Whether W₁, b₁, w₂ and v come from networks of their own, as published, rather than from one.
    pub separate: bool,
}

impl Default for MixerOptions {
    fn default() -> Self {
        Self { units: 32, hypernetwork: 64, separate: false }
    }
}

/// The options of QMIX.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QmixOptions {
    /// Values of what comes next are cut to at most this far from zero; 0 leaves them as they are.
    pub next_value_bound: f32,
    /// The agents' network.
    pub network: AgentNetworkOptions,
    /// The mixer.
    pub mixer: MixerOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
}

impl Default for QmixOptions {
    fn default() -> Self {
        Self {
            next_value_bound: 0.0,
            network: AgentNetworkOptions::default(),
            mixer: MixerOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
        }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct QmixAlgorithm;

impl ValueBased for QmixAlgorithm {
    type Options = QmixOptions;
    const NAME: &'static str = "qmix";

    fn sizes(options: &QmixOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        let MixerOptions { units, hypernetwork, separate } = options.mixer;
        // In floating point, since nobody has checked these numbers yet.
        let (units, n) = (units as f64, spec.n_agents() as f64);
        let sized = |outputs| memory::widths(spec.state_width as f64, &[hypernetwork], outputs);
        let parts = if separate {
            vec![n * units, 2.0 * units, 1.0]
        } else {
            vec![(n + 2.0) * units + 1.0]
        };
        let widths: Vec<_> = parts.into_iter().map(sized).collect();
        let parameters = widths.iter().map(|widths| memory::parameters(widths)).sum();
        let mixer = ("units", parameters, widths.iter().map(|widths| memory::row(widths)).sum());
        vec![options.network.sizes(spec), mixer]
    }

    fn value(options: &QmixOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        if options.mixer.units == 0 {
            return Err(Error::setting("units", 0, "must be positive"));
        }
        within("next_value_bound", options.next_value_bound, 0.0..=1e30)?;
        Ok(Box::new(Qmix::new(options, spec)))
    }

    fn learning(options: &QmixOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }
}

#[derive(Clone)]
struct Qmix {
    layout: Layout,
    agents: AgentNetwork,
    mixer: Mixer,
    next_value_bound: f32,
    values: Vec<f32>,
    next_values: Vec<f32>,
    d_values: Vec<f32>,
}

impl Qmix {
    fn new(options: &QmixOptions, spec: &Spec) -> Self {
        let mut layout = Layout::default();
        let agents = AgentNetwork::new(&options.network, spec, &mut layout);
        let mixer = Mixer::new(&options.mixer, spec, &mut layout);
        let (values, next_values, d_values) = (Vec::new(), Vec::new(), Vec::new());
        let next_value_bound = options.next_value_bound;
        Self { layout, agents, mixer, next_value_bound, values, next_values, d_values }
    }
}

impl JointValue for Qmix {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    /// As the mixer never falls, the agents' own best actions are the team's.
    fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]) {
        self.agents.act(parameters, batch, actions);
    }

    fn learn(
        &mut self,
        networks: Networks<'_>,
        view: &dyn View,
        batch: &JointBatch,
        gradient: &mut [f32],
    ) -> f32 {
        let Self { agents, mixer, values, next_values, d_values, .. } = self;
        agents.evaluate(networks, view, batch);
        mixer.mix(networks.target, &batch.next_states, &agents.next_values, next_values);
        let bound = self.next_value_bound;
        if bound > 0.0 {
            next_values.iter_mut().for_each(|value| *value = value.clamp(-bound, bound));
        }
        mixer.mix(networks.online, &batch.states, &agents.values, values);
        let share = 1.0 / batch.len() as f32;
        let mut sum = 0.0;
        d_values.clear();
        for (transition, (&value, &next)) in values.iter().zip(&*next_values).enumerate() {
            let (reward, discount) = (batch.team_reward(transition), batch.discounts[transition]);
            let (loss, error) = squared(value, reward, discount, next);
            sum += share * loss;
            d_values.push(share * error);
        }
        let AgentNetwork { values, d_values: d_agents, .. } = agents;
        mixer.backward(networks.online, gradient, &batch.states, (values, d_agents), d_values);
        agents.backward(networks.online, gradient);
        sum
    }

    fn boxed_clone(&self) -> Box<dyn JointValue> {
        Box::new(self.clone())
    }
}

/// The monotonic mixer and its hypernetwork.
#[derive(Clone)]
struct Mixer {
    hypernetworks: Hypernetworks,
    n_agents: usize,
    units: usize,
    /// For each state: W₁ agent by agent, then b₁, w₂ and v.
    weights: Vec<f32>,
    d_weights: Vec<f32>,
    /// For each state and unit: what goes into it, and what comes out.
    before: Vec<f32>,
    after: Vec<f32>,
}

impl Mixer {
    fn new(options: &MixerOptions, spec: &Spec, layout: &mut Layout) -> Self {
        let inputs = (spec.state_width, options.hypernetwork.max(1));
        let sizes = (spec.n_agents(), options.units);
        Self {
            hypernetworks: Hypernetworks::new(layout, inputs, sizes, options.separate),
            n_agents: spec.n_agents(),
            units: options.units,
            weights: Vec::new(),
            d_weights: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Writes the team's value in each state from its agents' values.
    fn mix(&mut self, parameters: &[f32], states: &[f32], agents: &[f32], team: &mut Vec<f32>) {
        let n_states = agents.len() / self.n_agents;
        let Self { hypernetworks, weights, units, before, after, .. } = self;
        hypernetworks.forward(parameters, states, n_states, weights);
        before.resize(n_states * *units, 0.0);
        after.resize(n_states * *units, 0.0);
        let (mut before, mut after) = (std::mem::take(before), std::mem::take(after));
        team.clear();
        let cells = before.chunks_exact_mut(self.units).zip(after.chunks_exact_mut(self.units));
        let rows = agents.chunks_exact(self.n_agents).zip(cells);
        for (state, (agents, (before, after))) in rows.enumerate() {
            let parts = self.parts(state);
            parts.write_before(agents, before);
            after.iter_mut().zip(&*before).for_each(|(after, &before)| *after = elu(before));
            let sum: f32 = parts.second.iter().zip(&*after).map(|(w, unit)| w.abs() * unit).sum();
            team.push(parts.value + sum);
        }
        (self.before, self.after) = (before, after);
    }

    /// The weights of one state.
    fn parts(&self, state: usize) -> Parts<'_> {
        let n_weights = Hypernetworks::n_weights(self.n_agents, self.units);
        let (first, rest) =
            self.weights[state * n_weights..][..n_weights].split_at(self.n_agents * self.units);
        let (bias, second) = rest.split_at(self.units);
        Parts { first, bias, second: &second[..self.units], value: second[self.units] }
    }

    /// Adds the hypernetwork's gradient and writes that of the agents' values, given the team's, after
    /// [`Self::mix`] of the same states.
    fn backward(
        &mut self,
        parameters: &[f32],
        gradient: &mut [f32],
        states: &[f32],
        (agents, d_agents): (&[f32], &mut [f32]),
        d_team: &[f32],
    ) {
        let (units, n_weights) = (self.units, Hypernetworks::n_weights(self.n_agents, self.units));
        let mut d_weights = std::mem::take(&mut self.d_weights);
        d_weights.resize(d_team.len() * n_weights, 0.0);
        let rows = agents.chunks_exact(self.n_agents).zip(d_agents.chunks_exact_mut(self.n_agents));
        let rows = rows.zip(d_weights.chunks_exact_mut(n_weights));
        for (state, ((agents, d_agents), d_weights)) in rows.enumerate() {
            let parts = self.parts(state);
            let (d_first, rest) = d_weights.split_at_mut(self.n_agents * units);
            let (d_before, rest) = rest.split_at_mut(units);
            let d = d_team[state];
            let [before, after] = [&self.before, &self.after].map(|all| &all[state * units..]);
            rest[units] = d;
            let units_of = parts.second.iter().zip(before.iter().zip(after));
            let d_units = d_before.iter_mut().zip(rest.iter_mut());
            for ((weight, (&before, &after)), (d_before, d_second)) in units_of.zip(d_units) {
                *d_before = d * weight.abs() * elu_slope(before, after);
                *d_second = d * after * weight.signum();
            }
            let own = parts.first.chunks_exact(units).zip(d_first.chunks_exact_mut(units));
            for ((weights, d_weights), (value, d_value)) in own.zip(agents.iter().zip(d_agents)) {
                for (d_weight, (weight, d)) in
                    d_weights.iter_mut().zip(weights.iter().zip(&*d_before))
                {
                    *d_weight = d * value * weight.signum();
                }
                *d_value = weights.iter().zip(&*d_before).map(|(w, d)| d * w.abs()).sum();
            }
        }
        self.hypernetworks.backward(parameters, gradient, states, &d_weights);
        self.d_weights = d_weights;
    }
}

/// The mixer's weights in one state.
struct Parts<'a> {
    first: &'a [f32],
    bias: &'a [f32],
    second: &'a [f32],
    value: f32,
}

impl Parts<'_> {
    /// Writes what goes into every unit.
    fn write_before(&self, agents: &[f32], before: &mut [f32]) {
        before.copy_from_slice(self.bias);
        for (weights, value) in self.first.chunks_exact(before.len()).zip(agents) {
            before.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w.abs() * value);
        }
    }
}

fn elu(x: f32) -> f32 {
    if x > 0.0 { x } else { x.exp_m1() }
}

/// The slope at x, of which ELU makes y.
fn elu_slope(x: f32, y: f32) -> f32 {
    if x > 0.0 { 1.0 } else { y + 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{
            assert_gradient, learned_action, pair_game, random_batch, small_spread,
        },
        environment::{Environment, matrix_game::MatrixGame},
        rng::{Purpose, Streams},
    };

    fn small() -> QmixOptions {
        let mut options = QmixOptions::default();
        options.network.hidden = vec![7];
        options.mixer = MixerOptions { units: 3, hypernetwork: 5, separate: false };
        options
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        let mut options = small();
        for separate in [false, true] {
            options.mixer.separate = separate;
            assert_gradient(&mut Qmix::new(&options, spread.view().spec()), spread.view());
        }
    }

    #[test]
    fn the_team_never_loses_when_an_agent_gains() {
        let spread = small_spread();
        let spec = spread.view().spec();
        let mut qmix = Qmix::new(&QmixOptions::default(), spec);
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let mut team = Vec::new();
        for _ in 0..50 {
            let parameters = qmix.layout.initialise(&mut rng);
            let state: Vec<f32> = (0..spec.state_width).map(|_| rng.normal() as f32).collect();
            let mut agents: Vec<f32> =
                (0..spec.n_agents()).map(|_| 5.0 * rng.normal() as f32).collect();
            qmix.mixer.mix(&parameters, &state, &agents, &mut team);
            let before = team[0];
            let agent = rng.below(spec.n_agents());
            agents[agent] += 3.0 * rng.uniform() as f32;
            qmix.mixer.mix(&parameters, &state, &agents, &mut team);
            assert!(team[0] >= before - 1e-5, "{before} fell to {} by agent {agent}", team[0]);
        }
    }

    /// What comes next is worth 2 at the most, whatever the target network says.
    #[test]
    fn values_of_what_comes_next_are_cut() {
        let spread = small_spread();
        let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
        let batch = random_batch(spread.view(), 5, &mut rng);
        let losses = |next_value_bound: f32| {
            let options = QmixOptions { next_value_bound, ..small() };
            let mut qmix = Qmix::new(&options, spread.view().spec());
            let online = qmix.layout.initialise(&mut Streams::new(6).rng(Purpose::Problem, 0));
            [30.0, 40.0].map(|scale| {
                let target: Vec<f32> = online.iter().map(|weight| scale * weight).collect();
                let networks = Networks { online: &online, target: &target };
                qmix.learn(networks, spread.view(), &batch, &mut vec![0.0; online.len()])
            })
        };
        let (cut, free) = (losses(2.0), losses(0.0));
        assert!(cut.iter().all(|loss| *loss < 20.0), "{cut:?}");
        assert!(free[0] > 1e3 && free[1] > free[0], "{free:?}");
    }

    fn learned(game: impl Fn() -> MatrixGame) -> Vec<usize> {
        learned_action(&QmixAlgorithm, game, |learning, exploration| {
            let mut options = QmixOptions { learning, exploration, ..QmixOptions::default() };
            options.network.hidden = vec![32];
            options
        })
    }

    /// No sum of two values is this table, but a mixer that rises in both is.
    #[test]
    fn a_monotonic_game_is_solved() {
        assert_eq!(learned(|| pair_game(&[0.0, 1.0, 1.0, 8.0])), [1, 1]);
    }

    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_not() {
        assert_ne!(learned(|| MatrixGame::climbing().unwrap()), [0, 0]);
    }
}
