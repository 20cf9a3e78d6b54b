//! A gradient against its plain definition, on graphs that change, regions of several sizes and
//! forbidden actions; and whole trainings on small games.

use super::{
    head::{ABSENT, write_actions},
    *,
};
use crate::{
    algorithm::checks::{Masked, trained_action},
    argmax::argmax,
    coordination::{Coordinator, Exact, Exhaustive, FactorTables},
    environment::{
        Environment,
        matrix_game::{MatrixGame, RegionTables},
        simple_spread::{ActionSet, SimpleSpread, SimpleSpreadOptions},
    },
    graph::{CoordinationGraph, GraphOptions, Topology},
    replay::{Replay, Row, RowShape},
    rng::Streams,
    schedule::Linear,
};

pub(super) const RULES: [(NextAction, ErrorKind); 4] = [
    (NextAction::Regional, ErrorKind::Regional),
    (NextAction::Regional, ErrorKind::Summed),
    (NextAction::Coupled, ErrorKind::Regional),
    (NextAction::Coupled, ErrorKind::Summed),
];

/// Four agents on a line of pairs that depends on where they stand.
pub(super) fn nearest() -> SimpleSpread {
    let graph = GraphOptions { topology: Topology::KNearest, k: 1, ..GraphOptions::default() };
    let actions = Some(ActionSet::Discrete);
    let options =
        SimpleSpreadOptions { agents: 4, actions, graph, ..SimpleSpreadOptions::default() };
    SimpleSpread::new(&options).unwrap()
}

/// A state in which the agents stand at these places.
pub(super) fn standing(places: [[f32; 2]; 4]) -> Vec<f32> {
    let rest = (0..16).map(|i| (i as f32 * 0.7).sin() * 0.3);
    places.into_iter().flatten().chain(rest).collect()
}

/// A single agent, a pair and three agents together.
fn mixed_graph() -> CoordinationGraph {
    CoordinationGraph::new(4, &[vec![2], vec![0, 1], vec![1, 2, 3]]).unwrap()
}

pub(super) fn mixed_game(n_actions: usize) -> MatrixGame {
    let mut rng = Streams::new(5).rng(Purpose::Problem, 0);
    MatrixGame::random(mixed_graph(), n_actions, 2, 2, &mut rng).unwrap()
}

/// What agents may not do depends on the time.
pub(super) fn forbidden(state: &[f32], agent: usize) -> &'static [usize] {
    match agent {
        0 if state[0] > 0.25 => &[0, 1],
        1 => &[1],
        3 => &[2, 3],
        _ => &[],
    }
}

/// A network with two sets of numbers, and one remembered transition.
pub(super) struct Case<'a> {
    view: &'a dyn View,
    pub(super) network: TwoHead,
    pub(super) online: Vec<f32>,
    target: Vec<f32>,
    pub(super) replay: Replay,
    sample: Sample,
}

const GAMMA: f32 = 0.9;
const COST_WEIGHT: f32 = 0.7;

/// A rule without anything but these two.
pub(super) fn rule(next_action: NextAction, error: ErrorKind) -> TdRule {
    TdRule {
        gamma: GAMMA,
        next_action,
        error,
        error_power: 0.0,
        cost_weight: COST_WEIGHT,
        ..options::rule(&LearningOptions::default())
    }
}

impl<'a> Case<'a> {
    pub(super) fn new(
        view: &'a dyn View,
        head: HeadKind,
        states: [&[f32]; 2],
        sample: Sample,
    ) -> Self {
        let actions: Vec<usize> = (0..view.spec().n_agents()).map(|agent| agent % 3).collect();
        Self::of_actions(view, (head, ValueKind::Heads), states, &actions, sample)
    }

    /// The case in which the agents did this.
    pub(super) fn of_actions(
        view: &'a dyn View,
        (head, value): (HeadKind, ValueKind),
        [state, next_state]: [&[f32]; 2],
        actions: &[usize],
        sample: Sample,
    ) -> Self {
        let spec = view.spec();
        let mut rng = Streams::new(9).rng(Purpose::Problem, 1);
        let options = NetworkOptions { hidden: vec![7], head, value };
        let network = TwoHead::for_view(&options, view).unwrap();
        let [online, target] = [(); 2].map(|()| network.layout().initialise(&mut rng));
        let shape = RowShape {
            state: spec.state_width,
            agents: spec.n_agents(),
            actions: spec.n_actions(),
            outcome: spec.max_regions * (1 + spec.n_constraints()),
        };
        let mut replay = Replay::new(shape, 1);
        let outcome: Vec<f32> = (0..shape.outcome).map(|_| rng.normal() as f32).collect();
        replay.push(Row { state, next_state, actions, outcome: &outcome, terminal: false });
        Self { view, network, online, target, replay, sample }
    }

    /// What one share makes of the transition.
    pub(super) fn accumulate(
        &self,
        online: &[f32],
        (next_action, error): (NextAction, ErrorKind),
    ) -> TdShard {
        self.accumulate_by(online, rule(next_action, error), Box::<Exact>::default())
    }

    /// What one share makes of the transition by a rule with a coordinator.
    pub(super) fn accumulate_by(
        &self,
        online: &[f32],
        rule: TdRule,
        coordinator: Box<dyn Coordinator>,
    ) -> TdShard {
        let mut shard = TdShard::new(&self.network, self.view, coordinator);
        let inputs = TdInputs {
            network: &self.network,
            online,
            target: &self.target,
            view: self.view,
            replay: &self.replay,
            rule,
            n_rows: 1,
        };
        shard.accumulate(inputs, std::slice::from_ref(&self.sample));
        shard
    }

    fn graph(&self, state: &[f32]) -> CoordinationGraph {
        let mut graph = CoordinationGraph::empty(self.view.spec().n_agents());
        self.view.graph(state, &mut graph);
        graph
    }

    /// The value of a region's joint action by every head.
    pub(super) fn values(
        &self,
        numbers: &[f32],
        state: &[f32],
        members: &[usize],
        joint: &[usize],
    ) -> Vec<f32> {
        let mut row = vec![0.0; self.network.n_inputs()];
        self.view.region_row(state, members, &mut row[..self.view.spec().region_width]);
        self.network.write_multipliers(&mut row, &self.sample.multipliers);
        let mut actions: Vec<usize> = members.iter().map(|&agent| joint[agent]).collect();
        actions.resize(self.view.spec().region_size, ABSENT);
        let mut values = vec![0.0; self.network.n_heads()];
        let workspace = &mut TwoHeadWorkspace::default();
        self.network.values(numbers, &row, 1, &actions, &mut values, workspace);
        values
    }

    /// Q_aug of every joint action of a region; minus infinity for what is forbidden.
    fn table(&self, state: &[f32], members: &[usize]) -> Vec<f32> {
        let spec = self.view.spec();
        let mut own = vec![0; members.len()];
        let entry = |entry| {
            write_actions(entry, spec.n_actions(), &mut own);
            let mut joint = vec![0; spec.n_agents()];
            for (&agent, &action) in members.iter().zip(&own) {
                joint[agent] = action;
                let mut allowed = vec![true; spec.n_actions()];
                self.view.action_mask(state, agent, &mut allowed);
                if !allowed[action] {
                    return f32::NEG_INFINITY;
                }
            }
            let values = self.values(&self.online, state, members, &joint);
            let costs = values[1..].iter().zip(&self.sample.multipliers);
            values[0] + costs.map(|(cost, multiplier)| multiplier * cost).sum::<f32>()
        };
        (0..spec.n_actions().pow(members.len() as u32)).map(entry).collect()
    }

    /// What the agents do next as far as a region is concerned.
    fn next_joint(&self, rule: NextAction, next: &[f32], members: &[usize]) -> JointAction {
        let n_actions = self.view.spec().n_actions();
        let graph = self.graph(next);
        let mut joint = vec![0; graph.n_agents()];
        if rule == NextAction::Regional {
            let mut own = vec![0; members.len()];
            write_actions(argmax(&self.table(next, members)), n_actions, &mut own);
            members.iter().zip(own).for_each(|(&agent, action)| joint[agent] = action);
            return joint;
        }
        let mut tables = FactorTables::zeros(&graph, n_actions);
        for (region, members) in graph.regions().enumerate() {
            tables.region_mut(region).copy_from_slice(&self.table(next, members));
        }
        Exhaustive.coordinate(&graph, &tables, &mut joint);
        joint
    }

    /// Half the squared errors by their definition, primary head first.
    pub(super) fn losses(&self, (next_action, error): (NextAction, ErrorKind)) -> Vec<f32> {
        let row = self.replay.row(0);
        let joint: JointAction = row.actions.iter().map(|&action| usize::from(action)).collect();
        let now = |members: &[usize]| self.values(&self.online, row.state, members, &joint);
        let (graph, next_graph) = (self.graph(row.state), self.graph(row.next_state));
        let next = |members: &[usize]| {
            let gone = members.iter().any(|&agent| self.view.has_left(row.next_state, agent));
            if gone && next_graph.regions().all(|other| other != members) {
                return vec![0.0; self.network.n_heads()];
            }
            let joint = self.next_joint(next_action, row.next_state, members);
            self.values(&self.target, row.next_state, members, &joint)
        };
        let n_costs = self.network.n_constraints();
        let mut losses = vec![0.0; self.network.n_heads()];
        let first = self.view.spec().max_regions;
        let costs = |region: usize| &row.outcome[first + region * n_costs..][..n_costs];
        // One augmented value is paid r_0 − Σ_j λ_j c_j.
        let reward = |region: usize| {
            let price = costs(region).iter().zip(&self.sample.multipliers).map(|(c, m)| c * m);
            row.outcome[region] - if losses.len() == 1 { price.sum() } else { 0.0 }
        };
        let rewards: Vec<f32> = (0..graph.n_regions()).map(reward).collect();
        let values: f32 = graph.regions().map(|members| now(members)[0]).sum();
        let next_values: f32 = next_graph.regions().map(|members| next(members)[0]).sum();
        let summed = values - (rewards.iter().sum::<f32>() + GAMMA * next_values);
        for (region, members) in graph.regions().enumerate() {
            let (now, next) = (now(members), next(members));
            let own = now[0] - (rewards[region] + GAMMA * next[0]);
            let first = if error == ErrorKind::Summed { summed } else { own };
            losses[0] += 0.5 * first * first;
            for (j, cost) in costs(region).iter().enumerate().take(now.len() - 1) {
                let error = now[j + 1] - (-cost + GAMMA * next[j + 1]);
                losses[j + 1] += 0.5 * error * error;
            }
        }
        losses
    }

    pub(super) fn check_losses(&self, what: &str) {
        for rule in RULES {
            let (found, expected) = (self.accumulate(&self.online, rule).losses, self.losses(rule));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4 * (1.0 + b.abs());
            assert!(
                found.iter().zip(&expected).all(near),
                "{what} {rule:?}: {found:?} {expected:?}"
            );
        }
    }

    /// The gradient falls along the losses as central differences say.
    pub(super) fn check_gradient(&mut self, what: &str) {
        let n_regions = self.graph(self.replay.row(0).state).n_regions() as f32;
        for rule in RULES {
            // Every region of a summed error counts the same error once more.
            let share = if rule.1 == ErrorKind::Summed { 1.0 / n_regions } else { 1.0 };
            let gradient = self.accumulate(&self.online, rule).gradient.values().to_vec();
            let loss = |online: &[f32]| {
                let losses = self.accumulate(online, rule).losses;
                f64::from(share * losses[0] + COST_WEIGHT * losses[1..].iter().sum::<f32>())
            };
            let mut moved = self.online.clone();
            for (i, &exact) in gradient.iter().enumerate() {
                let mut difference = |h: f32| {
                    moved[i] = self.online[i] + h;
                    let up = loss(&moved);
                    moved[i] = self.online[i] - h;
                    let down = loss(&moved);
                    moved[i] = self.online[i];
                    (up - down) / f64::from(2.0 * h)
                };
                // A kink of a rectifier or another next action may lie within a step, hardly in both.
                let found = [1e-3, 4e-3].map(&mut difference);
                let exact = f64::from(exact);
                let agrees = found.iter().any(|d| (d - exact).abs() < 6e-3 * (1.0 + exact.abs()));
                assert!(agrees, "{what} {rule:?} parameter {i}: {found:?} but {exact}");
            }
        }
    }
}

pub(super) fn sample(multipliers: &[f32]) -> Sample {
    Sample { multipliers: multipliers.to_vec(), ..Sample::new(multipliers.len()) }
}

#[test]
fn targets_are_built_on_the_graph_of_the_next_state() {
    let spread = nearest();
    let apart = standing([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0], [1.1, 0.0]]);
    let crossed = standing([[0.0, 0.0], [1.0, 0.0], [0.1, 0.0], [1.1, 0.0]]);
    let row = standing([[0.0, 0.0], [0.5, 0.0], [0.9, 0.0], [1.2, 0.0]]);
    let n_regions = |state: &[f32]| {
        let case = Case::new(spread.view(), HeadKind::Free, [state; 2], sample(&[0.7]));
        case.graph(state).n_regions()
    };
    assert_eq!([&apart, &crossed, &row].map(|state| n_regions(state)), [2, 2, 3]);
    for states in [[&apart, &crossed], [&apart, &row], [&row, &apart], [&row, &row]] {
        let states = states.map(|state| &state[..]);
        Case::new(spread.view(), HeadKind::Free, states, sample(&[0.7])).check_losses("k_nearest");
    }
}

#[test]
fn regions_of_several_sizes_are_learned_by_the_definition() {
    let game = Masked::new(mixed_game(4), |_, _| &[]).with_grid(2);
    for head in [HeadKind::Free, HeadKind::Tied] {
        let mut case = Case::new(game.view(), head, [&[0.0], &[0.5]], sample(&[0.7, 0.2]));
        case.check_losses("mixed");
        case.check_gradient("mixed");
    }
}

#[test]
fn a_target_never_takes_what_is_forbidden_next() {
    let game = Masked::new(mixed_game(4), forbidden).with_grid(2);
    for head in [HeadKind::Free, HeadKind::Tied] {
        Case::new(game.view(), head, [&[0.0], &[0.5]], sample(&[0.7, 0.2])).check_losses("masked");
    }
}

#[test]
fn a_decision_takes_the_tables_of_every_region_and_keeps_to_what_is_allowed() {
    let game = Masked::new(mixed_game(4), forbidden).with_grid(2);
    for head in [HeadKind::Free, HeadKind::Tied] {
        let case = Case::new(game.view(), head, [&[0.5], &[0.5]], sample(&[0.7, 0.2]));
        let Case { network, online, view, .. } = &case;
        let context = ActingContext { network, parameters: online, view: *view, noise: None };
        let mut actor = Actor::new(*view, Box::<Exact>::default(), Averaging::NONE);
        let mut action = Vec::new();
        // Utilities must not be left over from a state in which more is forbidden.
        actor.decide(context, &[0.5], &[0.7, 0.2], &mut action);
        let joint = case.next_joint(NextAction::Coupled, &[0.5], &[]);
        assert_eq!(action, joint, "{head:?}");
        let (graph, tables, _) = actor.decide(context, &[0.0], &[0.7, 0.2], &mut action);
        for (region, members) in graph.regions().enumerate() {
            let expected = case.table(&[0.0], members);
            for (entry, (found, expected)) in tables.region(region).iter().zip(expected).enumerate()
            {
                let same = (found - expected).abs() < 1e-4 || expected == f32::NEG_INFINITY;
                assert!(same, "{head:?} {members:?} entry {entry}: {found} {expected}");
            }
        }
        assert_eq!(action, case.next_joint(NextAction::Coupled, &[0.0], &[]), "{head:?}");
    }
}

/// Options with which small games are learned in little time.
pub(super) fn quick(random_actions: f32) -> CgCmarlOptions {
    let network =
        NetworkOptions { hidden: vec![32], head: HeadKind::Free, value: ValueKind::Heads };
    let mut options = CgCmarlOptions { network, ..CgCmarlOptions::default() };
    options.learning.lr = 3e-3;
    options.learning.batch_size = 48;
    options.learning.learning_starts = 64;
    options.learning.average_rate = 0.02;
    options.exploration = Linear { start: 0.0, end: 0.0, steps: 0 };
    options.random_actions = Linear { start: random_actions, end: random_actions, steps: 0 };
    options
}

/// The three agents together are best at a joint action whose neighbours lose, the pair and the single
/// agent each prefer something else.
fn puzzle() -> MatrixGame {
    let free = |reward: Vec<f32>| {
        let costs = vec![vec![0.0; reward.len()]];
        RegionTables { reward, costs }
    };
    let triple = (0..8).map(|entry| [1.0, -2.0, -2.0, 0.0, -2.0, 0.0, 0.0, 4.0][entry]).collect();
    let tables = vec![free(vec![1.5, 0.0]), free(vec![0.0, 2.0, 1.0, 0.5]), free(triple)];
    MatrixGame::new(mixed_graph(), 2, 1, tables).unwrap()
}

#[test]
fn a_game_of_regions_of_several_sizes_is_solved() {
    // 2: 1 alone; (0, 1): (0, 1); (1, 2, 3): all 1. The sum 0 + 2 + 4 beats 1.5 + 2 − 2 and the like.
    let action = trained_action(&CgCmarlAlgorithm, &quick(1.0), puzzle, &[0.0]);
    assert_eq!(action, [0, 1, 1, 1]);
}
