//! The loop that takes connections: a bounded number, and whoever is silent for too long has to go.

use super::answer::{Refusal, rule};
use anyhow::Context;
use axum::{
    Router,
    body::{Body, HttpBody, to_bytes},
    extract::{Request, State},
    http::StatusCode,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use std::{
    io::Write,
    net::TcpListener,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    net::TcpStream,
    runtime,
    sync::Semaphore,
    task::{AbortHandle, spawn_blocking},
    time::{sleep, timeout},
};

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 48;
/// Requests that are worked on at the same time; the others wait for their turn.
const MOST_AT_WORK: usize = 8;
/// Most bytes of a request before its body.
const MOST_HEAD: usize = 16 * 1024;
/// Most bytes of a body: a situation of the largest team takes a tenth of that.
const MOST_BODY: usize = 64 * 1024;
/// How often the loop looks around.
const GLANCE: Duration = Duration::from_millis(20);
/// What a newcomer hears when all connections are busy.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Connection: close\r\n\r\n{\"error\":\"too many connections are busy\"}";

/// Since when a client owes us a request or has not taken its answer; `None` while we owe it one.
type Silence = Arc<Mutex<Option<Instant>>>;

/// A connection as the loop knows it.
struct Guest {
    silence: Silence,
    task: AbortHandle,
}

impl Guest {
    fn silent_since(&self) -> Option<Instant> {
        *self.silence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until `stop` is set; then every connection is closed. A connection has `patience` from one
/// answer to the next whole request.
pub(crate) fn serve(
    listener: TcpListener,
    router: &Router,
    patience: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    listener.set_nonblocking(true).context("cannot listen")?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the server")?;
    let result = runtime.block_on(welcome(listener, router, patience, stop));
    // Work that nobody waits for must not hold up the end.
    runtime.shutdown_background();
    result
}

async fn welcome(
    listener: TcpListener,
    router: &Router,
    patience: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener).context("cannot listen")?;
    let mut guests: Vec<Guest> = vec![];
    while !stop.load(Ordering::SeqCst) {
        let accepted = timeout(GLANCE, listener.accept()).await;
        guests.retain(|guest| {
            let late = guest.silent_since().is_some_and(|since| since.elapsed() > patience);
            if late {
                guest.task.abort();
            }
            !late && !guest.task.is_finished()
        });
        match accepted {
            Ok(Ok((stream, _))) if make_room(&mut guests) => guests.push(enter(stream, router)),
            // A client that does not listen misses it.
            Ok(Ok((stream, _))) => drop(stream.into_std().and_then(|mut s| s.write(FULL))),
            Ok(Err(_)) => sleep(GLANCE).await,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Whether a newcomer can enter; where the house is full, the longest silent guest has to go.
fn make_room(guests: &mut Vec<Guest>) -> bool {
    if guests.len() < MOST_CONNECTIONS {
        return true;
    }
    let silent = guests.iter().enumerate().filter_map(|(i, g)| Some((g.silent_since()?, i)));
    let Some((_, index)) = silent.min() else { return false };
    guests.swap_remove(index).task.abort();
    true
}

fn enter(stream: TcpStream, router: &Router) -> Guest {
    let silence: Silence = Arc::new(Mutex::new(Some(Instant::now())));
    let router = router.clone().layer(from_fn_with_state(Arc::clone(&silence), converse));
    let task = tokio::spawn(async move {
        // Whatever goes wrong here, only this client has it.
        let _ = stream.set_nodelay(true);
        let _ = http1::Builder::new()
            .max_buf_size(MOST_HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
            .await;
    });
    Guest { silence, task: task.abort_handle() }
}

/// Takes a request whole, then has it answered.
async fn converse(State(silence): State<Silence>, request: Request, next: Next) -> Response {
    let set = |since| *silence.lock().unwrap_or_else(PoisonError::into_inner) = since;
    let mut response = match whole(request).await {
        Ok(request) => {
            set(None);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    rule(response.headers_mut());
    set(Some(Instant::now()));
    response
}

async fn whole(request: Request) -> Result<Request, Refusal> {
    let (head, body) = request.into_parts();
    let too_large = || {
        let text = format!("a body has at most {MOST_BODY} bytes");
        Refusal(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    if body.size_hint().lower() > MOST_BODY as u64 {
        return Err(too_large());
    }
    let body = to_bytes(body, MOST_BODY).await.map_err(|_| too_large())?;
    Ok(Request::from_parts(head, Body::from(body)))
}

/// Does work that takes time aside, when its turn comes; a panic costs one answer, not the server.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    static TURNS: Semaphore = Semaphore::const_new(MOST_AT_WORK);
    let turn = TURNS.acquire().await.map_err(|_| Refusal::ours())?;
    let done = spawn_blocking(move || {
        // Kept until the work is done, even if its client has left.
        let _turn = turn;
        work()
    });
    done.await.unwrap_or_else(|_| Err(Refusal::ours()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::{io::Read, net::SocketAddr, thread};

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(300);
    const LARGE: usize = 64 << 20;

    /// Runs `test` against a server that greets.
    fn with_server(patience: Duration, test: impl FnOnce(SocketAddr)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let server = thread::spawn(move || {
            let slow = || {
                thread::sleep(5 * SHORT);
                Ok(())
            };
            let router = Router::new()
                .route("/", get(|| async { "hello" }).post(|text: String| async { text }))
                .route("/large", get(|| async { vec![b'x'; LARGE] }))
                .route("/panic", get(|| aside(|| -> Result<String, _> { panic!("on purpose") })))
                .route("/slow", get(move || aside(slow)));
            serve(listener, &router, patience, &flag)
        });
        test(address);
        stop.store(true, Ordering::SeqCst);
        server.join().unwrap().unwrap();
    }

    fn connect(address: SocketAddr, text: &str) -> std::net::TcpStream {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Everything until the server closes the connection.
    fn rest(mut stream: std::net::TcpStream) -> String {
        let mut answer = vec![];
        // A server that refuses does not read to the end, which can look like an error here.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn ask(address: SocketAddr, text: &str) -> String {
        rest(connect(address, text))
    }

    fn closing(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    }

    #[test]
    fn silent_clients_do_not_keep_others_out() {
        with_server(LONG, |address| {
            let silent: Vec<_> =
                (0..2 * MOST_CONNECTIONS).map(|_| connect(address, "GET / HT")).collect();
            assert!(ask(address, &closing("/")).ends_with("hello"));
            drop(silent);
        });
    }

    #[test]
    fn a_newcomer_is_told_when_all_are_busy() {
        with_server(LONG, |address| {
            let mut busy = vec![];
            // Each gets time to say what it wants; who is silent makes room instead.
            let told = (0..10 * MOST_CONNECTIONS).any(|_| {
                let mut stream = connect(address, &closing("/slow"));
                stream.set_read_timeout(Some(SHORT / 10)).unwrap();
                let mut answer = [0; 512];
                let n = stream.read(&mut answer).unwrap_or(0);
                busy.push(stream);
                String::from_utf8_lossy(&answer[..n]).contains("too many connections are busy")
            });
            assert!(told);
        });
    }

    #[test]
    fn a_mistake_of_ours_or_theirs_costs_one_answer() {
        with_server(LONG, |address| {
            assert!(ask(address, &closing("/panic")).starts_with("HTTP/1.1 500"));
            assert!(ask(address, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
            assert!(ask(address, &closing("/")).starts_with("HTTP/1.1 200"));
        });
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let post = |more: &str| format!("POST / HTTP/1.1\r\nHost: x\r\n{more}");
        let chunk = format!("10001\r\n{}", "x".repeat(MOST_BODY + 1));
        with_server(LONG, |address| {
            let status = |text: &str| ask(address, text)[9..12].to_owned();
            assert_eq!(status(&post("Content-Length: 999999999\r\n\r\n")), "413");
            assert_eq!(status(&post("Content-Length: -1\r\n\r\n")), "400");
            assert_eq!(status(&post(&format!("Transfer-Encoding: chunked\r\n\r\n{chunk}"))), "413");
            assert_eq!(status(&post(&format!("X: {}\r\n\r\n", "x".repeat(MOST_HEAD)))), "431");
            let most = "x".repeat(MOST_BODY);
            let head = format!("Content-Length: {MOST_BODY}\r\nConnection: close\r\n\r\n");
            assert!(ask(address, &post(&(head + &most))).ends_with(&most));
        });
    }

    #[test]
    fn whoever_is_slow_has_to_go() {
        with_server(SHORT, |address| {
            assert_eq!(rest(connect(address, "")), "");
            assert_eq!(rest(connect(address, "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")), "");
            assert!(ask(address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("hello"));
            let mut dribbling = connect(address, "GET / HTTP/1.1\r\nX: ");
            let start = Instant::now();
            while dribbling.write_all(b"x").is_ok() {
                assert!(start.elapsed() < LONG);
                thread::sleep(SHORT / 10);
            }
            let deaf = connect(address, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
            thread::sleep(5 * SHORT);
            assert!(rest(deaf).len() < LARGE);
        });
    }

    #[test]
    fn work_is_waited_for_and_does_not_stall_others() {
        with_server(SHORT, |address| {
            let slow = connect(address, &closing("/slow"));
            let start = Instant::now();
            for _ in 0..3 {
                assert!(ask(address, &closing("/")).ends_with("hello"));
            }
            assert!(start.elapsed() < 5 * SHORT, "{:?}", start.elapsed());
            assert!(rest(slow).starts_with("HTTP/1.1 200"));
        });
    }
}
