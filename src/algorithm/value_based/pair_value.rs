//! The value of DCG and CASEC: utilities of agents and payoffs of pairs, maximised by message passing.
//!
//! h_i = encoder(o_i); Q(a) = 1/N Σ_i u(h_i)\[a_i\] + 1/E Σ_(i,j) q_ij(a_i, a_j) with q_ij = ½ (p(h_i, h_j)\[a_i, a_j\] +
//! p(h_j, h_i)\[a_j, a_i\]). The coordinator finds the best joint action, of all pairs or of those that vary
//! most; the loss is the mean of ½ (Q(a) − r − γ Q̄(a'))², one error for the whole team, and λ times
//! what the payoffs vary where that is asked for.

use super::{
    JointValue, Networks, dcg::DcgNetworkOptions, joint_batch::JointBatch,
    pair_network::PairNetwork, row_network::RowNetwork, squared,
};
use crate::{
    algorithm::{
        AgentFrames, action_masks::ActionMasks, agent_row_width, memory, state_tables::StateTables,
        write_agent_rows,
    },
    coordination::{Coordinator, PairRanking, SolverOptions},
    environment::{Batch, Spec, View},
    error::{Error, Result},
    graph::JointAction,
    nn::{Layout, Mlp},
};

/// What such a value is made of.
#[derive(Clone, Debug)]
pub(super) struct PairValueOptions {
    /// The networks.
    pub(super) network: DcgNetworkOptions,
    /// The coordinator of training.
    pub(super) coordination: SolverOptions,
    /// The coordinator of the trained policy.
    pub(super) acting: SolverOptions,
    /// Where the graph is chosen anew in every state: λ of the loss that makes payoffs vary less.
    pub(super) sparseness: Option<f32>,
}

impl PairValueOptions {
    /// Refuses what cannot work for an algorithm.
    pub(super) fn check(&self, algorithm: &str, spec: &Spec) -> Result<()> {
        if spec.region_size != 2 {
            let value = format!("{} agents each", spec.region_size);
            let reason = format!("{algorithm} couples agents in pairs");
            return Err(Error::setting("regions", value, reason));
        }
        self.coordination.check()?;
        self.acting.check()?;
        if self.network.hidden.is_empty() {
            return Err(Error::setting("hidden", "[]", "needs at least one layer"));
        }
        if self.network.pair_hidden == 0 {
            return Err(Error::setting("pair_hidden", 0, "must be positive"));
        }
        Ok(())
    }
}

/// Parameters, and numbers that one state takes on its way through, by the setting that causes them.
pub(super) fn pair_value_sizes(
    network: &DcgNetworkOptions,
    spec: &Spec,
) -> Vec<(&'static str, f64, f64)> {
    let DcgNetworkOptions { hidden, pair_hidden, rank, identity } = network;
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

/// The value with its buffers.
pub(super) struct PairValue {
    options: PairValueOptions,
    spec: Spec,
    layout: Layout,
    encoder: RowNetwork,
    utility: RowNetwork,
    payoff: PairNetwork,
    coordinator: Box<dyn Coordinator>,
    problem: StateTables,
    /// What chooses the pairs, and those it chose in every state.
    ranking: PairRanking,
    chosen: Vec<usize>,
    chosen_starts: Vec<usize>,
    /// The pairs that are coordinated in the state at hand.
    kept: Vec<usize>,
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

impl PairValue {
    pub(super) fn new(options: &PairValueOptions, spec: &Spec) -> Self {
        let DcgNetworkOptions { hidden, pair_hidden, rank, identity } = &options.network;
        let n = spec.n_actions();
        let n_features = hidden[hidden.len() - 1];
        let encoder = [&[agent_row_width(spec, *identity)], &hidden[..]].concat();
        let mut layout = Layout::default();
        let encoder = RowNetwork::new(Mlp::new(&mut layout, "encoder", &encoder, true));
        let utility = RowNetwork::new(Mlp::new(&mut layout, "utility", &[n_features, n], false));
        let payoff = PairNetwork::new(&mut layout, (n_features, *pair_hidden), (n, *rank));
        Self {
            coordinator: coordinator(options, &options.coordination),
            problem: StateTables::new(spec),
            ranking: PairRanking::default(),
            chosen: Vec::new(),
            chosen_starts: Vec::new(),
            kept: Vec::new(),
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

    /// Takes what the agents of some states see, and the pairs among them.
    fn look(&mut self, view: &dyn View, states: &[f32]) {
        let Self { encoder, pairs, starts, frames, .. } = self;
        let graph = &mut self.problem.graph;
        write_agent_rows(view, states, self.options.network.identity, &mut encoder.input, frames);
        pairs.clear();
        starts.clear();
        starts.push(0);
        for (state, row) in states.chunks_exact(self.spec.state_width).enumerate() {
            view.graph(row, graph);
            let first = state * self.spec.n_agents();
            pairs.extend(graph.regions().map(|pair| [first + pair[0], first + pair[1]]));
            starts.push(pairs.len());
        }
    }

    /// Fills the utilities and what the payoffs of all pairs are made of, after [`Self::look`].
    fn forward(&mut self, parameters: &[f32]) {
        let Self { encoder, utility, payoff, pairs, .. } = self;
        encoder.forward(parameters);
        utility.input.clone_from(&encoder.output);
        utility.forward(parameters);
        payoff.forward(parameters, &encoder.output, pairs);
    }

    /// Chooses the pairs of every state that are worth messages, by their payoffs; after
    /// [`Self::forward`] and with all payoffs evaluated. Nothing where all pairs are.
    fn choose(&mut self, view: &dyn View, states: &[f32]) {
        if self.options.sparseness.is_none() {
            return;
        }
        let SolverOptions { kept_pairs, kept_by, .. } = self.options.coordination;
        self.chosen.clear();
        self.chosen_starts.clear();
        self.chosen_starts.push(0);
        for (state, row) in states.chunks_exact(self.spec.state_width).enumerate() {
            let StateTables { graph, tables, .. } = self.problem.followed(view, row);
            for (region, pair) in (self.starts[state]..self.starts[state + 1]).enumerate() {
                self.payoff.write_table(pair, 0.5, tables.region_mut(region));
            }
            self.ranking.rank(graph, tables, (kept_pairs, kept_by));
            self.chosen.extend(self.ranking.kept());
            self.chosen_starts.push(self.chosen.len());
        }
    }

    /// Takes the graph of one state and tells which of its pairs are coordinated.
    fn follow(&mut self, view: &dyn View, states: &[f32], state: usize) {
        let width = self.spec.state_width;
        self.problem.follow(view, &states[state * width..][..width]);
        let (first, end) = (self.starts[state], self.starts[state + 1]);
        self.kept.clear();
        if self.options.sparseness.is_none() {
            self.kept.extend(first..end);
        } else {
            let chosen = &self.chosen[self.chosen_starts[state]..self.chosen_starts[state + 1]];
            self.problem.keep(chosen.iter().copied());
            self.kept.extend(chosen.iter().map(|pair| first + pair));
        }
    }

    /// Writes the best joint action of one state, after [`Self::forward`], [`Self::choose`] and a look
    /// at its masks. Payoffs count as their mean over the pairs that are coordinated.
    fn coordinate(&mut self, view: &dyn View, states: &[f32], state: usize) {
        let (n_agents, n) = (self.spec.n_agents(), self.spec.n_actions());
        self.follow(view, states, state);
        let utilities = self.utility.output[state * n_agents * n..].chunks_exact(n);
        for (agent, utilities) in (0..n_agents).zip(utilities) {
            let cells = self.problem.tables.agent_mut(agent).iter_mut().zip(utilities);
            cells.for_each(|(cell, utility)| *cell = utility / n_agents as f32);
        }
        let share = 0.5 / self.kept.len().max(1) as f32;
        for (region, &pair) in self.kept.iter().enumerate() {
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

impl JointValue for PairValue {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn act(&mut self, parameters: &[f32], batch: Batch<'_>, actions: &mut [JointAction]) {
        self.look(batch.view, batch.states);
        self.forward(parameters);
        self.payoff.evaluate_all(parameters);
        self.choose(batch.view, batch.states);
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
        self.look(view, &batch.next_states);
        if self.options.sparseness.is_some() {
            // The target network moves slowly, and so do the graphs that it chooses.
            self.forward(networks.target);
            self.payoff.evaluate_all(networks.target);
            self.choose(view, &batch.next_states);
        }
        self.forward(networks.online);
        self.payoff.evaluate_all(networks.online);
        self.masks.read(view, &batch.next_states);
        self.masks.name(&self.frames);
        let mut next_actions = std::mem::take(&mut self.next_actions);
        next_actions.clear();
        for state in 0..batch.len() {
            self.coordinate(view, &batch.next_states, state);
            next_actions.extend_from_slice(&self.joint);
        }
        self.forward(networks.target);
        self.payoff.evaluate_taken(networks.target, &next_actions);
        let mut next_values = std::mem::take(&mut self.next_values);
        next_values.clear();
        next_values.extend((0..batch.len()).map(|state| self.value(state, &next_actions)));
        self.look(view, &batch.states);
        self.forward(networks.online);
        let mut taken = std::mem::take(&mut self.taken);
        self.frames.name(&batch.actions, &mut taken);
        let varied = self.options.sparseness.map_or(0.0, |weight| {
            self.payoff.evaluate_all(networks.online);
            self.payoff.sparseness(weight)
        });
        self.payoff.evaluate_taken(networks.online, &taken);
        let mut d_values = std::mem::take(&mut self.values);
        d_values.clear();
        let share = 1.0 / batch.len() as f32;
        let mut sum = varied;
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
        policy.options.coordination = self.options.acting.clone();
        policy.coordinator = coordinator(&self.options, &self.options.acting);
        Box::new(policy)
    }
}

/// The coordinator that is told which pairs to keep, or one that keeps its share itself.
fn coordinator(options: &PairValueOptions, solver: &SolverOptions) -> Box<dyn Coordinator> {
    if options.sparseness.is_some() { solver.build_dense() } else { solver.build() }
}
