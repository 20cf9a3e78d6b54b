//! Acting allocates nothing once the buffers are large enough.
#![expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]

mod factor_graphs;

use cgcmarl::coordination::{Anytime, AnytimeOptions, Coordinator, MaxSum, MaxSumOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(mut solver: impl Coordinator) -> usize {
    let all = factor_graphs::instances(|family| matches!(family, "spread" | "gauss" | "triplet"));
    let mut action = Vec::new();
    let mut round = || {
        for instance in &all {
            solver.coordinate(&instance.graph, &instance.tables, &mut action);
        }
    };
    round();
    round();
    let before = COUNT.get();
    round();
    COUNT.get() - before
}

#[test]
fn max_sum_allocates_nothing() {
    assert_eq!(allocations(MaxSum::new(MaxSumOptions::default())), 0);
}

#[test]
fn anytime_allocates_nothing() {
    assert_eq!(allocations(Anytime::new(AnytimeOptions::default())), 0);
}
