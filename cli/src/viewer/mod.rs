//! The live page's server: every request a question with an answer of its own.
//!
//! It keeps no session: a page sends the moment it shows and gets the next one, so that dragging,
//! a moved slider or a reload need no bookkeeping here, and nothing grows with the number of pages.

mod access;
mod answer;
mod api;
mod connections;
mod follow;
mod measurement;
pub(crate) mod message;
mod policies;
mod server;
mod work;

pub(crate) use access::Access;
pub(crate) use policies::PolicyPool;

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How often a run in training is looked at.
const FOLLOW: Duration = Duration::from_millis(250);
/// How long a client may take over a request or an answer, and be silent in between.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves the page until `stop` is set.
pub(crate) fn serve(
    listener: TcpListener,
    pool: PolicyPool,
    access: Access,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let pool = Arc::new(pool);
    let router = api::router(Arc::clone(&pool), access);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                pool.refresh();
                thread::park_timeout(FOLLOW);
            }
        });
        server::serve(listener, router, PATIENCE, stop)
    })
}
