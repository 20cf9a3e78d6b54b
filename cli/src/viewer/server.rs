//! The server's plumbing: `axum::serve` within limits, and every request taken whole before it is answered.

use super::{
    answer::{Refusal, rule},
    connections::{Connection, Connections},
};
use anyhow::Context;
use axum::{
    Router,
    body::{Body, HttpBody, to_bytes},
    extract::{ConnectInfo, Request},
    http::{StatusCode, header, request::Parts},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use std::{
    net::TcpListener,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tokio::{runtime, time::sleep};

/// Most bytes of a request before its body.
const MOST_HEAD: usize = 16 * 1024;
/// Most bytes of a body: a moment of the largest team takes a tenth of that.
const MOST_BODY: usize = 64 * 1024;
/// How often the server looks whether it should stop.
const GLANCE: Duration = Duration::from_millis(20);

/// Serves until `stop` is set; then every connection is closed. A connection has `patience` from one
/// answer to the next whole request.
pub(crate) fn serve(
    listener: TcpListener,
    router: Router,
    patience: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the server")?;
    let result = runtime.block_on(async {
        let connections = Connections::new(listener, patience)?;
        let router = router.layer(from_fn(converse));
        let service = router.into_make_service_with_connect_info::<Connection>();
        tokio::spawn(axum::serve(connections, service).into_future());
        while !stop.load(Ordering::SeqCst) {
            sleep(GLANCE).await;
        }
        Ok(())
    });
    // Work that nobody waits for must not hold up the end.
    runtime.shutdown_background();
    result
}

/// Takes a request whole, then has it answered.
async fn converse(
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match whole(request).await {
        Ok(request) => {
            connection.work_begins();
            next.run(request).await
        }
        // What is left of such a request is not worth reading.
        Err(refusal) => ([(header::CONNECTION, "close")], refusal).into_response(),
    };
    rule(response.headers_mut());
    connection.work_ends();
    response
}

async fn whole(request: Request) -> Result<Request, Refusal> {
    let (head, body) = request.into_parts();
    if size(&head) > MOST_HEAD {
        let text = format!("a request has at most {MOST_HEAD} bytes before its body");
        return Err(Refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, text));
    }
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

fn size(head: &Parts) -> usize {
    let path = head.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    path + headers.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::viewer::{
        connections::MOST_CONNECTIONS,
        work::{Queue, TURN},
    };
    use axum::routing::get;
    use std::{
        io::{Read, Write},
        net::SocketAddr,
        sync::{Arc, atomic::AtomicUsize},
        thread,
        time::Instant,
    };

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(300);
    const LARGE: usize = 64 << 20;

    /// Turns of endless work so far.
    static ENDLESS: AtomicUsize = AtomicUsize::new(0);

    fn router() -> Router {
        let (quick, long) = (Queue::new(8), Queue::new(1));
        let panicking = quick.clone();
        let slow = move || async move {
            let sleep = || {
                thread::sleep(5 * SHORT);
                Ok(())
            };
            quick.work(sleep).await
        };
        let fair = long.clone();
        let fair = move || async move {
            let advance = |begun: &mut Instant| {
                thread::sleep(TURN);
                Ok(begun.elapsed() > SHORT)
            };
            fair.work_in_turns(Instant::now(), advance).await.map(|_| "done")
        };
        let endless = move || async move {
            let advance = |begun: &mut Instant| {
                ENDLESS.fetch_add(1, Ordering::SeqCst);
                thread::sleep(TURN);
                Ok(begun.elapsed() > LONG)
            };
            long.work_in_turns(Instant::now(), advance).await.map(|_| "done")
        };
        let panic = move || async move {
            panicking.work(|| -> Result<String, _> { panic!("on purpose") }).await
        };
        Router::new()
            .route("/", get(|| async { "hello" }).post(|text: String| async { text }))
            .route("/large", get(|| async { vec![b'x'; LARGE] }))
            .route("/panic", get(panic))
            .route("/slow", get(slow))
            .route("/endless", get(endless))
            .route("/fair", get(fair))
    }

    /// Runs `test` against a server that greets.
    fn with_server(patience: Duration, test: impl FnOnce(SocketAddr)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let server = thread::spawn(move || serve(listener, router(), patience, &flag));
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

    #[test]
    fn work_is_given_up_when_its_client_leaves_and_shared_while_both_stay() {
        with_server(SHORT, |address| {
            let endless = connect(address, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
            let n_turns = || ENDLESS.load(Ordering::SeqCst);
            let start = Instant::now();
            // Longer than the patience: that is for silent clients, not for those who wait.
            while start.elapsed() < 2 * SHORT || n_turns() < 5 {
                assert!(start.elapsed() < LONG, "{}", n_turns());
                thread::sleep(TURN);
            }
            // One computes at a time, and both come to it.
            let before = n_turns();
            assert!(ask(address, &closing("/fair")).ends_with("done"));
            assert!(n_turns() > before + 1);
            drop(endless);
            thread::sleep(SHORT);
            let after = n_turns();
            thread::sleep(SHORT);
            assert_eq!(n_turns(), after);
        });
    }

    #[test]
    fn sixty_that_never_stop_asking_do_not_keep_a_polite_one_waiting() {
        with_server(LONG, |address| {
            let stop = AtomicBool::new(false);
            thread::scope(|scope| {
                for _ in 0..60 {
                    scope.spawn(|| {
                        while !stop.load(Ordering::SeqCst) {
                            ask(address, &closing("/fair"));
                        }
                    });
                }
                thread::sleep(SHORT);
                let start = Instant::now();
                let answers: Vec<_> = (0..2).map(|_| ask(address, &closing("/fair"))).collect();
                stop.store(true, Ordering::SeqCst);
                assert!(answers.iter().all(|answer| answer.ends_with("done")), "{answers:?}");
                assert!(start.elapsed() < LONG / 3, "{:?}", start.elapsed());
            });
        });
    }
}
