//! What regions and predators see of a Simple Tag state.
//!
//! A state row is `[positions | velocities | obstacles]`, the prey behind the predators. A region of
//! two sees, in its own frame: velocity and position of each member and of the prey; the members'
//! displacement; for each member the prey and the nearest obstacles; the predators outside the region
//! that are nearest to the prey; how large the team is. Its width does not depend on the team.

use super::options::SimpleTagOptions;
use crate::{
    environment::{
        Pose, Spec, View,
        frame::Frame,
        in_order,
        symmetry::{self, transform},
    },
    graph::{CoordinationGraph, GraphOptions, Nearby},
};
use std::cell::RefCell;

/// Members of a region.
const SIZE: usize = 2;
/// Obstacles that a region sees.
const OBSTACLES_SEEN: usize = 2;
/// Predators outside the region that it sees.
const OTHERS_SEEN: usize = 2;
/// Numbers of one bearing: displacement, distance, direction.
const BEARING: usize = 5;
/// Numbers of an obstacle: the bearing of each member, and whether there is one.
const OBSTACLE_WIDTH: usize = SIZE * BEARING + 1;
/// Numbers of another predator: bearing from the prey, velocity, displacement and distance from each
/// member, and whether there is one.
const OTHER_WIDTH: usize = BEARING + 2 + 3 * SIZE + 1;
/// Width of a region row.
pub(super) const REGION_WIDTH: usize = 4 * (SIZE + 1)
    + BEARING
    + SIZE * BEARING
    + OBSTACLES_SEEN * OBSTACLE_WIDTH
    + OTHERS_SEEN * OTHER_WIDTH
    + 1;
/// Width of an agent row beside obstacles and others: own velocity and position, the prey's velocity.
pub(super) const AGENT_FIXED: usize = 6;
/// Softens a unit vector near the origin: d/(|d| + 0.1).
const SOFTENING: f32 = 0.1;

/// How Simple Tag states are seen.
#[derive(Clone, Debug)]
pub struct TagView {
    spec: Spec,
    graph: CoordinationGraph,
    graph_options: GraphOptions,
    frame: Frame,
    coast: f32,
    transformed_actions: Vec<Vec<usize>>,
}

/// The parts of a state row, as points.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) positions: &'a [[f32; 2]],
    pub(super) velocities: &'a [[f32; 2]],
    pub(super) obstacles: &'a [[f32; 2]],
}

impl<'a> Parts<'a> {
    pub(super) fn of(state: &'a [f32], n_predators: usize) -> Self {
        let points: &[[f32; 2]] = bytemuck::cast_slice(state);
        let (positions, rest) = points.split_at(n_predators + 1);
        let (velocities, obstacles) = rest.split_at(n_predators + 1);
        Self { positions, velocities, obstacles }
    }

    fn prey(&self) -> usize {
        self.positions.len() - 1
    }
}

thread_local! {
    /// For the k-nearest graph.
    static NEAR: RefCell<Nearby> = RefCell::default();
}

/// Fills a row from its front.
struct Writer<'r> {
    row: &'r mut [f32],
    filled: usize,
}

impl Writer<'_> {
    #[inline]
    fn push(&mut self, numbers: &[f32]) {
        self.row[self.filled..][..numbers.len()].copy_from_slice(numbers);
        self.filled += numbers.len();
    }

    /// Displacement, distance and softened direction of a vector; the direction is taken `ahead`.
    #[inline]
    fn push_bearing(&mut self, [dx, dy]: [f32; 2], ahead: [f32; 2]) {
        let (x, y) = (dx - ahead[0], dy - ahead[1]);
        let scale = 1.0 / ((x * x + y * y).sqrt() + SOFTENING);
        self.push(&[dx, dy, norm([dx, dy]), x * scale, y * scale]);
    }

    fn skip(&mut self, width: usize) {
        self.row[self.filled..][..width].fill(0.0);
        self.filled += width;
    }
}

#[inline]
fn norm([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

#[inline]
fn minus(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

/// The indices of the smallest keys in rising order; ties go to the lower index.
fn smallest<const K: usize>(keys: impl Iterator<Item = (usize, f32)>) -> [Option<usize>; K] {
    let mut kept = [(None, f32::INFINITY); K];
    for (index, key) in keys {
        let mut candidate = (Some(index), key);
        for place in &mut kept {
            if candidate.1 < place.1 {
                std::mem::swap(place, &mut candidate);
            }
        }
    }
    kept.map(|(index, _)| index)
}

impl TagView {
    pub(super) fn new(
        options: &SimpleTagOptions,
        spec: Spec,
        graph: CoordinationGraph,
        vectors: &[[f64; 2]],
    ) -> Self {
        Self {
            spec,
            graph,
            graph_options: options.graph.clone(),
            frame: options.frame,
            coast: options.coast as f32,
            transformed_actions: symmetry::transformed_actions(vectors),
        }
    }

    fn write(&self, parts: Parts<'_>, members: &[usize], symmetry: usize, row: &mut [f32]) {
        let at = |body: usize| transform(symmetry, parts.positions[body]);
        let velocity = |body: usize| transform(symmetry, parts.velocities[body]);
        let ahead = |a: usize, b: usize| minus(velocity(a), velocity(b)).map(|v| self.coast * v);
        let prey = parts.prey();
        let mut writer = Writer { row, filled: 0 };
        for &body in members.iter().chain([&prey]) {
            writer.push(&velocity(body));
            writer.push(&at(body));
        }
        let [a, b] = [members[0], members[1]];
        writer.push_bearing(minus(at(b), at(a)), ahead(a, b));
        for &member in members {
            writer.push_bearing(minus(at(prey), at(member)), ahead(member, prey));
        }
        let nearest = |place: [f32; 2]| {
            let distances = members.iter().map(|&m| norm(minus(place, parts.positions[m])));
            distances.fold(f32::INFINITY, f32::min)
        };
        let obstacles = parts.obstacles.iter().map(|&place| nearest(place)).enumerate();
        for obstacle in smallest::<OBSTACLES_SEEN>(obstacles) {
            let Some(obstacle) = obstacle else {
                writer.skip(OBSTACLE_WIDTH);
                continue;
            };
            let place = transform(symmetry, parts.obstacles[obstacle]);
            for &member in members {
                let coasted = velocity(member).map(|v| self.coast * v);
                writer.push_bearing(minus(place, at(member)), coasted);
            }
            writer.push(&[1.0]);
        }
        let others = (0..prey).filter(|other| !members.contains(other));
        let to_prey = |other: usize| norm(minus(parts.positions[other], parts.positions[prey]));
        for other in smallest::<OTHERS_SEEN>(others.map(|other| (other, to_prey(other)))) {
            let Some(other) = other else {
                writer.skip(OTHER_WIDTH);
                continue;
            };
            writer.push_bearing(minus(at(other), at(prey)), ahead(prey, other));
            writer.push(&velocity(other));
            for &member in members {
                let displacement = minus(at(other), at(member));
                writer.push(&displacement);
                writer.push(&[norm(displacement)]);
            }
            writer.push(&[1.0]);
        }
        writer.push(&[1.0 / prey as f32]);
    }
}

impl View for TagView {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn graph(&self, state: &[f32], graph: &mut CoordinationGraph) {
        if !self.graph_options.follows_positions() {
            if *graph != self.graph {
                graph.clone_from(&self.graph);
            }
            return;
        }
        if graph.n_agents() != self.spec.n_agents() {
            graph.clone_from(&self.graph);
        }
        let n = self.spec.n_agents();
        let positions = &Parts::of(state, n).positions[..n];
        NEAR.with_borrow_mut(|nearby| self.graph_options.rebuild(graph, positions, nearby));
    }

    fn region_row(&self, state: &[f32], members: &[usize], row: &mut [f32]) {
        self.write(Parts::of(state, self.spec.n_agents()), members, 0, row);
    }

    fn row_words(&self) -> String {
        format!(
            "a direction is d / (|d| + {SOFTENING}), d the displacement after {} s at the present velocities; \
             obstacles are listed by their distance from the nearest member",
            self.coast
        )
    }

    fn row_layout(&self) -> Vec<(String, usize)> {
        let group = |words: &str, width: usize| (words.to_owned(), width);
        let mut groups = vec![
            group("velocity and position of member 0", 4),
            group("velocity and position of member 1", 4),
            group("velocity and position of the prey", 4),
            group("displacement, distance and direction from member 0 to 1", BEARING),
            group(
                "displacement, distance and direction of the prey from each member",
                SIZE * BEARING,
            ),
        ];
        for index in 0..OBSTACLES_SEEN {
            let words = format!(
                "obstacle {index}, nearest first: displacement, distance and direction from each member, and whether there is one"
            );
            groups.push((words, OBSTACLE_WIDTH));
        }
        for index in 0..OTHERS_SEEN {
            let words = format!(
                "other predator {index}, nearest to the prey first: displacement, distance and direction from the prey, velocity, displacement and distance from each member, and whether there is one"
            );
            groups.push((words, OTHER_WIDTH));
        }
        groups.push(group("one over the number of predators", 1));
        groups
    }

    fn posed_row(&self, state: &[f32], members: &[usize], pose: Pose, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        in_order(members, pose.reversed, |members| self.write(parts, members, pose.symmetry, row));
    }

    fn n_symmetries(&self) -> usize {
        self.transformed_actions.len()
    }

    fn transform_state(&self, symmetry: usize, state: &mut [f32]) {
        let points: &mut [[f32; 2]] = bytemuck::cast_slice_mut(state);
        points.iter_mut().for_each(|point| *point = transform(symmetry, *point));
    }

    fn transform_action(&self, symmetry: usize, action: usize) -> usize {
        self.transformed_actions[symmetry][action]
    }

    fn n_frames(&self) -> usize {
        self.frame.n_frames().min(self.n_symmetries())
    }

    fn frame_rule(&self) -> Option<Frame> {
        Some(self.frame)
    }

    fn frame(&self, state: &[f32], members: &[usize], frame: usize) -> usize {
        let positions = Parts::of(state, self.spec.n_agents()).positions;
        let displacement = minus(positions[members[1]], positions[members[0]]);
        self.frame.of_region(self, (state, members), displacement, frame)
    }

    /// MPE2's observation: velocity, position, obstacles and other bodies relative to this one, the
    /// velocity of the prey.
    fn agent_row(&self, state: &[f32], agent: usize, row: &mut [f32]) {
        let parts = Parts::of(state, self.spec.n_agents());
        let me = parts.positions[agent];
        let mut writer = Writer { row, filled: 0 };
        writer.push(&parts.velocities[agent]);
        writer.push(&me);
        parts.obstacles.iter().for_each(|&place| writer.push(&minus(place, me)));
        let others = parts.positions.iter().enumerate().filter(|(other, _)| *other != agent);
        others.for_each(|(_, &place)| writer.push(&minus(place, me)));
        writer.push(&parts.velocities[parts.prey()]);
    }
}
