//! The loop that takes connections: one thread each, a bounded number, the longest silent gives way.

use super::http::{Request, Response, Trouble, receive};
use anyhow::Context;
use std::{
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 48;
/// How often the loop looks whether it should end.
const GLANCE: Duration = Duration::from_millis(20);

/// Answers one request.
pub(crate) type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// A connection as the others know it.
struct Guest {
    number: u64,
    stream: TcpStream,
    waiting_since: Option<Instant>,
}

/// Everyone who is connected.
#[derive(Default)]
struct Guests(Mutex<Vec<Guest>>);

impl Guests {
    /// Lets a connection in; where the house is full, the longest silent one has to go.
    fn enter(&self, number: u64, stream: &TcpStream) -> std::io::Result<bool> {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if guests.len() >= MOST_CONNECTIONS {
            let silent = guests.iter().enumerate().filter_map(|(i, g)| Some((g.waiting_since?, i)));
            let Some((_, index)) = silent.min() else { return Ok(false) };
            // Its thread wakes up and ends.
            let _ = guests.swap_remove(index).stream.shutdown(Shutdown::Both);
        }
        let waiting_since = Some(Instant::now());
        guests.push(Guest { number, stream: stream.try_clone()?, waiting_since });
        Ok(true)
    }

    fn set_waiting(&self, number: u64, waiting: bool) {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guest) = guests.iter_mut().find(|guest| guest.number == number) {
            guest.waiting_since = waiting.then(Instant::now);
        }
    }

    fn leave(&self, number: u64) {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.retain(|guest| guest.number != number);
    }

    fn close_all(&self) {
        for guest in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = guest.stream.shutdown(Shutdown::Both);
        }
    }
}

/// Serves until `stop` is set; then every connection is closed.
pub(crate) fn serve(
    listener: &TcpListener,
    handler: &Arc<Handler>,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    listener.set_nonblocking(true).context("cannot listen")?;
    let guests = Arc::new(Guests::default());
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(GLANCE);
            continue;
        };
        number += 1;
        let (guests, handler) = (Arc::clone(&guests), Arc::clone(handler));
        // A connection that cannot be served is dropped; the others go on.
        let _ = welcome(stream, number, guests, handler);
    }
    guests.close_all();
    Ok(())
}

fn welcome(
    mut stream: TcpStream,
    number: u64,
    guests: Arc<Guests>,
    handler: Arc<Handler>,
) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    if !guests.enter(number, &stream)? {
        return Response::refusal(503, "too many connections are busy").send(&mut stream, true);
    }
    let name = format!("connection {number}");
    let leaving = Arc::clone(&guests);
    let spawned = thread::Builder::new().name(name).spawn(move || {
        converse(&mut stream, number, &guests, handler.as_ref());
        guests.leave(number);
    });
    spawned.map(drop).inspect_err(|_| leaving.leave(number))
}

/// Answers the requests of one connection, one after the other.
fn converse(stream: &mut TcpStream, number: u64, guests: &Guests, handler: &Handler) {
    loop {
        guests.set_waiting(number, true);
        let (response, close) = match receive(stream) {
            Ok(request) => {
                guests.set_waiting(number, false);
                (answer(handler, &request), request.close)
            }
            Err(Trouble::Refused(status, message)) => (Response::refusal(status, &message), true),
            Err(Trouble::Gone) => return,
        };
        if response.send(stream, close).is_err() || close {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Our own mistake costs one answer, not the server.
fn answer(handler: &Handler, request: &Request) -> Response {
    let call = std::panic::AssertUnwindSafe(|| handler(request));
    std::panic::catch_unwind(call)
        .unwrap_or_else(|_| Response::refusal(500, "the program made a mistake; please report it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// Runs `test` against a server that greets.
    fn with_server(test: impl FnOnce(std::net::SocketAddr)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let server = thread::spawn(move || {
            let greet = |request: &Request| match request.path.as_str() {
                "/panic" => panic!("on purpose"),
                _ => Response::asset("text/plain", "hello"),
            };
            let greet: Arc<Handler> = Arc::new(greet);
            serve(&listener, &greet, &flag)
        });
        test(address);
        stop.store(true, Ordering::SeqCst);
        server.join().unwrap().unwrap();
    }

    fn ask(address: std::net::SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    const CLOSING: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    #[test]
    fn silent_clients_do_not_keep_others_out() {
        with_server(|address| {
            let silent: Vec<_> = (0..2 * MOST_CONNECTIONS)
                .map(|_| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.write_all(b"GET / HT").unwrap();
                    stream
                })
                .collect();
            assert!(ask(address, CLOSING).ends_with("hello"));
            drop(silent);
        });
    }

    #[test]
    fn a_mistake_of_ours_or_theirs_costs_one_answer() {
        with_server(|address| {
            let panicking = "GET /panic HTTP/1.1\r\nConnection: close\r\n\r\n";
            assert!(ask(address, panicking).starts_with("HTTP/1.1 500"));
            assert!(ask(address, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
            assert!(ask(address, CLOSING).starts_with("HTTP/1.1 200"));
        });
    }
}
