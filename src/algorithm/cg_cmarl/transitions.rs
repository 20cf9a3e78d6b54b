//! Sampled transitions as rows of the network: the regions of each state, and those of the next.

use super::{head::ABSENT, network::TwoHead, pass::Pass, sampling::Sample};
use crate::{
    algorithm::action_masks::ActionMasks,
    environment::{Pose, View, in_order},
    graph::CoordinationGraph,
    nn::fetch_ahead,
    replay::{Replay, Row},
};
use std::ops::Range;

/// How many samples ahead their transitions are asked for: memory takes as long as a few of them.
const SAMPLES_AHEAD: usize = 6;

/// Rows of regions, one after the other.
#[derive(Default)]
pub(super) struct RegionRows {
    /// What the network is given.
    pub(super) inputs: Vec<f32>,
    /// The agents of each row in the order in which they are seen, up to the size of the largest
    /// region; a smaller one ends with [`ABSENT`].
    pub(super) members: Vec<usize>,
    /// How each row sees its region.
    pub(super) poses: Vec<Pose>,
    /// Number of rows.
    pub(super) n_rows: usize,
}

/// The rows of one transition.
pub(super) struct Span {
    /// Regions of the state.
    pub(super) now: Range<usize>,
    /// Regions of the next state.
    pub(super) next: Range<usize>,
    /// Those, and behind them the regions of the state that the next one does not have.
    pub(super) valued: Range<usize>,
}

/// Everything a gradient needs of some transitions.
#[derive(Default)]
pub(super) struct Transitions {
    /// Regions of the states.
    pub(super) now: RegionRows,
    /// Regions of the next states, each in the graph of its own state.
    pub(super) next: RegionRows,
    /// Which rows belong to which transition.
    pub(super) spans: Vec<Span>,
    /// For each row of `now`: its number in the graph, for its reward and costs.
    pub(super) regions: Vec<usize>,
    /// For each row of `now`: the row of `next` that sees the same members; [`ABSENT`] where one of
    /// them has left.
    pub(super) followers: Vec<usize>,
    /// For each row of `now`: what its members did.
    pub(super) actions: Vec<usize>,
    /// One multiplier per row of `next` and constraint.
    pub(super) next_multipliers: Vec<f32>,
    /// What agents may do in the next states.
    pub(super) next_masks: ActionMasks,
    graph: CoordinationGraph,
    next_graph: CoordinationGraph,
}

impl Transitions {
    /// Rows of both states, which the network that chooses and learns takes together.
    pub(super) fn pass(&self) -> Pass<'_> {
        Pass { learned: self.now.all(), sought: self.next.all() }
    }

    /// Buffers for a team of so many agents.
    pub(super) fn new(n_agents: usize) -> Self {
        let [graph, next_graph] = [(); 2].map(|()| CoordinationGraph::empty(n_agents));
        Self { graph, next_graph, ..Self::default() }
    }

    /// Takes these samples instead of those before.
    pub(super) fn gather(
        &mut self,
        network: &TwoHead,
        view: &dyn View,
        replay: &Replay,
        samples: &[Sample],
    ) {
        self.now.clear();
        self.next.clear();
        self.spans.clear();
        self.regions.clear();
        self.followers.clear();
        self.actions.clear();
        self.next_multipliers.clear();
        self.next_masks.clear();
        for (index, sample) in samples.iter().enumerate() {
            if let Some(coming) = samples.get(index + SAMPLES_AHEAD) {
                let Row { state, next_state, outcome, .. } = replay.row(coming.row);
                [state, next_state, outcome].into_iter().for_each(fetch_ahead);
            }
            self.push(network, view, replay.row(sample.row), sample);
        }
    }

    fn push(&mut self, network: &TwoHead, view: &dyn View, row: Row<'_>, sample: &Sample) {
        self.next_masks.push(view, row.next_state);
        view.graph(row.state, &mut self.graph);
        let (now, next) = (self.now.n_rows, self.next.n_rows);
        let n_next = match sample.region {
            Some(region) => self.push_one(network, view, row, (region, sample)),
            None => self.push_all(network, view, row, sample),
        };
        let span = Span {
            now: now..self.now.n_rows,
            next: next..next + n_next,
            valued: next..self.next.n_rows,
        };
        self.now.write_multipliers(network, span.now.clone(), &sample.multipliers);
        self.next.write_multipliers(network, span.valued.clone(), &sample.multipliers);
        for _ in span.valued.clone() {
            self.next_multipliers.extend_from_slice(&sample.multipliers);
        }
        let size = network.head().region_size();
        for now in span.now.clone() {
            let symmetry = self.now.poses[now].symmetry;
            let action = |agent| view.transform_action(symmetry, usize::from(row.actions[agent]));
            let members = &self.now.members[now * size..][..size];
            self.actions.extend(members.iter().map(|&m| if m == ABSENT { m } else { action(m) }));
        }
        self.spans.push(span);
    }

    /// Adds one region, if the state has it; it bootstraps from the same members' row.
    fn push_one(
        &mut self,
        network: &TwoHead,
        view: &dyn View,
        row: Row<'_>,
        (region, sample): (usize, &Sample),
    ) -> usize {
        if region >= self.graph.n_regions() {
            return 0;
        }
        let (members, seen) = (self.graph.region(region), sample.seen(region));
        self.regions.push(region);
        self.now.push_region(network, view, row.state, (members, seen));
        if members.iter().any(|&agent| view.has_left(row.next_state, agent)) {
            self.followers.push(ABSENT);
            return 0;
        }
        self.followers.push(self.next.n_rows);
        self.next.push_region(network, view, row.next_state, (members, seen));
        1
    }

    /// Adds all regions of the state and all of the next; returns how many the next state has.
    fn push_all(
        &mut self,
        network: &TwoHead,
        view: &dyn View,
        row: Row<'_>,
        sample: &Sample,
    ) -> usize {
        view.graph(row.next_state, &mut self.next_graph);
        let first = self.next.n_rows;
        let (n_now, n_next) = (self.graph.n_regions(), self.next_graph.n_regions());
        self.now.push_graph(network, view, row.state, (&self.graph, sample));
        self.next.push_graph(network, view, row.next_state, (&self.next_graph, sample));
        self.regions.extend(0..n_now);
        if self.graph == self.next_graph {
            self.followers.extend(first..first + n_next);
            return n_next;
        }
        for (region, members) in self.graph.regions().enumerate() {
            let same = self.next_graph.regions().position(|other| other == members);
            if same.is_none() && members.iter().any(|&agent| view.has_left(row.next_state, agent)) {
                self.followers.push(ABSENT);
                continue;
            }
            // A region that the next state does not have goes on as the same members' row there: its
            // own value is of what they get, whoever they are coupled with later.
            let follower = same.map_or(self.next.n_rows, |next| first + next);
            if same.is_none() {
                let seen = (members, sample.seen(region));
                self.next.push_region(network, view, row.next_state, seen);
            }
            self.followers.push(follower);
        }
        n_next
    }
}

impl RegionRows {
    /// What the network is given, and the number of rows.
    pub(super) fn all(&self) -> (&[f32], usize) {
        (&self.inputs, self.n_rows)
    }

    fn clear(&mut self) {
        self.members.clear();
        self.poses.clear();
        self.n_rows = 0;
    }

    /// Makes room for more rows and returns their inputs.
    fn extend(&mut self, stride: usize, n_rows: usize) -> &mut [f32] {
        let start = self.n_rows * stride;
        self.n_rows += n_rows;
        let end = self.n_rows * stride;
        if self.inputs.len() < end {
            self.inputs.resize(end, 0.0);
        }
        &mut self.inputs[start..end]
    }

    fn push_members(&mut self, size: usize, members: &[usize], reversed: bool) {
        in_order(members, reversed, |members| self.members.extend_from_slice(members));
        self.members.resize(self.members.len() + size - members.len(), ABSENT);
    }

    fn push_graph(
        &mut self,
        network: &TwoHead,
        view: &dyn View,
        state: &[f32],
        (graph, sample): (&CoordinationGraph, &Sample),
    ) {
        let (stride, first) = (network.n_inputs(), self.n_rows);
        for (region, members) in graph.regions().enumerate() {
            let pose = Pose::of(view, state, members, sample.seen(region));
            self.poses.push(pose);
            self.push_members(network.head().region_size(), members, pose.reversed);
        }
        self.extend(stride, graph.n_regions());
        let rows = &mut self.inputs[first * stride..self.n_rows * stride];
        view.region_rows(state, graph, &self.poses[first..], rows, stride);
    }

    fn push_region(
        &mut self,
        network: &TwoHead,
        view: &dyn View,
        state: &[f32],
        (members, seen): (&[usize], (usize, bool)),
    ) {
        let width = view.spec().region_width;
        let pose = Pose::of(view, state, members, seen);
        let row = self.extend(network.n_inputs(), 1);
        view.posed_row(state, members, pose, &mut row[..width]);
        self.poses.push(pose);
        self.push_members(network.head().region_size(), members, pose.reversed);
    }

    fn write_multipliers(&mut self, network: &TwoHead, rows: Range<usize>, multipliers: &[f32]) {
        let stride = network.n_inputs();
        let inputs = &mut self.inputs[rows.start * stride..rows.end * stride];
        network.write_multipliers(inputs, multipliers);
    }
}
