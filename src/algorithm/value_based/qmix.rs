//! QMIX (Rashid et al.): a mixer that never falls in any agent's value joins them into the team's.
//!
//! z = |W₁(s)|ᵀ q + b₁(s), Q_tot = |w₂(s)| · ELU(z) + v(s), where a hypernetwork on the global state
//! gives W₁, b₁, w₂ and v; the loss is the mean of ½ (Q_tot − r − γ Q̄_tot(s', argmax))².

use super::{
    JointValue, Networks, QLearningOptions, ValueBased,
    agent_network::{AgentNetwork, AgentNetworkOptions},
    joint_batch::JointBatch,
    squared, usual_exploration,
};
use crate::{
    algorithm::memory,
    environment::{Batch, Spec, View},
    error::{Error, Result},
    graph::JointAction,
    nn::{Layout, Mlp, MlpWorkspace},
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The shape of the mixer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixerOptions {
    /// Units between the agents' values and the team's.
    pub units: usize,
    /// Width of the hypernetwork's hidden layer.
    pub hypernetwork: usize,
}

impl Default for MixerOptions {
    fn default() -> Self {
        Self { units: 32, hypernetwork: 64 }
    }
}

/// The options of QMIX.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QmixOptions {
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
        let MixerOptions { units, hypernetwork } = options.mixer;
        let outputs = (spec.n_agents() as f64 + 2.0) * units as f64 + 1.0;
        let widths = memory::widths(spec.state_width as f64, &[hypernetwork], outputs);
        let mixer = ("units", memory::parameters(&widths), memory::row(&widths));
        vec![options.network.sizes(spec), mixer]
    }

    fn value(options: &QmixOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        if options.mixer.units == 0 {
            return Err(Error::setting("units", 0, "must be positive"));
        }
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
        Self { layout, agents, mixer, values, next_values, d_values }
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
    hypernetwork: Mlp,
    n_agents: usize,
    units: usize,
    workspace: MlpWorkspace,
    /// For each state: W₁ agent by agent, then b₁, w₂ and v.
    weights: Vec<f32>,
    d_weights: Vec<f32>,
}

impl Mixer {
    fn new(options: &MixerOptions, spec: &Spec, layout: &mut Layout) -> Self {
        let n_weights = (spec.n_agents() + 2) * options.units + 1;
        let widths = [spec.state_width, options.hypernetwork.max(1), n_weights];
        Self {
            hypernetwork: Mlp::new(layout, "mixer", &widths, false),
            n_agents: spec.n_agents(),
            units: options.units,
            workspace: MlpWorkspace::default(),
            weights: Vec::new(),
            d_weights: Vec::new(),
        }
    }

    /// Writes the team's value in each state from its agents' values.
    fn mix(&mut self, parameters: &[f32], states: &[f32], agents: &[f32], team: &mut Vec<f32>) {
        let n_states = agents.len() / self.n_agents;
        let Self { hypernetwork, workspace, weights, .. } = self;
        hypernetwork.forward(parameters, states, n_states, workspace).write_rows(weights);
        team.clear();
        for (state, agents) in agents.chunks_exact(self.n_agents).enumerate() {
            team.push(self.team_value(state, agents));
        }
    }

    /// The weights of one state.
    fn parts(&self, state: usize) -> Parts<'_> {
        let n_weights = self.hypernetwork.n_outputs();
        let (first, rest) =
            self.weights[state * n_weights..][..n_weights].split_at(self.n_agents * self.units);
        let (bias, second) = rest.split_at(self.units);
        Parts { first, bias, second: &second[..self.units], value: second[self.units] }
    }

    fn team_value(&self, state: usize, agents: &[f32]) -> f32 {
        let parts = self.parts(state);
        let unit = |unit: usize| parts.second[unit].abs() * elu(parts.before(unit, agents));
        parts.value + (0..self.units).map(unit).sum::<f32>()
    }

    /// Adds the hypernetwork's gradient and writes that of the agents' values, given the team's.
    fn backward(
        &mut self,
        parameters: &[f32],
        gradient: &mut [f32],
        states: &[f32],
        (agents, d_agents): (&[f32], &mut [f32]),
        d_team: &[f32],
    ) {
        let (units, n_weights) = (self.units, self.hypernetwork.n_outputs());
        let mut d_weights = std::mem::take(&mut self.d_weights);
        d_weights.resize(d_team.len() * n_weights, 0.0);
        d_agents.fill(0.0);
        let rows = agents.chunks_exact(self.n_agents).zip(d_agents.chunks_exact_mut(self.n_agents));
        let rows = rows.zip(d_weights.chunks_exact_mut(n_weights));
        for (state, ((agents, d_agents), d_weights)) in rows.enumerate() {
            let parts = self.parts(state);
            let (d_first, rest) = d_weights.split_at_mut(self.n_agents * units);
            let d = d_team[state];
            for unit in 0..units {
                let before = parts.before(unit, agents);
                let d_before = d * parts.second[unit].abs() * elu_slope(before);
                rest[unit] = d_before;
                rest[units + unit] = d * elu(before) * parts.second[unit].signum();
                for agent in 0..self.n_agents {
                    let weight = parts.first[agent * units + unit];
                    d_first[agent * units + unit] = d_before * agents[agent] * weight.signum();
                    d_agents[agent] += d_before * weight.abs();
                }
            }
            rest[2 * units] = d;
        }
        let Self { hypernetwork, workspace, .. } = self;
        hypernetwork.d_output(workspace).read_rows(&d_weights, n_weights, d_team.len());
        hypernetwork.backward(parameters, gradient, states, workspace, None);
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
    /// What goes into one unit.
    fn before(&self, unit: usize, agents: &[f32]) -> f32 {
        let weights = self.first[unit..].iter().step_by(self.bias.len());
        self.bias[unit] + weights.zip(agents).map(|(w, q)| w.abs() * q).sum::<f32>()
    }
}

fn elu(x: f32) -> f32 {
    if x > 0.0 { x } else { x.exp_m1() }
}

fn elu_slope(x: f32) -> f32 {
    if x > 0.0 { 1.0 } else { x.exp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{
            assert_gradient, learned_action, pair_game, small_spread,
        },
        environment::{Environment, matrix_game::MatrixGame},
        rng::{Purpose, Streams},
    };

    fn small() -> QmixOptions {
        let mut options = QmixOptions::default();
        options.network.hidden = vec![7];
        options.mixer = MixerOptions { units: 3, hypernetwork: 5 };
        options
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        assert_gradient(&mut Qmix::new(&small(), spread.view().spec()), spread.view());
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
