//! The live page's server: plain threads and HTTP, every request a question with an answer of its own.
//!
//! It keeps no session: a page sends the situation it shows and gets the next one, so that dragging,
//! a moved slider or a reload need no bookkeeping here, and nothing grows with the number of pages.

mod api;
mod cast;
mod follow;
mod http;
pub(crate) mod message;
mod server;

pub(crate) use api::Door;
pub(crate) use cast::Cast;

use http::Request;
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

/// Serves the page until `stop` is set.
pub(crate) fn serve(
    listener: &TcpListener,
    cast: Cast,
    door: Door,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let cast = Arc::new(cast);
    let asked = Arc::clone(&cast);
    let handler: Arc<server::Handler> =
        Arc::new(move |request: &Request| api::answer(&asked, &door, request));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                cast.refresh();
                thread::park_timeout(FOLLOW);
            }
        });
        server::serve(listener, &handler, stop)
    })
}
