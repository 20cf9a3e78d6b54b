//! Nothing is allocated per step of training: a counting allocator watches acting, stepping,
//! observing and updating once every buffer has grown.

use cgcmarl::{
    algorithm::{CgCmarl, Learner},
    config::{Config, Preset},
    environment::{Environment, simple_spread::SimpleSpread},
    episode::{Arena, Draws},
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
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and updates of one round of training after a few have filled the buffers.
fn allocations_of_a_round(mut config: Config) -> (usize, u64) {
    let learning = &mut config.cg_cmarl.learning;
    (learning.learning_starts, learning.buffer_size) = (50, 100_000);
    let n = config.training.environments;
    let environment = || SimpleSpread::new(&config.environment).expect("valid options");
    let environments = (0..n).map(|_| Box::new(environment()) as Box<dyn Environment>);
    let mut arena = Arena::new(environments.collect());
    let streams = Streams::new(1);
    let mut learner =
        CgCmarl::new(&config.cg_cmarl, arena.view(), n, 10_000, streams).expect("valid options");
    let updates = |learner: &CgCmarl| {
        let report = learner.report();
        report.iter().find(|(name, _)| name == "updates").map_or(0, |(_, count)| *count as u64)
    };
    let (mut allocations, mut before) = (0, 0);
    for round in 0..6 {
        let first = round * n as u64;
        before = updates(&learner);
        let start = ALLOCATIONS.get();
        let draws = Draws { streams, start: Purpose::Episode, act: Purpose::Exploration, first };
        let summaries = arena.play(&mut learner, draws, n);
        for (slot, summary) in summaries.iter().enumerate() {
            learner.end_episode(slot, summary);
        }
        allocations = ALLOCATIONS.get() - start;
    }
    (allocations, updates(&learner) - before)
}

#[test]
fn a_round_of_training_allocates_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for (name, preset) in Preset::NAMES {
        for agents in [3, 6] {
            let config = preset.config(agents);
            let (allocations, updates) = pool.install(|| allocations_of_a_round(config));
            assert!(updates > 0, "{name}: nothing was learned");
            assert_eq!(allocations, 0, "{name} with {agents} agents, {updates} updates");
        }
    }
}
