//! The measurable parts of the error budget of a trained model, decision by decision.

use super::{
    Finding, Report, Verdict,
    figure::{largest, median, quantile},
};
use crate::{
    algorithm::{CgCmarlPolicy, TwoHeadWorkspace, bootstrap, summed_error},
    coordination::{Coordinator, Exact, ExactOptions, MaxSum, MaxSumOptions},
    environment::{Ending, View},
    episode::{Arena, Draws, Player, Scene, Transition},
    graph::{CoordinationGraph, JointAction},
    rng::{Purpose, Rng, Streams},
};

/// How a trained model is looked at.
#[derive(Clone, Debug)]
pub struct TrainedOptions {
    /// Episodes to play on start states that training never saw.
    pub episodes: usize,
    /// Seed of the start states.
    pub start_seed: u64,
    /// Decisions that are solved exactly.
    pub n_decisions: usize,
    /// Discount the model was trained with.
    pub gamma: f32,
}

/// One remembered step.
struct Step {
    slot: usize,
    before: Vec<f32>,
    after: Vec<f32>,
    action: JointAction,
    reward: f32,
    region_costs: Vec<f32>,
    is_terminal: bool,
}

/// Lets a policy play and remembers everything.
struct Recorder<'a> {
    policy: &'a mut CgCmarlPolicy,
    steps: Vec<Step>,
}

impl Player for Recorder<'_> {
    fn act(&mut self, scene: Scene<'_>, rngs: &mut [Rng], actions: &mut [JointAction]) {
        self.policy.act(scene, rngs, actions);
    }

    fn observe(&mut self, transition: Transition<'_>) {
        let Transition { slot, before, action, outcome, after } = transition;
        self.steps.push(Step {
            slot,
            before: before.to_vec(),
            after: after.to_vec(),
            action: action.to_vec(),
            reward: outcome.region_rewards.iter().sum(),
            region_costs: outcome.region_costs.clone(),
            is_terminal: outcome.ending == Ending::Terminal,
        });
    }
}

/// Coordination of one decision: what each way of choosing is worth.
struct Decision {
    best: f64,
    acted: f64,
    max_sum: f64,
    apart: f64,
    is_proven: bool,
}

/// Σ_R Q_R of every head at one joint action.
fn team_values(
    policy: &CgCmarlPolicy,
    view: &dyn View,
    state: &[f32],
    action: &[usize],
) -> Vec<f32> {
    let stage = policy.stage(view);
    let (network, stride) = (stage.network, stage.network.n_inputs());
    let mut graph = CoordinationGraph::default();
    view.graph(state, &mut graph);
    let n_rows = graph.n_regions();
    let mut rows = vec![0.0; n_rows * stride];
    view.region_rows(state, &graph, &[], &mut rows, stride);
    rows.chunks_exact_mut(stride)
        .for_each(|row| network.write_multipliers(row, policy.multipliers()));
    let actions: Vec<usize> = graph.regions().flatten().map(|&agent| action[agent]).collect();
    let mut values = vec![0.0; n_rows * network.n_heads()];
    let mut workspace = TwoHeadWorkspace::default();
    network.values(stage.parameters, &rows, n_rows, &actions, &mut values, &mut workspace);
    (0..network.n_heads())
        .map(|head| values.iter().skip(head).step_by(network.n_heads()).sum())
        .collect()
}

/// The action a cost head is trained to follow: its own where λ is an input, else the primary-greedy.
fn followed(policy: &CgCmarlPolicy, view: &dyn View, state: &[f32]) -> JointAction {
    let stage = policy.stage(view);
    let mut multipliers = policy.multipliers().to_vec();
    if stage.network.n_multipliers() == 0 {
        multipliers.fill(0.0);
    }
    let mut action = JointAction::new();
    policy.actor(view, None).decide(stage, state, &multipliers, &mut action);
    action
}

fn decide(policy: &CgCmarlPolicy, view: &dyn View, state: &[f32]) -> Decision {
    let limits = ExactOptions { node_limit: 100_000, ..ExactOptions::default() };
    let mut actor = policy.actor(view, Some(Box::new(Exact::new(limits))));
    let mut action = JointAction::new();
    let (graph, tables, exact) =
        actor.decide(policy.stage(view), state, policy.multipliers(), &mut action);
    let max_sum =
        MaxSum::new(MaxSumOptions::default()).coordinate(graph, tables, &mut action).value;
    let apart = (0..graph.n_regions())
        .map(|region| f64::from(tables.region(region).iter().fold(f32::MIN, |m, &v| m.max(v))))
        .sum();
    let mut own = policy.actor(view, None);
    let acted = own.decide(policy.stage(view), state, policy.multipliers(), &mut action).2.value;
    Decision { best: exact.value, acted, max_sum, apart, is_proven: exact.converged }
}

/// Predicted and realised discounted cost from the first step of each episode, per constraint summed.
fn foreseen(
    policy: &CgCmarlPolicy,
    view: &dyn View,
    steps: &[Step],
    gamma: f32,
) -> Vec<(f64, f64)> {
    let n_slots = steps.iter().map(|step| step.slot + 1).max().unwrap_or(0);
    (0..n_slots)
        .filter_map(|slot| {
            let mut episode = steps.iter().filter(|step| step.slot == slot).peekable();
            let first = episode.peek()?;
            let predicted: f32 =
                team_values(policy, view, &first.before, &first.action)[1..].iter().sum();
            let realised = episode.enumerate().map(|(t, step)| {
                f64::from(gamma).powi(t as i32) * f64::from(step.region_costs.iter().sum::<f32>())
            });
            Some((f64::from(-predicted), realised.sum()))
        })
        .collect()
}

/// Squared TD errors of the team's primary value and of its cost value on held-out steps.
fn errors(policy: &CgCmarlPolicy, view: &dyn View, steps: &[&Step], gamma: f32) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for step in steps {
        let discount = if step.is_terminal { 0.0 } else { gamma };
        let now = team_values(policy, view, &step.before, &step.action);
        let next = team_values(policy, view, &step.after, &followed(policy, view, &step.after));
        let primary = summed_error(now[0], step.reward, discount, next[0]);
        let cost: f32 = step.region_costs.iter().sum();
        let own = now[1..].iter().sum::<f32>()
            - bootstrap(-cost, discount, next[1..].iter().sum::<f32>());
        sums[0] += f64::from(primary).powi(2);
        sums[1] += f64::from(own).powi(2);
    }
    sums.map(|sum| (sum / steps.len().max(1) as f64).sqrt())
}

/// What one multiplier's policy showed.
struct Look {
    multiplier: f32,
    decisions: Vec<Decision>,
    foreseen: Vec<(f64, f64)>,
    errors: [f64; 2],
    reward: f64,
}

fn look(policy: &mut CgCmarlPolicy, arena: &mut Arena, options: &TrainedOptions) -> Look {
    let draws = Draws {
        streams: Streams::new(options.start_seed),
        start: Purpose::Evaluation,
        act: Purpose::RandomPolicy,
        first: 0,
    };
    let n = options.episodes.min(arena.len());
    let mut recorder = Recorder { policy, steps: Vec::new() };
    arena.play(&mut recorder, draws, n);
    let (policy, steps) = (&*recorder.policy, recorder.steps);
    let view = arena.view();
    let stride = steps.len().div_ceil(options.n_decisions.max(1)).max(1);
    let chosen: Vec<&Step> = steps.iter().step_by(stride).collect();
    Look {
        multiplier: policy.multipliers().first().copied().unwrap_or(0.0),
        decisions: chosen.iter().map(|step| decide(policy, view, &step.before)).collect(),
        foreseen: foreseen(policy, view, &steps, options.gamma),
        errors: errors(policy, view, &chosen, options.gamma),
        reward: steps.iter().map(|s| f64::from(s.reward.abs())).sum::<f64>() / steps.len() as f64,
    }
}

/// Plays each policy and measures ε_MS, the coordination deficit, the cost head and TD errors.
pub fn check_trained(
    policies: &mut [CgCmarlPolicy],
    arena: &mut Arena,
    options: &TrainedOptions,
    tick: &dyn Fn(),
) -> Report {
    let looks: Vec<Look> = policies
        .iter_mut()
        .map(|policy| {
            let look = look(policy, arena, options);
            tick();
            look
        })
        .collect();
    let each = |text: &dyn Fn(&Look) -> String| {
        let lines: Vec<String> =
            looks.iter().map(|l| format!("λ={}: {}", l.multiplier, text(l))).collect();
        lines.join("; ")
    };
    let findings = vec![
        Finding::new(
            "trained.coordination",
            "ε_MS per decision, against the exact optimum",
            each(&coordination_text),
            Verdict::Measured,
        ),
        Finding::new(
            "trained.deficit",
            "Coordination deficit δ = Σ max − max Σ per decision",
            each(&deficit_text),
            Verdict::Measured,
        ),
        conservatism(&looks, each(&conservatism_text)),
        Finding::new(
            "trained.td_error",
            "Root mean square TD error of the team's values on held-out steps",
            each(&|l| {
                let [primary, cost] = l.errors;
                format!("primary {primary:.4} (mean |reward| {:.4}), cost {cost:.4}", l.reward)
            }),
            Verdict::Measured,
        ),
    ];
    Report { findings, figures: Vec::new() }
}

fn coordination_text(look: &Look) -> String {
    let lost = |part: fn(&Decision) -> f64| {
        let values = || look.decisions.iter().map(part);
        let missed = values().filter(|v| *v > 1e-4).count();
        format!(
            "{:.1} % missed, mean {:.4}, largest {:.4}",
            100.0 * missed as f64 / look.decisions.len() as f64,
            values().sum::<f64>() / look.decisions.len() as f64,
            largest(values())
        )
    };
    let proven = look.decisions.iter().filter(|d| d.is_proven).count();
    format!(
        "Max-Sum K=10 {}; the model's own coordinator {} ({proven} of {} proven)",
        lost(|d| d.best - d.max_sum),
        lost(|d| d.best - d.acted),
        look.decisions.len()
    )
}

fn deficit_text(look: &Look) -> String {
    let deficits = || look.decisions.iter().map(|d| d.apart - d.best);
    format!("median {:.3}, 90 % below {:.3}", median(deficits()), quantile(deficits(), 0.9))
}

fn means(look: &Look) -> (f64, f64) {
    let n = look.foreseen.len().max(1) as f64;
    let sum = look.foreseen.iter().fold((0.0, 0.0), |s, f| (s.0 + f.0, s.1 + f.1));
    (sum.0 / n, sum.1 / n)
}

fn conservatism_text(look: &Look) -> String {
    let (predicted, realised) = means(look);
    format!("predicted {predicted:.4}, realised {realised:.4}")
}

fn conservatism(looks: &[Look], text: String) -> Finding {
    let holds = looks.iter().all(|look| {
        let (predicted, realised) = means(look);
        predicted >= realised - 1e-3
    });
    Finding::new(
        "trained.conservatism",
        "Section two-head: the cost head predicts at least the discounted cost that the policy pays",
        text,
        Verdict::of(holds),
    )
}
