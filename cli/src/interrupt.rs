//! Ctrl-C and SIGTERM: the first asks for an end at which everything is saved, a later one does not wait.

use crate::commands::output::remark;
use anyhow::Context;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// What comes this soon after the first is the same wish: some programs signal a process, then its group.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Whether somebody asked for an end.
#[derive(Clone)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    leaving: Arc<Mutex<Leaving>>,
}

/// How the next signal is answered.
enum Leaving {
    /// By an end that saves.
    Ask,
    /// Not before the end that was asked for then, unless somebody insists.
    Asked(Instant),
    /// At once, with a word.
    AtOnce(String),
}

impl Interrupt {
    /// Listens from now on.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let interrupt = Self { asked, leaving: Arc::new(Mutex::new(Leaving::Ask)) };
        let own = interrupt.clone();
        ctrlc::set_handler(move || {
            if let Some(word) = own.signalled(Instant::now()) {
                remark(&word);
                std::process::exit(130);
            }
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(interrupt)
    }

    /// Whether an end was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Everything is saved: from now on nothing waits, and `word` is the last one.
    pub(crate) fn leave_at_once(&self, word: String) {
        *self.leaving() = Leaving::AtOnce(word);
    }

    fn leaving(&self) -> MutexGuard<'_, Leaving> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a signal; the word to leave with where that does not wait.
    fn signalled(&self, now: Instant) -> Option<String> {
        let mut leaving = self.leaving();
        match &*leaving {
            Leaving::Ask => {
                *leaving = Leaving::Asked(now);
                self.asked.store(true, Ordering::SeqCst);
                None
            }
            Leaving::Asked(first) if now.duration_since(*first) < SAME_WISH => None,
            Leaving::Asked(_) => {
                Some("left at once; what came after the last checkpoint is lost".into())
            }
            Leaving::AtOnce(word) => Some(word.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_signals_at_once_are_one_wish_and_a_later_one_does_not_wait() {
        let interrupt =
            Interrupt { asked: Arc::default(), leaving: Arc::new(Mutex::new(Leaving::Ask)) };
        let start = Instant::now();
        assert!(!interrupt.is_asked());
        assert_eq!(interrupt.signalled(start), None);
        assert!(interrupt.is_asked());
        assert_eq!(interrupt.signalled(start + SAME_WISH / 2), None);
        assert!(interrupt.signalled(start + SAME_WISH).unwrap().contains("lost"));
        interrupt.leave_at_once("saved".into());
        assert_eq!(interrupt.signalled(start).unwrap(), "saved");
    }
}
