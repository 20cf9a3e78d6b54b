//! Work that takes time: done aside, in turns that are fair, and given up when nobody waits for it.

use super::answer::Refusal;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::spawn_blocking};

/// How long long work computes before it lets others compute.
pub(crate) const TURN: Duration = Duration::from_millis(20);

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
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| Refusal::ours())?;
        let done = spawn_blocking(move || {
            // Kept until the work is done, even if its client has left.
            let _turn = turn;
            work()
        });
        done.await.unwrap_or_else(|_| Err(Refusal::ours()))
    }

    /// Does long work: `advance` computes for about a [`TURN`] and tells whether all is done. In between others
    /// have theirs. The server drops this future when the client leaves, and then no turn follows.
    pub(crate) async fn work_in_turns<T: Send + 'static>(
        &self,
        mut work: T,
        advance: impl Fn(&mut T) -> Result<bool, Refusal> + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        loop {
            let advance = advance.clone();
            let (is_done, rest) = self
                .work(move || {
                    let is_done = advance(&mut work)?;
                    Ok((is_done, work))
                })
                .await?;
            if is_done {
                return Ok(rest);
            }
            work = rest;
        }
    }
}
