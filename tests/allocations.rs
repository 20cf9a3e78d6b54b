//! Nothing is allocated per step: a counting allocator watches environments and their views.

use cgcmarl::{
    environment::{
        Environment, Outcome, Pose,
        simple_spread::{
            Physics, SimpleSpread, SimpleSpreadOptions,
            observation::{ObservationKind, ObservationOptions},
            oracle::Oracle,
        },
    },
    graph::{CoordinationGraph, Topology},
    rng::{Purpose, Streams},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[expect(unsafe_code, reason = "an allocator can only be written with unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of one episode after another has filled the buffers.
fn allocations_of_an_episode(options: &SimpleSpreadOptions) -> usize {
    let mut environment = SimpleSpread::new(options).expect("valid options");
    let mut oracle = Oracle::new(&environment);
    let spec = environment.view().spec().clone();
    let (mut outcome, mut graph) = (Outcome::default(), CoordinationGraph::default());
    let mut state = vec![0.0; spec.state_width];
    let mut rows = vec![0.0; spec.max_regions * spec.region_width];
    let mut row = vec![0.0; spec.agent_width];
    let poses = vec![Pose { symmetry: 3, reversed: true }; spec.max_regions];
    let mut action = vec![0; spec.n_agents()];
    let mut rng = Streams::new(1).rng(Purpose::Dynamics, 0);
    let mut before = 0;
    for _ in 0..2 {
        before = ALLOCATIONS.get();
        environment.reset(&mut Streams::new(1).rng(Purpose::Problem, 0));
        for _ in 0..spec.horizon {
            environment.write_state(&mut state);
            let view = environment.view();
            view.graph(&state, &mut graph);
            let rows = &mut rows[..graph.n_regions() * spec.region_width];
            view.region_rows(&state, &graph, &poses, rows, spec.region_width);
            (0..spec.n_agents()).for_each(|agent| view.agent_row(&state, agent, &mut row));
            oracle.act(&state, &mut action);
            environment.step(&action, &mut rng, &mut outcome);
        }
    }
    ALLOCATIONS.get() - before
}

#[test]
fn an_episode_allocates_nothing() {
    use ObservationKind::{Paper, Relative};
    for (kind, occupancy) in [(Paper, false), (Relative, false), (Relative, true)] {
        for topology in [Topology::Complete, Topology::KNearest] {
            for physics in [Physics::Paper, Physics::Mpe2] {
                let observation =
                    ObservationOptions { kind, occupancy, ..ObservationOptions::default() };
                let mut options = SimpleSpreadOptions { agents: 6, physics, ..Default::default() };
                (options.observation, options.graph.topology) = (observation, topology);
                let count = allocations_of_an_episode(&options);
                assert_eq!(count, 0, "{kind:?} occupancy {occupancy} {topology:?} {physics:?}");
            }
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1u8; 10]));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
