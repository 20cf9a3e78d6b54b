//! The connections of a server: a bounded number, and whoever is silent for too long has to go.
//!
//! `axum::serve` takes its connections from here. It has no limits of its own: neither on their number, nor on
//! the time a client takes over a request or an answer, nor on the bytes of a request that never ends.

use anyhow::Context as _;
use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use std::{
    io::{self, Write as _},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::{Instant, sleep, timeout_at},
};

/// Connections at the same time.
pub(super) const MOST_CONNECTIONS: usize = 128;
/// Most bytes a client may send before it has sent a whole request.
const MOST_BYTES: usize = 256 * 1024;
/// How long to wait when the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(20);
/// What a newcomer hears when all connections are busy.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\n{\"error\":\"too many connections are busy\"}";

/// Whose turn it is on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// The client has owed us a request, or to take its answer, since then.
    Silent(Instant),
    /// We owe an answer.
    Working,
    /// The connection is to end.
    Over,
}

#[derive(Debug)]
struct Status {
    phase: Mutex<Phase>,
    changed: Notify,
}

/// A connection, as the requests that come over it know it.
#[derive(Clone, Debug)]
pub(super) struct Connection(Arc<Status>);

impl Connection {
    fn new() -> Self {
        let phase = Mutex::new(Phase::Silent(Instant::now()));
        Self(Arc::new(Status { phase, changed: Notify::new() }))
    }

    /// A whole request is here: its answer may take its time.
    pub(super) fn work_begins(&self) {
        self.set(Phase::Working);
    }

    /// The answer is ready: the client's time begins.
    pub(super) fn work_ends(&self) {
        self.set(Phase::Silent(Instant::now()));
    }

    fn phase(&self) -> Phase {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, phase: Phase) {
        *self.0.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.0.changed.notify_one();
    }

    /// Returns when the connection has to end.
    async fn over(self, patience: Duration) {
        loop {
            let changed = self.0.changed.notified();
            match self.phase() {
                Phase::Over => return,
                Phase::Working => changed.await,
                Phase::Silent(since) => {
                    if timeout_at(since + patience, changed).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl Connected<IncomingStream<'_, Connections>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Takes connections, and makes room for them.
pub(super) struct Connections {
    listener: TcpListener,
    patience: Duration,
    open: Vec<Weak<Status>>,
}

impl Connections {
    /// Those of a listener; each has `patience` from one answer to the next whole request.
    pub(super) fn new(listener: std::net::TcpListener, patience: Duration) -> anyhow::Result<Self> {
        listener.set_nonblocking(true).context("cannot listen")?;
        let listener = TcpListener::from_std(listener).context("cannot listen")?;
        Ok(Self { listener, patience, open: vec![] })
    }

    /// Whether one more fits; where all are taken, the one that was silent longest has to go.
    fn make_room(&mut self) -> bool {
        self.open.retain(|status| status.strong_count() > 0);
        if self.open.len() < MOST_CONNECTIONS {
            return true;
        }
        let phases = self.open.iter().map(|status| status.upgrade().map(Connection));
        let phases = phases.map(|open| open.map_or(Phase::Over, |open| open.phase()));
        let silent = phases.enumerate().filter(|(_, phase)| *phase != Phase::Working);
        let Some((index, _)) = silent.min_by_key(|(_, phase)| *phase) else { return false };
        if let Some(status) = self.open.swap_remove(index).upgrade() {
            Connection(status).set(Phase::Over);
        }
        true
    }
}

impl Listener for Connections {
    type Io = Stream;
    type Addr = Connection;

    async fn accept(&mut self) -> (Stream, Connection) {
        loop {
            let Ok((socket, _)) = self.listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            if !self.make_room() {
                // A client that does not listen misses it.
                drop(socket.into_std().and_then(|mut socket| socket.write(FULL)));
                continue;
            }
            let connection = Connection::new();
            self.open.push(Arc::downgrade(&connection.0));
            return (Stream::new(socket, connection.clone(), self.patience), connection);
        }
    }

    fn local_addr(&self) -> io::Result<Connection> {
        Ok(Connection::new())
    }
}

/// A socket that fails once its connection has to end.
pub(super) struct Stream {
    socket: TcpStream,
    connection: Connection,
    n_received: usize,
    over: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Stream {
    fn new(socket: TcpStream, connection: Connection, patience: Duration) -> Self {
        // Without it answers only come later.
        let _ = socket.set_nodelay(true);
        let over = Some(Box::pin(connection.clone().over(patience)) as Pin<Box<_>>);
        Self { socket, connection, n_received: 0, over }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Some(over) = &mut self.over {
            if over.as_mut().poll(context).is_pending() {
                return Ok(());
            }
            self.over = None;
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    fn count(&mut self, n_bytes: usize) {
        let silent = self.connection.phase() != Phase::Working;
        self.n_received = if silent { self.n_received + n_bytes } else { 0 };
        if self.n_received > MOST_BYTES {
            self.over = None;
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
        self.count(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
