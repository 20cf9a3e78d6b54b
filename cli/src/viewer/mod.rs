//! The live page's server: every request a question with an answer of its own.
//!
//! It keeps no session: a page sends the situation it shows and gets the next one, so that dragging,
//! a moved slider or a reload need no bookkeeping here, and nothing grows with the number of pages.

mod answer;
mod api;
mod cast;
mod follow;
pub(crate) mod message;
mod server;

pub(crate) use api::Door;
pub(crate) use cast::Cast;

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
    cast: Cast,
    door: Door,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let cast = Arc::new(cast);
    let router = api::router(Arc::clone(&cast), door);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                cast.refresh();
                thread::park_timeout(FOLLOW);
            }
        });
        server::serve(listener, &router, PATIENCE, stop)
    })
}
