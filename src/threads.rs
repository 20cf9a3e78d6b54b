//! Threads that stay awake while short pieces of work follow each other: waking one that sleeps takes
//! longer than many a piece.

use rayon::Yield;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Most threads that stay awake: nobody cuts short work into more pieces than these can take.
const MOST_AWAKE: usize = 7;

/// How long the work waits at first for the threads that are to stay awake.
const PATIENCE: Duration = Duration::from_millis(2);

/// Looks for work before a thread offers its core to other programs.
const LOOKS: u32 = 2000;

/// Runs `work` while other threads of the pool look for its pieces without falling asleep. Changes
/// nothing but the time it takes; where there is one thread only, not even that.
pub fn awake<T>(work: impl FnOnce() -> T) -> T {
    let n_awake = rayon::current_num_threads().saturating_sub(1).min(MOST_AWAKE);
    if n_awake == 0 {
        return work();
    }
    let watch = Watch::default();
    rayon::in_place_scope(|scope| {
        for _ in 0..n_awake {
            scope.spawn(|_| watch.keep());
        }
        let _end = watch.begin(n_awake);
        work()
    })
}

/// Whom the work has to look out for it.
#[derive(Default)]
struct Watch {
    here: AtomicUsize,
    begun: AtomicBool,
    over: AtomicBool,
}

/// Ends a watch, also where the work panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Watch {
    /// Waits a while for everybody. Who comes later must not stay: it could be in the middle of a
    /// piece of work that somebody waits for.
    fn begin(&self, n_awake: usize) -> End<'_> {
        let start = Instant::now();
        while self.here.load(Ordering::Acquire) < n_awake && start.elapsed() < PATIENCE {
            std::hint::spin_loop();
        }
        self.begun.store(true, Ordering::Release);
        End(&self.over)
    }

    /// Does whatever work there is until the watch is over.
    fn keep(&self) {
        if self.begun.load(Ordering::Acquire) {
            return;
        }
        self.here.fetch_add(1, Ordering::AcqRel);
        let mut looks = 0;
        while !self.over.load(Ordering::Acquire) {
            match rayon::yield_now() {
                Some(Yield::Executed) => looks = 0,
                _ if looks < LOOKS => {
                    looks += 1;
                    std::hint::spin_loop();
                }
                _ => std::thread::yield_now(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(n_threads: usize, work: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(work);
    }

    #[test]
    fn work_in_pieces_is_done_on_any_number_of_threads_and_again_and_again() {
        for n_threads in [1, 2, 3, 16] {
            on(n_threads, || {
                for round in 0..20 {
                    let sum = awake(|| {
                        let halves = |n: u64| rayon::join(|| n / 2, || n - n / 2);
                        (0..200).map(|n| halves(n + round)).map(|(a, b)| a + b).sum::<u64>()
                    });
                    assert_eq!(sum, 199 * 100 + 200 * round);
                }
            });
        }
    }

    #[test]
    fn watches_inside_others_end() {
        on(3, || {
            let (a, b) =
                awake(|| rayon::join(|| awake(|| 1), || awake(|| rayon::join(|| 2, || 3))));
            assert_eq!((a, b), (1, (2, 3)));
        });
    }

    #[test]
    fn work_that_panics_lets_everybody_go() {
        on(2, || {
            let work = || awake(|| panic!("as it should"));
            assert!(std::panic::catch_unwind(work).is_err());
            assert_eq!(awake(|| rayon::join(|| 1, || 2)), (1, 2));
        });
    }
}
