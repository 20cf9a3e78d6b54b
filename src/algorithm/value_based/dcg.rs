//! DCG (Böhmer et al.): utilities of agents and payoffs of pairs, maximised by message passing.
//!
//! h_i = encoder(o_i); Q(a) = 1/N Σ_i u(h_i)\[a_i\] + 1/E Σ_(i,j) ½ (p(h_i, h_j)\[a_i, a_j\] +
//! p(h_j, h_i)\[a_j, a_i\]). The coordinator finds the best joint action; the loss is the mean of
//! ½ (Q(a) − r − γ Q̄(a'))², one error for the whole team.

use super::{
    JointValue, Networks, QLearningOptions, ValueBased, joint_batch::JointBatch,
    pair_network::PairNetwork, row_network::RowNetwork, squared, usual_exploration,
};
use crate::{
    algorithm::{
        AgentFrames, action_masks::ActionMasks, agent_row_width, memory, state_tables::StateTables,
        write_agent_rows,
    },
    coordination::{Coordinator, Solver, SolverOptions},
    environment::{Batch, Spec, View},
    error::{Error, Result},
    graph::JointAction,
    nn::{Layout, Mlp},
    schedule::Linear,
};
use serde::{Deserialize, Serialize};

/// The shape of the networks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcgNetworkOptions {
    /// Widths of the encoder's layers.
    pub hidden: Vec<usize>,
    /// Width of the hidden layer of the pairs' network.
    pub pair_hidden: usize,
    /// Rank of a pair's payoff table; 0 for one output per joint action.
    pub rank: usize,
    /// Whether an agent also sees its own number.
    pub identity: bool,
}

impl Default for DcgNetworkOptions {
    fn default() -> Self {
        Self { hidden: vec![128, 64], pair_hidden: 64, rank: 4, identity: true }
    }
}

/// The options of DCG.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DcgOptions {
    /// The networks.
    pub network: DcgNetworkOptions,
    /// The learning rule.
    pub learning: QLearningOptions,
    /// Share of actions drawn at random, by environment steps.
    pub exploration: Linear,
    /// The coordinator of training.
    pub coordination: SolverOptions,
    /// The coordinator of the trained policy.
    pub acting: SolverOptions,
}

impl Default for DcgOptions {
    fn default() -> Self {
        let solver = Solver::MaxSum;
        Self {
            network: DcgNetworkOptions::default(),
            learning: QLearningOptions::default(),
            exploration: usual_exploration(),
            coordination: SolverOptions { solver, tolerance: 1e-3, ..SolverOptions::default() },
            acting: SolverOptions::default(),
        }
    }
}

/// The algorithm as the registry knows it.
pub(in crate::algorithm) struct DcgAlgorithm;

impl ValueBased for DcgAlgorithm {
    type Options = DcgOptions;
    const NAME: &'static str = "dcg";
    const PAIRS: bool = true;

    fn sizes(options: &DcgOptions, spec: &Spec) -> Vec<(&'static str, f64, f64)> {
        let DcgNetworkOptions { hidden, pair_hidden, rank, identity } = &options.network;
        let (n, actions) = (spec.n_agents() as f64, spec.n_actions() as f64);
        let inputs = agent_row_width(spec, *identity) as f64;
        let terms = if *rank == 0 { actions * actions } else { 2.0 * *rank as f64 * actions };
        let encoder = memory::widths(inputs, hidden, actions);
        let encoded = hidden.last().map_or(0.0, |&width| 2.0 * width as f64);
        let pair = memory::widths(encoded, &[*pair_hidden], terms);
        let pairs = n * (n - 1.0) / 2.0 * (memory::row(&pair) + actions * actions);
        vec![
            ("hidden", memory::parameters(&encoder), n * memory::row(&encoder)),
            ("pair_hidden", memory::parameters(&pair), pairs),
        ]
    }

    fn value(options: &DcgOptions, spec: &Spec) -> Result<Box<dyn JointValue>> {
        if spec.region_size != 2 {
            let value = format!("{} agents each", spec.region_size);
            return Err(Error::setting("regions", value, "dcg couples agents in pairs"));
        }
        options.coordination.check()?;
        options.acting.check()?;
        if options.network.hidden.is_empty() {
            return Err(Error::setting("hidden", "[]", "needs at least one layer"));
        }
        if options.network.pair_hidden == 0 {
            return Err(Error::setting("pair_hidden", 0, "must be positive"));
        }
        Ok(Box::new(Dcg::new(options, spec)))
    }

    fn learning(options: &DcgOptions) -> (&QLearningOptions, Linear) {
        (&options.learning, options.exploration)
    }

    fn fits_any_team(options: &DcgOptions) -> bool {
        !options.network.identity
    }
}

struct Dcg {
    options: DcgOptions,
    spec: Spec,
    layout: Layout,
    encoder: RowNetwork,
    utility: RowNetwork,
    payoff: PairNetwork,
    coordinator: Box<dyn Coordinator>,
    problem: StateTables,
    masks: ActionMasks,
    frames: AgentFrames,
    /// The best joint action, each agent's in its frame.
    joint: JointAction,
    /// Encoder rows of both members of every pair of every state, and where each state's begin.
    pairs: Vec<[usize; 2]>,
    starts: Vec<usize>,
    next_actions: Vec<usize>,
    taken: Vec<usize>,
    values: Vec<f32>,
    next_values: Vec<f32>,
    d_payoffs: Vec<f32>,
}

impl Dcg {
    fn new(options: &DcgOptions, spec: &Spec) -> Self {
        let DcgNetworkOptions { hidden, pair_hidden, rank, identity } = &options.network;
        let n = spec.n_actions();
        let n_features = hidden[hidden.len() - 1];
        let encoder = [&[agent_row_width(spec, *identity)], &hidden[..]].concat();
        let mut layout = Layout::default();
        let encoder = RowNetwork::new(Mlp::new(&mut layout, "encoder", &encoder, true));
        let utility = RowNetwork::new(Mlp::new(&mut layout, "utility", &[n_features, n], false));
        let payoff = PairNetwork::new(&mut layout, (n_features, *pair_hidden), (n, *rank));
        Self {
            coordinator: options.coordination.build(),
            problem: StateTables::new(spec),
            masks: ActionMasks::default(),
            frames: AgentFrames::default(),
            options: options.clone(),
            spec: spec.clone(),
            layout,
            encoder,
            utility,
            payoff,
            joint: Vec::new(),
            pairs: Vec::new(),
            starts: Vec::new(),
            next_actions: Vec::new(),
            taken: Vec::new(),
            values: Vec::new(),
            next_values: Vec::new(),
            d_payoffs: Vec::new(),
        }
    }

    /// Fills the utilities and what the payoffs of all pairs are made of.
    fn forward(&mut self, parameters: &[f32], view: &dyn View, states: &[f32]) {
        let Self { encoder, utility, payoff, pairs, starts, frames, .. } = self;
        let graph = &mut self.problem.graph;
        write_agent_rows(view, states, self.options.network.identity, &mut encoder.input, frames);
        encoder.forward(parameters);
        utility.input.clone_from(&encoder.output);
        utility.forward(parameters);
        pairs.clear();
        starts.clear();
        starts.push(0);
        for (state, row) in states.chunks_exact(self.spec.state_width).enumerate() {
            view.graph(row, graph);
            let first = state * self.spec.n_agents();
            pairs.extend(graph.regions().map(|pair| [first + pair[0], first + pair[1]]));
            starts.push(pairs.len());
        }
        payoff.forward(parameters, &encoder.output, pairs);
    }

    /// Writes the best joint action of one state, after [`Self::forward`] and a look at its masks.
    fn coordinate(&mut self, view: &dyn View, states: &[f32], state: usize) {
        let (n_agents, n) = (self.spec.n_agents(), self.spec.n_actions());
        let state_width = self.spec.state_width;
        self.problem.follow(view, &states[state * state_width..][..state_width]);
        let utilities = self.utility.output[state * n_agents * n..].chunks_exact(n);
        for (agent, utilities) in (0..n_agents).zip(utilities) {
            let cells = self.problem.tables.agent_mut(agent).iter_mut().zip(utilities);
            cells.for_each(|(cell, utility)| *cell = utility / n_agents as f32);
        }
        let range = self.starts[state]..self.starts[state + 1];
        let share = 0.5 / range.len().max(1) as f32;
        for (region, pair) in range.enumerate() {
            self.payoff.write_table(pair, share, self.problem.tables.region_mut(region));
        }
        self.problem.forbid(&self.masks, state);
        self.problem.solve(self.coordinator.as_mut(), &mut self.joint);
    }

    /// The team's value of the joint action taken in one state.
    fn value(&self, state: usize, actions: &[usize]) -> f32 {
        let (n_agents, n) = (self.spec.n_agents(), self.spec.n_actions());
        let rows = state * n_agents..(state + 1) * n_agents;
        let alone: f32 = rows.map(|row| self.utility.output[row * n + actions[row]]).sum();
        let pairs = self.starts[state]..self.starts[state + 1];
        let share = 0.5 / pairs.len().max(1) as f32;
        let together: f32 = pairs.map(|pair| self.payoff.payoff(pair)).sum();
        alone / n_agents as f32 + share * together
    }

    /// Adds the gradient of every team value, given those of the values.
    fn backward(&mut self, parameters: &[f32], actions: &[usize], d: &[f32], gradient: &mut [f32]) {
        let (n_agents, n) = (self.spec.n_agents(), self.spec.n_actions());
        let Self { encoder, utility, payoff, starts, d_payoffs, .. } = self;
        utility.d_output.clear();
        utility.d_output.resize(utility.output.len(), 0.0);
        d_payoffs.clear();
        for (state, &d) in d.iter().enumerate() {
            let rows = utility.d_output[state * n_agents * n..].chunks_exact_mut(n);
            for (row, &action) in rows.zip(&actions[state * n_agents..][..n_agents]) {
                row[action] = d / n_agents as f32;
            }
            let n_pairs = starts[state + 1] - starts[state];
            d_payoffs.extend(std::iter::repeat_n(0.5 * d / n_pairs.max(1) as f32, n_pairs));
        }
        utility.backward(parameters, gradient, true);
        let d_features = payoff.backward(parameters, gradient, d_payoffs);
        encoder.d_output.clear();
        encoder.d_output.extend(utility.d_input.iter().zip(d_features).map(|(u, p)| u + p));
        encoder.backward(parameters, gradient, false);
    }
}

impl JointValue for Dcg {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]) {
        self.forward(parameters, batch.view, batch.states);
        self.payoff.evaluate_all(parameters);
        self.masks.read(batch.view, batch.states);
        self.masks.name(&self.frames);
        let n_agents = self.spec.n_agents();
        for (state, action) in actions.iter_mut().enumerate() {
            self.coordinate(batch.view, batch.states, state);
            action.clear();
            let rows = (state * n_agents..).zip(&self.joint);
            action.extend(rows.map(|(row, &named)| self.frames.world(row, named)));
        }
    }

    fn learn(
        &mut self,
        networks: Networks<'_>,
        view: &dyn View,
        batch: &JointBatch,
        gradient: &mut [f32],
    ) -> f32 {
        self.forward(networks.online, view, &batch.next_states);
        self.payoff.evaluate_all(networks.online);
        self.masks.read(view, &batch.next_states);
        self.masks.name(&self.frames);
        let mut next_actions = std::mem::take(&mut self.next_actions);
        next_actions.clear();
        for state in 0..batch.len() {
            self.coordinate(view, &batch.next_states, state);
            next_actions.extend_from_slice(&self.joint);
        }
        self.forward(networks.target, view, &batch.next_states);
        self.payoff.evaluate_taken(networks.target, &next_actions);
        let mut next_values = std::mem::take(&mut self.next_values);
        next_values.clear();
        next_values.extend((0..batch.len()).map(|state| self.value(state, &next_actions)));
        self.forward(networks.online, view, &batch.states);
        let mut taken = std::mem::take(&mut self.taken);
        self.frames.name(&batch.actions, &mut taken);
        self.payoff.evaluate_taken(networks.online, &taken);
        let mut d_values = std::mem::take(&mut self.values);
        d_values.clear();
        let share = 1.0 / batch.len() as f32;
        let mut sum = 0.0;
        for (state, &next_value) in next_values.iter().enumerate() {
            let (reward, discount) = (batch.team_reward(state), batch.discounts[state]);
            let value = self.value(state, &taken);
            let (loss, error) = squared(value, reward, discount, next_value);
            sum += share * loss;
            d_values.push(share * error);
        }
        self.backward(networks.online, &taken, &d_values, gradient);
        (self.next_actions, self.next_values, self.values) = (next_actions, next_values, d_values);
        self.taken = taken;
        sum
    }

    fn boxed_clone(&self) -> Box<dyn JointValue> {
        let mut policy = Self::new(&self.options, &self.spec);
        policy.coordinator = self.options.acting.build();
        Box::new(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algorithm::value_based::checks::{assert_gradient, learned_action, small_spread},
        environment::{Environment, matrix_game::MatrixGame},
    };

    fn options(rank: usize) -> DcgOptions {
        let network = DcgNetworkOptions { hidden: vec![6], pair_hidden: 5, rank, identity: true };
        DcgOptions { network, ..DcgOptions::default() }
    }

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        let spread = small_spread();
        for rank in [0, 2] {
            assert_gradient(&mut Dcg::new(&options(rank), spread.view().spec()), spread.view());
        }
    }

    #[test]
    fn a_game_whose_best_action_is_surrounded_by_penalties_is_solved() {
        for rank in [0, 3] {
            let learned = learned_action(
                &DcgAlgorithm,
                || MatrixGame::climbing().unwrap(),
                |learning, exploration| {
                    let mut options = DcgOptions { learning, exploration, ..DcgOptions::default() };
                    options.network.rank = rank;
                    options.network.hidden = vec![32];
                    options
                },
            );
            assert_eq!(learned, [0, 0], "rank {rank}");
        }
    }
}
