//! Nothing is allocated per step of training: a counting allocator watches acting, stepping,
//! observing and updating once every buffer has grown.

use cgcmarl::{
    algorithm::{Learner, Start},
    episode::EpisodeStreams,
    rng::{Purpose, Streams},
    run::{Config, vectorise},
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
fn allocations_of_a_round(config: &Config) -> (usize, u64) {
    let n = config.training.environments;
    let scenario = config.scenario().expect("a task");
    let mut environments = vectorise(&scenario, n).expect("valid options");
    let streams = Streams::new(1);
    let start =
        Start { teams: &[environments.view()], n_environments: n, total_steps: 10_000, streams };
    let algorithm = config.algorithm().expect("an algorithm");
    let mut learner = algorithm.learner(&config.options, start).expect("valid options");
    let updates = |learner: &dyn Learner| {
        let report = learner.report();
        report.iter().find(|(name, _)| name == "updates").map_or(0, |(_, count)| *count as u64)
    };
    let (mut allocations, mut before) = (0, 0);
    for round in 0..6 {
        let (start, dynamics, act) = (Purpose::Episode, Purpose::Dynamics, Purpose::Exploration);
        let first = round * n as u64;
        before = updates(learner.as_ref());
        let count = ALLOCATIONS.get();
        let streams = EpisodeStreams { streams, start, dynamics, act, first };
        let summaries = environments.play(learner.as_mut(), streams, n);
        for (slot, summary) in summaries.iter().enumerate() {
            learner.end_episode(slot, summary);
        }
        allocations = ALLOCATIONS.get() - count;
    }
    (allocations, updates(learner.as_ref()) - before)
}

#[test]
fn a_round_of_training_allocates_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for preset in ["default", "two_head", "augmented", "paper"] {
        for agents in ["3", "6"] {
            let settings = [
                ("preset", preset),
                ("agents", agents),
                ("learning_starts", "50"),
                ("buffer_size", "100000"),
            ];
            let pairs = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let config = Config::resolve(None, &pairs).expect("settings");
            let (allocations, updates) = pool.install(|| allocations_of_a_round(&config));
            assert!(updates > 0, "{preset}: nothing was learned");
            assert_eq!(allocations, 0, "{preset} with {agents} agents, {updates} updates");
        }
    }
}
