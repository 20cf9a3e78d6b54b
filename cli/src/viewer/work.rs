//! Work that takes time: done aside, in turns that are fair, and given up when nobody waits for it.

use super::answer::Refusal;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

/// How long a turn lasts when others wait for theirs.
const TURN: Duration = Duration::from_millis(20);

/// Who computes next: first come, first served, a few at a time.
#[derive(Clone)]
pub(crate) struct Queue(Arc<Semaphore>);

impl Queue {
    /// A queue of which so many compute at a time.
    pub(crate) fn new(most_at_work: usize) -> Self {
        Self(Arc::new(Semaphore::new(most_at_work)))
    }

    /// Does work aside when its turn comes; a panic costs one answer, not the server.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Turn) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(|_| Refusal::ours())?;
        // Dropped with this future, which the server drops when the client leaves.
        let client = Arc::new(());
        let now = Instant::now();
        let mut turn = Turn {
            queue: self.clone(),
            permit: Some(permit),
            client: Arc::downgrade(&client),
            begun: now,
            since: now,
        };
        spawn_blocking(move || work(&mut turn)).await.unwrap_or_else(|_| Err(Refusal::ours()))
    }
}

/// The right to compute, and what is known of who waits for the answer.
pub(crate) struct Turn {
    queue: Queue,
    permit: Option<OwnedSemaphorePermit>,
    client: Weak<()>,
    begun: Instant,
    since: Instant,
}

impl Turn {
    /// Lets others compute if they wait and this turn was long enough. False where nobody waits for
    /// the answer any more; long work asks often.
    pub(crate) fn goes_on(&mut self) -> bool {
        if self.is_wanted() && self.since.elapsed() > TURN {
            self.permit = None;
            // Closed it never is, and if it were, computing on would do no harm.
            self.permit =
                Handle::current().block_on(Arc::clone(&self.queue.0).acquire_owned()).ok();
            self.since = Instant::now();
        }
        self.is_wanted()
    }

    /// How long the work has taken so far, with the turns of others.
    pub(crate) fn lasted(&self) -> Duration {
        self.begun.elapsed()
    }

    fn is_wanted(&self) -> bool {
        self.client.strong_count() > 0
    }
}
